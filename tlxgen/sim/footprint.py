"""The exact set of bytes of a storage that a view covers. Equal sets are one object, so comparisons are cheap."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

Interval = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Footprint:
    """Sorted disjoint intervals of byte addresses. Made by `footprint`, which returns the same object for the same
    arguments."""

    intervals: tuple[Interval, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(end - start for start, end in self.intervals)

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.intervals[-1][1]


@cache
def footprint(offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Footprint:
    """The bytes of a strided tensor. `offset` in bytes, `strides` in elements of `itemsize` bytes."""
    width = itemsize
    outer: list[range] = []
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size == 1:
            continue
        if stride * itemsize == width and not outer:
            width *= size
        else:
            outer.append(range(0, stride * size * itemsize, stride * itemsize))
    starts = sorted(offset + sum(steps) for steps in itertools.product(*outer))
    merged: list[Interval] = []
    for start in starts:
        if merged and merged[-1][1] >= start:
            merged[-1] = (merged[-1][0], max(merged[-1][1], start + width))
        else:
            merged.append((start, start + width))
    return Footprint(tuple(merged))


@cache
def overlap(a: Footprint, b: Footprint) -> bool:
    """Whether two footprints have a byte in common."""
    i = j = 0
    while i < len(a.intervals) and j < len(b.intervals):
        (a_start, a_end), (b_start, b_end) = a.intervals[i], b.intervals[j]
        if a_start < b_end and b_start < a_end:
            return True
        if a_end <= b_end:
            i += 1
        else:
            j += 1
    return False


@cache
def inside(a: Footprint, b: Footprint) -> bool:
    """Whether every byte of `a` is one of `b`."""
    j = 0
    for start, end in a.intervals:
        while j < len(b.intervals) and b.intervals[j][1] < end:
            j += 1
        if j == len(b.intervals) or start < b.intervals[j][0]:
            return False
    return True
