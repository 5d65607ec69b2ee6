"""Tiles that an operand ends in, loaded by boxes of some rows: run in every form, and with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.errors import SpecErrors  # noqa: E402
from tlxgen.sim import RUNS  # noqa: E402

from .matrix import kernels_of, spec_of  # noqa: E402
from .test_fix_up import Form  # noqa: E402

COLUMN = {"problem": {"b": {"layout": "col"}}}
EDGE = {"tile": {"m": 128, "n": 64, "k": 32}, "rings.ab.stages": 3, "tasks.load.edge_rows": 16, **COLUMN}
ROWS = {**EDGE, "tile": {"m": 96, "n": 64, "k": 32}, "tasks.mma.exchange": True}
FORMS: dict[str, dict[str, Any]] = {
    "plain": EDGE,
    "a_alone": {**EDGE, "problem": {"b": {"layout": "row"}}},
    "b_alone": {**EDGE, "problem": {"a": {"layout": "col"}, "b": {"layout": "col"}}},
    "rings_of_each": {**EDGE, "rings.ab.full": "separate", "tasks.load.edge_rows": 32},
    "pieces": {**EDGE, "tile.n": 96, "epilogue.ops": ["bias", "gelu"]},
    "rows": ROWS,
    "narrow": {**ROWS, "tile.m": 16},
    "turns": {**EDGE, "tile.m": 64, "tasks.mma.split": "pingpong"},
    "pipelined": {**EDGE, "tile.m": 64, "tasks.specialized": False},
    "split_k": {**EDGE, "schedule.split_k": 2, "tasks.load.edge_rows": 8},
    "shared_a": {**EDGE, "cluster.n": 2},
    "shared_b": {**EDGE, "cluster.m": 2},
    "b_by_tma": {**EDGE, "tasks.load.by": "pointers_a", "rings.ab.full": "separate"},
    "fp8": {**EDGE, "tile.k": 64, "problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}}},
}
# M and N end within a box, at one, and before the first box ends; the last tiles have few rows, or nearly all.
SHAPES = [(200, 104, 136), (7, 5 * 8, 72), (144, 72, 40)]


@pytest.mark.parametrize("name", FORMS)
def test_numbers_and_protocol(name: str, tmp_path: Path) -> None:
    form = Form(name, FORMS[name], tmp_path)
    for shape in SHAPES:
        report = form.run(shape, runs=RUNS[:2])
        assert not report.seen, str(report)


FAULTS = [
    ("boxes of one place", "row + box * 16", "row"),
    ("into one place", "tlx.local_slice(a_tiles[slot * 2], [box * 16, 0]", "tlx.local_slice(a_tiles[slot * 2], [0, 0]"),
    ("columns of B from the tile before", "column + box * 16", "column - 16 + box * 16"),
    ("a box too few", "tl.static_range(BLOCK_N // 16)", "tl.static_range(BLOCK_N // 16 - 1)"),
    ("every box the first rows", "tl.where(edge_row < M, edge_row, 0)", "0"),
]


@pytest.mark.parametrize(("name", "old", "new"), FAULTS, ids=[f[0].replace(" ", "_") for f in FAULTS])
def test_a_fault_is_found(name: str, old: str, new: str, tmp_path: Path) -> None:
    form = Form("plain", EDGE, tmp_path)
    form.mutated(old, new)
    assert form.fails((200, 104, 136)), name


@pytest.mark.parametrize("values", [{"arch": "sm100"}, {"kernel": "grouped_gemm"}], ids=["sm100", "grouped"])
def test_what_has_no_boxes_says_so(values: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match="nothing else was measured|rows of the next"):
        kernels_of(spec_of("foreign", {"tasks.load.edge_rows": 16, **values}), tmp_path)
