"""Chooses the cases that a GPU shall confirm: faults with which a kernel still ends, and what is said to be none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from tests.sim.support import structures
from tlxgen.sim import RUNS

from .execute import parallel, written
from .mutant import Mutant
from .report import Result
from .subjects import Subject

FAULTS, CLEAN = 72, 24
# Findings with which a kernel ends, on every schedule. Others stop it, or are of the host.
ENDS = {
    "race-read-write", "race-write-write", "async-lifetime", "uninitialised", "missing-fence", "wrong-numbers",
    "output-unwritten", "global-write-conflict", "pending-at-exit",
}  # fmt: skip
LARGE: dict[str, tuple[int, ...]] = {  # several tiles for each of 132 SMs, of each family
    "gemm": (2700, 3100, 1000),
    "attention_fwd": (2, 8, 4, 1500, 1700),
    "attention_bwd": (2, 8, 4, 1500, 1700),
    "attention_bwd_dq": (2, 8, 4, 1500, 1700),
}


def cases(results: Sequence[Result], subjects: dict[str, Subject], workers: int) -> list[dict[str, Any]]:
    """Every sm90 subject unmutated, then mutants, spread over modules and mutators; the same for the same results."""
    large = _large()
    results = [r for r in results if r.mutant.at in large]
    chosen = [_case(at, 0, [list(large[at]), list(s.cases[0].shape)]) for at, s in subjects.items() if at in large]
    caught = _spread([r for r in results if r.status == "caught" and set(r.outcome.ids) <= ENDS])
    jobs = parallel(caught[: 3 * FAULTS], lambda r: _all_ids(subjects[r.mutant.at], r), None, workers, 240.0)
    ids = {r.mutant.name: found for r, found in jobs if found and found <= ENDS}
    faults = [r for r in caught if r.mutant.name in ids][:FAULTS]
    chosen += [_mutated(r, subjects, large, "caught", sorted(ids[r.mutant.name])) for r in faults]
    clean = _spread([r for r in results if r.status == "equivalent"])[:CLEAN]
    return chosen + [_mutated(r, subjects, large, "clean", []) for r in clean]


def _large() -> dict[str, tuple[int, ...]]:
    """A large shape for each module for sm90, of the families that are run there."""
    some = [(name, s) for name, s in structures() if s.plan.arch.name == "sm90" and s.plan.family in LARGE]
    return {f"{name}/{s.name}": LARGE[s.plan.family] for name, s in some}


def _spread(results: Sequence[Result]) -> list[Result]:
    by_name = {r.mutant.name: r for r in results}
    return [by_name[m.name] for m in spread([r.mutant for r in results])]


def spread(mutants: Sequence[Mutant]) -> list[Mutant]:
    """In turn one of each module, and for each module one of each mutator in turn."""
    modules: dict[str, dict[str, list[Mutant]]] = {}
    for mutant in mutants:
        modules.setdefault(mutant.at, {}).setdefault(mutant.kind, []).append(mutant)
    orders = []
    for number, kinds in enumerate(modules.values()):
        names = sorted(kinds)
        first = number * 5 % len(names)  # so that modules do not all begin with the same mutator
        orders.append(_in_turn([kinds[n] for n in names[first:] + names[:first]]))
    return _in_turn(orders)


def _in_turn(queues: Sequence[Sequence[Mutant]]) -> list[Mutant]:
    """The first of each queue, the second of each, and so on."""
    return [m for turn in zip_longest(*queues) for m in turn if m is not None]


def _all_ids(subject: Subject, result: Result) -> set[str]:
    """All that is found on the case that showed a mutant's fault, on every schedule."""
    case = next(c for c in subject.cases if str(c) == result.outcome.case)
    with written(subject, result.mutant) as path:
        return set(subject.verify(path, case, RUNS).ids)


def _mutated(
    result: Result, subjects: dict[str, Subject], large: dict[str, tuple[int, ...]], simulator: str, ids: list[str]
) -> dict[str, Any]:
    mutant, subject = result.mutant, subjects[result.mutant.at]
    case = next((c for c in subject.cases if str(c) == result.outcome.case), subject.cases[0])
    made = _case(mutant.at, case.config, [list(case.shape), list(large[mutant.at])])
    return {**made, "name": mutant.name, "edits": mutant.json()["edits"], "simulator": simulator, "ids": ids}


def _case(at: str, config: int, shapes: list[list[int]]) -> dict[str, Any]:
    name = at.split("/")[1]
    return {"name": name, "at": at, "config": config, "shapes": shapes, "edits": [], "simulator": "clean", "ids": []}
