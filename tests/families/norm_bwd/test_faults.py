"""Faults put into the generated backward of a norm by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

AT = "hopper_layer_norm_bwd/hopper_layer_norm_bwd"
SUMMED = "hopper_rms_norm_residual_bwd/hopper_rms_norm_residual_bwd"
TILES = 5, (70, 1000)  # two rows of 1024 in a ring; CTAs go round
PAIR = 11, (13, 8184)  # clusters of two CTAs, in a ring
LOOSE = 18, (3, 20001)  # chunks of rows without a ring; sums apart

ROWS = "inside = (rows < M)"
STORED = "+ columns, tl.sum(values, 0)"
PARTS = "range(tl.program_id(1), tl.cdiv(M, 16), P)"
WEIGHT = "weight = tl.load(\n                    weight_ptr"

FAULTS = (
    Mutant("copies not awaited", AT, "tlx.async_load_wait_group(STAGES - 1)", "pass", *TILES),
    Mutant("one group too many under way", AT, "wait_group(STAGES - 1)", "wait_group(STAGES)", *TILES),
    Mutant("the count stands still", AT, "count += 1", "pass", *TILES),
    Mutant("the slot before", AT, "row_slot = count % STAGES", "row_slot = (count + 1) % STAGES", *TILES),
    Mutant("a tile ahead of the next", AT, "+ STAGES * step)", "+ (STAGES + 1) * step)", *TILES),
    Mutant("copies of rows past the end", AT, ROWS, "inside = (rows < M + 9)", *TILES),
    Mutant("columns past the end", AT, f"{STORED}, mask=columns < N", STORED, *TILES),
    Mutant("sums of weight and bias in one place", AT, "(first + step) * N, dbias", "first * N, dbias", *TILES),
    Mutant("sums of few", AT, "range(0, P, 2048 // COLUMNS)", "range(0, P - 1, 2048 // COLUMNS)", 5, (2, 1000)),
    Mutant("the mean left out", AT, "xhat = (x - mean) * rstd", "xhat = x * rstd", *TILES),
    Mutant("the sum of dy left out", AT, " - (total / N)[:, None]", "", *TILES),
    Mutant("the sum's gradient left out", SUMMED, "dx += dresidual_out", "pass", *TILES),
    Mutant("the sum's gradient of the slot before", SUMMED, "out_tiles[row_slot]).to", "out_tiles[0]).to", *TILES),
    Mutant("one slot of sums", AT, "ring_slot(count, 2)", "ring_slot(count, 1)", *PAIR),
    Mutant("sums not awaited", AT, "tlx.barrier_wait(sums_full[slot], phase)", "pass", *PAIR),
    Mutant("the phase never turns", AT, "sums_full[slot], phase)", "sums_full[slot], 0)", *PAIR),
    Mutant("bytes of one CTA", AT, "BLOCK_M * 2 * 4 * CLUSTER", "BLOCK_M * 2 * 4", *PAIR),
    Mutant("sums of one CTA for both", AT, "slot * CLUSTER + peer", "slot * CLUSTER", *PAIR),
    Mutant("barriers that nobody has initialised", AT, "tlx.cluster_barrier()", "pass", *PAIR),
    Mutant("sums of columns twice", AT, PARTS, "range(0, tl.cdiv(M, 16), P)", 18, (40, 1024), 1, 28),
    Mutant("the first chunk for all", AT, "cta * CHUNKS + chunk", "cta * CHUNKS", *LOOSE, 2),
    Mutant("the weight of the last chunk", AT, f"{WEIGHT} + columns", f"{WEIGHT} + 0 * columns", *LOOSE),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
