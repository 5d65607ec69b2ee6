"""Accesses to global memory of a launch whose CTAs order themselves through atomics: which lie before which.

An atomic that releases gives what its task has done to whoever acquires at the same address later; any other atomic
there passes it on. Writes by TMA come into a task's past when it has waited for them, `cp.async.bulk.wait_group`, and
its warps have met: TLX's own wait is for the reading of their source.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch

from .actors import Event
from .engine import Hub

Kind = Literal["write", "read", "add"]
Key = tuple[int, int]  # of a storage, as a vector of elements of one size
SEVERAL = -1  # CTAs
_AGAINST: dict[Kind, tuple[Kind, ...]] = {
    "write": ("write", "read", "add"),
    "read": ("write", "add"),
    "add": ("write", "read"),
}


class GlobalOrder:
    """For each element the accesses since its last write, that one included, by number: a CTA, and bits of clocks."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._accesses: list[tuple[int, int]] = [(SEVERAL, 0)]  # number 0: none
        self._joined: dict[tuple[int, int], int] = {}
        self._last: dict[tuple[Kind, Key], torch.Tensor] = {}
        self._released: dict[tuple[Key, int], int] = {}  # clocks by address

    def unordered(
        self, kind: Kind, key: Key, size: int, at: torch.Tensor, cta: int
    ) -> list[tuple[Kind, int, torch.Tensor]]:
        """Accesses by other CTAs to the elements `at` that do not lie before one of this kind now, and conflict with
        it: kind, CTA (or SEVERAL) and which elements."""
        actor = self._hub.actor
        clock = actor.clock if actor is not None else 0
        found = []
        for other in _AGAINST[kind]:
            before = self._numbers(other, key, size)[at]
            for number in torch.unique(before).tolist():
                by, bits = self._accesses[number]
                if by != cta and bits & ~clock:
                    found.append((other, by, before == number))
        return found

    def note(self, kind: Kind, key: Key, size: int, at: torch.Tensor, cta: int) -> None:
        """An access to the elements `at`, now."""
        actor = self._hub.actor
        bit = 0 if actor is None else actor.bit
        if isinstance(actor, Event) and kind != "read":
            bit = self._hub.new_bit()
            actor.written |= bit
        self._accesses.append((cta, bit))
        number = len(self._accesses) - 1
        if kind == "write":  # what lies after it lies after all before it, or has been reported
            for each in ("write", "read", "add"):
                self._numbers(each, key, size)[at] = number if each == "write" else 0
            return
        numbers = self._numbers(kind, key, size)
        before = numbers[at]
        after = torch.full_like(before, number)
        for other in torch.unique(before).tolist():
            if other:
                after[before == other] = self._join(other, number)
        numbers[at] = after

    def release(self, key: Key, places: Iterable[int]) -> None:
        """The task that runs gives what it has done so far to who acquires there."""
        clock = self._hub.release(self._hub.current)
        for place in places:
            self._released[key, place] = self._released.get((key, place), 0) | clock

    def acquire(self, key: Key, places: Iterable[int]) -> None:
        """The task that runs comes after what has been released there."""
        for place in places:
            self._hub.current.clock |= self._released.get((key, place), 0)

    def _numbers(self, kind: Kind, key: Key, size: int) -> torch.Tensor:
        if (kind, key) not in self._last:
            self._last[kind, key] = torch.zeros(size, dtype=torch.int32)
        return self._last[kind, key]

    def _join(self, first: int, second: int) -> int:
        """The number of two accesses together."""
        if (first, second) not in self._joined:
            (a, bits), (b, more) = self._accesses[first], self._accesses[second]
            self._accesses.append((a if a == b else SEVERAL, bits | more))
            self._joined[first, second] = len(self._accesses) - 1
        return self._joined[first, second]
