"""`python -m tests.sim.mutation.beyond [NAME ...]`: whether 20 seeds, or 1, 2, 3 SMs, report what the defaults do not.

Only mutants that the defaults do not find are run: those that are argued to be no faults. Each needs hundreds of runs,
so up to SIZE mutants of a module share a copy of it. Mutants that only wait for more have copies of their own, since
they could hide a race that another one makes. The mutants of a copy that is reported are run again in halves, until
one is left.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch

from tlxgen.files import write_atomic
from tlxgen.sim import Way
from tlxgen.verify import CHANCE

from .agreement import spread
from .equivalent import argument
from .execute import SECONDS, Outcome, outcome_of, parallel, written
from .generate import mutants
from .mutant import Mutant
from .subjects import Subject, subjects
from .work import Work

SEEDS = 20
SMS = (1, 2, 3)  # clusters, where CTAs form them
SIZE = 16
WAITS_MORE = ("duplicate", "pendings")  # of mutators: where their mutants are no faults, they wait more or earlier

Group = tuple[Mutant, ...]  # of one module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help="a file of outcomes: read and added to, so that a run can go on")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {s.at: s for s in subjects(options.names)}
    argued = [m for s in found.values() for m in _argued(s)]
    outcomes = run(found, argued, options.workers, Work(options.work, "beyond"))
    reported = [m for m in argued if outcomes[m].verdict not in ("clean", "invalid")]
    for mutant in reported:
        outcome = outcomes[mutant]
        what = f"{' '.join(outcome.ids)} ({outcome.schedule} {outcome.seed}, {outcome.case})" if outcome.ids else ""
        print(f"not at the defaults, but beyond: {mutant.name}: {what or outcome.verdict}")
    print(f"{len(reported)} of {len(argued)} that the defaults do not find are found beyond them")
    if options.json:
        record = {
            "command": "python -m tests.sim.mutation.beyond",
            "seeds": SEEDS,
            "schedules_by_seed": CHANCE,
            "sms": SMS,
            "mutants": len(argued),
            "reported": [m.name for m in reported],
            "mutants_of": Counter(m.at for m in argued),
        }
        write_atomic(options.json, (json.dumps(record, indent=1) + "\n").encode())
    return int(bool(reported))


def run(found: dict[str, Subject], argued: Sequence[Mutant], workers: int, work: Work) -> dict[Mutant, Outcome]:
    """What became of each. A group that is reported is run again in halves, after all groups have been run once."""
    outcomes = {m: known for m in argued if (known := work.known(found[m.at], m))}
    turn = list(groups([m for m in argued if m not in outcomes]))
    while turn:
        halves: list[Group] = []
        late = Outcome("timeout")
        jobs = parallel(turn, lambda group: beyond(found[group[0].at], group), late, workers, 10 * SECONDS)
        for done, (group, outcome) in enumerate(jobs, 1):
            if outcome.verdict != "clean" and len(group) > 1:
                halves += [group[::2], group[1::2]]
            else:
                outcomes |= dict.fromkeys(group, outcome)
                for mutant in group:
                    work.add(found[mutant.at], mutant, outcome)
            print(f"{done} of {len(turn)} groups; {len(outcomes)} of {len(argued)} mutants", flush=True)
        turn = halves
    return outcomes


def groups(mutants: Sequence[Mutant]) -> Iterator[Group]:
    """The mutants of each module, in groups whose edits are apart."""
    classes: dict[tuple[str, bool], list[list[Mutant]]] = {}
    for mutant in spread(mutants):
        some = classes.setdefault((mutant.at, mutant.kind in WAITS_MORE), [])
        group = next((g for g in some if len(g) < SIZE and all(_apart(mutant, m) for m in g)), None)
        if group is None:
            some.append([mutant])
        else:
            group.append(mutant)
    for some in classes.values():
        yield from map(tuple, some)


def _apart(one: Mutant, other: Mutant) -> bool:
    return all(e.end < o.start or o.end < e.start for e in one.edits for o in other.edits)


def beyond(subject: Subject, group: Group) -> Outcome:
    """Runs what the defaults leave out until something is reported: more seeds, and each case on 1, 2 and 3 SMs.

    Each in a process of its own: a module of the wheel has hundreds of thousands of configs, which stay in memory.
    """
    chance = [(kind, seed) for seed in range(2, SEEDS) for kind in CHANCE]
    fewer: list[tuple[Way, int | None]] = [(way, sms) for sms in SMS for way in (("random", 0), ("lazy", 0))]
    ways = (*fewer, *((way, None) for way in chance))

    def once(run: tuple[tuple[Way, int | None], Any]) -> Outcome:
        (way, sms), case = run
        report = subject.verify(path, case, (way,), sms)
        where = f"{case}, {sms} SMs" if sms else str(case)
        return outcome_of(report, where, report.runs) if report.seen else Outcome("clean", runs=report.runs)

    count = 0
    with written(subject, replace(group[0], edits=tuple(e for m in group for e in m.edits))) as path:
        for _, outcome in parallel(product(ways, subject.cases), once, Outcome("timeout"), 1, SECONDS):
            count += outcome.runs
            if outcome.verdict != "clean":
                return replace(outcome, runs=count)
    return Outcome("clean", runs=count)


def _argued(subject: Subject) -> Iterator[Mutant]:
    lines = subject.lines()
    return (m for m in mutants([(subject.at, subject.text)]) if m.line in lines and argument(m))


if __name__ == "__main__":
    sys.exit(main())
