"""Delays: each operation and each task of a kernel is late once, and early once; and what that shows."""

from __future__ import annotations

from collections import deque
from functools import partial

import pytest
import torch

from tests.sim import litmus
from tests.sim.support import run_case, source
from tlxgen.sim import DEVICE, RUNS, Delays, Session, verify
from tlxgen.sim.actors import Event, Task
from tlxgen.sim.delays import Delay, Kind, Perturbed
from tlxgen.sim.engine import Hub
from tlxgen.sim.findings import Findings, Place
from tlxgen.sim.repeatable import Case

COOPERATIVE = "hopper_gemm/hopper_gemm_cooperative"


def rare_turn(session: Session, fixed: bool = False) -> None:
    litmus.rare_turn[(1,)](torch.zeros(1, device=DEVICE), ROUNDS=12, FIXED=fixed)


def test_a_race_that_needs_one_slow_task() -> None:
    assert not verify(rare_turn, RUNS).seen
    report = verify(rare_turn, (Delays(),))
    (race,) = report.errors
    assert race.finding.id == "race-read-write"
    assert race.run == "schedule late 2, seed 0"
    assert not verify(lambda session: rare_turn(session, fixed=True), (Delays(),)).errors


def test_the_run_of_a_delay_can_be_made_again() -> None:
    race = verify(rare_turn, (Delays(),)).errors[0]
    assert race.case is not None
    assert race.finding in race.case.run(race.director, race.seed).findings.all


def test_an_error_ends_the_delays() -> None:
    report = verify(lambda s: litmus.fresh_wait[(1,)](parity=0), (Delays(),))
    assert report.ids == {"deadlock"} and report.runs == 1


@pytest.mark.parametrize(
    ("kind", "number", "order"),
    [
        ("late", -1, "abcabctutu"),  # eager: events as they come, then tasks in turn
        ("late", 0, "bcbctutuaa"),
        ("late", 1, "acactutubb"),
        ("late", 3, "abcabcuutt"),
        ("early", -1, "uuttcbacba"),  # lazy: the latest first
        ("early", 0, "aauuttcbcb"),
        ("early", 3, "ttuucbacba"),
    ],
)
def test_who_comes_when(kind: Kind, number: int, order: str) -> None:
    """Three operations, each made twice, and two tasks of two steps: only what is perturbed changes its place."""
    done: list[str] = []
    hub = Hub(Findings(), Perturbed(Delay(kind, number)).chooser(0), 1000)
    for name in "abcabc":
        hub.issue(Event(name, Place("kernel.py", ord(name)), 0, 0, partial(done.append, name)))

    def steps(name: str) -> None:
        done.append(name)
        hub.pause()
        done.append(name)

    for name in "tu":
        hub.spawn(Task(f"CTA 0 task of {name}", 4, 0, 0), partial(steps, name))
    hub.run()
    assert "".join(done) == order


@pytest.mark.parametrize("kind", ["late", "early"])
def test_a_queue_keeps_its_order(kind: Kind) -> None:
    done: list[int] = []
    hub, queue = Hub(Findings(), Perturbed(Delay(kind, 1)).chooser(0), 1000), deque[Event]()
    for i in range(4):
        hub.issue(Event("store", Place("kernel.py", i % 2), 0, 0, partial(done.append, i), queue))
    hub.run()
    assert done == [0, 1, 2, 3]


def test_each_point_is_perturbed_once_whatever_the_case() -> None:
    """A second shape of the kernel has the same points: one run without a delay is all."""
    at, delays = COOPERATIVE, Delays()
    first = run_case(at, source(at), 0, (130, 130, 200), (delays,))
    points = {kind: {p for k, p in delays.known if k == kind} for kind in ("late", "early")}
    assert points["late"] == points["early"]
    names = sorted(what for what, _ in points["late"])
    tasks = [name for name in names if name.startswith("of line")]
    assert names == sorted(["", *tasks, "TMA load", "TMA load", "TMA load", "TMA store", "wgmma"]) and len(tasks) == 3
    assert first.runs == 2 + 2 * len(names) and not first.seen
    again = run_case(at, source(at), 0, (260, 130, 200), (delays,))
    assert again.runs == 1 and not again.seen


def test_until_it_comes_up_a_run_is_the_one_without() -> None:
    """So a point has the same number in all runs."""

    def numbers(delay: Delay) -> list[object]:
        director = Perturbed(delay)
        Case(rare_turn).run(director, 0)
        return list(director.numbers)

    all_points = numbers(Delay("early"))
    for number in range(len(all_points)):
        assert numbers(Delay("early", number))[: number + 1] == all_points[: number + 1]
