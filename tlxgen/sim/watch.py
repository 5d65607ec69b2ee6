"""The interface for observers of a run, which traces and the exhaustive search use.

The engine, the barriers and `machine().here()` call it, so operations that are built on them need no calls of their
own. Without a watch, the only cost is a test of one attribute for None.
"""

from __future__ import annotations

from types import FrameType
from typing import Protocol

from .actors import Actor, Event, Task
from .findings import Finding, Place

Amount = tuple[int, int]  # arrivals (threads, CTAs) and bytes


class Barrier(Protocol):
    """An mbarrier, a named barrier or a cluster barrier. `phase` counts its completed phases (rounds).

    `key` names it within a launch and is the same on every schedule. `missing` is what its phase still needs.
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
    """The part of the scheduler that a watch may query."""

    @property
    def actor(self) -> Actor | None:
        """The acting task or event; None before and after the run."""

    @property
    def steps(self) -> int:
        """The number of steps so far."""

    @property
    def tasks(self) -> list[Task]:
        """All tasks so far, including those that have ended."""


class Watch:
    """Observes a launch. Each method is called when something happens, by its actor (`hub.actor`), and does nothing."""

    hub: Progress

    def attach(self, hub: Progress) -> None:
        """The launch of `hub` starts."""
        self.hub = hub

    def acts(self, actor: Actor) -> None:
        """A task resumes, or an event completes."""

    def operation(self, task: Task, place: Place, frame: FrameType) -> None:
        """`task` starts an operation at a line. `frame` is the frame of the operation's function."""

    def spawned(self, task: Task) -> None:
        """A task is created."""

    def issued(self, event: Event) -> None:
        """An asynchronous operation is issued."""

    def completed(self, event: Event) -> None:
        """An asynchronous operation has completed."""

    def blocked(self, task: Task, why: str) -> None:
        """`task` blocks until it is woken."""

    def woken(self, task: Task, barrier: Barrier | None) -> None:
        """`task` is ready again. `barrier` is the one that it waited for, if it did."""

    def follows(self, other: Actor) -> None:
        """The actor is ordered after all actions of `other`, which has ended."""

    def ended(self, task: Task) -> None:
        """`task` has ended."""

    def waits(self, barrier: Barrier, phase: int, place: Place) -> None:
        """A wait starts that passes when exactly `phase` phases are complete, which may already be so."""

    def passes(self, barrier: Barrier) -> None:
        """The actor passes a wait, and is ordered after everything that completed the barrier's last phase."""

    def arrives(self, barrier: Barrier, amount: Amount, place: Place) -> None:
        """An arrival, or bytes, for the current phase. `amount` is about to be subtracted from what is missing (it is
        negative for bytes that are now expected)."""

    def promises(self, barrier: Barrier, size: int, place: Place) -> None:
        """An operation of the acting task will deliver `size` bytes to a barrier."""

    def completes(self, barrier: Barrier) -> None:
        """A phase is complete, and `barrier.phase` includes it."""

    def takes(self, what: str) -> None:
        """The actor takes from a shared source, which gives the first actor another part than the second."""

    def found(self, finding: Finding) -> None:
        """The actor has caused a finding."""
