"""The backward of norms on a Hopper GPU: candidates for the configs of a spec, beside the spec's baselines.

    python benchmarks/norm_backward.py [SPEC.yaml ...] [--json RESULT.json] [--shapes 8192x8192 ...] [--seconds 90]

Constants are arguments of the kernels, so that candidates need no module of their own. Children compile all that is
launched, by launching it, several at a time. Then each candidate's results are held against float64 once, and those
that are right are timed with the baselines and with a copy of as many bytes, in turns, by replays of CUDA graphs on
cold inputs. A row says how many times as fast as each of them a candidate is. Shapes that --seconds leave no time for
are not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton

from tlxgen import families
from tlxgen.bench.gpu import Gpu
from tlxgen.bench.timing import interleave
from tlxgen.build import build
from tlxgen.check import numerics
from tlxgen.loading import load_file

START = time.monotonic()
ROOT = Path(__file__).parents[1]
SPECS = [ROOT / "specs" / f"hopper_{name}_norm_bwd.yaml" for name in ("layer", "rms")]
TURNS = 15
FIELDS = ("BLOCK_M", "BLOCK_N", "CLUSTER", "STAGES", "warps", "SUMS", "AGAIN")
Candidate = tuple[int, int, int, int, int, int, bool]  # FIELDS


def candidates(n: int) -> Iterator[Candidate]:
    """What may suit rows of `n` columns."""
    if n <= 1024:
        for elements, stages in ((8192, 2), (8192, 3), (8192, 4), (4096, 3), (4096, 4), (2048, 3), (2048, 4)):
            yield elements // n, n, 1, stages, elements // 512, 2, False
    elif n <= 8192:
        for part, stages in ((8192, 2), (8192, 3), (8192, 4), (4096, 2), (4096, 3), (4096, 4), (2048, 3), (2048, 4)):
            yield 1, part, 8192 // part, stages, part // 512, 2, False
    elif n <= 32768:
        for part, stages in ((8192, 2), (8192, 3), (8192, 4), (4096, 2), (4096, 3), (4096, 4)):
            yield 1, part, 32768 // part, stages, part // 512, 2, False
        yield 1, 16384, 2, 3, 16, 1, True
    else:
        for warps, stages, sums in ((16, 3, 1), (16, 2, 1), (32, 3, 1), (32, 3, 0), (16, 3, 0)):
            yield 1, 16384, 8, stages, warps, sums, True


def named(candidate: Candidate) -> str:
    m, n, cluster, stages, warps, sums, again = candidate
    return f"{m}x{n} k{cluster} s{stages} w{warps}" + (f" sums{sums} again" if again else "")


def config_of(candidate: Candidate) -> triton.Config:
    m, n, cluster, stages, warps, sums, again = candidate
    kwargs = {"BLOCK_M": m, "BLOCK_N": n, "CHUNKS": 1, "CLUSTER": cluster, "STAGES": stages, "SUMS": sums}
    options = {"ctas_per_cga": (cluster, 1, 1)} if cluster > 1 else {}
    registers = 64 if warps == 32 else 128
    return triton.Config(kwargs | {"AGAIN": again}, num_warps=warps, num_stages=1, maxnreg=registers, **options)


class Subject:
    """A spec's module, whose table of configs has the candidates too."""

    def __init__(self, path: Path) -> None:
        self.family = families.kernels_of(path).family
        self.structure = families.kernels_of(path).structures[0]
        self.spec: Any = self.structure.variants[0].spec
        self.module = load_file(build(path).folder / f"{self.structure.name}.py")
        self.problem, self.how = self.family.problem(), self.family.benchmark()
        self.configs: dict[Candidate, triton.Config] = {}

    def runs(self, shape: tuple[int, ...], tensors: dict[str, Any], only: Sequence[str] | None) -> Iterator[Any]:
        """(name, whether it is ours, a maker of the call to time), of all or of those named."""
        for name, make in self.how.baselines(self.spec).items():
            if only is None or name in only:
                yield name, False, partial(make, tensors)
        for candidate in candidates(shape[1]):
            if only is None or named(candidate) in only:
                config = self.configs.setdefault(candidate, config_of(candidate))
                if not any(config is one for one in self.module.CONFIGS):
                    self.module.CONFIGS.append(config)
                yield named(candidate), True, partial(self.how.call, self.module, self.spec, shape, tensors, config)
        if only is None or "picked" in only:
            yield "picked", True, partial(self.how.call, self.module, self.spec, shape, tensors)

    def names(self, shape: tuple[int, ...]) -> list[str]:
        return [*self.how.baselines(self.spec), *map(named, candidates(shape[1])), "picked"]


def warm(jobs: Sequence[Sequence[str]]) -> None:
    """What a child does: launches each of (spec, shape, name) once; whatever fails, fails again where it is timed."""
    device = torch.device("cuda")
    for spec, shape_text, name in jobs:
        subject, shape = Subject(Path(spec)), tuple(map(int, shape_text.split("x")))
        tensors = subject.problem.inputs(subject.spec, shape, device)
        for _, _, make in subject.runs(shape, tensors, [name]):
            try:
                make()()
                torch.cuda.synchronize()
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}"[:300], file=sys.stderr)


def children(jobs: Sequence[Sequence[str]], count: int) -> list[subprocess.Popen[bytes]]:
    """Jobs dealt out so that what takes longest, torch.compile, comes first."""
    ordered = sorted(jobs, key=lambda job: job[2] != "torch.compile")
    shares = [ordered[i::count] for i in range(count)]
    command = [sys.executable, __file__, "--warm"]
    return [subprocess.Popen([*command, json.dumps(share)], stderr=subprocess.DEVNULL) for share in shares if share]


def timed(subject: Subject, shape: tuple[int, ...], gpu: Gpu) -> dict[str, Any]:
    """Microseconds by name, and what failed."""
    problem, spec = subject.problem, subject.spec
    moved = subject.family.bytes_moved(spec, shape)
    sets = [problem.inputs(spec, shape, gpu.device) for _ in range(gpu.sets(moved))]
    wanted = problem.reference(spec, sets[0])
    makers = [{name: make for name, _, make in subject.runs(shape, one, None)} for one in sets]
    timers, errors = {}, {}
    for name, ours, _ in subject.runs(shape, sets[0], None):
        try:
            runs = [of[name]() for of in makers]
            made = runs[0]()
            for (what, (expected, scale)), one in zip(wanted.items(), made, strict=False):
                bound = problem.tolerance(spec, what) * (1 if ours else 2)
                verdict = numerics.compare(one, expected, scale, bound)
                if not verdict.passed:
                    raise ValueError(f"{what}: {verdict.text}")
            timers[name] = gpu.timer(runs, max(20.0, moved / 4e6))
        except Exception as error:
            errors[name] = f"{type(error).__name__}: {error}"[:200]
    del wanted
    figures = interleave(timers, turns=TURNS)
    return {"shape": shape, "bytes": moved, "us": {n: f.us for n, f in figures.items()}, "errors": errors}


def table(spec: str, row: dict[str, Any], baselines: Sequence[str]) -> None:
    """Candidates, fastest first: how many times as fast as each baseline."""
    us, m_n = row["us"], "x".join(map(str, row["shape"]))
    there = [name for name in baselines if name in us]
    print(f"\n{spec} {m_n}   " + "   ".join(f"{name} {us[name]:.1f} us" for name in there))
    for name in sorted((n for n in us if n not in baselines), key=us.__getitem__):
        ratios = "  ".join(f"{us[base] / us[name]:5.2f} x {base}" for base in there)
        print(f"  {us[name]:8.1f} us  {name:34s} {ratios}")
    for name, error in row["errors"].items():
        print(f"  {name}: {error}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", type=Path, default=SPECS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--shapes", nargs="*")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.warm:
        warm(json.loads(given.warm))
        return
    subjects = {path.stem: Subject(path) for path in given.specs}
    some = next(iter(subjects.values()))
    shapes = [tuple(map(int, s.split("x"))) for s in given.shapes or ()] or some.family.shapes
    jobs = [
        (str(path), "x".join(map(str, shape)), name)
        for path in given.specs
        for shape in shapes
        for name in subjects[path.stem].names(shape)
    ]
    for child in children(jobs, max(1, (os.cpu_count() or 2) - 2)):
        try:  # what is not compiled in half of the time is compiled where it is timed
            child.wait(max(1.0, given.seconds / 2 - (time.monotonic() - START)))
        except subprocess.TimeoutExpired:
            child.kill()
    print(f"compiled after {time.monotonic() - START:.0f} s", flush=True)
    gpu, rows = Gpu(), []
    for shape in shapes:
        for name, subject in subjects.items():
            if time.monotonic() - START > given.seconds:
                print(f"no time left for {name} {shape}")
                continue
            row = {"spec": name} | timed(subject, shape, gpu)
            rows.append(row)
            table(name, row, list(subject.how.baselines(subject.spec)))
            gpu.release()
            if given.json:
                record = {"device": gpu.name, "versions": gpu.versions(), "fields": FIELDS, "rows": rows}
                given.json.write_text(json.dumps(record, indent=1) + "\n")
    print(f"\n{time.monotonic() - START:.0f} s")


if __name__ == "__main__":
    main()
