"""What if one thing of a kernel were different: changes that a run can have made, one at a time.

A verdict tries them. Where a run has findings, and the same run with one change has none, that change says what is
wrong. Operations ask the change of their launch, where there is one, for the number that they are about to use.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal, Protocol

from .findings import Place


class Waited(Protocol):
    """A barrier, as far as a change looks at it."""

    array: str


@dataclass(eq=False)
class Change:
    """No change. Each subclass overrides one question; `place` is the line that asks."""

    def count(self, array: str, count: int) -> int:
        """How many arrivals complete a phase of the barriers of `array`."""
        return count

    def parity(self, place: Place, task: object, barrier: Waited, parity: int) -> int:
        """The parity that a wait of `task` is for."""
        return parity

    def bytes(self, place: Place, size: int) -> int:
        """How many bytes are expected."""
        return size

    def arrivals(self, place: Place, count: int) -> int:
        """How often is arrived; zero for not at all."""
        return count

    def slot(self, place: Place, array: str, index: int, slots: int) -> int:
        """Which slot of a ring, or which barrier of an array."""
        return index

    def pendings(self, place: Place, pendings: int) -> int:
        """How many operations a wait may leave under way."""
        return pendings


@dataclass(eq=False)
class CountOf(Change):
    """The barriers of an array count so many arrivals."""

    array: str
    needed: int

    def count(self, array: str, count: int) -> int:
        return self.needed if array == self.array else count


@dataclass(eq=False)
class ParityOf(Change):
    """A wait is for another phase: for the `other` parity; or a task's n-th wait at a barrier is for the n-th phase, as
    who uses what has been `filled` waits, or for the one before, as who fills what has been `freed` waits."""

    place: Place
    array: str
    rule: Literal["other", "filled", "freed"]
    _waits: dict[tuple[object, Waited], int] = field(default_factory=lambda: defaultdict(int))

    def parity(self, place: Place, task: object, barrier: Waited, parity: int) -> int:
        if place != self.place or barrier.array != self.array:
            return parity
        if self.rule == "other":
            return parity ^ 1
        number = self._waits[task, barrier]
        self._waits[task, barrier] += 1
        return number & 1 if self.rule == "filled" else number & 1 ^ 1


@dataclass(eq=False)
class BytesOf(Change):
    """A line expects so many bytes."""

    place: Place
    size: int

    def bytes(self, place: Place, size: int) -> int:
        return self.size if place == self.place else size


@dataclass(eq=False)
class ArrivalsOf(Change):
    """A line arrives so often."""

    place: Place
    times: int

    def arrivals(self, place: Place, count: int) -> int:
        return self.times if place == self.place else count


@dataclass(eq=False)
class SlotOf(Change):
    """A line uses the slot, or the barrier, that lies `step` further on in the ring."""

    place: Place
    array: str
    step: int

    def slot(self, place: Place, array: str, index: int, slots: int) -> int:
        return (index + self.step) % slots if (place, array) == (self.place, self.array) else index


@dataclass(eq=False)
class PendingsOf(Change):
    """A wait leaves nothing, or less, under way."""

    place: Place
    most: int

    def pendings(self, place: Place, pendings: int) -> int:
        return min(pendings, self.most) if place == self.place else pendings
