"""What the plan of a backward kernel of two Blackwell CTAs derives, against counts and columns worked out here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from tlxgen.families.attention_bwd.facts import BackwardFacts
from tlxgen.families.attention_bwd.roofline import probes, work
from tlxgen.plan import Plan, Ring
from tlxgen.plan.budget import over_budget

from .specs import plan_of, spec_of

SMALL = {"problem.head_dim": 64}


def pair(values: dict[str, Any] | None = None) -> Plan:
    return plan_of({"arch": "sm100", "cluster.n": 2, **(values or {})})


def rules(values: dict[str, Any]) -> dict[str, str]:
    return {r.rule: r.text for r in pair(values).reasons}


def test_all_columns_are_taken_and_dq_lies_beside_p_where_s_lay() -> None:
    plan = pair()
    assert not plan.reasons
    assert {c.what: (c.first, c.count, c.over) for c in plan.tmem} == {
        "s[0]": (0, 128, ""),
        "p[0]": (0, 64, "s[0]"),
        "dq[0]": (64, 64, "s[0]"),
        "dp[0]": (128, 128, ""),
        "ds_tmem[0]": (128, 64, "dp[0]"),
        "dv[0]": (256, 128, ""),
        "dk[0]": (384, 128, ""),
    }
    assert {b.name: b.used for b in plan.budgets}["TMEM"] == 512


def test_half_the_head_dimension_leaves_columns_for_dq() -> None:
    plan = pair(SMALL)
    assert not plan.reasons
    assert {c.what: (c.first, c.count) for c in plan.tmem}["dq[0]"] == (256, 32)  # 64 rows in 128 lanes
    assert {b.name: b.used for b in plan.budgets}["TMEM"] == 416


def test_a_cta_loads_half_of_what_both_multiply_by() -> None:
    plan = pair()
    shapes = {t.name: tuple(s.value for s in t.shape) for r in plan.rings for t in r.tiles if r.fill.kind == "tma"}
    rows, columns, whole = (64, 128), (128, 64), (128, 128)
    assert shapes == {"k": whole, "v": whole, "k_columns": columns, "q": rows, "q_columns": columns, "do": rows,
                      "do_columns": columns, "lse": (128,), "delta": (128,)}  # fmt: skip
    boxes = {a.name: a.type for a in plan.launches[0].arguments if a.kind == "descriptor"}
    assert boxes["q_columns_desc"] == "tensordesc<bf16[1, 1, 128, 64]>"
    assert boxes["dq_desc"] == "tensordesc<fp32[1, 1, 64, 8]>"
    assert plan.cluster == plan.launches[0].cluster == (2, 1, 1)


def test_counts_and_bytes_are_those_of_both_ctas() -> None:
    barriers = {b.name: b for b in pair().barriers}
    assert {name: b.count for name, b in barriers.items() if b.count != 1} == {
        **dict.fromkeys(["p_full", "ds_tmem_full", "ds_ready", "dq_empty"], 2),  # a CTA each, at the first
        "ds_full": 2,  # the CTA's own stores, and that it expects the other's bytes
        "numbers_empty": 256,
    }
    of_tiles = {name: b.bytes.value for name, b in barriers.items() if b.bytes}
    tile, half = 128 * 128 * 2, 128 * 64 * 2
    assert of_tiles == {
        **dict.fromkeys(["k_full", "v_full"], 2 * tile),
        "k_columns_full": 2 * 2 * half,
        **dict.fromkeys(["q_full", "q_columns_full", "do_full", "do_columns_full"], 2 * half),
        "numbers_full": 2 * 128 * 4,
        "ds_full": half,
    }


def test_the_next_s_and_dp_wait_for_both_ctas() -> None:
    """By the stores that take their place: were these told by one CTA, the other's might be overwritten."""
    plan = pair()
    p = plan.ring("p")
    alone = replace(p, fill=replace(p.fill, ctas=1))
    text = "mma fills the slots of s in 2 CTAs, and hears from compute in 1"
    assert text in [r.text for r in over_budget(_with(plan, alone))]
    dq = plan.ring("dq")
    own = replace(dq, drains=(replace(dq.drains[0], ctas=1),))
    text = "mma fills the slots of dq in 2 CTAs, and hears from reduce in 1"
    assert text in [r.text for r in over_budget(_with(plan, own))]
    assert not list(over_budget(plan))


def _with(plan: Plan, ring: Ring) -> Plan:
    return replace(plan, rings=tuple(ring if r.name == ring.name else r for r in plan.rings))


def test_what_is_sent_goes_back_with_the_slot_that_it_comes_to() -> None:
    copied, stored = pair().ring("ds"), pair({"cluster.exchange": "store"}).ring("ds")
    assert [t.name for t in copied.tiles] == ["ds", "sent"]
    assert [t.name for t in stored.tiles] == ["ds"]
    assert copied.smem_bytes - stored.smem_bytes == 128 * 64 * 2
    assert copied.empty_barrier and copied.ready_barrier and copied.ready_barrier.who == "relay x 2 CTAs, at the first"


def test_stores_of_threads_are_fenced_by_the_relay_and_a_copy_is_not() -> None:
    assert [str(s) for s in pair().role("relay").steps] == ["wait ds", "rendezvous ds"]
    stored = pair({"cluster.exchange": "store"})
    assert [str(s) for s in stored.role("relay").steps] == ["wait ds", "fence", "rendezvous ds"]


def test_dq_waits_for_p_of_the_next_step_beside_which_it_lies() -> None:
    steps = [str(s) for s in pair().role("mma").steps]
    assert steps.index("multiply dp") < steps.index("wait p") < steps.index("multiply dq") < steps.index("multiply dv")
    assert steps.index("acquire dq") < steps.index("multiply s")
    steps = [str(s) for s in pair(SMALL).role("mma").steps]
    assert steps.index("multiply dq") < steps.index("wait p")
    assert "dP, which need not wait, comes before" in rules({"tasks.mma.order": "dk_dq_dp"})["order"]


def test_a_slot_is_free_when_both_of_its_stores_are() -> None:
    """A part of dQ leaves by two, one for each half of its columns."""
    plan = pair()
    assert plan.deep(plan.ring("part")).value == 2
    assert plan.deep(plan.ring("grad")).value == 1


def test_q_and_do_need_one_slot_since_dk_and_dv_read_others() -> None:
    order = cast(BackwardFacts, pair().facts).order
    assert [order.held(name) for name in ("q", "do", "q_columns", "do_columns")] == [1, 1, 1, 1]
    assert {p.name: p.value for p in pair().parameters} == {"Q_STAGES": 1, "DO_STAGES": 1}
    assert "ring q_columns" in rules({"rings.q.stages": 2})["smem"]


def test_the_ctas_of_a_pair_walk_the_same_queries() -> None:
    """Three tiles of keys and four of queries: the second CTA of a pair begins with the first, one has no keys."""
    shape = (1, 1, 1, 512, 384)
    assert work(pair({"mask.kind": "causal"}), shape) == (4, 4 + 4 + 2 + 2, 4)
    assert work(plan_of({"arch": "sm100", "mask.kind": "causal"}), shape) == (3, 4 + 3 + 2, 4)
    assert probes(pair(), shape)[0] == (1, 1, 1, 768, 768)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"cluster.n": 2, "tasks.compute.parts": 4}, "a part for each of 2 CTAs"),
        ({"cluster.n": 2, "rings.ds.operand": "smem"}, "dS of all queries in tensor memory alone"),
        ({"cluster.exchange": "store"}, "a CTA alone exchanges nothing; remove the key"),
        ({"rings.dq.reuse": "s"}, "beside P"),
        ({"arch": "sm90", "cluster.n": 2}, "this is of sm100: on sm90 a CTA adds up dQ"),
        ({"arch": "sm90", "rings.dq.columns": 16}, "this is of sm100: on sm90 a consumer has a part of dQ"),
    ],
)
def test_what_does_not_go_together_is_said(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        spec_of({"arch": "sm100", **values})
