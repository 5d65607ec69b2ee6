"""The books of one launch: for each mbarrier who arrives, who waits for which phase, which bytes are expected, and which
copies bring them. What a verdict is derived from.

`Account` sums up the barriers of one array over its slots and over all CTAs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType

from .actors import Event, Task
from .barriers import Mbarrier
from .findings import Place
from .machine import BarrierArray
from .memory import Buffer
from .trace import Lane, Trace
from .watch import Amount, Barrier


@dataclass(frozen=True)
class Came:
    """An arrival: of a task, or of an asynchronous operation that it issued. `expected` bytes must come, too."""

    lane: Lane
    engine: str  # of what operation, or empty
    place: Place
    count: int
    expected: int
    phase: int  # the first is 1


@dataclass(frozen=True)
class Wait:
    """A wait that passes when `wanted` phases are complete, and came when `phase` were."""

    lane: Lane
    place: Place
    barrier: str
    wanted: int
    phase: int


@dataclass(frozen=True)
class Promise:
    """A copy that brings `size` bytes."""

    lane: Lane
    place: Place
    size: int


@dataclass(eq=False)
class Ledger(Trace):
    """A launch as it was seen, with the books of its mbarriers, by label."""

    barriers: dict[str, Mbarrier] = field(default_factory=dict)
    came: dict[str, list[Came]] = field(default_factory=lambda: defaultdict(list))
    awaited: dict[str, list[Wait]] = field(default_factory=lambda: defaultdict(list))
    promised: dict[str, list[Promise]] = field(default_factory=lambda: defaultdict(list))
    pendings: dict[Place, int] = field(default_factory=dict)  # what waits for groups leave under way, by line
    indexed: set[tuple[Place, str]] = field(default_factory=set)  # lines, and the rings and arrays that they index

    def operation(self, task: Task, place: Place, frame: FrameType) -> None:
        super().operation(task, place, frame)
        if isinstance(left := frame.f_locals.get("pendings"), int):
            self.pendings[place] = max(left, self.pendings.get(place, 0))
        if frame.f_code.co_name == "__getitem__" and isinstance(ring := frame.f_locals.get("self"), (Buffer, BarrierArray)):
            self.indexed.add((place, ring.name))

    def arrives(self, barrier: Barrier, amount: Amount, place: Place) -> None:
        super().arrives(barrier, amount, place)
        count, size = amount
        if isinstance(barrier, Mbarrier) and self.hub.actor is not None:
            self.barriers[barrier.label] = barrier
            if count:
                lane, engine = self._behind()
                self.came[barrier.label].append(Came(lane, engine, place, count, -size, barrier.phase + 1))

    def waits(self, barrier: Barrier, phase: int, place: Place) -> None:
        super().waits(barrier, phase, place)
        if isinstance(barrier, Mbarrier) and self.hub.actor is not None:
            self.barriers[barrier.label] = barrier
            self.awaited[barrier.label].append(Wait(self._behind()[0], place, barrier.label, phase, barrier.phase))

    def promises(self, barrier: Barrier, size: int, place: Place) -> None:
        if isinstance(barrier, Mbarrier):
            self.barriers[barrier.label] = barrier
            self.promised[barrier.label].append(Promise(self._behind()[0], place, size))

    def stuck(self) -> list[tuple[Lane, str]]:
        """Tasks that wait at the end, and the mbarriers that they wait for."""
        held = [s for s in self.spans if s.kind == "blocked" and s.end is None]
        return [(s.lane, label) for s in held for label in s.objects if label in self.barriers]

    def accounts(self) -> list[Account]:
        """One of each array, in the order of allocation."""
        arrays: dict[tuple[str, Place], list[Mbarrier]] = defaultdict(list)
        for barrier in self.barriers.values():
            arrays[barrier.array, barrier.place].append(barrier)
        return [Account(self, barriers) for _, barriers in sorted(arrays.items(), key=lambda one: one[0][1])]

    def _behind(self) -> tuple[Lane, str]:
        """The task that acts, or that issued what acts, and the name of that."""
        actor = self.hub.actor
        assert actor is not None
        if isinstance(actor, Event):
            issuer = self._issued[actor].issuer
            return issuer or self.lane(actor), actor.name
        return self.lane(actor), ""


@dataclass(frozen=True)
class Party:
    """A task that arrives, of its own CTA or of a peer: at which lines, how often, with what count in a call."""

    task: str
    remote: bool
    engine: str
    places: tuple[Place, ...]
    calls: int
    count: int


class Account:
    """What the ledger has of one array of barriers."""

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

    @property
    def busiest(self) -> Mbarrier:
        """The one of its barriers on which most has been expected and promised."""
        books = self._ledger
        return max(self.barriers, key=lambda b: (len(books.came[b.label]) + len(books.promised[b.label])))

    def parties(self, label: str | None = None) -> list[Party]:
        """Who arrives; on one of the barriers, if `label` says which."""
        found: dict[tuple[str, bool, str], list[Came]] = defaultdict(list)
        for one in [label] if label else self.labels:
            cta = one.rpartition(" of CTA ")[2]
            for c in self._ledger.came[one]:
                found[c.lane.name, str(c.lane.cta) != cta, c.engine].append(c)
        return [
            Party(*key, tuple(sorted({c.place for c in calls})), len(calls), max(c.count for c in calls))
            for key, calls in sorted(found.items())
        ]

    def arrivals_of(self, label: str) -> Counter[Lane]:
        """On one barrier, the count of one call of each task, those of other CTAs among them."""
        return Counter({c.lane: max(c.count, 0) for c in self._ledger.came[label]})

    @property
    def takes_bytes(self) -> bool:
        return any(c.expected for c in self.came) or any(self._ledger.promised[label] for label in self.labels)

    @property
    def expected(self) -> int:
        """Bytes that are expected in a phase: of each line that expects some, once."""
        label = self.busiest.label
        return sum(self._usual(c.expected for c in self._of(label, p)) for p in self.expecting(label))

    def expecting(self, label: str | None = None) -> list[Place]:
        """The lines that expect bytes."""
        came = self._ledger.came[label] if label else self.came
        return sorted({c.place for c in came if c.expected})

    def usual_bytes(self, place: Place) -> int:
        """What a line expects at a time."""
        return self._usual(c.expected for c in self.came if c.place == place and c.expected)

    @property
    def brought(self) -> int:
        """Bytes that copies bring in a phase: of each line and task, as often as it loads for one expectation."""
        label = self.busiest.label
        uses = max((len(self._of(label, p)) for p in self.expecting(label)), default=0)
        loads: dict[tuple[Lane, Place], list[int]] = defaultdict(list)
        for promise in self._ledger.promised[label]:
            loads[promise.lane, promise.place].append(promise.size)
        uses = uses or max(map(len, loads.values()), default=1)
        return sum(max(1, round(len(sizes) / uses)) * self._usual(sizes) for sizes in loads.values())

    @property
    def loads(self) -> list[Place]:
        """The lines whose copies bring bytes."""
        return sorted({p.place for label in self.labels for p in self._ledger.promised[label]})

    def _of(self, label: str, place: Place) -> list[Came]:
        return [c for c in self._ledger.came[label] if c.place == place and c.expected]

    @staticmethod
    def _usual(values: Iterable[int]) -> int:
        return Counter(values).most_common(1)[0][0]
