"""On GPUs of how many SMs things are run. LEAF of the verb: needs no torch.

A fault may show on one SM alone, where a CTA does all items one after the other, or where there are more SMs than
items. So the runs of a target go over several counts. Which one a run has follows from its schedule and seed, so that
the same schedule and seed are the same run again.
"""

from __future__ import annotations

from collections.abc import Sequence

from .verification import Run

MOST = 17  # more than a small problem has items, and prime: what divides other numbers of SMs need not divide this one
COUNTS = (4, 1, 2, 3, MOST)  # the first is what a list of decisions is for that names no other
_TURNS = (4, 1, 4, 2, MOST, 3)  # of generated kernels: the default runs go through all of them on each shape
_FIRST = {"random": 0, "starved": 2, "lazy": 4, "eager": 5}  # so that those of the first two seeds all differ


def turn_of(run: Run, number: int, cluster: int) -> int:
    """How many SMs the `number`-th problem of a generated kernel has in a run: at least one cluster's, whose counts are
    multiples of it."""
    schedule, seed = run
    count = _TURNS[(_FIRST[schedule] + seed + number) % len(_TURNS)]
    return max(count, cluster) if count == COUNTS[0] else count * cluster


def counts_for(cluster: int) -> Sequence[int]:
    """All counts that `turn_of` gives for a cluster of so many CTAs, the first one first."""
    return tuple(dict.fromkeys(max(n, cluster) if n == COUNTS[0] else n * cluster for n in COUNTS))


def counts_of(run: Run) -> Sequence[int]:
    """The SMs of each time that a hand-written kernel, which asks for them, runs on a schedule and seed."""
    schedule, seed = run
    several = 2 + (_FIRST[schedule] + seed) % 2
    many = (MOST,) if schedule in ("random", "eager") and seed == 0 else ()
    return (COUNTS[0], 1, several, *many)
