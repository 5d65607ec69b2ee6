"""Faults that no mutator makes, put into generated kernels and kernels of the wheel by hand; each at default settings.

    python benchmarks/planted.py [NAME ...] [--json benchmarks/results/simulator_planted.json]

They are of the kind that a person makes: they show in a second round, after a wrap, in the last tile, or in a CTA that
takes more work. A generated module is run as `tlxgen verify` runs it, until a schedule finds something; a kernel of the
wheel through its own host function, on the problem of its row in benchmarks/tutorials and on as many SMs as `tlxgen
verify` gives hand-written kernels. Exit status 1 when one is not found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import planted_faults, planted_handoffs  # noqa: E402
from benchmarks.planted_faults import Fault  # noqa: E402
from tests.sim.mutation.execute import default_runs, parallel  # noqa: E402
from tests.sim.mutation.subjects import of_row, row_of  # noqa: E402
from tests.sim.support import source, written  # noqa: E402
from tlxgen.files import write_atomic  # noqa: E402
from tlxgen.sim import Report, Way  # noqa: E402
from tlxgen.verify.structures import prepare  # noqa: E402

SECONDS = 900.0
FAULTS = (*planted_faults.FAULTS, *planted_handoffs.FAULTS)


@dataclass(frozen=True)
class Outcome:
    """What a fault showed on the first run that showed it, or nothing; how many runs there were."""

    ids: tuple[str, ...] = ()
    run: str = ""
    runs: int = 0
    seconds: float = 0.0


def execute(fault: Fault) -> Outcome:
    start, total = time.perf_counter(), Report()
    with tempfile.TemporaryDirectory() as folder:
        run = _generated(fault, Path(folder)) if "/" in fault.at else _of_the_wheel(fault, Path(folder))
        for way in default_runs():
            total.add(run(way))
            if total.seen:
                break
    ids, run_of = tuple(sorted(total.ids)), total.seen[0].run if total.seen else ""
    return Outcome(ids, run_of, total.runs, round(time.perf_counter() - start, 1))


def _generated(fault: Fault, folder: Path) -> Callable[[Way], Report]:
    """What runs the module as `tlxgen verify` does."""
    path = written(fault.at, fault.planted(source(fault.at).read_text()), folder)
    spec, structure = fault.at.split("/")
    return prepare(ROOT / "specs" / f"{spec}.yaml", structure, path, None)[0]


def _of_the_wheel(fault: Fault, folder: Path) -> Callable[[Way], Report]:
    subject = of_row(row_of(fault.at))
    path = folder / subject.path.name
    path.write_text(fault.planted(subject.text))
    return lambda way: subject.verify(path, subject.cases[0], (way,))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    some = [f for f in FAULTS if not options.names or any(n in f.name or n in f.at for n in options.names)]
    outcomes: dict[str, Outcome] = {}
    for fault, outcome in parallel(some, execute, Outcome(run="no answer"), options.workers, SECONDS):
        outcomes[fault.name] = outcome
        text = f"{' '.join(outcome.ids)} ({outcome.run})" if outcome.ids else "NOT FOUND"
        print(f"{fault.at.split('/')[-1]}, {fault.name}: {text}; {outcome.runs} runs, {outcome.seconds} s", flush=True)
    found = sum(bool(o.ids) for o in outcomes.values())
    print(f"{found} of {len(some)} are found")
    if options.json:
        rows = [{"fault": f.name, "at": f.at.split("/")[-1], **asdict(outcomes[f.name])} for f in some]
        head = {"command": "python benchmarks/planted.py", "faults": len(some), "found": found}
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        write_atomic(options.json, f'{json.dumps(head)[:-1]}, "rows": [\n  {lines}\n]}}\n'.encode())
    return int(found < len(some))


if __name__ == "__main__":
    sys.exit(main())
