"""A trace of one launch: what each task and each engine did, in steps of the scheduler.

A `Watch` records it for runs that are shown; other runs have no trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FrameType
from typing import Literal

from .actors import Event, Task
from .findings import Finding, Key, Place
from .watch import Amount, Barrier, Watch

Kind = Literal["operation", "blocked", "asynchronous"]


@dataclass(frozen=True, order=True)
class Lane:
    """A track of a trace: a task, or an engine, that is, all asynchronous operations of a kind of a CTA."""

    cta: int
    engine: bool
    name: str

    def __str__(self) -> str:
        return f"CTA {self.cta} {self.name}"


@dataclass(eq=False)
class Span:
    """An interval from step `begin` to `end`, which is None while it is open.

    An operation of a task lasts until the task continues after the operation's last pause; `blocked` spans are inside
    of operations. An asynchronous operation lasts from its issue, by `issuer`, to its completion. `objects` are buffers
    and barriers.
    """

    lane: Lane
    kind: Kind
    name: str
    place: Place
    begin: int
    end: int | None = None
    objects: tuple[str, ...] = ()
    issuer: Lane | None = None

    def touch(self, label: str) -> None:
        if label not in self.objects:
            self.objects += (label,)


@dataclass(frozen=True)
class Release:
    """At `step`, during the span `source`, the task that was blocked in the span `target` was woken."""

    source: Span
    target: Span
    step: int


@dataclass(frozen=True)
class Arrival:
    """An arrival on a barrier, for its phase number `phase` (the first is 1)."""

    lane: Lane
    place: Place
    step: int
    amount: Amount
    phase: int


@dataclass(frozen=True)
class Phase:
    """A phase of a barrier, which was completed at `step` by the last arrival."""

    barrier: str
    number: int
    step: int
    lane: Lane


@dataclass(eq=False)
class Trace(Watch):
    """The trace of a launch."""

    spans: list[Span] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    arrivals: dict[str, list[Arrival]] = field(default_factory=dict)  # by barrier
    found_at: dict[Key, tuple[int, Lane | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._now: dict[Task, Span] = {}  # the current operation of each task
        self._fresh: set[Task] = set()  # tasks that have not been suspended in their current operation
        self._at: dict[Task, Barrier] = {}  # the barrier that a task has used since it resumed
        self._blocks: dict[Task, Span] = {}
        self._issued: dict[Event, Span] = {}
        self._lanes: dict[Task | Event, Lane] = {}

    @property
    def steps(self) -> int:
        return self.hub.steps

    def lane(self, actor: Task | Event) -> Lane:
        if actor not in self._lanes:
            cta = getattr(actor, "cta", None)
            number = 0 if cta is None else cta.number
            name = actor.name.removeprefix(f"CTA {number}").strip() or "program"
            self._lanes[actor] = Lane(number, False, name)
        return self._lanes[actor]

    @property
    def _actor(self) -> Lane | None:
        return None if self.hub.actor is None else self.lane(self.hub.actor)

    def acts(self, actor: Task | Event) -> None:
        if isinstance(actor, Task) and actor in self._now:
            self._fresh.discard(actor)
            self._at.pop(actor, None)
            self._now[actor].end = self.steps

    def operation(self, task: Task, place: Place, frame: FrameType) -> None:
        name = frame.f_code.co_name
        now = self._now.get(task)
        if name.startswith("_") or (task in self._fresh and now and (now.name, now.place) == (name, place)):
            return  # a part of an operation: indexing, or a second query of its line
        labelled = (v for v in frame.f_locals.values() if isinstance(getattr(type(v), "label", None), property))
        objects = tuple(dict.fromkeys(v.label for v in labelled))
        span = Span(self.lane(task), "operation", name, place, self.steps, self.steps, objects)
        self._now[task] = span
        self._fresh.add(task)
        self.spans.append(span)

    def issued(self, event: Event) -> None:
        by, doing = self._actor or Lane(0, False, ""), self._doing
        lane = self._lanes[event] = Lane(by.cta, True, event.name)
        objects = doing.objects if doing else ()
        span = Span(lane, "asynchronous", event.name, event.place, self.steps, None, objects, by)
        self._issued[event] = span
        self.spans.append(span)

    def completed(self, event: Event) -> None:
        self._issued[event].end = self.steps

    def blocked(self, task: Task, why: str) -> None:
        held = self._at.get(task)
        objects = (held.label,) if held else ()
        span = Span(self.lane(task), "blocked", why, task.place, self.steps, None, objects)
        self._blocks[task] = span
        if task in self._now:
            self._now[task].end = None  # open again until it resumes
        self.spans.append(span)

    def woken(self, task: Task, barrier: Barrier | None) -> None:
        blocked, source = self._blocks.pop(task, None), self._doing
        if blocked is not None:
            blocked.end = self.steps
            if source is not None:
                self.releases.append(Release(source, blocked, self.steps))

    def waits(self, barrier: Barrier, phase: int, place: Place) -> None:
        self._touch(barrier)

    def arrives(self, barrier: Barrier, amount: Amount, place: Place) -> None:
        self._touch(barrier)
        if self._actor is not None:
            made = Arrival(self._actor, place, self.steps, amount, barrier.phase + 1)
            self.arrivals.setdefault(barrier.label, []).append(made)

    def completes(self, barrier: Barrier) -> None:
        if self._actor is not None:
            self.phases.append(Phase(barrier.label, barrier.phase, self.steps, self._actor))

    def found(self, finding: Finding) -> None:
        self.found_at[finding.key] = (self.steps, self._actor)

    def _touch(self, barrier: Barrier) -> None:
        if self._doing is not None:
            self._doing.touch(barrier.label)
        if isinstance(self.hub.actor, Task):
            self._at[self.hub.actor] = barrier

    @property
    def _doing(self) -> Span | None:
        """The current span of the actor."""
        actor = self.hub.actor
        if isinstance(actor, Event):
            return self._issued.get(actor)
        return self._now.get(actor) if actor else None
