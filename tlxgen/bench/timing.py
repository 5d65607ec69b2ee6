"""The timing method: candidates are warmed up to a steady state and interleaved in random order. Each gets a median
and a spread.

A `Timer` replays a short CUDA graph of one candidate and returns the time of a launch. All candidates of a comparison,
including the baseline, are replayed in turns, so that the drift of clocks and temperature affects all of them equally.
Figures of different runs, days or sets of candidates are not comparable; ratios to the baseline of the same run are.
This module knows no GPU: the caller supplies the timers.

A GPU that waits for the host between two replays runs at other clocks than a busy one, and may rank candidates
differently. So the next replay is queued before the time of the last one is read.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

METHOD = 3  # part of every cache key: raise it when a change makes old figures incomparable
WARM_WINDOW = 4  # turns in a window; the medians of two windows show whether the clocks have settled
WARM_TURNS = 40  # limit of the warm-up; if the GPU has not settled by then, the figures are marked as noisy
SETTLED = 0.01  # limit of the relative change between two windows of a settled GPU
NOISY = 0.03  # limit of the relative spread, and of the drift from the first half of the turns to the second
TURNS = 30

# Runs one replay and returns microseconds a launch. A method `start`, if there is one, queues the replay beforehand.
Timer = Callable[[], float]


@dataclass(frozen=True)
class Figure:
    """One candidate's time: median microseconds a launch over `turns` replays.

    `spread` is the median absolute deviation scaled to a standard deviation, `drift` the change of the median from the
    first half of the turns to the second; both are relative to the median. `noisy`: one of them is too large.
    """

    us: float
    spread: float
    drift: float
    turns: int
    noisy: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, times: Sequence[float]) -> Figure:
        """The figure of one or more times, in microseconds."""
        middle = statistics.median(times)
        spread = 1.4826 * statistics.median(abs(t - middle) for t in times) / middle
        half = len(times) // 2
        drift = (statistics.median(times[half:]) - statistics.median(times[:half])) / middle if half else 0.0
        return cls(middle, spread, drift, len(times), max(spread, abs(drift)) > NOISY)


def interleave(timers: Mapping[str, Timer], *, turns: int = TURNS, seed: int = 0) -> dict[str, Figure]:
    """The figures of all timers, replayed in turns. Each turn has a random order, drawn from `seed`.

    The warm-up also replays all of them in turns, until the total of a turn stays within SETTLED, or for WARM_TURNS.
    """
    order, rng = list(timers), random.Random(seed)
    totals: list[float] = []
    while len(totals) < WARM_TURNS and not _settled(totals):
        totals.append(sum(us for _, us in _queued(timers, _rotated(order, rng))))
    times: dict[str, list[float]] = {name: [] for name in timers}
    for name, us in _queued(timers, [name for _ in range(turns) for name in _rotated(order, rng)]):
        times[name].append(us)
    return {name: Figure.of(values) for name, values in times.items()}


def _queued(timers: Mapping[str, Timer], names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yields each timer's time, in this order. The next timer is started before a time is read."""
    starts = [getattr(timers[name], "start", _nothing) for name in names]
    for start in starts[:1]:
        start()
    for name, start_next in zip(names, [*starts[1:], _nothing], strict=False):
        start_next()
        yield name, timers[name]()


def _nothing() -> None:
    """The `start` of a timer that cannot be queued."""


def _rotated(names: Sequence[str], rng: random.Random) -> list[str]:
    """A random order, so that no candidate always runs after the one that heats the GPU most."""
    return rng.sample(names, len(names))


def _settled(totals: Sequence[float]) -> bool:
    if len(totals) < 2 * WARM_WINDOW:
        return False
    before, after = totals[-2 * WARM_WINDOW : -WARM_WINDOW], totals[-WARM_WINDOW:]
    return abs(statistics.median(after) / statistics.median(before) - 1) < SETTLED
