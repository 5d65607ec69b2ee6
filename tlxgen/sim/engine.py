"""Runs tasks and asynchronous operations under one seeded scheduler, with an exact happens-before relation.

Tasks are greenlets, so helpers of a kernel can block at any depth without being rewritten. One process decides every
interleaving from a seed, so a run can be repeated. An asynchronous operation (a TMA copy, a wgmma) is an `Event`, which
the scheduler may complete at any time, within the order of its queue.

Every segment of a task between two releases, and every event, has a bit. A clock is the set of bits that happen before,
as one Python integer. A vector clock with one entry an engine would order TMA loads that the hardware does not order.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal, Protocol, get_args

from greenlet import GreenletExit, getcurrent, greenlet

from .actors import Actor, Event, Task, rank
from .findings import Findings
from .watch import Barrier, Watch

Schedule = Literal["random", "starved", "lazy", "eager"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
STARVED_SHARE = 0.15  # share of tasks and events that `starved` holds back until no other can run
FRUITLESS = 1000  # rounds of polls without a change, while no other actor is left, after which a loop does not give up


class Chooser(Protocol):
    """Decides which actor is next, among the tasks that are ready and the events that may complete."""

    def admit(self, actor: Actor) -> None:
        """Notes a new task or event."""

    def choose(self, ready: list[Task], events: list[Event]) -> Actor:
        """Removes an actor from the lists, which are not both empty. A task that just paused is the last of `ready`."""


class Seeded:
    """The four schedules; `random` and `starved` draw from a seed."""

    def __init__(self, schedule: Schedule, seed: int) -> None:
        self._schedule = schedule
        self._random = random.Random(seed)

    def admit(self, actor: Actor) -> None:
        actor.starved = self._random.random() < STARVED_SHARE

    def choose(self, ready: list[Task], events: list[Event]) -> Actor:
        if self._schedule == "eager":  # events at once, tasks in turn
            return events.pop(0) if events else ready.pop(0)
        if self._schedule == "lazy":  # a task as far as it can; events only when no task can run, the latest first
            return ready.pop() if ready else events.pop()
        if self._schedule == "starved":
            awake = [i for i, task in enumerate(ready) if not task.starved]
            awake += [len(ready) + i for i, event in enumerate(events) if not event.starved]
            if awake:
                return self._take(self._random.choice(awake), ready, events)
        return self._take(self._below(len(ready) + len(events)), ready, events)

    def _below(self, end: int) -> int:
        """The same draws as `randrange(end)`, without its checks of arguments."""
        draw, bits = self._random.getrandbits, end.bit_length()
        while (drawn := draw(bits)) >= end:
            pass
        return drawn

    @staticmethod
    def _take(index: int, ready: list[Task], events: list[Event]) -> Actor:
        return ready.pop(index) if index < len(ready) else events.pop(index - len(ready))


class Hub:
    """The scheduler. `run` returns when all tasks have ended and all events have completed."""

    def __init__(self, findings: Findings, chooser: Chooser, max_steps: int, watch: Watch | None = None) -> None:
        self.findings = findings
        self.watch = watch
        self.steps = 0
        self.max_steps = max_steps
        self.actor: Actor | None = None  # the acting task or event; None before and after the run
        self.current: Task  # the running task or, while an event completes, the one that ran last
        self.entered = False  # whether it has come to a barrier since it resumed
        self._chooser = chooser
        self._bits = 0
        self._made = 0
        self._tasks: list[Task] = []
        self._ready: list[Task] = []
        self._events: list[Event] = []  # events that may complete now
        self._looking: list[Task] = []  # tasks that poll for a change by another task
        self._fruitless = 0  # rounds of their polls since anything else happened
        self._hub = getcurrent()
        if watch is not None:
            watch.attach(self)

    # Clocks.

    def new_bit(self) -> int:
        self._bits += 1
        return 1 << self._bits

    def release(self, task: Task) -> int:
        """The clock of everything that `task` has done so far. Its later actions are in a new segment."""
        clock = task.clock
        task.bit = self.new_bit()
        task.clock |= task.bit
        return clock

    def follow(self, other: Task) -> None:
        """Orders the running task after all actions of `other`, which has ended."""
        self.current.clock |= other.clock
        if self.watch is not None:
            self.watch.follows(other)

    # Tasks.

    def new_key(self, sign: str) -> str:
        """A key for a task or event that the actor makes now. It depends on the actor alone."""
        maker = self.actor
        if maker is None:
            self._made += 1
            return f"{sign if sign == 'e' else ''}{self._made - 1}"
        maker.made += 1
        return f"{maker.key}{sign}{maker.made - 1}"

    def spawn(self, task: Task, body: Callable[[], None]) -> None:
        """Starts a task, which runs when the scheduler picks it."""

        def run() -> None:
            body()
            task.finished = True
            if self.watch is not None:
                self.watch.ended(task)

        task.key = self.new_key(".")
        task.thread = greenlet(run, self._hub)  # it returns and raises to the hub, not to the spawning task
        self._chooser.admit(task)
        self._tasks.append(task)
        self._ready.append(task)
        if self.watch is not None:
            self.watch.spawned(task)

    def pause(self) -> None:
        """A point at which the scheduler may switch to other tasks and events."""
        self.tick()
        self._fruitless = 0
        self._ready.append(self.current)
        self._hub.switch()

    def look_again(self) -> None:
        """As `pause`, for a task that polls and has found no change. Other actors go first."""
        self.tick()
        self._looking.append(self.current)
        self._hub.switch()

    def changed(self) -> None:
        """Makes tasks that poll for a change ready again."""
        self._fruitless = 0
        self._ready += self._looking
        self._looking.clear()

    def _poll_again(self) -> None:
        """Makes polling tasks ready although nothing has changed, as no other actor is left: their loops may give up.

        After FRUITLESS such rounds the run ends, since they would poll until the limit of steps.
        """
        rounds = self._fruitless + 1
        if rounds == FRUITLESS:
            text = f"polled {FRUITLESS} times without a change, and no other task is left to make one"
            self.findings.stop("no-progress", text, [task.place for task in self._looking][:3])
        self.changed()
        self._fruitless = rounds

    def enter(self) -> None:
        """Marks that the actor comes to a barrier. Between two barriers of a task the scheduler may switch."""
        if self.entered and isinstance(self.actor, Task):
            self.pause()
        self.entered = True

    def take(self, what: str) -> None:
        """Marks that the actor takes from a shared source, which gives the first actor another part than the second.

        `what` is the source's name, which is the same on every schedule.
        """
        self.enter()
        if self.watch is not None:
            self.watch.takes(what)

    def block(self, why: Callable[[], str]) -> None:
        """Suspends the running task until `wake`."""
        self.tick()
        self.current.blocked = why
        if self.watch is not None:
            self.watch.blocked(self.current, why())
        self._hub.switch()

    def await_event(self, event: Event) -> None:
        """Suspends the running task until `event` has completed. It adds no happens-before order."""
        if not event.done:
            event.waiters.append(self.current)
            self.block(lambda: f"its {event.name}")
        elif self.watch is not None:
            self.watch.follows(event)

    def wake(self, task: Task, barrier: Barrier | None = None) -> None:
        """Makes a blocked task ready; `barrier` is what it waited for."""
        self._fruitless = 0
        task.blocked = None
        self._ready.append(task)
        if self.watch is not None:
            self.watch.woken(task, barrier)

    def tick(self) -> None:
        """Counts a step. At the limit the run ends, so that an endless loop of a kernel gives a finding."""
        self.steps += 1
        if self.steps > self.max_steps:
            running = [t.place for t in self._tasks if not t.finished and t.blocked is None and t.place.line]
            self.findings.stop("no-progress", f"still running after {self.max_steps} steps", running[:3])

    # Events.

    def issue(self, event: Event) -> None:
        """Hands an event to the scheduler. An event with a queue completes after those before it in the queue."""
        event.key = self.new_key("e")
        self._chooser.admit(event)
        if self.watch is not None:
            self.watch.issued(event)
        if event.queue is not None:
            event.queue.append(event)
            if event.queue[0] is not event:
                return
        self._events.append(event)

    def _complete(self, event: Event) -> None:
        self.tick()
        self._fruitless = 0
        event.run()
        event.done = True
        if self.watch is not None:
            self.watch.completed(event)
        for task in event.waiters:
            self.wake(task)
        if event.queue is not None:
            event.queue.popleft()
            if event.queue:
                self._events.append(event.queue[0])

    # The loop.

    def run(self) -> None:
        """Runs all tasks and events to their end, in the greenlet that made the hub.

        Raises Stop for a deadlock. When it raises, it kills the remaining tasks.
        """
        try:
            while self._ready or self._events or self._looking:
                if not self._ready and not self._events:
                    self._poll_again()
                self.actor = chosen = self._chooser.choose(self._ready, self._events)
                self.entered = False
                if self.watch is not None:
                    self.watch.acts(chosen)
                if isinstance(chosen, Event):
                    self._complete(chosen)
                else:
                    assert chosen.thread is not None
                    self.current = chosen
                    chosen.thread.switch()
            self.actor = None
            blocked = sorted((t for t in self._tasks if not t.finished), key=lambda t: rank(t.key))
            if blocked:
                text = "; ".join(
                    f"{t.name} (line {t.place.line}) waits for {t.blocked()}" for t in blocked if t.blocked
                )
                self.findings.stop("deadlock", text, dict.fromkeys(t.place for t in blocked))
        finally:
            self._kill()

    @property
    def tasks(self) -> list[Task]:
        """All tasks so far, including those that have ended."""
        return self._tasks

    def _kill(self) -> None:
        for task in self._tasks:
            if task.thread is not None and not task.thread.dead:
                task.thread.throw(GreenletExit)
