"""Happens-before of the engine is the transitive closure of what was published and taken."""

from __future__ import annotations

import random
from collections import deque
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlxgen.sim.actors import Event, Task
from tlxgen.sim.barriers import Mbarrier
from tlxgen.sim.engine import SCHEDULES, Hub, Schedule, Seeded
from tlxgen.sim.findings import Findings, Place, Stop

HERE = Place("here.py", 1)


def hub(schedule: Schedule = "random", seed: int = 0, steps: int = 100_000) -> Hub:
    return Hub(Findings(), Seeded(schedule, seed), steps)


def task(h: Hub, name: str = "t") -> Task:
    bit = h.new_bit()
    return Task(name, 4, bit, bit)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), max_size=40),
    st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_clocks_are_the_transitive_closure(steps: list[tuple[int, int, bool]], seed: int) -> None:
    """Four tasks publish to and take from three channels; a model keeps the sets of steps that lie before."""
    h = hub(seed=seed)
    tasks = [task(h) for _ in range(4)]
    channels = [0, 0, 0]
    before: list[set[int]] = [set() for _ in tasks]
    published: list[set[int]] = [set() for _ in channels]
    bits: list[int] = []
    for number, (who, channel, publish) in enumerate(steps):
        bits.append(tasks[who].bit)
        before[who].add(number)
        if publish:
            channels[channel] |= h.release(tasks[who])
            published[channel] |= before[who]
        else:
            tasks[who].clock |= channels[channel]
            before[who] |= published[channel]
    for who, t in enumerate(tasks):
        ordered = {n for n, bit in enumerate(bits) if bit & t.clock}
        # A task's own segment holds all its steps since its last release, whichever task looks.
        assert before[who] <= ordered
        assert {n for n in ordered if steps[n][0] != who} <= before[who]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_events_of_a_queue_complete_in_order_and_others_in_any(schedule: Schedule) -> None:
    orders = set()
    for seed in range(20):
        h, queue = hub(schedule, seed), deque[Event]()
        done: list[int] = []
        for i in range(6):
            bit = h.new_bit()
            mine = queue if i % 2 else None
            h.issue(Event(f"e{i}", HERE, bit, bit, partial(done.append, i), mine))
        h.run()
        assert [i for i in done if i % 2] == [1, 3, 5]
        orders.add(tuple(done))
    assert len(orders) > 3 or schedule in ("lazy", "eager")


def test_a_waiter_takes_the_clock_of_complete_phases_alone() -> None:
    h = hub()
    bar = Mbarrier("bar", 1, h, h.findings)
    first, second, late = h.new_bit(), h.new_bit(), task(h)
    bar.arrive(1, first, HERE)
    two = Mbarrier("two", 2, h, h.findings)
    two.arrive(1, second, HERE)

    def body() -> None:
        bar.wait(0, HERE)
        two.wait(1, HERE)

    h.spawn(late, body)
    h.run()
    assert late.clock & first and not late.clock & second


@pytest.mark.parametrize(("expected", "came", "id"), [(64, 96, "tx-mismatch"), (64, 64, None)])
def test_bytes_complete_a_phase(expected: int, came: int, id: str | None) -> None:
    h = hub()
    bar = Mbarrier("bar", 1, h, h.findings)
    bar.transfer(came, 0, HERE)  # before it is expected: legal, the phase waits for the arrival
    if id is None:
        bar.arrive(1, 0, HERE, expected=expected)
        assert bar.phase == 1
    else:
        with pytest.raises(Stop):
            bar.arrive(1, 0, HERE, expected=expected)
        assert [f.id for f in h.findings.all] == [id]


def test_a_run_ends_at_its_limit() -> None:
    h = hub(steps=500)

    def body() -> None:
        while True:
            h.pause()

    h.spawn(task(h), body)
    with pytest.raises(Stop):
        h.run()
    assert [f.id for f in h.findings.all] == ["no-progress"]


def test_a_deadlock_leaves_no_greenlet_behind() -> None:
    h = hub()
    t = task(h)
    h.spawn(t, lambda: h.block(lambda: "nothing"))
    with pytest.raises(Stop):
        h.run()
    assert t.thread is not None and t.thread.dead
    assert "waits for nothing" in h.findings.all[0].message


def test_the_random_schedule_draws_as_randrange_does() -> None:
    """Records and replays name schedules by their seed: the draws are part of what a seed means."""
    chooser, reference = Seeded("random", 5), random.Random(5)
    tasks = [Task(str(i), 1, 0, 0) for i in range(40)]
    while tasks:
        expected = tasks[reference.randrange(len(tasks))]
        assert chooser.choose(tasks, []) is expected
