"""The numbers of SMs on which targets are run. This module does not import torch.

Some faults only show on one SM, where a CTA does all items one after the other, or on more SMs than items. So the runs
of a target use several numbers. Schedule and seed determine the number of a run, so the same schedule and seed always
give the same run.
"""

from __future__ import annotations

from collections.abc import Sequence

from .verification import Run

MOST = 17  # more than the items of a small problem, and prime, so that few numbers divide it
COUNTS = (4, 1, 2, 3, MOST)  # the first is the default of a list of decisions
_TURNS = (4, 1, 4, 2, MOST, 3)  # for generated kernels; the default runs use all of them on each shape
_FIRST = {"random": 0, "starved": 2, "lazy": 4, "eager": 5}  # first turn, such that the first two seeds all differ


def turn_of(run: Run, number: int, cluster: int) -> int:
    """The SMs for problem `number` of a generated kernel in a run. With clusters it is a multiple of their size."""
    schedule, seed = run
    count = _TURNS[(_FIRST[schedule] + seed + number) % len(_TURNS)]
    return max(count, cluster) if count == COUNTS[0] else count * cluster


def counts_for(cluster: int) -> Sequence[int]:
    """All results of `turn_of` for a cluster size, the first one first."""
    return tuple(dict.fromkeys(max(n, cluster) if n == COUNTS[0] else n * cluster for n in COUNTS))


def counts_of(run: Run) -> Sequence[int]:
    """The numbers of SMs on which a hand-written kernel that asks for them is run, for a schedule and seed."""
    schedule, seed = run
    several = 2 + (_FIRST[schedule] + seed) % 2
    many = (MOST,) if schedule in ("random", "eager") and seed == 0 else ()
    return (COUNTS[0], 1, several, *many)
