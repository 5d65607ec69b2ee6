"""Faults put into generated backward kernels for sm100 by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

PLAIN = "blackwell_attention_bwd/blackwell_attention_bwd_none"
CAUSAL = "blackwell_attention_bwd/blackwell_attention_bwd_causal"
LOWER = "blackwell_attention_bwd_masks/blackwell_attention_bwd_masks_bf16_head_dim128"
SMALL = "blackwell_attention_bwd_d64/blackwell_attention_bwd_d64_none"
FIRST = "blackwell_attention_bwd_orders/blackwell_attention_bwd_orders_head_dim64_dq_dk_dp_tmem_no_reuse"
LATE = "blackwell_attention_bwd_orders/blackwell_attention_bwd_orders_head_dim64_dk_dp_dq_tmem_no_reuse"
STORED_ONCE = "blackwell_attention_bwd_orders/blackwell_attention_bwd_orders_head_dim128_dk_dq_dp_smem_dp"
SQUARE = (1, 2, 1, 300, 200)  # more steps than slots, heads that share K and V, ragged
ODD = (1, 1, 1, 300, 100)  # an odd number of steps
LONG = (1, 1, 1, 130, 400)  # more keys than queries
SHORT = (1, 2, 1, 300, 100)  # and the other way round: rows that see nothing when aligned at the bottom

FENCE = 'tlx.fence("async_shared")'
LEFT = "tlx.async_descriptor_store_wait(1)  # the copy"
DQ_READ = "tlx.barrier_wait(dq_empty[0], phase ^ 1)"

FAULTS = (
    # Tiles that are alive in one place.
    Mutant("no meeting before P is stored", PLAIN, "tlx.named_barrier_wait(6, 256)", "pass", 0, SQUARE),
    Mutant("no meeting before dS is stored", PLAIN, "tlx.named_barrier_wait(7, 256)", "pass", 0, SQUARE),
    Mutant("a meeting of one warpgroup", PLAIN,
        "tlx.named_barrier_wait(6, 256)", "tlx.named_barrier_wait(6, 128)", 0, SQUARE),
    Mutant("dP where dQ is still read", PLAIN, DQ_READ, "pass", 0, SQUARE),
    Mutant("sums of dK in the place of those of dV", SMALL,
        "dk_tiles = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)",
        "dk_tiles = dv_tiles", 0, SQUARE),
    Mutant("dQ over S where it has columns of its own", SMALL,
        "dq_tiles = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)",
        "dq_tiles = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem, reuse=s_tiles)", 0, SQUARE),
    # Slots that go back too early, or never.
    Mutant("Q released with S", PLAIN, "mBarriers=[s_full[0]]", "mBarriers=[s_full[0], q_empty[q_slot]]", 0, SQUARE),
    Mutant("dO released with dP", PLAIN,
        "mBarriers=[dp_full[0]]", "mBarriers=[dp_full[0], do_empty[do_slot]]", 0, SQUARE),
    Mutant("Q never released", PLAIN, "mBarriers=[q_empty[previous_q]]", "force_async=True", 0, SQUARE),
    Mutant("dO never released", PLAIN, "mBarriers=[do_empty[do_slot]]", "force_async=True", 0, SQUARE),
    Mutant("Q never acquired", PLAIN, "tlx.barrier_wait(q_empty[q_slot], q_phase ^ 1)", "pass", 0, SQUARE),
    Mutant("dO never acquired", PLAIN, "tlx.barrier_wait(do_empty[do_slot], do_phase ^ 1)", "pass", 0, SQUARE),
    Mutant("numbers never acquired", PLAIN, "tlx.barrier_wait(numbers_empty[q_slot], q_phase ^ 1)", "pass", 0, SQUARE),
    Mutant("numbers never released", PLAIN, "tlx.barrier_arrive(numbers_empty[q_slot])", "pass", 0, SQUARE),
    Mutant("dQ never released", PLAIN, "tlx.barrier_arrive(dq_empty[0])", "pass", 0, SQUARE),
    Mutant("dS stored where dQ still reads it", LATE, "tlx.barrier_wait(ds_empty[0], phase ^ 1)", "pass", 0, SQUARE),
    # Commits before the product that they must cover.
    Mutant("S committed by none", PLAIN, "mBarriers=[s_full[0]]", "force_async=True", 0, SQUARE),
    Mutant("dQ published with dK", PLAIN,
        "mBarriers=[q_empty[previous_q]]", "mBarriers=[q_empty[previous_q], dq_full[0]]", 0, SQUARE),
    Mutant("the sums committed in the loop", FIRST,
        "mBarriers=[do_empty[do_slot]]", "mBarriers=[do_empty[do_slot], sums_full[0]]", 0, ODD),
    Mutant("the sums never committed", PLAIN, "tlx.tcgen05_commit(sums_full[0])", "pass", 0, SQUARE),
    # Waits that are left out.
    Mutant("K not awaited", PLAIN, "tlx.barrier_wait(k_full[0], 0)", "pass", 0, SQUARE),
    Mutant("V not awaited", PLAIN, "tlx.barrier_wait(v_full[0], 0)", "pass", 0, SQUARE),
    Mutant("Q not awaited", PLAIN, "tlx.barrier_wait(q_full[q_slot], q_phase)", "pass", 0, SQUARE),
    Mutant("dO not awaited", PLAIN, "tlx.barrier_wait(do_full[do_slot], do_phase)", "pass", 0, SQUARE),
    Mutant("numbers not awaited", PLAIN, "tlx.barrier_wait(numbers_full[q_slot], q_phase)", "pass", 0, SQUARE),
    Mutant("S not awaited", PLAIN, "tlx.barrier_wait(s_full[0], phase)", "pass", 0, SQUARE),
    Mutant("dP not awaited", PLAIN, "tlx.barrier_wait(dp_full[0], phase)", "pass", 0, SQUARE),
    Mutant("P not awaited", PLAIN, "tlx.barrier_wait(p_full[0], phase)", "pass", 0, SQUARE),
    Mutant("dS not awaited", PLAIN, "tlx.barrier_wait(ds_full[0], previous_phase)", "pass", 0, SQUARE),
    Mutant("dS in tensor memory not awaited", PLAIN,
        "tlx.barrier_wait(ds_tmem_full[0], previous_phase)", "pass", 0, SQUARE),
    Mutant("dQ not awaited", PLAIN, "tlx.barrier_wait(dq_full[0], phase)", "pass", 0, SQUARE),
    Mutant("the sums not awaited", FIRST, "tlx.barrier_wait(sums_full[0], 0)", "pass", 0, SQUARE),
    Mutant("dS of this step's phase", PLAIN,
        "previous_phase = (count - 1) & 1", "previous_phase = count & 1", 0, SQUARE),
    Mutant("Q of this step for dK", PLAIN,
        "previous_q = (count + Q_STAGES - 1) % Q_STAGES", "previous_q = q_slot", 0, SQUARE),
    # Order with the async proxy, and of stores.
    Mutant("no fence after dS", PLAIN, f"{FENCE}  # the tensor core", "pass  #", 0, SQUARE),
    Mutant("no fence before the sum of dQ", PLAIN, f"{FENCE}  # the TMA engine", "pass  #", 0, SQUARE),
    Mutant("dQ stored while it leaves", PLAIN, LEFT, "pass  #", 0, SQUARE),
    Mutant("dV and dK in one buffer", SMALL, "grad_tiles[1]", "grad_tiles[0]", 0, SQUARE, 2),
    Mutant("dQ stored, not added", PLAIN, ', store_reduce="add"', "", 0, SQUARE),
    # Numbers.
    Mutant("dV begins with what was there", PLAIN, "use_acc=count > 0", "use_acc=True", 0, SQUARE),
    Mutant("dK begins with what was there", PLAIN, "use_acc=count > 1", "use_acc=count > 0", 0, SQUARE),
    Mutant("dK not scaled", PLAIN, "* scale\n", "* 1.0\n", 0, SQUARE),
    Mutant("delta left out", PLAIN, "(dp - delta[None, :])", "dp", 0, SQUARE),
    Mutant("a round too few", PLAIN, "range(steps + 1)", "range(steps)", 0, SQUARE),
    Mutant("one head for all", PLAIN, "head += 1", "head += 0", 0, SQUARE),
    Mutant("no step for keys that no query sees", CAUSAL,
        "tl.cdiv(N_Q - first, 128), 1)", "tl.cdiv(N_Q - first, 128), 0)", 0, LONG),
    Mutant("the diagonal not masked", CAUSAL, "row < key + 127", "row < key", 0, SQUARE),
    Mutant("a part of the columns masked as the first", CAUSAL, "row + i * 64", "row", 0, SQUARE),
    Mutant("the first query aligned at the top", LOWER, "max(key - N_K + N_Q, 0)", "max(key, 0)", 0, LONG),
    Mutant("a row that sees nothing", LOWER, "tl.where(keys <= tl.minimum(place, N_K - 1), p, 0.0)", "p", 0, SHORT),
    Mutant("no meeting, dS stored once", STORED_ONCE, "tlx.named_barrier_wait(6, 256)", "pass", 0, SQUARE),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


def test_warps_that_wait_for_an_arrival_of_all_of_them_need_no_other_barrier(tmp_path: Path) -> None:
    """P of a step and S of the next: every thread has arrived for the product with P, after which S is issued."""
    same = Mutant("nothing", STORED_ONCE, "tlx.barrier_arrive(p_full[0])", "tlx.barrier_arrive(p_full[0])", 0, SQUARE)
    assert not run_mutant(same, tmp_path).seen
