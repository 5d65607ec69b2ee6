"""The time of each task: waits, by the task waited for, products, loads, stores, hand-offs, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tlxgen.profile.records import Record, Recorded
from tlxgen.profile.sites import CLASSES, Class, Site


@dataclass(frozen=True)
class Operation:
    """Of a task, all intervals with the same name: how many there are in a CTA, and what they take of it, in clocks."""

    what: str
    kind: Class
    whom: str
    lines: tuple[int, ...]
    times: float
    clocks: float
    share: float  # of the task's time


@dataclass(frozen=True)
class TaskTime:
    """A task, over all CTAs in which it ran: means a CTA. `clocks` is the time from its begin to its end, which it took
    from the clock itself; `told` is how much of that its intervals add up to."""

    task: str
    ctas: int
    clocks: float
    told: float
    operations: tuple[Operation, ...]

    def share(self, kind: Class) -> float:
        """The part of its time that goes to operations of a class."""
        return sum(o.share for o in self.operations if o.kind == kind)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"shares": {kind: self.share(kind) for kind in CLASSES}}


def times_of(recorded: Recorded) -> list[TaskTime]:
    """The time of each task of a launch, in the order of the source."""
    return list(_times(recorded))


def _times(recorded: Recorded) -> Iterator[TaskTime]:
    for area, name in enumerate(recorded.tasks):
        records = [r for r in recorded.records if r.area == area and r.clocks.size]
        if not records:
            continue
        whole = sum(r.clock[1] - r.clock[0] if not r.full else r.time for r in records)
        clocks, times = _sums(records, len(recorded.sites))
        told = int(clocks.sum()) / whole if whole else 1.0
        operations = _operations(recorded.sites, clocks, times, len(records))
        yield TaskTime(name, len(records), whole / len(records), told, operations)


def _sums(records: Sequence[Record], sites: int) -> tuple[Any, Any]:
    """For each site, the clocks of all intervals that begin there, and how many there are."""
    clocks, times = np.zeros(sites, np.int64), np.zeros(sites, np.int64)
    for record in records:
        begun = record.sites[:-1]
        np.add.at(clocks, begun, np.diff(record.clocks))
        times += np.bincount(begun, minlength=sites)
    return clocks, times


def _operations(sites: Sequence[Site], clocks: Any, times: Any, ctas: int) -> tuple[Operation, ...]:
    """Those that have a name are told apart by it; the longest first."""
    total = max(1, int(clocks.sum()))
    groups: dict[tuple[str, Class, str], list[int]] = {}
    for number, site in enumerate(sites):
        if times[number]:
            groups.setdefault((site.name, site.kind, site.whom), []).append(number)
    found = []
    for (name, kind, whom), numbers in groups.items():
        lines = tuple(sorted({sites[n].line for n in numbers})) if kind != "rest" else ()
        took, often = int(clocks[numbers].sum()), int(times[numbers].sum())
        found.append(Operation(name, kind, whom, lines, often / ctas, took / ctas, took / total))
    return tuple(sorted(found, key=lambda o: -o.clocks))
