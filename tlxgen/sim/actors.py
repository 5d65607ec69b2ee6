"""The actors of a run: tasks and asynchronous operations. Each has a key that is the same on every schedule."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from greenlet import greenlet

from .findings import Place


@dataclass(eq=False)
class Event:
    """An asynchronous operation. `run` has its effect; `clock` has the bits of all before its issue, and its own."""

    name: str
    place: Place
    bit: int
    clock: int
    run: Callable[[], None]
    queue: deque[Event] | None = None  # if it has one, events complete in its order
    starved: bool = False
    done: bool = False
    waiters: list[Task] = field(default_factory=list)
    key: str = ""
    made: int = 0  # number of tasks and events that it has made
    written: int = 0  # bits of its writes to global memory, if the launch orders these


@dataclass(eq=False)
class Task:
    """A thread of control: a task replica, or a CTA's main program. `blocked` is the reason of a wait, for reports.

    `key` names it within a launch and is the same on every schedule: the number of the program, then that of the task
    or event among those that its maker makes (`0`, `0.2`, `0.2e5`).
    """

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
    key: str = ""
    made: int = 0
    loops: int = 0  # number of open loops whose trip count is not a constant

    @property
    def threads(self) -> int:
        return 32 * self.warps


Actor = Task | Event


@cache
def rank(key: str) -> tuple[int, ...]:
    """The sort key of a key: events come after tasks. A key may have the number of its launch in front."""
    return ("e" in key, *map(int, re.findall(r"\d+", key)))
