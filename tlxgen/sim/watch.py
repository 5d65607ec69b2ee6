"""What can be seen of a run while it goes on: one narrow interface, for traces and for the exhaustive search.

The engine, the barriers and `machine().here()` call it, so that an operation built on them is seen without
a line of its own. A hub without a watch tests one attribute for None, and that is all it costs.
"""

from __future__ import annotations

from types import FrameType
from typing import Protocol

from .actors import Actor, Event, Task
from .findings import Finding, Place

Amount = tuple[int, int]  # arrivals (threads, CTAs) and bytes; what is expected is more, what has come is less


class Barrier(Protocol):
    """An mbarrier, a named barrier or a cluster barrier. `phase` counts its completed phases (rounds).

    `key` names it, within a launch, the same on every schedule. `missing` is what its phase still needs.
    """

    @property
    def key(self) -> str: ...

    @property
    def phase(self) -> int: ...

    @property
    def label(self) -> str: ...

    @property
    def missing(self) -> Amount: ...


class Progress(Protocol):
    """What a watch may ask of the scheduler."""

    @property
    def actor(self) -> Actor | None:
        """Who acts now; None before and after the run."""

    @property
    def steps(self) -> int:
        """How many steps have been taken."""

    @property
    def tasks(self) -> list[Task]:
        """All tasks so far, also those that have ended."""


class Watch:
    """Sees a launch. Each method is called as the thing happens, by who does it (`hub.actor`); none does anything."""

    hub: Progress

    def attach(self, hub: Progress) -> None:
        """The launch of `hub` begins."""
        self.hub = hub

    def acts(self, actor: Actor) -> None:
        """A task goes on, or an event completes."""

    def operation(self, task: Task, place: Place, frame: FrameType) -> None:
        """`task` begins an operation at a line; `frame` is that of the operation's function."""

    def spawned(self, task: Task) -> None:
        """A task begins to exist."""

    def issued(self, event: Event) -> None:
        """An asynchronous operation begins."""

    def completed(self, event: Event) -> None:
        """It has ended."""

    def blocked(self, task: Task, why: str) -> None:
        """`task` stops until it is woken."""

    def woken(self, task: Task, barrier: Barrier | None) -> None:
        """`task` can go on; `barrier` is what held it, if one did."""

    def follows(self, other: Actor) -> None:
        """Who acts now goes on after all of `other`, which has ended."""

    def ended(self, task: Task) -> None:
        """`task` has come to its end."""

    def waits(self, barrier: Barrier, phase: int, place: Place) -> None:
        """A wait that passes when just `phase` phases are complete; maybe they are."""

    def passes(self, barrier: Barrier) -> None:
        """Who acts now goes on after all that completed the barrier's last phase."""

    def arrives(self, barrier: Barrier, amount: Amount, place: Place) -> None:
        """An arrival, or bytes, for the phase after those that are complete: so much is about to be taken from what is
        missing (bytes that are now expected are taken as less than none)."""

    def promises(self, barrier: Barrier, size: int, place: Place) -> None:
        """The operation of the task that acts now will bring so many bytes to a barrier."""

    def completes(self, barrier: Barrier) -> None:
        """A phase, now counted in `barrier.phase`, is complete."""

    def takes(self, what: str) -> None:
        """Who comes first to this gets another part than who comes second."""

    def found(self, finding: Finding) -> None:
        """Something wrong has been noticed, by who acts now."""
