"""Faults put into generated norms by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

GRID = "hopper_layer_norm/hopper_layer_norm_grid"
STAGED = "hopper_layer_norm/hopper_layer_norm_staged"
SUMMED = "hopper_rms_norm_residual/hopper_rms_norm_residual_grid"
TWO, PAIR = 2, 7  # configs of GRID and SUMMED: two rows of 512, a cluster of two CTAs
FIRST = 0  # config of STAGED: a cluster of two CTAs
ROWS, FEW, LONG = (13, 20000), (3, 501), (3, 9000)
ARRIVE, WAIT = (f"barrier.cluster.{half}.aligned; mov.b32 $0, 0;" for half in ("arrive.relaxed", "wait"))

FAULTS = (
    Mutant("sums not awaited", GRID, "tlx.barrier_wait(sums_full[0], 0)", "pass", PAIR, ROWS),
    Mutant("bytes of one CTA", GRID, "BLOCK_M * 2 * 4 * CLUSTER", "BLOCK_M * 2 * 4", PAIR, ROWS),
    Mutant("sums in the place of the first", GRID, "sums_tiles[cta]", "sums_tiles[0]", PAIR, ROWS),
    Mutant("sums of one CTA for both", GRID, "sums_tiles[peer]", "sums_tiles[0]", PAIR, ROWS),
    Mutant("a cluster that nobody waits for", GRID, WAIT, "mov.b32 $0, 0;", PAIR, ROWS),
    Mutant("a wait without an arrival", GRID, ARRIVE, "mov.b32 $0, 0;", PAIR, ROWS),
    Mutant("barriers that peers do not know", GRID, "tlx.fence_mbarrier_init_cluster()", "pass", PAIR, ROWS),
    Mutant("squares about two means", GRID, "(own - mean) * (own - mean)", "0.0", PAIR, ROWS),
    Mutant("columns past the end", GRID, "tl.where((columns < N)[None, :], x -", "tl.where(True, x -", TWO, FEW),
    Mutant("rows past the end are stored", GRID, "mask=(rows < M) & (cta == 0)", "mask=cta == 0", TWO, FEW),
    Mutant("squares of x, not about its mean", GRID, "apart * apart", "x * x", TWO, FEW),
    Mutant("the bias left out", GRID, "y += bias.to(tl.float32)", "pass", TWO, FEW),
    Mutant("squares about the first column", STAGED, "first -= mean[:, None]", "first *= 0.0", FIRST, LONG),
    Mutant("chunks counted to the end of the tile", STAGED, "< N - cta * BLOCK_N, 8.0", "< N, 8.0", FIRST, LONG),
    Mutant("copies that nobody awaits", STAGED, "tlx.async_load_wait_group(0)", "pass", FIRST, LONG),
    Mutant("copies from behind a row", STAGED, "mask=inside, other", "mask=columns[None, :] >= 0, other", FIRST, LONG),
    Mutant("the residual left out", SUMMED, "x.to(tl.float32) + residual.to(tl.float32)", "x.to(tl.float32)", TWO, FEW),
    Mutant("a sum that is not rounded", SUMMED, ").to(x.dtype).to(tl.float32)", ")", TWO, (40, 501)),
    Mutant("y in the place of the sum", SUMMED, "x.to(residual_out_ptr", "y.to(residual_out_ptr", TWO, FEW),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
