"""Runs a hand-written target on one SM, a few and many, so that loops repeat, work is stolen, and CTAs are idle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tlxgen.coverage import Coverage
from tlxgen.sim import Budget, Delays, ReplayError, Report, Script, Way

from .sms import COUNTS, counts_of

T = TypeVar("T")


class Varied(Generic[T]):
    """The results of `load` for each number of SMs, since a file may ask for the number in its import, or only once.

    `only` is the number that a case declares. Raises the errors of the first `load`. A file that cannot be imported
    again runs on the first number alone.
    """

    def __init__(self, load: Callable[[int, Coverage], T], only: int | None) -> None:
        self._load, self._only = load, only
        self._noted = Coverage()
        first = only or COUNTS[0]
        self._loaded: dict[int, T | None] = {first: load(first, self._noted)}

    def run(self, way: Way, run: Callable[[T, int], Report]) -> Report:
        """One run on each of its numbers of SMs, or on the first alone if no code asks for the number."""
        report = Report()
        for sms in self._counts(way):
            if sms % _cluster(report.coverage):
                continue  # no such GPU exists, and a persistent kernel's grid would not have whole clusters
            if sms not in self._loaded:
                self._loaded[sms] = self._again(sms)
            it = self._loaded[sms]
            if it is None:
                break
            part = 0 if self._only else COUNTS.index(sms)
            report.add(run(it, sms).of_part(part))
            self._noted.asked |= report.coverage.asked  # once: a file may keep the answer
            report.coverage.asked = self._noted.asked
            if not self._noted.asked:
                break
        return report

    def _counts(self, way: Way) -> Sequence[int]:
        if self._only is not None:
            return (self._only,)
        if isinstance(way, Script):
            if way.part >= len(COUNTS):
                raise ReplayError(f"{way.part}@: there are {len(COUNTS)} numbers of SMs, counted from 0")
            return (COUNTS[way.part],)
        if isinstance(way, Budget):
            return COUNTS[:1]
        return COUNTS[:3] if isinstance(way, Delays) else counts_of(way)

    def _again(self, sms: int) -> T | None:
        try:
            return self._load(sms, self._noted)
        except Exception:
            return None


def _cluster(coverage: Coverage) -> int:
    """The CTAs of a cluster of the kernels that have run."""
    return math.lcm(*(size for kernel in coverage.kernels.values() for size in kernel.ranks))
