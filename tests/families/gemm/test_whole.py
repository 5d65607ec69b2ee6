"""Columns of one wgmma, any multiple of 8: rows of A, or columns of B; run in every form, and with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.compile import compile_all  # noqa: E402
from tlxgen.errors import SpecErrors  # noqa: E402
from tlxgen.families.gemm.model import Gpu, Kernel, Rates, Times, Types  # noqa: E402
from tlxgen.plan.budget import budgets  # noqa: E402
from tlxgen.plan.size import Count  # noqa: E402
from tlxgen.sim import RUNS  # noqa: E402
from tlxgen.verbs.compile import job_of  # noqa: E402

from .matrix import kernels_of, spec_of  # noqa: E402
from .test_fix_up import Form  # noqa: E402

WHOLE = {
    "tasks.mma.exchange": True,
    "tasks.mma.columns": "whole",
    "tasks.mma.replicate": 1,
    "tile": {"m": 88, "n": 64, "k": 64},
    "rings.ab.stages": 3,
    "epilogue.subtiles": 1,
}
TWO = {**WHOLE, "tile": {"m": 136, "n": 128, "k": 64}, "tasks.mma.replicate": 2}
COLUMN = {"problem": {"b": {"layout": "col"}}}
TURNED = {"problem": {"a": {"layout": "col"}, "b": {"layout": "col"}}}
ROWS: dict[str, Any] = {"problem": {}}
THREE = {**TWO, "tile": {"m": 88, "n": 192, "k": 64}, "tasks.mma.replicate": 3, "tasks.mma.registers": None}
BROAD = {**COLUMN, "tasks.mma.columns": "whole", "tasks.mma.replicate": 1, "rings.ab.stages": 3}
BROAD = {**BROAD, "tile": {"m": 64, "n": 248, "k": 64}}  # all boxes
BROAD_TWO = {**BROAD, "tasks.mma.replicate": 2, "tile": {"m": 128, "n": 136, "k": 64}}
BROAD_THREE = {**BROAD, "tasks.mma.replicate": 3, "tile": {"m": 192, "n": 112, "k": 64}, "tasks.mma.registers": None}
FORMS: dict[str, dict[str, Any]] = {
    "one": WHOLE,
    "two": {**TWO, **COLUMN, "rings.ab.empty": "warp"},
    "ops": {**WHOLE, "tile.m": 72, "epilogue.ops": ["bias", "gelu", "residual"]},
    "fp16": {**WHOLE, "problem": {x: {"dtype": "fp16"} for x in "abc"}, "tasks.mma.in_flight": 0},
    "narrow": {**WHOLE, "tile.m": 24, "cluster.m": 2},
    "power_of_two": {**WHOLE, "tile.m": 128, "rings.c.stages": 2},
    "all_boxes": {**TWO, "tile.m": 248, "rings.c.stages": 2, "rings.ab.stages": 2},
    "share_a": {**WHOLE, **COLUMN, "cluster.n": 4},
    "share_b": {**TWO, "cluster.m": 2},
    "columns_of_a": {**WHOLE, **TURNED, "rings.c.stages": 2},
    "columns_of_a_two": {**TWO, **TURNED, "tile.m": 248, "rings.ab.stages": 2, "cluster.n": 2},
    "rows_of_b": {**BROAD, **ROWS, "tile.n": 136, "rings.c.stages": 2},
    "rows_of_b_two": {**BROAD_TWO, **ROWS, "tile.n": 192, "cluster.m": 2},
    "drawn": {**WHOLE, "schedule.kind": "dynamic", "rings.ab.full": "separate"},
    "three": THREE,
    "three_share_b": {**THREE, **COLUMN, "cluster.m": 2},
    "broad": {**BROAD, "rings.c.stages": 2},
    "broad_two": {**BROAD_TWO, "rings.ab.empty": "warp", "tasks.load.edge_rows": 32},
    "broad_three": {**BROAD_THREE, "problem": {"a": {"layout": "col"}, "b": {"layout": "col"}}},
    "broad_ops": {**BROAD, "tile.n": 120, "epilogue.ops": ["bias", "gelu", "residual"]},
    "broad_share_a": {**BROAD, "cluster.n": 4, "rings.ab.stages": 2},
    "broad_share_b": {**BROAD_TWO, "cluster.m": 2},
    "broad_drawn": {**BROAD_TWO, "schedule.kind": "dynamic", "rings.ab.full": "separate"},
}
SHAPES = [(137, 264, 136), (70, 40, 72)]
EACH = {"schedule.tail": "split", "schedule.fix_up": "each"}
CUT: dict[str, dict[str, Any]] = {  # tiles cut along K, whose sums leave by blocks as C does
    "last": {**WHOLE, "schedule.tail": "split", "schedule.fix_up": "last", "rings.c.stages": 2},
    "each": {**WHOLE, **EACH, "tile.m": 40, "cluster.m": 2, "rings.c.stages": 2},
    "each_ops": {**WHOLE, **EACH, "tile.m": 24, "cluster.n": 2, "epilogue.ops": ["bias", "gelu", "residual"]},
    "each_of_two": {**TWO, **EACH, **TURNED, "cluster.n": 2, "rings.ab.stages": 2},
    "last_of_three": {**THREE, "schedule.tail": "split", "schedule.fix_up": "last"},
    "each_two_axes": {**WHOLE, **EACH, "tile.m": 64, "cluster": {"m": 2, "n": 2}, "rings.c.stages": 2},
}


@pytest.mark.parametrize("name", FORMS)
def test_numbers_and_protocol(name: str, tmp_path: Path) -> None:
    form = Form(name, FORMS[name], tmp_path)
    for shape in SHAPES:
        report = form.run(shape, runs=RUNS[:2])
        assert not report.seen, str(report)


@pytest.mark.parametrize("name", CUT)
def test_numbers_and_protocol_of_cut_tiles(name: str, tmp_path: Path) -> None:
    form = Form(name, CUT[name], tmp_path)
    for shape, parts in (((70, 136, 200), 3), ((1, 136, 320), 5)):
        report = form.run(shape, parts, runs=RUNS[:2])
        assert not report.seen, str(report)


CUT_FAULTS = [
    (
        "each_of_two",
        "sums of the other consumer",
        "[sums_row + box * 32, replica * (BLOCK_N // 2)]",
        "[sums_row + box * 32, 0]",
    ),
    (
        "each_of_two",
        "columns of the other consumer",
        "sums_ptr + sums_row * BLOCK_N + replica * (BLOCK_N // 2)",
        "sums_ptr + sums_row * BLOCK_N",
    ),
    ("last", "sums stored over others", "[sums_row + BLOCK_M // 32 * 32 + unit * 8, 0]", "[sums_row + unit * 8, 0]"),
    ("each", "blocks of sums in another order", "tl.trans(acc[box * 4 + unit])", "tl.trans(acc[box * 4 + 3 - unit])"),
    ("last", "a buffer of sums filled while its copy reads it", "store_wait(C_STAGES - 1)", "store_wait(C_STAGES)"),
]


@pytest.mark.parametrize(("form", "name", "old", "new"), CUT_FAULTS, ids=[f[1].replace(" ", "_") for f in CUT_FAULTS])
def test_a_fault_of_cut_tiles_is_found(form: str, name: str, old: str, new: str, tmp_path: Path) -> None:
    made = Form(form, CUT[form], tmp_path)
    made.mutated(old, new)
    assert made.fails((140, 136, 200), 3), name


FAULTS = [
    ("a slot released before its product is done", "whole_wait(1, acc)", "whole_wait(2, acc)"),
    ("the last product read before it is done", "whole_wait(0, acc)", "whole_wait(1, acc)"),
    ("the next slot's rows", "a_tiles[slot * (BLOCK_M // 8)]", "a_tiles[slot * (BLOCK_M // 8) + 1]"),
    ("a box that lies too low", "[row + BLOCK_M // 32 * 32, ", "[row + BLOCK_M // 32 * 32 + 8, "),
    ("blocks stored in another order", "tl.trans(acc[box * 8 + unit])", "tl.trans(acc[box * 8 + 7 - unit])"),
    (
        "the last rows stored over the first",
        "[row + BLOCK_M // 64 * 64 + unit * 8, column]",
        "[row + unit * 8, column]",
    ),
]


BROAD_FAULTS = [
    ("a slot released before its product is done", "whole_wait(1, acc)", "whole_wait(2, acc)"),
    ("the next slot's columns", "b_tiles[slot * (BLOCK_N // 8)]", "b_tiles[slot * (BLOCK_N // 8) + 1]"),
    ("a box that lies too far left", "[column + BLOCK_N // 32 * 32, ", "[column + BLOCK_N // 32 * 32 - 8, "),
    ("blocks put together in another order", "beside(acc, box * 8, 8)", "beside(acc, (2 - box) * 8, 8)"),
    ("the last columns stored over others", "[row, column + BLOCK_N // 16 * 16]", "[row, column]"),
    ("a buffer filled while its copy reads it", "store_wait(C_STAGES - 1)", "store_wait(C_STAGES)"),
    ("another box's place", "c_16_tiles[c_slot * 4 + 2]", "c_16_tiles[c_slot * 4 + 1]"),
]
EVERY_FAULT = [("one", WHOLE, *fault) for fault in FAULTS]
EVERY_FAULT += [("broad", {**BROAD, "rings.c.stages": 2}, *fault) for fault in BROAD_FAULTS]


@pytest.mark.parametrize(
    ("form", "values", "name", "old", "new"), EVERY_FAULT, ids=[f"{f[0]}_{f[2].replace(' ', '_')}" for f in EVERY_FAULT]
)
def test_a_fault_is_found(form: str, values: dict[str, Any], name: str, old: str, new: str, tmp_path: Path) -> None:
    made = Form(form, values, tmp_path)
    made.mutated(old, new)
    assert made.fails((140, 264, 264)), name


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({**COLUMN, "tasks.mma.exchange": False, "tile.n": 100}, "tasks.mma.columns is whole: a multiple of 8"),
        ({**COLUMN, "tasks.mma.exchange": False, "tile.m": 128}, "each consumer has the 64 rows of a wgmma: 64"),
        ({**COLUMN, "tasks.mma.exchange": False, "epilogue.subtiles": 2}, "boxes of columns are stored one after"),
        ({"tasks.mma.split": "pingpong", "tasks.mma.replicate": 2, "tile.n": 128}, "consumers share a tile"),
        ({"tile.m": 100}, "a multiple of 8, at least 8"),
        ({**COLUMN, "tasks.mma.exchange": False, "tile": {"m": 64, "n": 56, "k": 64}}, "a multiple of 8, at least 64"),
        ({"tile.n": 128}, "each consumer has the 64 rows of a wgmma: 64"),
        ({"tile.k": 128}, "a row of a slot is a line of 128 bytes: 64"),
        (
            {**COLUMN, "tasks.mma.exchange": False, "tile": {"m": 64, "n": 88, "k": 64}, **EACH},
            "sums of parts are stored by blocks of rows of C",
        ),
        ({"epilogue.store": "direct"}, "blocks leave by TMA: tma"),
        ({"epilogue.ops": ["swiglu"]}, "boxes of C have half of the columns: no swiglu"),
        (
            {**COLUMN, "tasks.mma.exchange": False, "cluster": {"k": 2}, "tile": {"m": 64, "n": 128, "k": 64}},
            "CTAs along k send each other slices of sums, not blocks",
        ),
    ],
)
def test_what_does_not_go_with_it(change: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(SpecErrors) as raised:
        kernels_of(spec_of("wrong", {**WHOLE, **change}), tmp_path)
    assert text in str(raised.value)


@pytest.mark.compiles
def test_shared_memory_is_as_planned_where_rows_of_c_begin_anywhere(tmp_path: Path) -> None:
    """A thread then stores other elements of C than it has added up, by way of shared memory."""
    import dataclasses

    form = Form("last", CUT["last"], tmp_path)
    (variant,) = form.kernels.structures[0].variants
    assert variant.plan
    job = job_of(form.path, variant, variant.plan.launches[0])
    anywhere = tuple(name for name in job.divisible if name not in ("stride_cm", "M", "N"))
    assert anywhere != job.divisible
    aligned, apart = compile_all([job, dataclasses.replace(job, divisible=anywhere)], workers=1)
    assert aligned.resources and apart.resources, (aligned.error, apart.error)
    assert aligned.resources.smem_bytes < apart.resources.smem_bytes <= budgets(variant.plan)[0].used


def test_all_widths_are_one_structure(tmp_path: Path) -> None:
    axes = {"tile.m": [72, 80, 136, 144, 192]}
    made = kernels_of({**spec_of("widths", {**WHOLE, "rings.ab.stages": 2}), "variants": {"axes": axes}}, tmp_path)
    assert [len(s.variants) for s in made.structures] == [5]


def test_a_count_is_a_number_with_a_text() -> None:
    import pickle

    count = pickle.loads(pickle.dumps(Count(11, "(BLOCK_M // 8)")))
    assert (count, str(count), f"{count}", count + 1) == (11, "(BLOCK_M // 8)", "(BLOCK_M // 8)", 12)


def halves(kernels: list[Kernel], times: list[float]) -> list[list[tuple[Kernel, float]]]:
    count = len(kernels)
    return [list(zip(kernels, some, strict=True)) for some in (times[:count], times[count:])]


def test_of_widths_with_as_many_tiles_the_model_estimates_the_narrow_ones(tmp_path: Path) -> None:
    from tlxgen.families.gemm import cost

    kernels = [Kernel((64, m, 64), 7, swap=True, whole=True) for m in range(72, 256, 8)]
    rates: Rates = cost.RATES
    times = Times(kernels, Types(2, 2, 2, True, False), rates)((300, 4096, 4096), Gpu("", 132))
    worth = [k.tile[1] for k, us in zip(kernels, times, strict=True) if us < float("inf")]
    assert worth == [72, 80, 88, 96, 104, 112, 120, 152, 160, 168]  # 5 tiles, 4, 3 and 2
    broad = [k._replace(swap=False) for k in kernels]
    times = Times(kernels + broad, Types(2, 2, 2, True, True), rates)((300, 200, 4096), Gpu("", 132))
    rows, columns = ([k.tile[1] for k, us in pairs if us < float("inf")] for pairs in halves(kernels, times))
    assert (rows, columns) == (worth, [72, 80, 88, 104, 112, 120, 200, 208, 216])  # of columns 3 tiles, 2 and 1
