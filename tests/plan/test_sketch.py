"""The sketch of a pipeline: its tasks and rings, in the order in which tiles pass through them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tlxgen.plan import Barrier, Drain, Fill, Holds, Meeting, Parameter, Ring, Role, Size, Turn
from tlxgen.plan.sketch import sketch

from .toy import LOAD, MMA, STORE, plan, ring, size

STAGES = Parameter("STAGES", 4, "slots")
KEPT = (STAGES, Parameter("C_STAGES", 2, "slots"))


def _c(**changes: Any) -> Ring:
    return ring(name="c", slots=size("C_STAGES", 2), fill=Fill("mma", "store"), banks=2, drains=(), **changes)


def test_a_path_from_task_to_task_and_to_memory() -> None:
    assert sketch(plan(parameters=KEPT, rings=(ring(), _c()))) == (
        "load --ab (STAGES slots, TMA)--> mma x 2 --c (C_STAGES slots a replica, stores)--> TMA store",
    )


def test_a_constant_of_the_source_is_a_number() -> None:
    baked = (replace(STAGES, baked=True),)
    assert sketch(plan(parameters=baked)) == ("load --ab (4 slots, TMA)--> mma x 2",)
    one = replace(ring(), slots=Size.literal(1))
    assert sketch(plan(rings=(one,))) == ("load --ab (1 slot, TMA)--> mma x 2",)


def test_rings_between_the_same_tasks_share_an_arrow() -> None:
    rings = (ring(name="a"), ring(name="b"), ring(name="q", slots=Size.literal(1), drains=()))
    roles = (LOAD, replace(MMA, holds=Holds(accumulator=64)))
    assert sketch(plan(roles=roles, parameters=KEPT, rings=rings)) == (
        "load --a, b (STAGES slots, TMA), q (1 slot, TMA)--> mma x 2",
    )


def test_a_long_arrow_is_broken_behind_rings_that_are_filled_alike() -> None:
    fills = {"c": Fill("load", "store"), "ab": Fill("load", "tma")}
    drained = tuple(replace(_c(), name=name, fill=fill, drains=(Drain("mma"),)) for name, fill in fills.items())
    assert sketch(plan(parameters=KEPT, rings=drained), width=50) == (
        "load",
        "    --c (C_STAGES slots a replica, stores),",
        "        ab (C_STAGES slots a replica, TMA)--> mma x 2",
    )


def test_a_long_path_is_broken_behind_an_arrow_and_a_fork_begins_a_line() -> None:
    back = ring(name="back", fill=Fill("store", "commit"), drains=(Drain("mma"),), banks=3)
    lines = sketch(plan(parameters=KEPT, roles=(LOAD, MMA, STORE), rings=(ring(), _c(), back)), width=60)
    assert lines == (
        "load --ab (STAGES slots, TMA)--> mma x 2",
        "    --c (C_STAGES slots a replica, stores)--> TMA store",
        "store --back (3 banks of STAGES slots, MMA)--> mma x 2",
    )


def test_who_reads_a_slot_that_another_releases() -> None:
    relayed = ring(drains=(Drain("load", after=("mma", "c")),))
    assert sketch(plan(rings=(relayed,), parameters=KEPT)) == ("load --ab (STAGES slots, TMA)--> mma x 2",)


def test_what_replicas_that_meet_store_they_read() -> None:
    shared = ring(name="ds", fill=Fill("mma", "store"), drains=(), slots=Size.literal(2))
    assert sketch(plan(rings=(shared,), meetings=(Meeting("step", "mma", 2),))) == (
        "mma x 2 --ds (2 slots, stores)--> mma x 2",
    )


def test_guards_turns_and_a_tile_source() -> None:
    store = Role("store", 1, ("store",), guard="EPILOGUE_TASK")
    drained = replace(_c(), drains=(Drain("store"),))
    roles = (LOAD, MMA, store)
    clc = Barrier("clc full", "tx", Size.literal(1), 1, 1, 0, "the response")
    turns = (Turn("turn", "mma", "named", 2), Turn("other", "mma", "named", 2))
    made = plan(parameters=KEPT, roles=roles, rings=(ring(), drained), turns=turns, source_barriers=(clc,))
    assert sketch(made) == (
        "load --ab (STAGES slots, TMA)--> mma x 2 --c (C_STAGES slots a replica, stores)--> store (if EPILOGUE_TASK)",
        "cluster launch control --work items--> every task",
        "The replicas of mma take turns.",
    )
