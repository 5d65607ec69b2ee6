"""What a GEMM's plan derives for sm100, and what of a spec for sm90 is the same there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tlxgen.errors import NoVariantError, SpecErrors
from tlxgen.families import Structure
from tlxgen.families.gemm import Gemm
from tlxgen.families.gemm.spec import GemmSpec
from tlxgen.plan import Plan
from tlxgen.review.show import plan_tables
from tlxgen.spec import load

from . import blackwell
from .matrix import Spec, kernels_of, spec_of

SPECS = Path(__file__).resolve().parents[3] / "specs"
CLC: Spec = {"schedule.kind": "clc", "tasks.scheduler": {}, "tasks.epilogue": {}}


def plan_of(
    values: dict[str, Any], guards: dict[str, bool] | None = None, baked: dict[str, bool] | None = None
) -> Plan:
    model = GemmSpec.model_validate(spec_of("some", {"arch": "sm100", **values}))
    on = dict.fromkeys(Gemm().guards(model), True)
    return Gemm().plan(model, guards=on | (guards or {}), baked=baked or {}, split=False)


@pytest.fixture(scope="module")
def structures(tmp_path_factory: pytest.TempPathFactory) -> list[Structure]:
    folder = tmp_path_factory.mktemp("specs")
    return [s for spec in blackwell.SPECS for s in kernels_of(spec, folder).structures]


def test_every_value_of_an_axis_is_in_the_matrix() -> None:
    def at(spec: Spec, path: str) -> Any:
        value: Any = spec
        for key in path.split("."):
            value = value[key]
        return value

    for axis, values in blackwell.AXES.items():
        there = [at(spec, axis) for spec in blackwell.SPECS]
        assert [v for v in values if v not in there] == [], axis


def test_one_thread_multiplies_one_warp_loads_and_four_drain() -> None:
    plan = plan_of({})
    assert [(r.name, r.warps, r.default, r.registers) for r in plan.roles] == [
        ("epilogue", 4, True, None),
        ("mma", 1, False, 48),
        ("load", 1, False, 48),
    ]


def test_the_tensor_core_fills_accumulators_and_frees_operands() -> None:
    plan = plan_of({"rings.acc.stages": 2})
    counts = {b.name: (b.kind, b.count, b.slots.value) for b in plan.barriers}
    assert counts == {
        "ab_full": ("tx", 1, 4),
        "ab_empty": ("commit", 1, 4),
        "acc_full": ("commit", 1, 2),
        "acc_empty": ("leader", 1, 2),
    }


@pytest.mark.parametrize(("empty", "count"), [("leader", 1), ("warp", 128)])
@pytest.mark.parametrize("pair", [False, True])
def test_an_accumulator_is_released_by_the_epilogue_of_each_cta_it_is_for(empty: str, count: int, pair: bool) -> None:
    plan = plan_of({"rings.acc.empty": empty, **({"cluster.m": 2} if pair else {})})
    barrier = plan.ring("acc").empty_barrier
    assert barrier and barrier.count == count * (2 if pair else 1)


def test_the_leader_expects_the_bytes_of_both_ctas_and_half_of_b_from_each() -> None:
    plan = plan_of({"cluster.m": 2, "tile.n": 256})
    full = plan.ring("ab").full_barrier
    assert full and full.bytes and full.bytes.value == 2 * (128 * 64 + 64 * 128) * 2
    assert [t.shape[1].value for t in plan.ring("ab").tiles] == [64, 128]


def test_ctas_that_meet_expect_their_own_bytes_and_tell_the_first() -> None:
    plan = plan_of({"cluster": {"m": 2, "protocol": "rendezvous"}, "rings.ab.full": "separate"})
    assert {b.name: b.count for b in plan.barriers if b.name.endswith("_ready")} == {"a_ready": 2}
    full = plan.ring("a").full_barrier
    assert full and full.bytes and full.bytes.value == 128 * 64 * 2


@pytest.mark.parametrize(
    ("guards", "baked", "text", "count"),
    [
        ({}, {"SCHEDULER_TASK": True, "EPILOGUE_TASK": True}, "5", 5),
        ({"SCHEDULER_TASK": False}, {"SCHEDULER_TASK": False, "EPILOGUE_TASK": True}, "4", 4),
        ({"EPILOGUE_TASK": False}, {"SCHEDULER_TASK": True}, "4 + EPILOGUE_TASK", 4),
        ({}, {}, "3 + EPILOGUE_TASK + SCHEDULER_TASK", 5),
    ],
)
def test_every_task_that_is_there_reads_each_answer(
    guards: dict[str, bool], baked: dict[str, bool], text: str, count: int
) -> None:
    plan = plan_of(CLC, guards, baked)
    assert (plan.work.consumers.text, plan.work.consumers.value) == (text, count)
    assert {b.name: b.count for b in plan.source_barriers} == {"clc full": 1, "clc empty": count}
    pair = plan_of({**CLC, "cluster.m": 2}, guards, baked)
    assert {b.name: b.count for b in pair.source_barriers}["clc empty"] == 2 * count


def test_what_does_not_fit_into_tensor_memory_is_rejected_with_the_column_map() -> None:
    plan = plan_of({"rings.acc.stages": 3})
    (reason,) = plan.reasons
    assert reason.rule == "tmem"
    assert "needs 768 of 512 columns, 256 too many (acc[0] 0..255, acc[1] 256..511, acc[2] 512..767)" in reason.text
    assert not plan_of({"rings.acc.stages": 2}).reasons


def test_show_prints_the_columns() -> None:
    tables = {
        t.title: t for t in plan_tables(plan_of({"tasks.mma.replicate": 2, "tile.m": 256, "rings.acc.stages": 1}))
    }
    assert [row[:3] for row in tables["TMEM"].rows] == [("acc[0]", "0", "255"), ("acc[1]", "256", "511")]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"tile.m": 256}, "tcgen05-m"),
        ({"tile.m": 64, "cluster.m": 2}, "tcgen05-m"),
        ({"tile.n": 32, "cluster.m": 2}, "tcgen05-n"),
        ({"problem.a.dtype": "e4m3", "problem.b.dtype": "e4m3", "tile.k": 16}, "tcgen05-k"),
        ({"epilogue.subtiles": 1, "tile.n": 256, "rings.ab.stages": 2}, "accumulator"),
    ],
)
def test_what_tcgen05_cannot_do_is_rejected(values: dict[str, Any], rule: str) -> None:
    assert rule in [r.rule for r in plan_of(values).reasons]


MX: Spec = {
    "problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e5m2", "layout": "col"}, "scaling": "mx"},
    "tile.k": 128,
    "rings": {"ab": {"stages": 3}, "acc": {"stages": 1}},
}


def test_mx_scales_come_with_their_operands_and_take_columns_of_tensor_memory() -> None:
    plan = plan_of(MX)
    full = plan.ring("ab").full_barrier
    assert full and full.bytes and full.bytes.value == 128 * 128 + 256 * 128 + (1 + 2) * 512
    assert [str(c) for c in plan.tmem] == ["acc[0] 0..255", "a_scale 256..259", "b_scale 260..267"]
    (reason,) = plan_of({**MX, "rings.acc.stages": 2}).reasons
    assert (reason.rule, "needs 524 of 512" in reason.text) == ("tmem", True)


def test_two_ctas_read_the_scales_of_all_columns_of_b() -> None:
    tiles = {t.name: t.bytes.value for t in plan_of({**MX, "cluster.m": 2}).ring("ab").tiles}
    assert tiles == {"a": 128 * 128, "b": 128 * 128, "a_scale": 512, "b_scale": 1024}


FP4: Spec = {**MX, "problem": {"a": {"dtype": "e2m1"}, "b": {"dtype": "e2m1", "layout": "col"}, "scaling": "mx"}}
MIXED: Spec = {**MX, "problem": {"a": {"dtype": "e5m2"}, "b": {"dtype": "e2m1", "layout": "col"}, "scaling": "mx"}}


def test_a_byte_has_two_values_of_fp4() -> None:
    ring = plan_of(FP4).ring("ab")
    assert ring.full_barrier and ring.full_barrier.bytes
    assert ring.full_barrier.bytes.value == (128 + 256) * 64 + (1 + 2) * 512
    assert ring.smem_bytes == 3 * ring.full_barrier.bytes.value
    assert [t.shape[1].text for t in ring.tiles[:2]] == ["BLOCK_K // 2", "BLOCK_K // 2"]


def test_fp4_beside_fp8_takes_twice_the_bytes_that_tma_counts() -> None:
    ring = plan_of(MIXED).ring("ab")
    assert ring.full_barrier and ring.full_barrier.bytes
    assert ring.full_barrier.bytes.value == 128 * 128 + 256 * 64 + (1 + 2) * 512
    assert ring.smem_bytes == 3 * ((128 + 256) * 128 + (1 + 2) * 512)


@pytest.mark.parametrize(("values", "product"), [(MX, "UTCQMMA"), (MIXED, "UTCQMMA"), (FP4, "UTCOMMA")])
def test_the_instruction_depends_on_what_is_multiplied(values: Spec, product: str) -> None:
    assert plan_of(values).expected_opcodes[:2] == (product, "UTCCP")


def test_each_slot_may_have_its_scales_in_columns_of_its_own_and_needs_no_barrier_for_them() -> None:
    plan = plan_of({**MX, "rings.scale": {"space": "tmem"}})
    ring = plan.ring("scale")
    assert (ring.slots.value, ring.barriers, ring.smem_bytes) == (3, (), 0)
    factors = ["a_factor[0] 256..259", "a_factor[1] 260..263", "a_factor[2] 264..267", "b_factor[0] 268..275"]
    assert [str(c) for c in plan.tmem][1:5] == factors
    assert sum(c.count for c in plan.tmem) == 256 + 3 * (4 + 8)
    (rings,) = (t for t in plan_tables(plan) if t.title == "Rings")
    assert ("mma, by tcgen05 copies", "mma, in order with its MMAs") in [row[5:7] for row in rings.rows]


def test_scales_that_the_compiler_swizzles_are_not_copied() -> None:
    wide = {**FP4, "tile.k": 256, "rings.ab.stages": 2}
    assert not plan_of(wide).reasons
    (reason,) = plan_of({**wide, "rings.scale": {"space": "tmem"}}).reasons
    assert (reason.rule, "b_scale has 8 rows of 256 B" in reason.text) == ("mx", True)


@pytest.mark.parametrize("values", [{"tile.k": 64}, {"tile.n": 64}, {"tile.m": 64}])
def test_mx_scales_come_in_whole_blocks(values: dict[str, Any]) -> None:
    assert "mx" in [r.rule for r in plan_of({**MX, **values}).reasons]


@pytest.mark.parametrize("path", sorted(SPECS.glob("hopper_gemm*.yaml")), ids=lambda p: p.stem)
def test_a_spec_for_sm90_is_one_for_sm100_when_the_hardware_allows(path: Path) -> None:
    document = load(path, tuned=False)
    document = replace(document, data={**document.data, "arch": "sm100"})
    # Turns of wgmma, one task for all, sums through the memory of a cluster, those that leave the tensor core, releases
    # by the warps that multiply, consumers that ask L2 ahead, operands by pointers, scales of blocks.
    hopper = (
        *("pingpong", "pipelined", "cluster_k", "fp8_exact", "tail", "helped", "prefetch"),
        *("tuned", "fp8_tuned", "fp8_exact_tuned", "any_rows", "fp8_block", "columns"),
    )
    if path.stem in {f"hopper_gemm_{name}" for name in hopper}:
        with pytest.raises((SpecErrors, NoVariantError)):
            Gemm().kernels(document).some()
    else:
        kernels = Gemm().kernels(document).some()
        assert all(r for v in kernels.rejected for r in v.reasons)


def test_each_structure_of_the_matrix_has_what_its_spec_asks_for(structures: list[Structure]) -> None:
    assert len(structures) >= 56
    for structure in structures:
        for variant in structure.variants:
            plan, spec = variant.plan, variant.spec
            assert plan and isinstance(spec, GemmSpec)
            assert (
                sum(c.count for c in plan.tmem) == spec.rings.acc.stages * spec.tasks.mma.replicate * spec.tile.n <= 512
            )
            assert bool(plan.source_barriers) is (spec.schedule.kind == "clc")
