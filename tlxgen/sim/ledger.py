"""The ledger of one launch: for each mbarrier its arrivals, its waits with their phases, the expected bytes, and the
copies that deliver them. Verdicts are derived from it.

`Account` sums up the barriers of one array over its slots and over all CTAs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from types import FrameType

from .actors import Event, Task
from .barriers import Mbarrier
from .findings import Place
from .machine import BarrierArray
from .memory import Buffer
from .trace import Lane, Trace
from .watch import Amount, Barrier
from .words import Party, lines


@dataclass(frozen=True)
class Came:
    """An arrival of a task, or of an asynchronous operation that it issued. It may also expect bytes."""

    lane: Lane
    engine: str  # the operation's engine; empty for a task's own arrival
    place: Place
    barrier: str
    count: int
    expected: int
    phase: int  # the first is 1
    step: int

    @property
    def remote(self) -> bool:
        """Whether the arrival is from another CTA."""
        return not self.barrier.endswith(f" of CTA {self.lane.cta}")


@dataclass(frozen=True)
class Wait:
    """A wait that passes when `wanted` phases are complete, and started when `phase` phases were."""

    lane: Lane
    place: Place
    barrier: str
    wanted: int
    phase: int
    step: int


@dataclass(frozen=True)
class Promise:
    """A copy that delivers `size` bytes."""

    lane: Lane
    place: Place
    size: int


@dataclass(eq=False)
class Ledger(Trace):
    """The observations of a launch, with the records of its mbarriers by label."""

    barriers: dict[str, Mbarrier] = field(default_factory=dict)
    came: dict[str, list[Came]] = field(default_factory=lambda: defaultdict(list))
    awaited: dict[str, list[Wait]] = field(default_factory=lambda: defaultdict(list))
    books: dict[str, list[Came | Promise]] = field(default_factory=lambda: defaultdict(list))  # in order
    promised: dict[str, list[Promise]] = field(default_factory=lambda: defaultdict(list))
    pendings: dict[Place, int] = field(default_factory=dict)  # line -> groups that its wait leaves in flight
    indexed: set[tuple[Place, str]] = field(default_factory=set)  # lines, with the rings and arrays that they index

    def operation(self, task: Task, place: Place, frame: FrameType) -> None:
        super().operation(task, place, frame)
        if isinstance(left := frame.f_locals.get("pendings"), int):
            self.pendings[place] = max(left, self.pendings.get(place, 0))
        if frame.f_code.co_name == "__getitem__" and isinstance(
            ring := frame.f_locals.get("self"), (Buffer, BarrierArray)
        ):
            self.indexed.add((place, ring.name))

    def arrives(self, barrier: Barrier, amount: Amount, place: Place) -> None:
        super().arrives(barrier, amount, place)
        count, size = amount
        if isinstance(barrier, Mbarrier) and self.hub.actor is not None:
            self.barriers[barrier.label] = barrier
            if count:
                lane, engine = self._behind()
                came = Came(lane, engine, place, barrier.label, count, -size, barrier.phase + 1, self.steps)
                self.came[barrier.label].append(came)
                self.books[barrier.label].append(came)

    def waits(self, barrier: Barrier, phase: int, place: Place) -> None:
        super().waits(barrier, phase, place)
        if isinstance(barrier, Mbarrier) and self.hub.actor is not None:
            self.barriers[barrier.label] = barrier
            self.awaited[barrier.label].append(
                Wait(self._behind()[0], place, barrier.label, phase, barrier.phase, self.steps)
            )

    def promises(self, barrier: Barrier, size: int, place: Place) -> None:
        if isinstance(barrier, Mbarrier):
            self.barriers[barrier.label] = barrier
            promise = Promise(self._behind()[0], place, size)
            self.promised[barrier.label].append(promise)
            self.books[barrier.label].append(promise)

    @property
    def ran_dry(self) -> bool:
        """Whether all issued operations have completed, so that the launch ended, or no actor could continue."""
        return not self.found_at or any(id == "deadlock" for id, _ in self.found_at)

    def stuck(self) -> list[tuple[Lane, str]]:
        """The tasks that wait at the end of the launch, with the mbarriers that they wait for."""
        held = [s for s in self.spans if s.kind == "blocked" and s.end is None]
        return [(s.lane, label) for s in held for label in s.objects if label in self.barriers]

    def accounts(self) -> list[Account]:
        """An account for each array, in the order of allocation."""
        arrays: dict[tuple[str, Place], list[Mbarrier]] = defaultdict(list)
        for barrier in self.barriers.values():
            arrays[barrier.array, barrier.place].append(barrier)
        return [Account(self, barriers) for _, barriers in sorted(arrays.items(), key=lambda one: one[0][1])]

    def _behind(self) -> tuple[Lane, str]:
        """The acting task with an empty name, or the task that issued the acting operation, with its name."""
        actor = self.hub.actor
        assert actor is not None
        if isinstance(actor, Event):
            issuer = self._issued[actor].issuer
            return issuer or self.lane(actor), actor.name
        return self.lane(actor), ""


class Account:
    """The ledger's records of one array of barriers."""

    def __init__(self, ledger: Ledger, barriers: list[Mbarrier]) -> None:
        self._ledger, self.barriers = ledger, barriers
        first = barriers[0]
        self.array, self.place, self.count = first.array, first.place, first.count
        self.per_thread = first.per_thread
        self.labels = [b.label for b in barriers]
        self.came = [c for label in self.labels for c in ledger.came[label]]
        self.waits = [w for label in self.labels for w in ledger.awaited[label]]
        self.slots = len({label.partition(" of ")[0] for label in self.labels})
        self.phases = sum(b.phase for b in barriers)

    def parties(self, label: str | None = None) -> list[Party]:
        """The parties that arrive on the array, or on one barrier if `label` names it."""
        found: dict[tuple[str, bool, str], list[Came]] = defaultdict(list)
        for one in [label] if label else self.labels:
            for c in self._ledger.came[one]:
                found[c.lane.name, c.remote, c.engine].append(c)
        return [
            Party(*key, tuple(sorted({c.place for c in calls})), len(calls), max(c.count for c in calls))
            for key, calls in sorted(found.items())
        ]

    def of(self, party: Party) -> list[Came]:
        """The arrivals of one of the parties."""
        key = (party.task, party.remote, party.engine)
        return [c for c in self.came if (c.lane.name, c.remote, c.engine) == key]

    def arrivals_of(self, label: str) -> Counter[Lane]:
        """Task -> count of one call of barrier_arrive on a barrier, including tasks of other CTAs."""
        return Counter({c.lane: max(c.count, 0) for c in self._ledger.came[label]})

    @property
    def takes_bytes(self) -> bool:
        return any(c.expected for c in self.came) or any(self._ledger.promised[label] for label in self.labels)

    @cached_property
    def sizes(self) -> tuple[int, int, Place | None]:
        """The bytes that a line expects, the bytes that copies deliver for it, and the line.

        It is a line where the two differ, if there is one.
        """
        found: Mapping[Place | None, tuple[int, int]] = self._by_line() or self._in_all()
        odd = [(expected, brought, place) for place, (expected, brought) in found.items() if expected != brought]
        return (odd or [(expected, brought, place) for place, (expected, brought) in found.items()])[0]

    @property
    def exact(self) -> bool:
        """Whether each expectation can be matched with its copies."""
        return bool(self._by_line())

    @property
    def said_sizes(self) -> str:
        """`sizes` in words."""
        expected, brought, place = self.sizes
        where = f" (line {place.line})" if place else ""
        return (
            f"{self.array} expects {expected} bytes a phase{where}, and {brought} come, from line {lines(self.loads)}"
        )

    def expecting(self) -> list[Place]:
        """The lines that expect bytes."""
        return sorted({c.place for c in self.came if c.expected})

    @property
    def loads(self) -> list[Place]:
        """The lines whose copies deliver bytes."""
        return sorted({p.place for label in self.labels for p in self._ledger.promised[label]})

    def _by_line(self) -> Mapping[Place | None, tuple[int, int]]:
        """Line -> expected and delivered bytes, if the tasks that expect bytes also issue the loads afterwards.

        The bytes between one expectation and the next belong to the first. Otherwise the result is empty.
        """
        sizes: dict[Place, int] = {}
        whole: dict[Place, list[int]] = defaultdict(list)
        broken: dict[Place, list[int]] = defaultdict(list)  # the last expectation, after which the run may have ended
        for label in self.labels:
            under_way: dict[Lane, tuple[Place, int]] = {}
            for entry in self._ledger.books[label]:
                if isinstance(entry, Promise):
                    if entry.lane not in under_way:
                        return {}
                    place, size = under_way[entry.lane]
                    under_way[entry.lane] = (place, size + entry.size)
                elif entry.expected:
                    if entry.lane in under_way:
                        place, size = under_way[entry.lane]
                        whole[place].append(size)
                    sizes[entry.place] = entry.expected
                    under_way[entry.lane] = (entry.place, 0)
            for place, size in under_way.values():
                (whole if self._ledger.ran_dry else broken)[place].append(size)
        return {place: (size, _other(size, whole[place] or [max(broken[place])])) for place, size in sizes.items()}

    def _in_all(self) -> Mapping[Place | None, tuple[int, int]]:
        """Line -> expected and delivered bytes, if peers also issue loads: all bytes, divided by the expectations.

        The barrier with the most bytes counts, since the run may have ended before the others were complete.
        """
        return max((self._in_all_of(label) for label in self.labels), key=lambda found: max(found.values())[1])

    def _in_all_of(self, label: str) -> Mapping[Place | None, tuple[int, int]]:
        expects: dict[Place, list[int]] = defaultdict(list)
        for came in self._ledger.came[label]:
            if came.expected:
                expects[came.place].append(came.expected)
        loads = [p.size for p in self._ledger.promised[label]]
        uses, unit = max(map(len, expects.values()), default=1), gcd(*loads) or 1
        return {next(iter(expects), None): (sum(map(_usual, expects.values())), round(sum(loads) / uses / unit) * unit)}


def _other(size: int, found: Sequence[int]) -> int:
    """The most frequent of the found sizes that differ from `size`, or `size` if there is none."""
    return _usual([x for x in found if x != size] or [size])


def _usual(values: Iterable[int]) -> int:
    return Counter(values).most_common(1)[0][0]
