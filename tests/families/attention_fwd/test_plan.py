"""What the plan of an attention kernel derives, against counts and bytes worked out here."""

from __future__ import annotations

from typing import Any

import pytest

from .specs import plan_of


def rules(values: dict[str, Any]) -> dict[str, str]:
    return {r.rule: r.text for r in plan_of(values).reasons}


@pytest.mark.parametrize("stages", [1, 2])
def test_each_consumer_has_its_own_bank_of_q_and_releases_it_alone(stages: int) -> None:
    q = plan_of({"rings.q.stages": stages, "rings.kv.empty": "leader"}).ring("q")
    assert q.banks == 2 and q.full_barrier and q.empty_barrier and q.full_barrier.bytes
    assert q.full_barrier.bytes.value == 64 * 128 * 2
    assert (q.full_barrier.slots.value, q.empty_barrier.slots.value, q.empty_barrier.count) == (
        2 * stages,
        2 * stages,
        1,
    )


@pytest.mark.parametrize("replicas", [2, 3])
def test_k_and_v_are_released_by_every_consumer(replicas: int) -> None:
    values = {"tile.m": 64 * replicas, "tasks.mma.replicate": replicas, "tasks.mma.registers": 160}
    plan = plan_of({**values, "problem.head_dim": 64, "tasks.mma.keep": "none", "rings.kv.empty": "leader"})
    for name in ("k", "v"):
        ring = plan.ring(name)
        assert ring.full_barrier and ring.full_barrier.bytes and ring.empty_barrier
        assert (ring.full_barrier.bytes.value, ring.empty_barrier.count) == (128 * 64 * 2, replicas)
    assert not plan.reasons


def test_a_shared_ring_holds_tiles_of_both_and_expects_one_at_a_time() -> None:
    plan = plan_of({"rings.kv.storage": "shared", "rings.kv.stages": 4})
    assert [r.name for r in plan.rings] == ["q", "kv", "o"]
    full = plan.ring("kv").full_barrier
    assert full and full.bytes and full.bytes.value == 128 * 128 * 2
    assert plan.ring("kv").smem_bytes == 4 * 128 * 128 * 2


def test_fp8_has_v_transposed_and_o_in_bf16() -> None:
    plan = plan_of({"problem.dtype": "e4m3", "tile.n": 64})
    v, o = plan.ring("v").tiles[0], plan.ring("o").tiles[0]
    assert [x.value for x in v.shape] == [128, 64] and [x.value for x in plan.ring("k").tiles[0].shape] == [64, 128]
    assert (v.dtype.name, o.dtype.name) == ("e4m3", "bf16")
    arguments = {a.name: a.type for a in plan.launches[0].arguments}
    assert arguments["v_desc"] == "tensordesc<fp8e4nv[1, 1, 128, 64]>"
    assert arguments["o_desc"] == "tensordesc<bf16[1, 1, 64, 128]>"
    assert "QGMMA" in plan.expected_opcodes


def test_a_cta_of_a_grid_fills_q_once_and_nobody_releases_it() -> None:
    q = plan_of({"schedule.kind": "grid"}).ring("q")
    assert q.full_barrier and q.empty_barrier is None and q.drains == ()


@pytest.mark.parametrize("kind", ["grid", "persistent"])
def test_o_takes_the_place_of_q_and_no_memory(kind: str) -> None:
    plan = plan_of({"schedule.kind": kind, "rings.o.reuse": "q"})
    assert plan.ring("o").alias == "q" and plan.ring("o").smem_bytes == 0
    assert [d.until for d in plan.ring("q").drains] == (["o"] if kind == "persistent" else [])
    apart = plan_of({"schedule.kind": kind})
    assert apart.ring("o").alias is None and apart.ring("o").smem_bytes == 128 * 128 * 2
    assert [d.until for d in apart.ring("q").drains] == ([""] if kind == "persistent" else [])


def test_o_has_its_own_buffers_where_its_rows_are_not_those_of_q() -> None:
    o = plan_of({"problem.head_dim_v": 64}).ring("o")
    assert o.alias is None and o.smem_bytes == 128 * 64 * 2


def test_turns_take_the_named_barriers_that_the_compiler_leaves() -> None:
    (turn,) = plan_of({}).turns
    assert (turn.first_id, turn.threads, turn.replicas) == (4, 256, 2)
    assert plan_of({"tasks.mma.turns": "none"}).turns == ()


@pytest.mark.parametrize(
    ("values", "rule", "words"),
    [
        ({"rings.kv.stages": 4}, "smem", "ring k 131072, ring v 131072"),
        ({"tile.n": 256}, "accumulator", "288 accumulator registers a thread"),
        ({"problem.head_dim": 256}, "accumulator", "224 accumulator registers a thread"),
        ({"tile.m": 64}, "wgmma-m", "32 rows a consumer"),
        ({"rings.kv.storage": "shared", "rings.kv.stages": 1}, "ring-depth", "2 slots at least"),
        ({"tile.m": 192, "tasks.mma.replicate": 3, "tile.n": 32}, "registers", "drops the whole split"),
    ],
)
def test_a_variant_that_does_not_fit_says_why_in_numbers(values: dict[str, Any], rule: str, words: str) -> None:
    assert words in rules(values)[rule]


def test_the_kernel_is_told_what_its_options_need_and_nothing_else() -> None:
    names = [a.name for a in plan_of({}).launches[0].arguments]
    assert names == [
        *("q_desc", "k_desc", "v_desc", "o_desc", "lse_ptr", "scale_log2", "B", "H", "H_KV", "N_Q", "N_K", "GROUP_H")
    ]
    for kind, told in (("persistent", ["num_items", "step"]), ("clc", []), ("grid", [])):
        names = [a.name for a in plan_of({"arch": "sm100", "schedule.kind": kind}).launches[0].arguments]
        assert names[6:] == ["HEADS", "H", "H_PER_KV", "N_Q", "N_K", "GROUP_H", *told]
    options = {"softmax.lse": False, "softmax.sink": True, "softmax.softcap": True, "mask.kind": "window"}
    names = [a.name for a in plan_of({**options, "problem.lengths": "packed"}).launches[0].arguments]
    assert names[4:] == [
        *("counter_ptr", "sink_ptr", "cu_seqlens_q_ptr", "cu_seqlens_k_ptr", "cap", "scale_log2", "LEFT", "RIGHT"),
        *("B", "H", "H_KV", "T_Q", "GROUP_H"),
    ]


@pytest.mark.parametrize(("head_dim", "registers"), [(64, 16), (128, 32)])
def test_q_that_is_kept_takes_registers(head_dim: int, registers: int) -> None:
    plans = [plan_of({"problem.head_dim": head_dim, "tasks.mma.keep": keep}) for keep in ("none", "q")]
    without, kept = (plan.role("mma").holds.accumulator for plan in plans)
    assert kept - without == registers and not plans[1].reasons


def test_q_and_a_wide_head_do_not_fit_into_registers_together() -> None:
    plan = plan_of({"problem.head_dim": 256, "tile.n": 64, "tasks.mma.keep": "q"})
    assert "accumulator" in {r.rule for r in plan.reasons}


def test_items_of_packed_sequences_are_drawn() -> None:
    """A softmax's, on sm90: each consumer hears the number of an item, and lengths say which sequence it is of."""
    plan = plan_of({"problem.lengths": "packed", "mask.kind": "causal"})
    work = plan.work
    assert (work.kind, work.numbers, work.counter) == ("grouped", "dynamic", "counter_ptr")
    assert work.state == ("batch", "first", "q_start", "q_end") and work.groups[1] == "B"
    assert plan.ring("item").drains[0].replicas == plan.role("mma").replicas
    names = [a.name for a in plan.launches[0].arguments]
    assert "counter_ptr" in names and "N_Q" not in names
    assert plan_of({"problem.lengths": "packed", "schedule.kind": "persistent"}).work.kind == "persistent"
    assert plan_of({"problem.lengths": "keys"}).work.kind == "persistent"
