"""How a kernel is timed: to steady state, interleaved, in a rotated order, as a median with its spread.

A `Timer` replays a short CUDA graph of one candidate and says how long a launch took. All candidates of a comparison,
the baseline among them, are replayed in turns: clocks and temperature drift over seconds and so meet all alike. A
figure of another run, another day or another set of candidates is not comparable, a ratio to the baseline of the same
run is. Knows no GPU: the timers are the caller's.

A GPU that waits for the host between two replays runs at other clocks than a busy one, and ranks candidates otherwise:
the next replay is queued before the last one's time is asked for.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

METHOD = 3  # part of every cache key: raise it when a change makes old figures incomparable
WARM_WINDOW = 4  # turns whose medians are compared to tell that the clocks have settled
WARM_TURNS = 40  # at most: a GPU that has not settled by then will not, and the figures are flagged
SETTLED = 0.01  # relative change between two windows
NOISY = 0.03  # relative spread, or drift from the first half of the turns to the second
TURNS = 30

# Gives microseconds a launch, of one replay. One that has a method `start` can be queued: called then, it only waits.
Timer = Callable[[], float]


@dataclass(frozen=True)
class Figure:
    """One candidate's time: median microseconds a launch over `turns` replays.

    `spread` is the median absolute deviation scaled to a standard deviation, `drift` the change of the median from the
    first half of the turns to the second; both relative to the median. `noisy` tells that one of them is too large.
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
    """The figures of all timers, replayed in turns. Each turn has another order, drawn from `seed`.

    Warms up first, all of them in turns too, until the total of a turn stays within SETTLED, or for WARM_TURNS.
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
    """Each timer's time, in this order; the next one is started before."""
    starts = [getattr(timers[name], "start", _nothing) for name in names]
    for start in starts[:1]:
        start()
    for name, start_next in zip(names, [*starts[1:], _nothing], strict=False):
        start_next()
        yield name, timers[name]()


def _nothing() -> None:
    """How a timer is started that cannot be queued."""


def _rotated(names: Sequence[str], rng: random.Random) -> list[str]:
    """A random order: who runs after whom changes, so nobody always follows the candidate that heats most."""
    return rng.sample(names, len(names))


def _settled(totals: Sequence[float]) -> bool:
    if len(totals) < 2 * WARM_WINDOW:
        return False
    before, after = totals[-2 * WARM_WINDOW : -WARM_WINDOW], totals[-WARM_WINDOW:]
    return abs(statistics.median(after) / statistics.median(before) - 1) < SETTLED
