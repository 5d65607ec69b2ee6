"""Schedules that perturb one thing at a time: what a delay on hardware would show.

A *point* of a kernel is an asynchronous operation (a TMA copy at its line, a wgmma, a commit, an answer of cluster
launch control), wherever it is executed, or a task (a replica of it, in all CTAs) with all that it does itself: waits,
arrivals here and at a peer, atomics, stores. `late`: everybody goes on as soon as possible, but that operation
completes, or that task goes on, when nobody else can; of several the latest is first, so that slots and CTAs come in
another order than they were begun in. `early`: tasks go as far as they can, and operations complete when no task can
go on, but that operation completes at once, or that task goes before all others.

Points are numbered as they come up in a run. Until the n-th does, the run in which it is perturbed is the run in which
none is, `eager` or `lazy`: so each is perturbed, and each once, without a list that somebody would have to keep.
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
KINDS: dict[Kind, Schedule] = {"late": "eager", "early": "lazy"}  # with the schedule that it is of, of no instruction
Point = tuple[str, Place | None]  # of an operation what is done, and where; of a task its name in its CTA
NONE = -1


@dataclass(frozen=True)
class Delay:
    """The point of that number is late, or early; or none is."""

    kind: Kind
    number: int = NONE

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


class Delayed:
    """Chooses by a delay. `numbers` are those of the points that have come up, in all launches of the run."""

    def __init__(self, delay: Delay, numbers: dict[Point, int]) -> None:
        self._late = delay.kind == "late"
        self._number = delay.number
        self._numbers = numbers

    def admit(self, actor: Actor) -> None:
        actor.starved = self._numbers.setdefault(point(actor), len(self._numbers)) == self._number

    def choose(self, ready: list[Task], events: list[Event]) -> Actor:
        """Of what is late the latest, when there is nothing else; what is early at once."""
        first = _first(events, not self._late) or _first(ready, not self._late)
        if first is not None:
            return first
        return ready.pop() if ready else events.pop()


def _first(actors: list[Some], perturbed: bool) -> Some | None:
    """Takes the first that is perturbed, or that is not."""
    at = next((i for i, actor in enumerate(actors) if actor.starved == perturbed), None)
    return None if at is None else actors.pop(at)


def point(actor: Actor) -> Point:
    """What of the kernel somebody is."""
    if isinstance(actor, Event):
        return actor.name, actor.place
    return actor.name.partition(" task ")[2], None


@dataclass(frozen=True)
class Perturbed:
    """The director of a delay. `numbers` are those of the points that came up in its last run."""

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
    """One run for each delay of a point. Those in `known` have been made, with another case of the same kernel."""

    known: set[tuple[Kind, Point]] = field(default_factory=set)

    def of(self, kind: Kind, come_up: dict[Point, int]) -> Iterator[Delay]:
        """Those of the points that have come up, but for the ones that are known; they are known from then on."""
        for where, number in list(come_up.items()):
            if (kind, where) not in self.known:
                self.known.add((kind, where))
                yield Delay(kind, number)

    def complete(self, come_up: dict[Point, int]) -> bool:
        """Whether all of these points have been perturbed either way."""
        return all((kind, where) in self.known for kind in KINDS for where in come_up)
