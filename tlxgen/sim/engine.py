"""Tasks and asynchronous operations under one seeded scheduler, and what happens before what.

Tasks are greenlets: a kernel's helpers may block at any depth without being rewritten, and one process decides every
interleaving from a seed, so that a run can be repeated. An asynchronous operation (a TMA copy, a wgmma) is an `Event`
which the scheduler completes when it likes, within the order of its queue.

Happens-before is exact: every segment of a task between two releases, and every event, has a bit; a clock is the set of
bits that lie before, one Python integer. A vector clock with one entry an engine would order TMA loads that the
hardware does not order.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

from greenlet import GreenletExit, getcurrent, greenlet

from .findings import Findings, Place

Schedule = Literal["random", "starved", "lazy", "eager"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
STARVED_SHARE = 0.15  # of tasks and events that wait, under `starved`, until nothing else can run
CLOCK_CHECK = 0xFF  # the time is looked at when a step's number has none of these bits


@dataclass(eq=False)
class Event:
    """An asynchronous operation. `run` has its effect; `clock` holds all before its issue, and its own bit."""

    name: str
    place: Place
    bit: int
    clock: int
    run: Callable[[], None]
    queue: deque[Event] | None = None  # completes in the order of this queue, when it has one
    starved: bool = False
    done: bool = False
    waiters: list[Task] = field(default_factory=list)


@dataclass(eq=False)
class Task:
    """A thread of control: a task replica, or a CTA's main program. `blocked` says on what, for reports."""

    name: str
    warps: int
    clock: int
    bit: int
    replica: int = 0
    starved: bool = False
    place: Place = field(default_factory=lambda: Place("", 0))
    blocked: Callable[[], str] | None = None
    finished: bool = False
    thread: greenlet | None = None

    @property
    def threads(self) -> int:
        return 32 * self.warps


class Hub:
    """The scheduler. `run` returns when all tasks have ended and all events have completed."""

    def __init__(self, findings: Findings, schedule: Schedule, seed: int, max_steps: int, seconds: float) -> None:
        self.findings = findings
        self.schedule = schedule
        self.steps = 0
        self.max_steps = max_steps
        self._deadline = time.monotonic() + seconds
        self._random = random.Random(seed)
        self._bits = 0
        self._tasks: list[Task] = []
        self._ready: list[Task] = []
        self._events: list[Event] = []  # those that may complete now
        self._by_thread: dict[greenlet, Task] = {}
        self._hub = getcurrent()

    # Clocks.

    def new_bit(self) -> int:
        self._bits += 1
        return 1 << self._bits

    def release(self, task: Task) -> int:
        """The clock of all that `task` has done; what it does from now on is not in it."""
        clock = task.clock
        task.bit = self.new_bit()
        task.clock |= task.bit
        return clock

    # Tasks.

    def spawn(self, task: Task, body: Callable[[], None]) -> None:
        """Starts a task, which runs when the scheduler picks it."""

        def run() -> None:
            body()
            task.finished = True

        task.starved = self._random.random() < STARVED_SHARE
        task.thread = greenlet(run, self._hub)  # where it returns, and raises, to: not the task that spawns it
        self._by_thread[task.thread] = task
        self._tasks.append(task)
        self._ready.append(task)

    @property
    def current(self) -> Task:
        """The task that runs now."""
        return self._by_thread[getcurrent()]

    def pause(self) -> None:
        """A point where other tasks and events may come in between."""
        self.tick()
        self._ready.append(self.current)
        self._switch()

    def block(self, why: Callable[[], str]) -> None:
        """Suspends the task that runs, until `wake`."""
        self.tick()
        self.current.blocked = why
        self._switch()

    def await_event(self, event: Event) -> None:
        """Suspends the task that runs until `event` has completed; does not order what follows after it."""
        if not event.done:
            event.waiters.append(self.current)
            self.block(lambda: f"its {event.name}")

    def wake(self, task: Task) -> None:
        task.blocked = None
        self._ready.append(task)

    def _switch(self) -> None:
        self._hub.switch()

    def tick(self) -> None:
        """Counts a step; ends the run at its limits, so that a kernel that loops for ever ends with a finding."""
        self.steps += 1
        if self.steps > self.max_steps or (not self.steps & CLOCK_CHECK and time.monotonic() > self._deadline):
            places = [t.place for t in self._tasks if not t.finished and t.blocked is None]
            self.findings.stop("no-progress", f"still running after {self.steps} steps", places[:3])

    # Events.

    def issue(self, event: Event) -> None:
        """Hands an event to the scheduler; one with a queue completes after those before it there."""
        event.starved = self._random.random() < STARVED_SHARE
        if event.queue is not None:
            event.queue.append(event)
            if event.queue[0] is not event:
                return
        self._events.append(event)

    def _complete(self, event: Event) -> None:
        self.tick()
        event.run()
        event.done = True
        for task in event.waiters:
            self.wake(task)
        if event.queue is not None:
            event.queue.popleft()
            if event.queue:
                self._events.append(event.queue[0])

    # The loop.

    def run(self) -> None:
        """Runs everything to its end, in the greenlet that made the hub.

        Raises Stop for a deadlock; kills what is left when it raises.
        """
        try:
            while self._ready or self._events:
                chosen = self._choose()
                if isinstance(chosen, Event):
                    self._complete(chosen)
                else:
                    assert chosen.thread is not None
                    chosen.thread.switch()
            blocked = [t for t in self._tasks if not t.finished]
            if blocked:
                text = "; ".join(
                    f"{t.name} (line {t.place.line}) waits for {t.blocked()}" for t in blocked if t.blocked
                )
                self.findings.stop("deadlock", text, dict.fromkeys(t.place for t in blocked))
        finally:
            self._kill()

    def _choose(self) -> Task | Event:
        ready, events = self._ready, self._events
        if self.schedule == "eager":  # events at once, tasks in turn
            return events.pop(0) if events else ready.pop(0)
        if self.schedule == "lazy":  # a task as far as it goes; events only when none can go on, the latest first
            return ready.pop() if ready else events.pop()
        if self.schedule == "starved":
            awake = [i for i, task in enumerate(ready) if not task.starved]
            awake += [len(ready) + i for i, event in enumerate(events) if not event.starved]
            if awake:
                return self._take(self._random.choice(awake))
        return self._take(self._random.randrange(len(ready) + len(events)))

    def _take(self, index: int) -> Task | Event:
        if index < len(self._ready):
            return self._ready.pop(index)
        return self._events.pop(index - len(self._ready))

    def _kill(self) -> None:
        for task in self._tasks:
            if task.thread is not None and not task.thread.dead:
                task.thread.throw(GreenletExit)
