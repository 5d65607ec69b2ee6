"""Faults that no mutator makes, put into generated kernels and kernels of the wheel by hand; each at default settings.

    python benchmarks/planted.py [NAME ...] [--json benchmarks/results/simulator_planted.json]

A fault of the kind that a person makes: it shows in a second round, after a wrap, in the last tile, in a CTA that takes work from others.
A generated module is run as `tlxgen verify` runs it: its configs and shapes, until a schedule finds something. A
kernel of the wheel is run through its own host function, on the shapes of its rows in benchmarks/tutorials, with as
many SMs as `tlxgen verify` gives hand-written kernels. Nothing of the wheel's text is kept: the record names faults.
Exit status 1 when one is not found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.planted_faults import FAULTS, Fault  # noqa: E402
from tests.sim.mutation.execute import parallel  # noqa: E402
from tests.sim.support import source, written  # noqa: E402
from tlxgen.files import write_atomic  # noqa: E402
from tlxgen.sim import Delays, Report, Way  # noqa: E402
from tlxgen.verify.structures import prepare  # noqa: E402
from tlxgen.verbs.verify import runs_of  # noqa: E402
from tlxgen.verify import SCHEDULES  # noqa: E402

SECONDS = 900.0


@dataclass(frozen=True)
class Outcome:
    """What a fault showed, and on which run."""

    ids: tuple[str, ...] = ()
    run: str = ""
    runs: int = 0
    seconds: float = 0.0
    note: str = ""


def ways() -> Iterator[Way]:
    """The schedules of a default run."""
    for schedule, seed in runs_of(2, SCHEDULES):
        yield Delays() if schedule == "delays" else (schedule, seed)


def execute(fault: Fault) -> Outcome:
    start, total = time.perf_counter(), Report()
    with tempfile.TemporaryDirectory() as folder:
        run = _generated(fault, Path(folder)) if "/" in fault.at else _tutorial(fault, Path(folder))
        for way in ways():
            total.add(run(way))
            if total.seen:
                break
    ids = tuple(sorted(total.ids))
    shown = total.seen[0].run if total.seen else ""
    return Outcome(
        ids,
        shown,
        total.runs,
        round(time.perf_counter() - start, 1),
        str(total.seen[0].finding)[:200] if total.seen else "",
    )


def _generated(fault: Fault, folder: Path) -> Callable[[Way], Report]:
    path = written(fault.at, fault.planted(source(fault.at).read_text()), folder)
    spec, structure = fault.at.split("/")
    return prepare(ROOT / "specs" / f"{spec}.yaml", structure, path, None)


def _tutorial(fault: Fault, folder: Path) -> Callable[[Way], Report]:
    from benchmarks.tutorials import attention, gemm
    from benchmarks.tutorials.quantize import as_torchao
    from benchmarks.tutorials.row import load
    from tlxgen.sim import load_module, verify

    row = next(row for row in (*attention.ROWS, *gemm.ROWS) if row.name == fault.at)
    text = Path(str(load(row.module, row.arch).__file__)).read_text()
    path = folder / f"{row.module}.py"
    path.write_text(fault.planted(text))
    with as_torchao():
        module = load_module(path, row.arch)

    def program(session: Any) -> None:
        for result, reference in row.run(module, session):
            with torch._C.DisableTorchFunction():
                got, wanted = (x.as_subclass(torch.Tensor).double() for x in (result, reference))
                error = float((got - wanted).norm() / wanted.norm())
            if not error <= row.tolerance:
                session.findings.add("wrong-numbers", f"relative error {error:.1e}")

    def run(way: Way) -> Report:
        report = Report()
        for sms in (4, 1, 2, 3):
            report.add(verify(program, (way,), arch=row.arch, sms=sms))
        report.seen = [s for s in report.seen if s.finding.id not in {**row.warnings, **row.defects}]
        return report

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    some = [f for f in FAULTS if not options.names or any(n in f.name or n in f.at for n in options.names)]
    outcomes: dict[str, Outcome] = {}
    for fault, outcome in parallel(some, execute, Outcome(note="no answer"), options.workers, SECONDS):
        outcomes[fault.name] = outcome
        print(
            f"{'found ' if outcome.ids else 'MISSED'} {fault.at:60} {fault.name}: {' '.join(outcome.ids)} ({outcome.run}; {outcome.runs} runs, {outcome.seconds} s) {outcome.note}",
            flush=True,
        )
    missed = [f.name for f in some if not outcomes[f.name].ids]
    print(f"{len(some) - len(missed)} of {len(some)} found")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
