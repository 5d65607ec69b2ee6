"""Faults put into generated grouped GEMMs by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

ROWS = "hopper_grouped_gemm/hopper_grouped_gemm_col_cooperative"
TURNS = "hopper_grouped_gemm/hopper_grouped_gemm_row_pingpong"
WEIGHTS = "hopper_grouped_gemm_weights/hopper_grouped_gemm_weights"
COLUMNS = "hopper_grouped_gemm_columns/hopper_grouped_gemm_columns_cooperative"
GIVEN = "hopper_grouped_gemm_given/hopper_grouped_gemm_given"
MANY, LONG, SUMS = (12, 60, 136, 72), (5, 200, 256, 200), (6, 136, 136, 90)

FAULTS = (
    Mutant("a tail over the next group", ROWS, "clipped(end, row, column +", "clipped(M, row, column +", 0, MANY),
    Mutant("a tail a row short", ROWS, "clipped(end, row, column +", "clipped(end - 1, row, column +", 0, MANY),
    Mutant("the weights of the next group", ROWS, "[group, column,", "[group + 1, column,", 0, MANY),
    Mutant("rows of the first group", ROWS, "row = begin + tile_m", "row = tile_m", 0, MANY, 2),
    Mutant("rows of the first group in one task", ROWS, "row = begin + tile_m", "row = tile_m", 0, MANY),
    Mutant("a group too few", ROWS, "while group < groups:", "while group < groups - 1:", 0, MANY, 2),
    Mutant("a group too few in one task", ROWS, "while group < groups:", "while group < groups - 1:", 0, MANY),
    Mutant("the end of a group that is none", ROWS, "mask=group < groups", "mask=group >= 0", 0, MANY),
    Mutant("items counted from the first group", ROWS, "index - first", "index", 0, MANY, 2),
    Mutant("the part of a tile left out", ROWS, "tl.cdiv(end - begin, TILE)", "((end - begin) // TILE)", 0, MANY, 2),
    Mutant("a group that begins at its end", ROWS, "begin = end\n", "begin = said\n", 0, MANY),
    Mutant("ends beyond the tensor", ROWS, "(said, begin), M)", "(said, begin), M - 6)", 0, MANY),
    Mutant("the first item stands still", ROWS, "first += items", "first += 0", 0, LONG),
    Mutant("a replica skips no item", TURNS, "index += 2 * step", "index += step", 0, LONG),
    Mutant("replicas begin together", TURNS, "tl.program_id(0) + replica * step", "tl.program_id(0)", 0, LONG),
    Mutant("slots of the other replica's tile", TURNS, "count += k_tiles", "count += 1", 0, LONG),
    Mutant("K tiles of the first group", WEIGHTS, "cdiv(end - begin,", "cdiv(begin,", 0, SUMS, 2),
    Mutant("K tiles of one task", WEIGHTS, "cdiv(end - begin,", "cdiv(end - begin + 64,", 0, SUMS),
    Mutant("the neighbour's rows are added up", WEIGHTS, "clipped(end, begin + k", "clipped(K, begin + k", 0, SUMS, 3),
    Mutant("no product for an empty group", WEIGHTS, "BLOCK_K), 1)", "BLOCK_K), 0)", 0, SUMS, 2),
    Mutant("C of the first group", WEIGHTS, "[group, row,", "[0, row,", 0, SUMS),
    Mutant("columns of the next group", COLUMNS, "(columns[None, :] < end)", "(columns[None, :] < N)", 0, MANY),
    Mutant("matrices that follow one another", f"{GIVEN}_masked_m", "begin = group * most", "begin = end", 0, MANY),
    Mutant("ends for sizes", f"{GIVEN}_split_sizes", "tl.minimum(begin + tl.max", "tl.minimum(tl.max", 0, MANY),
    Mutant("groups that begin anywhere", f"{GIVEN}_psum", "tl.cdiv(end, alignment) * alignment", "end", 0, MANY),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
