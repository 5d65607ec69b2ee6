"""A schedule as a list of decisions, which fits on a command line and always gives the same run.

A list names actors in the order in which they continue: `0.1x7` is task 0.1 seven times, `0.1` the same task until it
blocks, and `0.1e2` an event. `-0.1` holds the task back from then on, until no other actor can continue or the list
names it. An actor that cannot continue is skipped, so a list with parts removed is still valid. After the end of the
list the running task continues, else the first task by name (the program and tasks of CTA 0, then those of CTA 1), else
the event that was issued first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from tlxgen.errors import TlxgenError

from .actors import Actor, Event, Task, rank
from .engine import Chooser
from .watch import Watch

_BLOCK = re.compile(r"(-?)(\d+(?:[.e]\d+)*|e\d+)(?:x(\d+))?")


class ReplayError(TlxgenError):
    """A text to be replayed is not a list of decisions."""


@dataclass(frozen=True)
class Block:
    """The actor with a key continues `times` times (0: as long as it can), or is `held` back."""

    key: str
    times: int = 0
    held: bool = False

    def __str__(self) -> str:
        if self.held:
            return f"-{self.key}"
        return f"{self.key}x{self.times}" if self.times else self.key


@dataclass(frozen=True)
class Script:
    """The decisions of each launch, and the seed that a program draws its inputs from.

    `part` is the number of the program, if several are verified together.
    """

    seed: int
    launches: tuple[tuple[Block, ...], ...] = ()
    part: int = 0

    def __str__(self) -> str:
        part = f"{self.part}@" if self.part else ""
        return f"{part}{self.seed}:" + "/".join(",".join(map(str, blocks)) for blocks in self.launches)

    @classmethod
    def parse(cls, text: str) -> Script:
        """The inverse of `str`. Raises ReplayError."""
        found = re.fullmatch(r"(?:(\d+)@)?(\d+):(.*)", text)
        if found is None:
            raise ReplayError(f"{text!r}: a list of decisions is SEED:LIST, as a finding prints it")
        launches = tuple(tuple(_block(b) for b in one.split(",") if b) for one in found[3].split("/"))
        return cls(int(found[2]), launches if found[3] else (), int(found[1] or 0))

    @classmethod
    def of(cls, seed: int, logs: Iterable[Sequence[str]]) -> Script:
        """The decisions of a run: for each launch, the keys of the chosen actors."""
        return cls(seed, tuple(tuple(Block(key, len([*run])) for key, run in groupby(log)) for log in logs))


def _block(text: str) -> Block:
    found = _BLOCK.fullmatch(text)
    if found is None or (found[1] and found[3]):
        raise ReplayError(f"{text!r} is no decision: a task (0.1), an event (0.1e2), either xN times, or -0.1")
    return Block(found[2], int(found[3] or 0), bool(found[1]))


class Follower:
    """Chooses by a list, and by the default order after its end."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = list(reversed(blocks))
        self._used = 0
        self._held: set[str] = set()
        self._last: Actor | None = None

    def admit(self, actor: Actor) -> None:
        """Does nothing: decisions do not depend on when an actor was created."""

    def choose(self, ready: list[Task], events: list[Event]) -> Actor:
        while self._blocks:
            block = self._blocks[-1]
            if block.held:
                self._held.add(self._blocks.pop().key)
                continue
            chosen = take(block.key, ready, events)
            self._used += 1
            if chosen is None or self._used == block.times:
                self._blocks.pop()
                self._used = 0
            if chosen is not None:
                self._last = chosen
                return chosen
        waiting = in_order(ready, events, self._last)
        first = next((actor for actor in waiting if actor.key not in self._held), waiting[0])
        self._last = take(first.key, ready, events)
        return first


def in_order(ready: list[Task], events: list[Event], last: Actor | None) -> list[Actor]:
    """The actors that can continue, first the one that does so without a decision. `last` is the last actor."""
    tasks = sorted(ready, key=lambda task: (task is not last, rank(task.key)))
    return [*tasks, *events]


def take(key: str, ready: list[Task], events: list[Event]) -> Actor | None:
    """Removes the actor with that key from the lists and returns it; None if it is in neither."""
    at = next((i for i, task in enumerate(ready) if task.key == key), None)
    if at is not None:
        return ready.pop(at)
    at = next((i for i, event in enumerate(events) if event.key == key), None)
    return None if at is None else events.pop(at)


class Logged:
    """A chooser that logs the keys of the actors that it chose."""

    def __init__(self, chooser: Chooser, log: list[str]) -> None:
        self._chooser = chooser
        self._log = log

    def admit(self, actor: Actor) -> None:
        self._chooser.admit(actor)

    def choose(self, ready: list[Task], events: list[Event]) -> Actor:
        chosen = self._chooser.choose(ready, events)
        self._log.append(chosen.key)
        return chosen


@dataclass(frozen=True)
class Scripted:
    """The director of a script."""

    script: Script

    def chooser(self, launch: int) -> Chooser:
        blocks = self.script.launches[launch] if launch < len(self.script.launches) else ()
        return Follower(blocks)

    def watch(self, launch: int) -> Watch | None:
        return None
