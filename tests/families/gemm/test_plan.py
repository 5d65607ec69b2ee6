"""What a GEMM's plan derives, against counts and bytes worked out here from the spec alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tlxgen.families import Structure, Variant
from tlxgen.families.gemm import Gemm
from tlxgen.families.gemm.spec import GemmSpec
from tlxgen.plan import Plan

from .matrix import SPECS, kernels_of, spec_of

BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "e4m3": 1, "e5m2": 1}
Case = tuple[GemmSpec, Plan]


def plan_of(values: dict[str, Any], split: bool = False) -> Plan:
    model = GemmSpec.model_validate(spec_of("some", values))
    guards = dict.fromkeys(Gemm().guards(model), True)
    return Gemm().plan(model, guards=guards, baked={}, split=split)


@pytest.fixture(scope="module")
def structures(tmp_path_factory: pytest.TempPathFactory) -> list[Structure]:
    folder = tmp_path_factory.mktemp("specs")
    return [s for spec in SPECS for s in kernels_of(spec, folder).structures]


@pytest.fixture(scope="module")
def cases(structures: list[Structure]) -> list[Case]:
    return [_case(v) for s in structures for v in s.variants]


def _case(variant: Variant) -> Case:
    assert isinstance(variant.spec, GemmSpec) and variant.plan
    return variant.spec, variant.plan


def replicas(spec: GemmSpec) -> int:
    return spec.tasks.mma.replicate if spec.tasks.specialized else 1


@pytest.mark.parametrize("empty", ["leader", "warp"])
@pytest.mark.parametrize(
    ("values", "count"),
    [
        ({}, 2),
        ({"tasks.mma.replicate": 1}, 1),
        ({"tasks.mma.split": "pingpong"}, 1),
        ({"cluster.m": 2}, 4),
        ({"cluster.n": 2}, 4),
        ({"cluster.m": 2, "tasks.mma.split": "pingpong"}, 2),
        ({"cluster.m": 2, "cluster.n": 4}, 16),
        ({"cluster.m": 4, "cluster.n": 2, "tasks.mma.replicate": 1}, 8),
        ({"tasks.specialized": False, "tasks.mma.warps": 8}, 1),
    ],
)
def test_a_slot_is_released_by_each_reader_in_each_cta(values: dict[str, Any], count: int, empty: str) -> None:
    plan = plan_of({**values, "rings.ab.empty": empty, "tile.n": 128})
    barrier = plan.ring("ab").empty_barrier
    assert barrier
    warps = 8 if "tasks.specialized" in values else 4
    assert barrier.arrivals == count
    assert barrier.count == count * (32 * warps if empty == "warp" else 1)


@pytest.mark.parametrize(("axis", "shared"), [("m", "b"), ("n", "a")])
def test_only_the_multicast_operand_of_separate_rings_is_released_across_ctas(axis: str, shared: str) -> None:
    plan = plan_of({f"cluster.{axis}": 2, "rings.ab.full": "separate"})
    assert {r.name for r in plan.rings if r.released_remotely} == {shared}
    counts = {r.name: r.empty_barrier.count for r in plan.rings if r.empty_barrier}
    assert counts == {shared: 4, "ab".replace(shared, ""): 2}


@pytest.mark.parametrize(
    ("m", "n", "of_a", "of_b"), [(2, 4, (2, 4, 6), (1,)), (4, 2, (4,), (1, 2, 3)), (2, 2, (2,), (1,))]
)
def test_separate_rings_are_released_to_those_who_share_their_operand(
    m: int, n: int, of_a: tuple[int, ...], of_b: tuple[int, ...]
) -> None:
    """Ranks count along M first."""
    plan = plan_of({"cluster.m": m, "cluster.n": n, "rings.ab.full": "separate"})
    assert {r.name: r.released_to for r in plan.rings if r.empty_barrier} == {"a": of_a, "b": of_b}
    assert {r.name: r.empty_barrier.count for r in plan.rings if r.empty_barrier} == {"a": 2 * n, "b": 2 * m}
    assert plan.cluster == (m * n, 1, 1)


def rows_of(spec: GemmSpec) -> int:
    """Rows of C that a replica holds."""
    return spec.tile.m // (replicas(spec) if spec.tasks.mma.split == "cooperative" else 1)


def widths_of(spec: GemmSpec) -> list[int]:
    """Columns of the products that share a tile's, in order."""
    return [width for width in (256, 128, 64, 32, 16) if spec.tile.n & width]


def heights_of(spec: GemmSpec) -> list[int]:
    """Rows of A's boxes: of each consumer or, where operands are exchanged, of each of the products that share them."""
    if spec.tasks.mma.exchange:
        return [height for height in (256, 128, 64, 32, 16) if spec.tile.m & height]
    return [spec.tile.m // (replicas(spec) if spec.tasks.mma.split == "cooperative" else 1)]


def columns_of(spec: GemmSpec) -> int:
    """Columns of a subtile."""
    width = widths_of(spec)[-1]
    while spec.tile.n // width < spec.epilogue.subtiles * spec.cluster.k:
        width //= 2
    return width


def test_full_barriers_expect_the_bytes_of_the_loads_on_them(cases: list[Case]) -> None:
    for spec, plan in cases:
        size = BYTES[spec.problem.a.dtype]
        a, b = spec.tile.m * spec.tile.k * size, spec.tile.n * spec.tile.k * size
        expected = {"ab": a + b} if spec.rings.ab.full == "shared" else {"a": a, "b": b}
        if spec.cluster.k > 1:
            expected["part"] = 4 * rows_of(spec) * spec.tile.n
        if spec.schedule.tail == "helped":  # fp32 sums in A's place
            expected["rest"] = 4 * spec.tile.m * (spec.tile.k * size // 4)
        found = {r.name: r.full_barrier.bytes.value for r in plan.rings if r.full_barrier and r.full_barrier.bytes}
        assert found == expected, spec.name


def test_the_boxes_of_a_ring_are_cut_where_replicas_divide_the_rows(cases: list[Case]) -> None:
    for spec, plan in cases:
        boxes = {t.name: tuple(s.value for s in t.shape) for r in plan.rings for t in r.tiles}
        whole = spec.tasks.mma.columns == "whole"  # blocks of 8 rows, stored 64 rows at a time
        a = [(height, spec.tile.k) for height in ([8] if whole else heights_of(spec))]
        b = [(spec.tile.k, width) for width in widths_of(spec)]
        found = [box for name, box in boxes.items() if name.startswith("a") and name != "acc"]
        assert found == (a if spec.problem.a.layout == "row" else [box[::-1] for box in a]), spec.name
        found = [box for name, box in boxes.items() if name.startswith("b")]
        assert found == (b if spec.problem.b.layout == "row" else [box[::-1] for box in b]), spec.name
        if spec.epilogue.store == "tma":
            assert boxes["c"] == (64 if whole else heights_of(spec)[-1], columns_of(spec)), spec.name


def test_smem_holds_every_slot_of_every_ring(cases: list[Case]) -> None:
    for spec, plan in cases:
        size = BYTES[spec.problem.a.dtype]
        operands = (spec.tile.m + spec.tile.n) * spec.tile.k * size * spec.rings.ab.stages
        rows = spec.tile.m * (replicas(spec) if spec.tasks.mma.split == "pingpong" else 1)
        c_bytes = 4 if spec.schedule.split_k > 1 else BYTES[spec.problem.c.dtype]
        staged = heights_of(spec)[-1] if spec.tasks.mma.exchange else rows
        staged = 64 if spec.tasks.mma.columns == "whole" else staged
        staging = staged * columns_of(spec) * c_bytes * spec.rings.c.stages
        parts = rows * spec.tile.n * 4 if spec.cluster.k > 1 else 0
        rings = operands + parts + (staging if spec.epilogue.store == "tma" else 0)
        uses = plan.budgets[0].uses
        assert sum(u.amount for u in uses if u.what.startswith("ring ")) == rings, spec.name
        assert rings < plan.budgets[0].used <= 232448, spec.name


def test_the_staging_ring_has_barriers_only_when_a_task_stores_from_it(cases: list[Case]) -> None:
    seen = set()
    for spec, plan in cases:
        if not plan.has_ring("c"):
            assert spec.epilogue.store == "direct"
            continue
        stored_by_task = any(r.name == "store" for r in plan.roles)
        seen.add(stored_by_task)
        full, empty = plan.ring("c").full_barrier, plan.ring("c").empty_barrier
        assert (full is not None, empty is not None) == (stored_by_task, stored_by_task), spec.name
        if full and empty and spec.tasks.epilogue:
            threads = (128, 32 * spec.tasks.epilogue.warps) if spec.rings.c.empty == "warp" else (1, 1)
            assert (full.count, empty.count) == threads, spec.name
            assert full.slots.value == spec.rings.c.stages * replicas(spec), spec.name
    assert seen == {True, False}


def test_registers_are_never_asked_for_the_default_task(cases: list[Case]) -> None:
    assert all(role.registers is None for _, plan in cases for role in plan.roles if role.default)


def test_named_turns_take_ids_that_the_compiler_leaves(cases: list[Case]) -> None:
    turns = [(plan, turn) for _, plan in cases for turn in plan.turns if turn.kind == "named"]
    assert turns
    for plan, turn in turns:
        tasks = sum(r.replicas for r in plan.possible_roles if not r.default)
        assert 2 + tasks <= turn.first_id <= 16 - turn.replicas
        assert turn.threads == 2 * 128


def test_split_k_is_a_constant_of_the_source_unless_a_variant_cuts_k(structures: list[Structure]) -> None:
    for structure in structures:
        cut = any(v.spec.schedule.split_k > 1 for v in structure.variants if isinstance(v.spec, GemmSpec))
        assert ("SPLIT_K" in structure.baked) is not cut
        assert structure.baked.get("SPLIT_K", 1) == 1


def test_split_k_may_be_kept_when_nothing_cuts_k(tmp_path: Path) -> None:
    kept = spec_of("kept", {}) | {"keep": ["schedule.split_k"]}
    assert "SPLIT_K" not in kernels_of(kept, tmp_path).structures[0].baked


def test_one_structure_serves_whole_and_cut_k(tmp_path: Path) -> None:
    spec = spec_of("both", {"tile.n": 128}) | {"variants": {"axes": {"schedule.split_k": [1, 4]}}}
    kernels = kernels_of(spec, tmp_path)
    (structure,) = kernels.structures
    plans = [v.plan for v in structure.variants if v.plan]
    assert [[x.kernel for x in p.launches] for p in plans] == [["both_kernel", "both_reduce_kernel"]] * 2
    assert [[x.launched for x in p.launches] for p in plans] == [[True, False], [True, True]]


def test_a_baked_axis_is_a_structure_for_each_value(tmp_path: Path) -> None:
    spec = spec_of("baked", {"tile.n": 128}) | {"variants": {"axes": {"schedule.group_m": [4, 8]}}}
    assert len(kernels_of(spec, tmp_path).structures) == 1
    structures = kernels_of(spec | {"bake": ["schedule.group_m"]}, tmp_path).structures
    assert [(s.name, s.baked["GROUP_M"]) for s in structures] == [("baked_group_m4", 4), ("baked_group_m8", 8)]


@pytest.mark.parametrize(("setting", "values"), [("keep", [True, False]), (True, [True]), (False, [False])])
def test_a_kept_guard_is_one_more_axis_of_constants(tmp_path: Path, setting: object, values: list[bool]) -> None:
    spec = spec_of("guarded", {"tile.n": 128, "tasks.epilogue": {}, "guards.EPILOGUE_TASK": setting})
    (structure,) = kernels_of(spec, tmp_path).structures
    plans = [v.plan for v in structure.variants if v.plan]
    assert [p.value("EPILOGUE_TASK") for p in plans] == values
    assert [any(r.name == "store" for r in p.roles) for p in plans] == values
    assert ("EPILOGUE_TASK" in structure.baked) is (setting != "keep")


def test_a_launch_names_the_constants_that_the_source_keeps(cases: list[Case]) -> None:
    for spec, plan in cases:
        kept = {p.name for p in plan.parameters if not p.baked}
        assert {name for name, _ in plan.launches[0].constants} == kept, spec.name
        boxes = [a.type for a in plan.launches[0].arguments if a.name.startswith("a_") and a.name.endswith("_desc")]
        wanted = [", ".join(map(str, box)) for box in _a_boxes(spec)]
        assert boxes == [f"tensordesc<{_signature(spec)}[{box}]>" for box in wanted], spec.name


def _signature(spec: GemmSpec) -> str:
    return {"e4m3": "fp8e4nv", "e5m2": "fp8e5"}.get(spec.problem.a.dtype, spec.problem.a.dtype)


def _a_boxes(spec: GemmSpec) -> list[tuple[int, ...]]:
    k, row_major = spec.tile.k, spec.problem.a.layout == "row"
    heights = [64, 32, 16, 8] if spec.tasks.mma.columns == "whole" else heights_of(spec)
    return [(rows, k) if row_major else (k, rows) for rows in heights]


@pytest.mark.parametrize(
    ("values", "tail", "signals"),
    [
        ({}, "whole", {}),
        ({"schedule.tail": "split"}, "split", {"counts": ("tail_parts * 2", 1, "fix_up_ctas")}),
        ({"schedule.tail": "split", "schedule.fix_up": "last"}, "split", {"counts": ("tail_parts", 2, "1")}),
        ({"schedule.tail": "helped"}, "helped", {"marks": ("1", 2, "1")}),
    ],
)
def test_a_last_wave_that_is_cut_is_handed_on_by_signals(
    values: dict[str, Any], tail: str, signals: dict[str, tuple[str, int, str]]
) -> None:
    """Of two cooperating replicas each leaves a mark of its rows, or counts for itself."""
    plan = plan_of({"tile.n": 128, "epilogue.subtiles": 4, **values})
    assert plan.work.tail == tail
    assert {s.name: (s.expected, s.words, s.waiters) for s in plan.signals} == signals
    to = "mma" if "schedule.fix_up" in values else "load"  # the last CTA of a tile adds up with its consumers
    assert {(s.by, s.to, s.scope, s.last) for s in plan.signals} <= {("mma", to, "gpu", to == "mma")}
    assert [r.name for r in plan.rings if r.over] == (["rest"] if tail == "helped" else [])


@pytest.mark.parametrize(("rows", "scratch"), [(64, 0), (128, 2 * 128 * 4)])
def test_scales_of_more_rows_than_one_wgmma_has_take_scratch(rows: int, scratch: int) -> None:
    fp8 = {"problem.a.dtype": "e4m3", "problem.b.dtype": "e4m3", "problem.b.layout": "col", "problem.scaling": "block"}
    sizes = {"tasks.mma.split": "pingpong", "tile.m": rows, "tile.n": 64, "tile.k": 128, "rings.ab.stages": 6}
    uses = {use.what: use.amount for use in plan_of(fp8 | sizes).compiler_smem}
    assert uses["layout conversion"] == scratch
