"""Schedules that delay or advance one point of a kernel at a time, as timing on hardware could.

A *point* is an asynchronous operation at a line (a TMA copy, a wgmma, a commit, a response of cluster launch control),
or a task (one replica, in all CTAs) with its own actions: waits, arrivals, atomics, stores. Under `late` all actors run
as soon as possible, except that the point's operations complete, or its task runs, only when no other actor can. The
latest of several comes first, so that slots and CTAs complete in another order than they were started. Under `early`
tasks run as far as they can, and operations complete when no task can run, except that the point's operations complete
at once, or its task runs before all others.

Points are numbered in the order in which they occur in a run. Until point n occurs, the run that perturbs it is the
same as the unperturbed run (`eager` or `lazy`), so each point is found and perturbed once, without a list of points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from .actors import Actor, Event, Task
from .engine import Chooser, Schedule
from .findings import Place
from .watch import Watch

Some = TypeVar("Some", Task, Event)
Kind = Literal["late", "early"]
KINDS: dict[Kind, Schedule] = {"late": "eager", "early": "lazy"}  # kind -> schedule without a perturbed point
Point = tuple[str, Place | None]  # kind and line of an operation; or the name of a task in its CTA, and None
NONE = -1


@dataclass(frozen=True)
class Delay:
    """The point with a number is late, or early; or no point is."""

    kind: Kind
    number: int = NONE

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


class Delayed:
    """Chooses by a delay. `numbers` are those of the points that have occurred in the launches of the run."""

    def __init__(self, delay: Delay, numbers: dict[Point, int]) -> None:
        self._late = delay.kind == "late"
        self._number = delay.number
        self._numbers = numbers

    def admit(self, actor: Actor) -> None:
        actor.starved = self._numbers.setdefault(point(actor), len(self._numbers)) == self._number

    def choose(self, ready: list[Task], events: list[Event]) -> Actor:
        """Takes an early actor at once, and a late one, the latest first, only when there is no other."""
        first = _first(events, not self._late) or _first(ready, not self._late)
        if first is not None:
            return first
        return ready.pop() if ready else events.pop()


def _first(actors: list[Some], perturbed: bool) -> Some | None:
    """Removes and returns the first actor that is, or is not, perturbed."""
    at = next((i for i, actor in enumerate(actors) if actor.starved == perturbed), None)
    return None if at is None else actors.pop(at)


def point(actor: Actor) -> Point:
    """The point of an actor."""
    if isinstance(actor, Event):
        return actor.name, actor.place
    return actor.name.partition(" task ")[2], None


@dataclass(frozen=True)
class Perturbed:
    """The director of a delay. `numbers` are those of the points that occurred in its last run."""

    delay: Delay
    numbers: dict[Point, int] = field(default_factory=dict, compare=False, repr=False)

    def chooser(self, launch: int) -> Chooser:
        if launch == 0:
            self.numbers.clear()
        return Delayed(self.delay, self.numbers)

    def watch(self, launch: int) -> Watch | None:
        return None


@dataclass(frozen=True)
class Delays:
    """One run for each delay of a point, except those `known` from another case of the same kernel."""

    known: set[tuple[Kind, Point]] = field(default_factory=set)

    def of(self, kind: Kind, come_up: dict[Point, int]) -> Iterator[Delay]:
        """Yields the delays of points that have occurred and are not known yet, and adds them to the known ones."""
        for where, number in list(come_up.items()):
            if (kind, where) not in self.known:
                self.known.add((kind, where))
                yield Delay(kind, number)

    def complete(self, come_up: dict[Point, int]) -> bool:
        """Whether all of these points have been both delayed and advanced."""
        return all((kind, where) in self.known for kind in KINDS for where in come_up)
