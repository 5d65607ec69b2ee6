"""`python -m tests.sim.mutation [NAME ...]`: runs all mutants (of modules whose names contain a NAME) in the simulator.

    python -m tests.sim.mutation --json benchmarks/results/simulator_mutants.json     (with tables beside it, .md)
    python -m tests.sim.mutation tutorials/ rows/            kernels of the wheel; nothing of their text is kept
    python -m tests.sim.mutation --agreement CASES.json      chooses cases for benchmarks/simulator_agreement.py

From the repository's root; about a quarter of an hour on two idle cores. Mutants that no argument covers and nothing
finds are printed as they come. Exit status 1 when the detection rate is below --rate.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import torch

from tlxgen.files import write_atomic
from tlxgen.verbs.verify import runs_of
from tlxgen.verify import SCHEDULES

from .agreement import cases, spread
from .execute import SECONDS, Outcome, execute, parallel
from .generate import mutants
from .report import Result, Tally, as_json, as_markdown
from .subjects import Subject, subjects
from .work import Work


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--agreement", type=Path, metavar="CASES.json")
    parser.add_argument("--work", type=Path, help="a file of outcomes: read and added to, so that a run can go on")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=int, help="only so many mutants, of modules and mutators in turn")
    parser.add_argument("--rate", type=float, default=0.97)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.monotonic()
    found = list(subjects(options.names))
    results, unexecuted = run(found, options.workers, Work(options.work), options.limit)
    total = Tally.of(results)
    print(f"{total} {total.rate:.2%} of {total.faults} faults; {unexecuted} on lines not executed")
    print(f"{time.monotonic() - start:.0f} s")
    if options.json:
        head = {
            "command": "python -m tests.sim.mutation",
            "schedules_and_seeds": [list(r) for r in runs_of(2, SCHEDULES)],
        }
        write_atomic(options.json, as_json(results, unexecuted, head).encode())
        write_atomic(options.json.with_suffix(".md"), as_markdown(results, unexecuted).encode())
    if options.agreement:
        chosen = cases(results, {s.at: s for s in found}, options.workers)
        rows = ",\n  ".join(json.dumps(c) for c in chosen)
        write_atomic(options.agreement, f'{{"cases": [\n  {rows}\n]}}\n'.encode())
    return int(total.rate < options.rate)


def run(found: Sequence[Subject], workers: int, work: Work, limit: int | None) -> tuple[list[Result], int]:
    """The results of all mutants whose line a case executes, in order, and the number of the others."""
    by_name = {s.at: s for s in found}
    lines = {s.at: s.lines() for s in found}
    made = list(mutants((s.at, s.text) for s in found))
    executed = spread([m for m in made if m.line in lines[m.at]])[:limit]
    results: dict[str, Result] = {}
    known = [(m, work.known(by_name[m.at], m)) for m in executed]
    new = [m for m, outcome in known if outcome is None]
    jobs = parallel(new, lambda m: execute(by_name[m.at], m), Outcome("timeout"), workers, SECONDS)
    for done, (mutant, outcome) in enumerate(chain(((m, o) for m, o in known if o), jobs), 1):
        work.add(by_name[mutant.at], mutant, outcome)
        result = results[mutant.name] = Result(mutant, outcome, by_name[mutant.at].ours)
        if result.status in ("missed", "contradicted"):
            print(f"{result.status} ({' '.join(outcome.ids) or outcome.verdict}) {mutant.name}", flush=True)
        if done % 250 == 0:
            print(f"{done} of {len(executed)}", flush=True)
    return [results[m.name] for m in executed if m.name in results], sum(m.line not in lines[m.at] for m in made)


if __name__ == "__main__":
    sys.exit(main())
