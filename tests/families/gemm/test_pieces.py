"""Columns, or exchanged rows, that products of powers of two share: run in every form, and with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.families.base import structure_key  # noqa: E402
from tlxgen.families.gemm import Gemm  # noqa: E402
from tlxgen.sim import RUNS  # noqa: E402

from .matrix import kernels_of, spec_of  # noqa: E402
from .test_fix_up import LAYOUTS, Form  # noqa: E402

PAIR = {"tile": {"m": 128, "n": 96, "k": 32}, "rings.ab.stages": 3}
FORMS: dict[str, dict[str, Any]] = {
    "pair": PAIR,
    "fifths": {**PAIR, "tile.n": 160, "epilogue.ops": ["bias", "gelu", "residual"]},
    "sevenths": {**PAIR, "tile.n": 224, "epilogue.subtiles": 1},
    "three": {**PAIR, "tile.m": 192, "tasks.mma.replicate": 3, "epilogue.subtiles": 4},
    "alone": {**PAIR, "tile.m": 64, "tasks.mma.replicate": 1, "problem.c.dtype": "fp32"},
    "turns": {**PAIR, "tile.m": 64, "tasks.mma.split": "pingpong", "rings.ab.full": "separate"},
    "drawn": {**PAIR, "schedule.kind": "dynamic", "tasks.mma.in_flight": 0},
    "cut": {**PAIR, "schedule.split_k": 3, "epilogue.ops": ["bias", "relu"]},
    "shared_a": {**PAIR, "cluster.n": 2},
    "shared_b": {**PAIR, "cluster.m": 2},
    "direct": {**PAIR, "epilogue.store": "direct"},
    "store_task": {**PAIR, "tasks.epilogue": {}},
    "pipelined": {**PAIR, "tile.m": 64, "tasks.specialized": False},
    "halved": {**PAIR, "epilogue.ops": ["scale", "swiglu"]},
    "fp8": {
        **PAIR,
        "tile.k": 64,
        "problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}},
        "epilogue.ops": ["scale_rowwise"],
    },
}
# Of exchanged operands, rows are the columns of an instruction.
ROWS = {"tile": {"m": 96, "n": 64, "k": 32}, "rings.ab.stages": 3, "tasks.mma.exchange": True}
CUT = {"schedule.tail": "split", "rings.ab.empty": "warp"}
OF_TWO = {**ROWS, "tile.n": 128, "tasks.mma.replicate": 2}
OF_ROWS: dict[str, dict[str, Any]] = {
    "rows": {**ROWS, "rings.c.stages": 2},
    "rows_fifths": {**ROWS, "tile.m": 160, "epilogue.ops": ["bias", "gelu", "residual"]},
    "rows_sevenths": {**ROWS, "tile.m": 224, "rings.ab.full": "separate", "tasks.mma.in_flight": 0},
    "rows_fp32": {**ROWS, "problem.c.dtype": "fp32", "schedule.kind": "dynamic"},
    "rows_split_k": {**ROWS, "schedule.split_k": 3, "epilogue.ops": ["scale_rowwise", "relu"]},
    "rows_last": {**ROWS, **CUT, "schedule.fix_up": "last", "epilogue.ops": ["bias"]},
    "rows_each": {**ROWS, **CUT, "schedule.fix_up": "each", "problem.c.dtype": "fp32"},
    "rows_share_a": {**ROWS, "cluster.n": 4},
    "rows_share_b": {**ROWS, "cluster.m": 2},
    "rows_direct": {**ROWS, "epilogue.store": "direct"},
    "rows_store_task": {**ROWS, "tasks.epilogue": {}},
    "rows_pipelined": {**ROWS, "tasks.specialized": False},
    "rows_of_two": {**OF_TWO, "tile.m": 160, "epilogue.ops": ["bias", "relu"]},
    "rows_of_two_cut": {**OF_TWO, "schedule.split_k": 3},
    "rows_of_two_share_a": {**OF_TWO, "cluster.n": 2},
    "rows_of_two_share_b": {**OF_TWO, "cluster.m": 2},
    "one_piece_of_two": {**OF_TWO, "tile.m": 32, "schedule.kind": "dynamic"},
    "rows_halved": {**ROWS, "epilogue.ops": ["scale", "swiglu"]},
    "rows_fp8": {
        **ROWS,
        "tile.k": 64,
        "problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}},
    },
}
# A tile that ends within the last piece, one within the first, and a K that is short of a slot.
SHAPES = [(136, 264, 136), (70, 40, 72)]


@pytest.mark.parametrize("name", FORMS)
def test_numbers_and_protocol(name: str, tmp_path: Path) -> None:
    form = Form(name, FORMS[name], tmp_path)
    for shape in SHAPES:
        report = form.run(shape, runs=RUNS[:2])
        assert not report.seen, str(report)


@pytest.mark.parametrize("name", OF_ROWS)
def test_numbers_and_protocol_of_rows(name: str, tmp_path: Path) -> None:
    form, parts = Form(name, OF_ROWS[name], tmp_path), 3 if "schedule.tail" in OF_ROWS[name] else 0
    for m, n, k in SHAPES:
        report = form.run((n, m, k), parts, runs=RUNS[:2])
        assert not report.seen, str(report)


@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
@pytest.mark.parametrize("values", [PAIR, ROWS, OF_TWO], ids=["columns", "rows", "rows_of_two"])
def test_every_layout(values: dict[str, Any], layouts: tuple[str, str], tmp_path: Path) -> None:
    a, b = layouts
    form = Form("pair", {**values, "problem": {"a": {"layout": a}, "b": {"layout": b}}}, tmp_path)
    report = form.run((72, 104, 72), runs=RUNS[:2])
    assert not report.seen, str(report)


FAULTS = [
    ("second product of the other replica's rows", "+ replica], b_1_tiles", "+ 1 - replica], b_1_tiles"),
    ("bytes of one piece alone", " + BLOCK_K * (BLOCK_N // 3) * 2", ""),
    ("second piece loaded from the first's columns", "column + BLOCK_N // 3 * 2]", "column]"),
    ("a slot released before the second product is done", "tlx.async_dot_wait(2, acc", "tlx.async_dot_wait(3, acc"),
    ("the last product read before it is done", "tlx.async_dot_wait(0, acc_1)", "tlx.async_dot_wait(1, acc_1)"),
    ("pieces stored in another order", "halves(acc_0) + (acc_1,)", "(acc_1,) + halves(acc_0)"),
]


@pytest.mark.parametrize(("name", "old", "new"), FAULTS, ids=[f[0].replace(" ", "_") for f in FAULTS])
def test_a_fault_is_found(name: str, old: str, new: str, tmp_path: Path) -> None:
    form = Form("pair", PAIR, tmp_path)
    form.mutated(old, new)
    assert form.fails((136, 200, 136)), name


FAULTS_OF_TWO = [
    ("columns of the other replica", "b_tiles[slot * 2 + replica]", "b_tiles[slot * 2 + 1 - replica]"),
    ("both halves loaded from the first columns", "column + BLOCK_N // 2]", "column]"),
    ("both replicas store the first columns", "column += replica * (BLOCK_N // 2)", "column += 0"),
]


@pytest.mark.parametrize(("name", "old", "new"), FAULTS_OF_TWO, ids=[f[0].replace(" ", "_") for f in FAULTS_OF_TWO])
def test_a_fault_of_two_consumers_is_found(name: str, old: str, new: str, tmp_path: Path) -> None:
    form = Form("rows_of_two", OF_TWO, tmp_path)
    form.mutated(old, new)
    assert form.fails((136, 200, 136)), name


FAULTS_OF_ROWS = [
    ("both products of the first rows", "tlx.local_trans(a_1_tiles[slot])", "tlx.local_trans(a_0_tiles[slot])"),
    ("bytes of one piece alone", " + BLOCK_M // 3 * BLOCK_K * 2", ""),
    ("second piece loaded from the first's rows", "row + BLOCK_M // 3 * 2", "row"),
    ("pieces stored in another order", "halves(acc_0) + (acc_1,)", "(acc_1,) + halves(acc_0)"),
    ("all pieces stored in the first's rows", "row + i * (BLOCK_M // 3)", "row"),
]


@pytest.mark.parametrize(("name", "old", "new"), FAULTS_OF_ROWS, ids=[f[0].replace(" ", "_") for f in FAULTS_OF_ROWS])
def test_a_fault_of_rows_is_found(name: str, old: str, new: str, tmp_path: Path) -> None:
    form = Form("rows", ROWS, tmp_path)
    form.mutated(old, new)
    assert form.fails((136, 200, 136)), name


def test_widths_of_one_form_share_a_source_and_those_of_others_do_not(tmp_path: Path) -> None:
    values = {**PAIR, "variants.axes": {"tile.n": [64, 96, 128, 160, 192, 224]}}
    kernels = kernels_of(spec_of("widths", values), tmp_path)
    widths = {s.name: [v.values["tile.n"] for v in s.variants] for s in kernels.structures}
    assert widths == {
        "widths": [64, 128],
        "widths_thirds": [96, 192],
        "widths_fifths": [160],
        "widths_sevenths": [224],
    }


def test_tiles_of_few_rows_share_a_source_of_their_own(tmp_path: Path) -> None:
    few = {"tile": {"n": 64, "k": 64}, "tasks.mma.exchange": True, "variants.axes": {"tile.m": [8, 16, 32, 64]}}
    kernels = kernels_of(spec_of("rows", few), tmp_path)
    heights = {s.name: [v.values["tile.m"] for v in s.variants] for s in kernels.structures}
    assert heights == {"rows": [32, 64], "rows_narrow": [8, 16]}


def test_rows_of_one_form_share_a_source_and_those_of_others_do_not(tmp_path: Path) -> None:
    tall = {"tile": {"n": 64, "k": 64}, "tasks.mma.exchange": True, "rings.ab.stages": 3}
    values = {**tall, "variants.axes": {"tile.m": [16, 96, 128, 160, 192, 224]}}
    kernels = kernels_of(spec_of("tall", values), tmp_path)
    heights = {s.name: [v.values["tile.m"] for v in s.variants] for s in kernels.structures}
    assert heights == {
        "tall": [128],
        "tall_narrow": [16],
        "tall_thirds_of_rows": [96, 192],
        "tall_fifths_of_rows": [160],
        "tall_sevenths_of_rows": [224],
    }


def test_a_tile_of_three_consumers_has_rows_of_one_piece_each(tmp_path: Path) -> None:
    values = {"tile.n": 64, "tasks.mma.registers": None}
    mma = [{"replicate": 2, "exchange": False}, {"replicate": 3, "exchange": False}]
    values |= {"variants.axes": {"tile.m": [128, 192], "tasks.mma": mma}}
    values |= {"variants.require": ["(tile.m == 192) == (tasks.mma.replicate == 3)"]}
    kernels = kernels_of(spec_of("three", values), tmp_path)
    assert {len(s.plan.facts.pieces) for s in kernels.structures} == {1}
    assert not any("thirds" in s.name for s in kernels.structures)


def test_a_baked_width_is_a_structure_of_its_own(tmp_path: Path) -> None:
    values = {**PAIR, "bake": ["tile.n"], "variants.axes": {"tile.n": [96, 192]}}
    kernels = kernels_of(spec_of("widths", values), tmp_path)
    assert [s.name for s in kernels.structures] == ["widths_n96", "widths_n192"]
    keys = {structure_key(Gemm(), v.spec) for s in kernels.structures for v in s.variants if v.spec}
    assert len(keys) == 2
