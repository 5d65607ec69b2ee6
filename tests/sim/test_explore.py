"""The exhaustive search comes to every outcome, in few runs, and says what it covered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests.sim import litmus
from tests.sim.support import run_case, source
from tlxgen.coverage import Coverage
from tlxgen.sim import DEVICE, Budget, Session, verify
from tlxgen.sim.actors import Event, Task
from tlxgen.sim.barriers import Mbarrier, NamedBarrier
from tlxgen.sim.engine import Hub
from tlxgen.sim.explore import Node, Search, Unrepeatable, explore
from tlxgen.sim.findings import Findings, Place, Stop
from tlxgen.sim.launch import Director, Scheduled

Op = tuple[str, int, int]  # what, on which barrier, with which parity or count of threads
Outcome = tuple[object, ...]
TASKS = 3
HERE = Place("here.py", 1)


@dataclass
class Toy:
    """Tasks that do nothing but use two mbarriers, a named barrier and asynchronous arrivals."""

    tasks: tuple[tuple[Op, ...], ...]
    counts: tuple[int, int]

    def run(self, director: Director) -> Outcome:
        """What each task saw, and how the run ended."""
        findings = Findings()
        hub = Hub(findings, director.chooser(0), 10_000, director.watch(0))
        bars = [Mbarrier(f"bar{i}", count, hub, findings) for i, count in enumerate(self.counts)]
        named = NamedBarrier("named", hub, findings)
        seen: list[list[int]] = [[] for _ in self.tasks]

        def body(number: int) -> None:
            queue = deque[Event]()
            pending: list[Event] = []
            for what, which, value in self.tasks[number]:
                me, bar = hub.current, bars[which]
                if what == "wait":
                    bar.wait(value, HERE)
                    seen[number].append(me.clock.bit_count())  # the same in all runs of a trace
                elif what == "arrive":
                    bar.arrive(1, hub.release(me), HERE)
                elif what in ("join", "give"):
                    named.join(64 + 32 * value, what == "join", HERE)
                elif what == "issue":
                    bit = hub.new_bit()
                    run = partial(bar.arrive, 1, hub.release(me) | bit, HERE)
                    pending.append(Event("e", HERE, bit, bit, run, queue if value else None))
                    hub.issue(pending[-1])
                elif pending:
                    hub.await_event(pending[0])

        for number in range(len(self.tasks)):
            bit = hub.new_bit()
            hub.spawn(Task(f"t{number}", 1, bit, bit), partial(body, number))
        with suppress(Stop):
            hub.run()
        ids = tuple(sorted({f.id for f in findings.all}))
        return (*map(tuple, seen), tuple(b.phase for b in bars), named.phase, ids)


class Every(Search):
    """Without any reduction: tries everyone who can go on, everywhere."""

    def _open(self, enabled: list[str], depth: int) -> str:
        self.stack.append(Node(tuple(enabled), enabled[0], set(enabled), {}))
        return enabled[0]


def outcomes(search: Search, run: Callable[[Director], Outcome], most: int) -> tuple[set[Outcome], int, bool]:
    """What the runs of a search come to, how many there were, and whether there are no more."""
    found: set[Outcome] = set()
    for number in range(1, most + 1):
        search.begin()
        found.add(run(search))
        if not search.advance():
            return found, number, True
    return found, most, False


op = st.one_of(
    st.tuples(st.just("wait"), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.just("arrive"), st.integers(0, 1), st.just(0)),
    st.tuples(st.sampled_from(["join", "give"]), st.just(0), st.just(0)),
    st.tuples(st.just("issue"), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.just("await"), st.just(0), st.just(0)),
)
programs = st.tuples(*[st.lists(op, max_size=4).map(tuple)] * TASKS)
UNSETTLED = {"over-arrival", "barrier-misuse"}  # end a run, and with it what would have come


LAST_OF_ALL = (  # a wait that may begin before the first phase that it needs, or after the last
    (("wait", 0, 1), ("arrive", 0, 0)),
    (("arrive", 0, 0), ("arrive", 0, 0), ("wait", 0, 0)),
    (("wait", 0, 1), ("arrive", 0, 0)),
)

OPENED_BY_EITHER = (
    (("arrive", 0, 0), ("wait", 0, 1), ("wait", 0, 0)),
    (("wait", 0, 0), ("arrive", 0, 0)),
    (("wait", 0, 0), ("arrive", 0, 0)),
)


@given(programs, st.tuples(st.integers(1, 3), st.integers(1, 3)))
@example(LAST_OF_ALL, (1, 1))
@example(OPENED_BY_EITHER, (1, 1))
@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_schedule_ends_otherwise_than_one_that_was_searched(
    tasks: tuple[tuple[Op, ...], ...], counts: tuple[int, int]
) -> None:
    toy = Toy(tasks, counts)
    every, _, _ = outcomes(Every(), toy.run, 600)
    every |= {toy.run(Scheduled("random", seed)) for seed in range(20)}
    every |= {toy.run(Scheduled("starved", seed)) for seed in range(30)}
    searched, _, complete = outcomes(Search(), toy.run, 1000)
    assume(complete)
    if any(UNSETTLED & set(o[-1]) for o in every):
        assert any(o[-1] for o in searched)
    else:
        assert every <= searched


# Kernels.


def rare_turn(session: Session, fixed: bool = False) -> None:
    litmus.rare_turn[(1,)](torch.zeros(1, device=DEVICE), ROUNDS=12, FIXED=fixed)


def test_what_schedules_miss_the_search_finds() -> None:
    assert not verify(rare_turn).seen
    report = verify(rare_turn, exhaustive=Budget())
    assert report.ids == {"race-read-write", "deadlock"} and report.complete
    assert report.runs <= 4  # of the arrivals' two orders, and what they come to


def test_a_correct_kernel_is_searched_to_its_end_in_the_same_states() -> None:
    def program(session: Session) -> None:
        rare_turn(session, fixed=True)

    first, again = (verify(program, exhaustive=Budget()) for _ in range(2))
    assert not first.seen and first.complete
    assert (first.runs, first.states) == (again.runs, again.states) == (1, 52)
    assert first.covered.startswith("1 runs, 52 states, search complete, ")


def test_a_search_says_what_ended_it() -> None:
    report = verify(rare_turn, exhaustive=Budget(states=10))
    assert not report.complete and report.limits == ["10 states"]
    assert "stopped at the limit of 10 states" in report.covered
    assert not verify(rare_turn).complete  # schedules are no search


@pytest.mark.parametrize("name", ["cooperative", "pingpong"])
def test_a_generated_gemm_is_searched_to_its_end(name: str) -> None:
    """256 x 128 x 128 on one CTA, with a ring of two stages: barriers decide everything, so there is one trace."""
    report = run_case(
        f"hopper_gemm/hopper_gemm_{name}",
        source(f"hopper_gemm/hopper_gemm_{name}"),
        0,
        (256, 128, 128),
        (Budget(),),
        constants={"STAGES": 2},
        sms=1,
    )
    assert not report.seen and report.complete
    assert report.runs == 1 and report.states == {"cooperative": 36, "pingpong": 29}[name]


def test_a_program_that_differs_from_run_to_run_is_refused() -> None:
    calls: list[int] = []

    def program(session: Session) -> None:
        calls.append(0)
        litmus.rare_turn[(1,)](torch.zeros(1, device=DEVICE), ROUNDS=12 if len(calls) == 1 else 0, FIXED=len(calls) > 1)

    with pytest.raises(Unrepeatable, match="session.seed"):
        verify(program, exhaustive=Budget())


def test_two_tasks_in_one_queue_are_not_claimed_to_be_searched() -> None:
    queue = deque[Event]()

    class Case:
        def run(self, director: Director, seed: int, until: object = None) -> SimpleNamespace:
            findings = Findings()
            hub = Hub(findings, director.chooser(0), 1000, director.watch(0))

            def body() -> None:
                bit = hub.new_bit()
                hub.issue(Event("e", HERE, bit, bit, lambda: None, queue))

            for number in range(2):
                bit = hub.new_bit()
                hub.spawn(Task(f"t{number}", 1, bit, bit), body)
            hub.run()
            facts = {"noticed": {}, "synchronised": False, "coverage": Coverage()}
            return SimpleNamespace(findings=findings, steps=hub.steps, **facts)

    assert explore(Case()).limit == "two tasks in one queue"  # type: ignore[arg-type]
