"""Faults put into a generated quantiser by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

AT = "hopper_mx_quantize/hopper_mx_quantize_both_persistent"
TILES = 0, (635, 509), 1, 2  # ten ragged tiles on two SMs: each of two CTAs fills a slot again

RELEASE = "tlx.barrier_arrive(x_empty[slot])"
WAIT = "tlx.barrier_wait(x_full[slot], phase)"
FENCE = 'tlx.fence("async_shared")'
FIRST = "tlx.barrier_expect_bytes(x_full[ahead], BLOCK_M * BLOCK_N * 2)"
BYTES = "BLOCK_M * BLOCK_N * 2)"
PLACE = "[later // wide * BLOCK_M + box * 32, later % wide * BLOCK_N]"
NUMBERS = "joined(numbers_0, numbers_1, numbers_2, numbers_3)"
BOX = "tlx.local_load(x_tiles[slot * 4 + 1])"
SCALES = "joined(bytes_0, bytes_1, bytes_2, bytes_3), (BLOCK_N, 4)"

FAULTS = (
    Mutant("the slot not released", AT, RELEASE, "pass", *TILES),
    Mutant("released before the last box", AT, WAIT, f"{WAIT}\n        {RELEASE}", *TILES),
    Mutant("refilled without a fence", AT, FENCE, "pass", *TILES),
    Mutant("acquired by the other phase", AT, "next_phase ^ 1", "next_phase", *TILES),
    Mutant("the tile not awaited", AT, WAIT, "pass", *TILES),
    Mutant("the phase never turns", AT, WAIT, "tlx.barrier_wait(x_full[slot], 0)", *TILES),
    Mutant("bytes of one box", AT, FIRST, FIRST.replace("BLOCK_M", "BLOCK_M // 4"), *TILES),
    Mutant("bytes not expected", AT, FIRST, "pass", *TILES),
    Mutant("the count stands still", AT, "count += 1", "pass", *TILES),
    Mutant("the slot after", AT, "ring_slot(count + STAGES, STAGES)", "ring_slot(count + 1, STAGES)", *TILES),
    Mutant("one box less", AT, "for box in tl.static_range(4)", "for box in tl.static_range(3)", *TILES),
    Mutant("a tile ahead of the next", AT, "later = index + STAGES * step", "later = index + step", *TILES),
    Mutant("refilled past the end", AT, "if later < num_items:", "if later < num_items + step:", *TILES),
    Mutant("boxes of one row", AT, PLACE, PLACE.replace("box * 32", "32"), *TILES),
    Mutant("boxes out of order", AT, NUMBERS, "joined(numbers_0, numbers_2, numbers_1, numbers_3)", *TILES),
    Mutant("scales of columns out of order", AT, SCALES, SCALES.replace("1, bytes_2", "2, bytes_1"), *TILES),
    Mutant("rows past the end", AT, "(rows < M)[:, None]", "(rows < M + 9)[:, None]", *TILES),
    Mutant("columns past the end", AT, "(columns < N)[:, None]", "(columns < N + 9)[:, None]", *TILES),
    Mutant("a box of rows for another", AT, BOX, BOX.replace(" + 1", ""), *TILES),
    Mutant("scales of rows as they come", AT, "32 * tl.arange(0, 4)", "tl.arange(0, 4)", *TILES),
    Mutant("every tile by all", AT, "range(tl.program_id(0), num_items, step)", "range(0, num_items, 1)", *TILES),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


def test_the_only_task_need_not_wait_for_its_own_release(tmp_path: Path) -> None:
    """The arrival is by the whole task, which has met for it: so the wait for a free slot is for readers alone."""
    wait = "tlx.barrier_wait(x_empty[next_slot], next_phase ^ 1)"
    assert not run_mutant(Mutant("not acquired", AT, wait, "pass", *TILES), tmp_path).seen
