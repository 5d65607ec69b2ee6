"""The happens-before order of accesses to global memory in a launch whose CTAs synchronise through atomics.

An atomic with release semantics publishes its task's actions to tasks that later acquire at the same address; other
atomics at that address pass them on. TMA stores become part of a task's past after `cp.async.bulk.wait_group` and a
meeting of the task's warps. TLX's own wait for stores only covers the reads of their source.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch

from .actors import Event
from .engine import Hub
from .regions import Region, distinct, get, put

Kind = Literal["write", "read", "add"]
Key = tuple[int, int]  # key of a storage as a vector of elements of one size
_OTHERS: tuple[Kind, ...] = ("read", "add")  # than writes
SEVERAL = -1  # stands for several CTAs
_AGAINST: dict[Kind, tuple[Kind, ...]] = {
    "write": ("write", "read", "add"),
    "read": ("write", "add"),
    "add": ("write", "read"),
}


class GlobalOrder:
    """For each element the number of its accesses since (and including) the last write: a CTA, and bits of clocks."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._accesses: list[tuple[int, int]] = [(SEVERAL, 0)]  # number 0: none
        self._joined: dict[tuple[int, int], int] = {}
        self._last: dict[tuple[Kind, Key], torch.Tensor] = {}
        self._released: dict[tuple[Key, int], int] = {}  # clocks by address

    def unordered(self, kind: Kind, key: Key, at: Region, cta: int) -> list[tuple[Kind, int, torch.Tensor]]:
        """Accesses of other CTAs to the elements `at` that conflict with an access of this kind, and do not happen
        before it: kind, CTA (or SEVERAL), and the elements."""
        actor = self._hub.actor
        clock = actor.clock if actor is not None else 0
        found = []
        for other in _AGAINST[kind]:
            if (other, key) not in self._last:
                continue
            before = get(self._last[other, key], at)
            for number in distinct(before):
                by, bits = self._accesses[number]
                if by != cta and bits & ~clock:
                    found.append((other, by, before == number))
        return found

    def note(self, kind: Kind, key: Key, size: int, at: Region, cta: int) -> None:
        """Records an access to the elements `at` of a storage that has so many."""
        actor = self._hub.actor
        bit = 0 if actor is None else actor.bit
        if isinstance(actor, Event) and kind != "read":
            bit = self._hub.new_bit()
            actor.written |= bit
        self._accesses.append((cta, bit))
        number = len(self._accesses) - 1
        if (kind, key) not in self._last:
            self._last[kind, key] = torch.zeros(size, dtype=torch.int32)
        numbers = self._last[kind, key]
        if kind == "write":  # later accesses that follow it also follow all before it, or a race was reported
            put(numbers, at, number)
            for each in _OTHERS:
                if (each, key) in self._last:
                    put(self._last[each, key], at, 0)
            return
        before = get(numbers, at)
        found = distinct(before)
        if len(found) == 1:
            put(numbers, at, self._join(found[0], number) if found[0] else number)
            return
        after = torch.full_like(before, number)
        for other in found:
            if other:
                after[before == other] = self._join(other, number)
        put(numbers, at, after)

    def release(self, key: Key, places: Iterable[int]) -> None:
        """Publishes the running task's past at an address."""
        clock = self._hub.release(self._hub.current)
        for place in places:
            self._released[key, place] = self._released.get((key, place), 0) | clock

    def acquire(self, key: Key, places: Iterable[int]) -> None:
        """Orders the running task after everything that was released at an address."""
        for place in places:
            self._hub.current.clock |= self._released.get((key, place), 0)

    def _join(self, first: int, second: int) -> int:
        """The number of the union of two sets of accesses."""
        if (first, second) not in self._joined:
            (a, bits), (b, more) = self._accesses[first], self._accesses[second]
            self._accesses.append((a if a == b else SEVERAL, bits | more))
            self._joined[first, second] = len(self._accesses) - 1
        return self._joined[first, second]
