"""Faults put into generated norms by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

LOOP = "hopper_layer_norm/hopper_layer_norm_persistent"  # config 4: clusters of two CTAs of 16384 columns
GRID = "hopper_layer_norm/hopper_layer_norm_grid"  # config 8: likewise; config 3: two rows of 1024
TWICE = "hopper_layer_norm/hopper_layer_norm_looped"  # config 1: clusters of two CTAs, 2048 columns at a time
STAGED = "hopper_layer_norm/hopper_layer_norm_staged"  # config 1: clusters of two CTAs of 8 parts of 2048 columns
SUMMED = "hopper_rms_norm_residual/hopper_rms_norm_residual_grid"  # config 3: two rows of 1024
ROWS, FEW, LONG = (13, 20000), (3, 1001), (3, 9000)

FAULTS = (
    Mutant("one slot of sums", LOOP, "ring_slot(count, 2)", "ring_slot(count, 1)", 4, ROWS),
    Mutant("sums not awaited", LOOP, "tlx.barrier_wait(sums_full[slot], phase)", "pass", 4, ROWS),
    Mutant("the phase never turns", LOOP, "sums_full[slot], phase)", "sums_full[slot], 0)", 4, ROWS),
    Mutant("bytes of one CTA", LOOP, "BLOCK_M * 2 * 4 * CLUSTER", "BLOCK_M * 2 * 4", 4, ROWS),
    Mutant("sums in the place of the first", LOOP, "slot * CLUSTER + cta", "slot * CLUSTER", 4, ROWS),
    Mutant("sums of one CTA for both", LOOP, "slot * CLUSTER + peer", "slot * CLUSTER", 4, ROWS),
    Mutant("barriers that nobody has initialised", LOOP, "tlx.cluster_barrier()", "pass", 4, ROWS),
    Mutant("the count stands still", LOOP, "count += 1", "pass", 4, ROWS),
    Mutant("a tile ahead of the next", LOOP, "rows + step * BLOCK_M", "rows + 2 * step * BLOCK_M", 4, ROWS),
    Mutant("squares of a mean that nobody subtracts", GRID, "distance * distance * (", "0 * (", 8, ROWS),
    Mutant("columns past the end", GRID, "tl.where((columns < N)[None, :], x -", "tl.where(True, x -", 3, FEW),
    Mutant("rows past the end are stored", GRID, "mask=(rows < M) & (cta == 0)", "mask=cta == 0", 3, FEW),
    Mutant("squares of x, not about its mean", GRID, "apart * apart", "x * x", 3, FEW),
    Mutant("the bias left out", GRID, "y += load_vector(bias_ptr, columns, N)", "pass", 3, FEW),
    Mutant("columns past the end are summed", TWICE, "where((columns + start < end)[None, :]", "where(True", 1, LONG),
    Mutant("squares about the first column", TWICE, "squares -= total * (own - x)", "pass", 1, LONG),
    Mutant("lanes counted to the end of the row", TWICE, "tl.cdiv(end - columns", "tl.cdiv(N - columns", 1, LONG),
    Mutant("one part of y", TWICE, "range(0, end - cta * share, BLOCK_N)", "range(0, BLOCK_N, BLOCK_N)", 1, LONG),
    Mutant("parts left out of the sums", TWICE, "range(BLOCK_N, end -", "range(2 * BLOCK_N, end -", 1, LONG),
    Mutant("copies that nobody awaits", STAGED, "tlx.async_load_wait_group(0)", "pass", 1, LONG),
    Mutant("copies in one place", STAGED, "x_tiles[start // BLOCK_N], mask", "x_tiles[0], mask", 1, LONG),
    Mutant("copies of what lies behind a row", STAGED, "columns + start < end", "columns >= 0", 1, LONG),
    Mutant("a CTA without columns", STAGED, "tl.maximum(end - cta * share, 1)", "end - cta * share", 1, (1, 8)),
    Mutant("the residual left out", SUMMED, "x.to(tl.float32) + residual.to(tl.float32)", "x.to(tl.float32)", 3, FEW),
    Mutant("a sum that is not rounded", SUMMED, ").to(x.dtype).to(tl.float32)", ")", 3, (40, 1001)),
    Mutant("y in the place of the sum", SUMMED, "x.to(residual_out_ptr", "y.to(residual_out_ptr", 3, FEW),
    Mutant("squares of the last part", STAGED, "squares += apart * apart", "squares = apart * apart", 1, LONG),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
