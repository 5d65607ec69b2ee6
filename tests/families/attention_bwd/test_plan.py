"""What the plan of a backward kernel derives, against counts and bytes worked out here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from tlxgen.families.attention_bwd.plan import BackwardFacts
from tlxgen.plan import Plan
from tlxgen.plan.budget import over_budget

from .specs import plan_of


def rules(values: dict[str, Any], kernel: str = "attention_bwd") -> dict[str, str]:
    return {r.rule: r.text for r in plan_of(values, kernel).reasons}


@pytest.mark.parametrize(("empty", "count"), [("warp", 2 * 4 * 32), ("leader", 2)])
def test_a_slot_of_q_comes_with_a_number_for_each_row_and_is_released_by_both_consumers(empty: str, count: int) -> None:
    ring = plan_of({"rings.empty": empty}).ring("q")
    assert ring.full_barrier and ring.full_barrier.bytes and ring.empty_barrier
    assert ring.full_barrier.bytes.value == 64 * 128 * 2 + 64 * 4
    assert ring.empty_barrier.count == count


def test_k_and_v_are_filled_once_and_nobody_releases_them() -> None:
    plan = plan_of({})
    for name in ("k", "v"):
        ring = plan.ring(name)
        assert ring.full_barrier and ring.full_barrier.bytes and ring.empty_barrier is None
        assert (ring.full_barrier.bytes.value, ring.full_barrier.slots.value) == (128 * 128 * 2, 1)


def test_ds_is_met_over_by_the_threads_of_both_consumers_and_has_two_slots() -> None:
    plan = plan_of({"tasks.mma.meet": "named"})
    (meeting,) = plan.meetings
    assert (meeting.id, meeting.threads) == (4, 256)  # the compiler has 0, 1 and one for each consumer
    ds = plan.ring("ds")
    assert (ds.full_barrier, ds.empty_barrier, ds.smem_bytes) == (None, None, 2 * 128 * 64 * 2)
    assert {b.name: b.used for b in plan.budgets}["named barriers"] == 5


def test_ds_is_awaited_when_the_threads_of_both_consumers_have_stored_theirs() -> None:
    plan = plan_of({})
    full = plan.ring("ds").full_barrier
    assert plan.meetings == () and plan.ring("ds").empty_barrier is None
    assert full and (full.kind, full.count, full.arrivals, full.slots.value) == ("warp", 256, 2, 2)
    by_leaders = plan_of({"rings.empty": "leader"}).ring("ds").full_barrier
    assert by_leaders and (by_leaders.kind, by_leaders.count) == ("leader", 2)


def test_the_next_q_needs_a_slot_beside_this_one() -> None:
    (reason,) = plan_of({"rings.q.stages": 1}).reasons
    assert str(reason) == "q-ahead: Q_STAGES = 1: the next step's Q is read beside this one's, 2 slots are needed"
    assert not plan_of({"rings.q.stages": 1, "tasks.mma.ahead": False}).reasons


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ({}, (True, "none", 2)),
        ({"problem.head_dim": 64}, (False, "v", 1)),
        ({"tasks.mma.meet": "named"}, (False, "none", 1)),
        ({"tasks.mma.meet": "named", "problem.head_dim": 64}, (False, "none", 1)),
        ({"rings.q.stages": 3}, (True, "none", 1)),
        ({"problem.gradients": "kv"}, (True, "none", 1)),
    ],
)
def test_defaults_follow_the_head_dimension(values: dict[str, Any], facts: tuple[bool, str, int]) -> None:
    plan = plan_of(values)
    found = cast(BackwardFacts, plan.facts)
    assert (found.ahead, found.keep, found.dq_slots) == facts and not plan.reasons


@pytest.mark.parametrize(("head_dim", "queries", "grads"), [(128, 64, 2), (64, 128, 2)])
def test_dk_and_dv_leave_through_the_buffers_of_dq(head_dim: int, queries: int, grads: int) -> None:
    plan = plan_of({"problem.head_dim": head_dim})
    grad, dq = plan.ring("grad"), plan.ring("dq")
    assert not plan.reasons and (grad.alias, grad.smem_bytes) == ("dq", 0)
    assert grad.bank_bytes == dq.bank_bytes == 64 * 64 * 4 * dq.slots.value and grad.slots.value == grads
    assert plan.ring("q").tiles[0].shape[0].value == queries


def test_a_reshaped_ring_needs_the_bytes_of_the_banks_that_it_takes() -> None:
    plan = plan_of({})
    rings = {r.name: r for r in plan.rings}
    one_bank = replace(rings["grad"], banks=1)
    faulty: Plan = replace(plan, rings=(*(r for r in plan.rings if r.name != "grad"), one_bank))
    (reason,) = over_budget(faulty)
    assert str(reason) == ("alias: grad cannot take the buffers of dq: 1 banks of 32768 B against 2 banks of 32768 B")


def test_dk_and_dv_alone_need_neither_dq_nor_a_meeting() -> None:
    plan = plan_of({"problem.gradients": "kv"})
    assert plan.meetings == () and [r.name for r in plan.rings] == ["k", "v", "q", "do", "grad"]
    assert plan.ring("grad").smem_bytes == 2 * 2 * 64 * 128 * 2
    assert [launch.kernel for launch in plan.launches] == ["kernel", "prepare_kernel"]
    names = [[a.name for a in launch.arguments] for launch in plan.launches]
    assert "dq_desc" not in names[0] and "sum_ptr" not in names[1]


def test_dq_alone_leaves_through_the_buffers_of_q() -> None:
    plan = plan_of({}, "attention_bwd_dq")
    assert not plan.reasons and (plan.ring("dq").alias, plan.ring("dq").banks) == ("q", 2)
    assert [r.smem_bytes for r in plan.rings] == [32768, 32768, 65536, 65536, 0]


@pytest.mark.parametrize(
    ("kernel", "values", "rule", "words"),
    [
        ("attention_bwd", {"rings.q.stages": 5}, "smem", "ring q 83200"),
        ("attention_bwd", {"tile.m": 128}, "dq-parts", "128 x 128, 4 parts of 64 x 64; each of 2 consumers takes one"),
        ("attention_bwd", {"tile.m": 64, "problem.head_dim": 64}, "dq-parts", "64 x 64, 1 parts"),
        ("attention_bwd", {"tile.m": 96}, "queries", "96 queries of a step, not a multiple of 64"),
        ("attention_bwd", {"tile.n": 64}, "wgmma-m", "64 keys for 2 consumers"),
        ("attention_bwd", {"tasks.mma.registers": 208}, "accumulator", "208 accumulator registers a thread"),
        ("attention_bwd_dq", {"tile.m": 64}, "wgmma-m", "64 queries for 2 consumers"),
        ("attention_bwd_dq", {"tile.n": 256, "rings.kv.stages": 1}, "accumulator", "320 accumulator registers"),
        ("attention_bwd_dq", {"rings.kv.stages": 3}, "smem", "ring k 98304, ring v 98304"),
    ],
)
def test_a_variant_that_does_not_fit_says_why_in_numbers(
    kernel: str, values: dict[str, Any], rule: str, words: str
) -> None:
    assert words in rules(values, kernel)[rule]


def test_parts_of_dq_bind_only_where_dq_is_made() -> None:
    assert not rules({"tile.m": 64, "problem.head_dim": 64, "problem.gradients": "kv"})
