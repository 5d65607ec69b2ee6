"""The timing method, on timers that say what they are told to say."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tlxgen.bench.timing import WARM_TURNS, WARM_WINDOW, Figure, interleave


def constant(value: float, seen: list[float]) -> Callable[[], float]:
    def timer() -> float:
        seen.append(value)
        return value

    return timer


def test_a_figure_is_the_median_and_its_spread_is_relative() -> None:
    figure = Figure.of([10.0, 11.0, 9.0, 10.0, 50.0])
    assert figure.us == 10.0
    assert figure.spread == pytest.approx(1.4826 * 0.1)
    assert figure.noisy


def test_a_steady_figure_is_not_noisy_and_a_drifting_one_is() -> None:
    assert not Figure.of([10.0, 10.1] * 10).noisy
    assert Figure.of([10.0] * 10 + [10.5] * 10).noisy


def test_all_timers_run_in_every_turn_before_any_runs_again() -> None:
    seen: list[float] = []
    interleave({str(v): constant(v, seen) for v in (1.0, 2.0, 3.0)}, turns=5)
    turns = [seen[i : i + 3] for i in range(0, len(seen), 3)]
    assert all(sorted(turn) == [1.0, 2.0, 3.0] for turn in turns)
    assert len(turns) == 2 * WARM_WINDOW + 5
    assert len({tuple(turn) for turn in turns}) > 1, "the order never changes"


class Queued:
    """A timer that can be queued, and notes what is asked of it."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def start(self) -> None:
        self.log.append(f"start {self.name}")

    def __call__(self) -> float:
        self.log.append(f"wait {self.name}")
        return 1.0


def test_a_replay_is_queued_before_the_one_before_it_is_waited_for() -> None:
    log: list[str] = []
    interleave({name: Queued(name, log) for name in "abc"}, turns=4)
    measured = log[-2 * 3 * 4 :]
    starts = [line[6:] for line in measured if line.startswith("start")]
    assert starts == [line[5:] for line in measured if line.startswith("wait")], "in another order than it was queued"
    assert [line[:5] for line in measured] == ["start", *["start", "wait "] * 11, "wait "]


def test_the_order_depends_on_the_seed_and_on_nothing_else() -> None:
    orders = []
    for seed in (1, 1, 2):
        seen: list[float] = []
        interleave({str(v): constant(v, seen) for v in (1.0, 2.0, 3.0, 4.0)}, turns=8, seed=seed)
        orders.append(seen)
    assert orders[0] == orders[1] != orders[2]


def test_what_a_cold_gpu_says_is_not_in_the_figure() -> None:
    """Clocks that fall for 20 turns and then stay."""
    clock = itertools.chain((5.0 + 0.25 * i for i in range(20)), itertools.repeat(10.0))
    figure = interleave({"a": lambda: next(clock)}, turns=10)["a"]
    assert (figure.us, figure.spread, figure.noisy) == (10.0, 0.0, False)


def test_a_gpu_that_never_settles_is_measured_all_the_same_and_flagged() -> None:
    rise = itertools.count()
    figure = interleave({"a": lambda: 1.05 ** next(rise)}, turns=10)["a"]
    assert next(rise) == WARM_TURNS + 10
    assert figure.noisy
