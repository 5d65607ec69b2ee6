"""Runs cases and mutants of the kernels under generated/."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import torch

from tests.sim.mutants import Mutant
from tlxgen import families, lock
from tlxgen.check import numerics
from tlxgen.families import Kernels, Structure
from tlxgen.loading import HOST, MODEL
from tlxgen.proof import read, simulator_of, state_of
from tlxgen.sim import DEVICE, RUNS, SMS, Limits, Report, Run, Session, Way, load_module, verify, verify_case
from tlxgen.spec import load
from tlxgen.verbs.verify import Options

ROOT = Path(__file__).parents[2]
SPECS = sorted(p.stem for p in (ROOT / "specs").glob("*.yaml"))
RECENT, SAMPLE = 50, 60  # commits whose changes are run, and modules of the others


@cache
def kernels(name: str) -> Kernels:
    document = load(ROOT / "specs" / f"{name}.yaml")
    return families.of(document).kernels(document)


def structures() -> list[tuple[str, Structure]]:
    return [(name, s) for name in SPECS for s in kernels(name).structures]


def unproven() -> Iterator[tuple[str, str]]:
    """Specs and structures of which no record in a lock says that they are clean as they are. Plans nothing."""
    for name in SPECS:
        simulator = simulator_of(*families.of(load(ROOT / "specs" / f"{name}.yaml")).judged_by)
        for structure, entry in lock.read(ROOT / "generated" / name)["structures"].items():
            if not state_of(read(entry), entry.get("subject", ""), simulator, Options().want).is_proven:
                yield name, structure


def to_run() -> list[tuple[str, str]]:
    """Of the modules without a record those whose device code has changed in the last RECENT commits, and a SAMPLE.

    The commit's hash decides on the sample, so that nobody chooses it. Outside of a repository all are to be run.
    """
    some, history = list(unproven()), git("log", f"-{RECENT + 1}", "--format=%H").split()
    if not history:
        return some
    before = locks_at(history[-1], sorted({name for name, _ in some}))
    now = {name: lock.read(ROOT / "generated" / name)["structures"] for name in before}
    changed = {(n, s) for n, s in some if now[n][s]["device"] != before[n].get(s, {}).get("device")}
    others = [at for at in some if at not in changed]
    drawn = Random(history[0]).sample(others, min(SAMPLE, len(others)))
    return [at for at in some if at in changed or at in drawn]


def locks_at(commit: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The structures of specs' locks, as they were at a commit; none where there was no lock."""
    asked = "".join(f"{commit}:generated/{name}/lock.json\n" for name in names)
    told, found = io.BytesIO(git("cat-file", "--batch", given=asked).encode()), {}
    for name in names:
        head = told.readline().split()  # its hash, type and size; or what was asked for, and "missing"
        found[name] = {}
        if head[-1] != b"missing":
            found[name] = json.loads(told.read(int(head[-1])))["structures"]
            told.readline()  # the end of its last line
    return found


def git(*arguments: str, given: str = "") -> str:
    """What git prints; nothing where there is no git, or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, input=given, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout


def source(at: str) -> Path:
    return ROOT / "generated" / f"{at}.py"


def written(at: str, text: str, folder: Path) -> Path:
    """A module in the place of generated/AT.py, with what it shares beside it."""
    for shared in filter(Path.exists, map(source(at).with_name, (HOST, MODEL))):
        shutil.copy(shared, folder)
    path = folder / source(at).name
    path.write_text(text)
    return path


def run_case(
    at: str,
    path: Path,
    config: int,
    shape: tuple[int, ...],
    runs: tuple[Way, ...] = RUNS,
    constants: dict[str, int] | None = None,
    sms: int = SMS,
) -> Report:
    """The config, with other `constants`, of a structure whose source is at `path`, a copy of generated/AT.py."""
    name, structure = at.split("/")
    found = kernels(name)
    variant = next(s for s in found.structures if s.name == structure).variants[config]
    assert variant.spec
    arch = variant.spec.arch
    module = load_module(path, arch)
    module.CONFIGS[config].kwargs.update(constants or {})
    limits = Limits(steps=50_000)  # of a launch; a case of tests/sim takes 10,000 at most, in all its runs
    case = (found.family.problem(), module, variant.spec, shape, module.CONFIGS[config], numerics.compare)
    return verify_case(*case, runs, sms=sms, limits=limits, arch=arch)


def run_mutant(mutant: Mutant, folder: Path) -> Report:
    """Runs the schedules one after the other, until one has findings."""
    text = source(mutant.at).read_text()
    if text.count(mutant.old) < mutant.times:
        raise LookupError(f"{mutant.name}: {mutant.at} has no {mutant.old!r}")
    path = written(mutant.at, text.replace(mutant.old, mutant.new, mutant.times), folder)
    report = Report()
    for run in RUNS:
        report.add(run_case(mutant.at, path, mutant.config, mutant.shape, (run,), sms=mutant.sms))
        if report.seen:
            break
    return report


def litmus(
    kernel: Any, grid: tuple[int, ...] = (1,), *, runs: tuple[Run, ...] = RUNS, **constants: Any
) -> tuple[set[str], list[list[float]]]:
    """Runs a kernel of one argument `out`, 16 floats: what was found, and what `out` was after each run."""
    outs: list[torch.Tensor] = []

    def program(session: Session) -> None:
        out = torch.zeros(16, device=DEVICE)
        outs.append(out.as_subclass(torch.Tensor))
        kernel[grid](out, **constants)

    report = verify(program, runs, arch="sm100", limits=Limits(steps=100_000))
    return report.ids, [out.tolist() for out in outs]
