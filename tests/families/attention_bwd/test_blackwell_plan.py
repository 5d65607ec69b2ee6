"""What the plan of a backward kernel for Blackwell derives, against counts and columns worked out here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from tlxgen.families.attention_bwd.facts import BackwardFacts
from tlxgen.plan import Plan, complete
from tlxgen.plan.budget import over_budget

from .specs import plan_of

SMALL = {"problem.head_dim": 64}


def blackwell(values: dict[str, Any] | None = None) -> Plan:
    return plan_of({"arch": "sm100", **(values or {})})


def columns(plan: Plan) -> dict[str, tuple[int, int]]:
    return {c.what: (c.first, c.count) for c in plan.tmem}


def rules(values: dict[str, Any]) -> dict[str, str]:
    return {r.rule: r.text for r in blackwell(values).reasons}


def test_all_columns_are_taken_and_dq_lies_where_dp_and_ds_lay() -> None:
    plan = blackwell()
    assert not plan.reasons
    own = {"s[0]": (0, 128), "dp[0]": (128, 128), "dv[0]": (256, 128), "dk[0]": (384, 128)}
    over = {"p[0]": (0, 64), "ds_tmem[0]": (128, 64), "dq[0]": (128, 128)}
    assert columns(plan) == own | over
    assert {c.what: c.over for c in plan.tmem if c.over} == {"p[0]": "s[0]", "ds_tmem[0]": "dp[0]", "dq[0]": "dp[0]"}


def test_half_the_head_dimension_leaves_columns_for_dq() -> None:
    plan = blackwell(SMALL)
    assert not plan.reasons
    assert columns(plan)["dq[0]"] == (256, 64)
    assert {b.name: b.used for b in plan.budgets}["TMEM"] == 448


def test_dq_of_its_own_does_not_fit_beside_sums_of_128_columns() -> None:
    assert rules({"rings.dq.reuse": "none"})["tmem"].startswith("needs 640 of 512 columns")


@pytest.mark.parametrize(
    ("values", "met"),
    [
        ({}, {"s_read": 256, "dp_read": 256}),
        ({"rings.ds.operand": "smem"}, {"s_read": 256}),
        ({"tasks.compute.warps": 4}, {}),
    ],
)
def test_warps_of_two_warpgroups_meet_before_they_overwrite_what_they_have_read(
    values: dict[str, Any], met: dict[str, int]
) -> None:
    plan = blackwell(values)
    assert {m.name: m.threads for m in plan.meetings} == met
    assert [m.id for m in plan.meetings] == [6, 7][: len(met)]  # the compiler has 0, 1, three tasks and a padding


def test_the_last_product_that_reads_a_slot_releases_it() -> None:
    plan = blackwell()
    barriers = {b.name: (b.kind, b.count) for b in plan.barriers}
    assert barriers["q_empty"] == barriers["do_empty"] == ("commit", 1)
    assert barriers["numbers_empty"] == ("warp", 256)
    assert barriers["p_full"] == barriers["ds_full"] == ("warp", 256)
    assert barriers["dq_empty"] == ("warp", 128)
    assert plan.ring("numbers").full_barrier.bytes.value == 2 * 128 * 4  # type: ignore[union-attr]
    order = cast(BackwardFacts, plan.facts).order
    assert {ring: order.last_reader(ring).into for ring in ("q", "do", "p", "ds")} == {
        "q": "dk",
        "do": "dv",
        "p": "dv",
        "ds": "dq",
    }


@pytest.mark.parametrize(("order", "own"), [("dk_dq_dp", False), ("dq_dk_dp", False), ("dk_dp_dq", True)])
def test_ds_has_a_barrier_of_its_own_where_the_next_dp_does_not_say_that_it_was_read(order: str, own: bool) -> None:
    plan = blackwell({**SMALL, "tasks.mma.order": order})
    assert not plan.reasons
    assert bool(plan.ring("ds").empty_barrier) == own
    steps = [str(s) for s in plan.role("mma").steps]
    assert ("release ds" in steps) == own
    assert ("acquire ds" in [str(s) for s in plan.role("compute").steps]) == own


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tasks.mma.order": "dq_dk_dp"}, "dK comes before dQ"),
        ({"tasks.mma.order": "dk_dp_dq"}, "before the dP of the next step"),
        ({"tasks.mma.order": "dk_dp_dq", "rings.ds.operand": "smem"}, "before the dP of the next step"),
    ],
)
def test_dq_in_the_place_of_ds_leaves_one_order(values: dict[str, Any], words: str) -> None:
    assert words in rules(values)["order"]
    assert "order" not in rules({**values, "tasks.mma.order": "dk_dq_dp"})


def test_where_dk_reads_shared_memory_dq_may_come_first() -> None:
    assert not blackwell({"tasks.mma.order": "dq_dk_dp", "rings.ds.operand": "smem"}).reasons


@pytest.mark.parametrize(("d", "dv"), [(64, 128), (128, 256)])
def test_rows_of_v_are_as_long_as_those_of_k(d: int, dv: int) -> None:
    assert f"head_dim_v = {dv}" in rules({"problem.head_dim": d, "problem.head_dim_v": dv})["head-dim-v"]


def test_a_place_that_somebody_may_still_read_cannot_be_taken() -> None:
    """Were dP released when it has been read, nobody would tell the MMA, which puts dQ there."""
    plan = blackwell()
    dp = plan.ring("dp")
    read = replace(dp, drains=(replace(dp.drains[0], until="", via=()),))
    found = {r.rule: r.text for r in complete(replace(plan, meetings=(), rings=_with(plan, read))).reasons}
    assert "ds_tmem cannot take the buffers of dp: compute releases them before ds_tmem has left" in found["alias"]


def test_a_place_that_is_filled_by_one_and_read_by_another_needs_to_be_told_of() -> None:
    plan = blackwell({"rings.ds.operand": "smem"})
    dp = plan.ring("dp")
    untold = replace(plan, rings=_with(plan, replace(dp, drains=(replace(dp.drains[0], via=()),))))
    assert any("1 x compute may still read them when mma writes" in r.text for r in over_budget(untold))


def _with(plan: Plan, ring: Any) -> tuple[Any, ...]:
    return tuple(ring if r.name == ring.name else r for r in plan.rings)


def test_q_has_a_slot_for_each_step_whose_products_read_it() -> None:
    """S of a step comes before dK of the step before; dO goes back before the next dP."""
    order = cast(BackwardFacts, blackwell().facts).order
    assert (order.held("q"), order.held("do")) == (2, 1)
    found = rules({**SMALL, "rings.q.stages": 1})
    assert found["q-ahead"] == "Q_STAGES = 1: products of 2 steps read the ring in turns, 2 slots are needed"


def test_tiles_of_128_keys_and_queries_are_what_a_product_has_rows_for() -> None:
    assert "64 queries of a step; a product has 128 rows" in rules({"tile.m": 64})["tcgen05-m"]
    assert "64 keys a CTA" in rules({"tile.n": 64})["tcgen05-m"]


def test_registers_are_shared_out_among_three_warpgroups_and_the_task_of_p_and_ds() -> None:
    plan = blackwell()
    budget = next(b for b in plan.budgets if b.name == "threads")
    assert budget.used == 512
    assert {r.name: (r.warps, r.registers) for r in plan.roles} == {
        "compute": (8, None),
        "reduce": (4, 88),
        "mma": (1, 40),
        "load": (1, 40),
    }
    assert plan.launches[0].num_warps == 8
    assert [x.num_warps for x in plan.launches[1:]] == [4, 4]
    assert "compute holds" in rules({"tasks.reduce.registers": 160})["accumulator"]
