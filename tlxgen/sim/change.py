"""Changes of one number of a kernel, for runs that test what is wrong.

If a run has findings and the same run with one change has none, that change is the verdict. Operations ask the change
of their launch, if there is one, for the number that they are about to use.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal, Protocol

from .findings import Place


class Waited(Protocol):
    """The part of a barrier that a change reads."""

    array: str


@dataclass(eq=False)
class Change:
    """No change. Each subclass overrides one method; `place` is the line of the operation that calls it."""

    def count(self, array: str, count: int) -> int:
        """The number of arrivals that complete a phase of the barriers of `array`."""
        return count

    def parity(self, place: Place, task: object, barrier: Waited, parity: int) -> int:
        """The parity of a wait of `task`."""
        return parity

    def bytes(self, place: Place, size: int) -> int:
        """The number of expected bytes."""
        return size

    def arrivals(self, place: Place, count: int) -> int:
        """The number of arrivals; 0 for none."""
        return count

    def slot(self, place: Place, array: str, index: int, slots: int) -> int:
        """The index of a slot of a ring, or of a barrier of an array."""
        return index

    def pendings(self, place: Place, pendings: int) -> int:
        """The number of operations that a wait may leave in flight."""
        return pendings


@dataclass(eq=False)
class CountOf(Change):
    """Changes the arrive count of the barriers of an array."""

    array: str
    needed: int

    def count(self, array: str, count: int) -> int:
        return self.needed if array == self.array else count


@dataclass(eq=False)
class ParityOf(Change):
    """Changes the phase of a wait: to the `other` parity; to phase n for a task's n-th wait at a barrier, as a reader
    of a `filled` slot waits; or to phase n - 1, as a writer to a `freed` slot waits."""

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
    """Changes the bytes that a line expects."""

    place: Place
    size: int

    def bytes(self, place: Place, size: int) -> int:
        return self.size if place == self.place else size


@dataclass(eq=False)
class ArrivalsOf(Change):
    """Changes the number of arrivals of a line."""

    place: Place
    times: int

    def arrivals(self, place: Place, count: int) -> int:
        return self.times if place == self.place else count


@dataclass(eq=False)
class SlotOf(Change):
    """Changes the slot or barrier of a line, by `step` in the ring."""

    place: Place
    array: str
    step: int

    def slot(self, place: Place, array: str, index: int, slots: int) -> int:
        return (index + self.step) % slots if (place, array) == (self.place, self.array) else index


@dataclass(eq=False)
class PendingsOf(Change):
    """Changes the number of operations that a wait leaves in flight to fewer, or none."""

    place: Place
    most: int

    def pendings(self, place: Place, pendings: int) -> int:
        return min(pendings, self.most) if place == self.place else pendings
