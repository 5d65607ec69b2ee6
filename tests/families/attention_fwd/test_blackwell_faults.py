"""Faults put into generated attention kernels for sm100 by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

CAUSAL = "blackwell_attention_fwd/blackwell_attention_fwd_causal"
PLAIN = "blackwell_attention_fwd/blackwell_attention_fwd_none"
IN_TURN = "blackwell_attention_fwd_schedules/blackwell_attention_fwd_schedules_none_persistent_no_overlap"
HANDED = "blackwell_attention_fwd_schedules/blackwell_attention_fwd_schedules_causal_clc_overlap"
SLICED = "blackwell_attention_fwd_round/blackwell_attention_fwd_round_persistent_slices2_warp_lazy_warps1"
OVER_Q = "blackwell_attention_fwd_rings/blackwell_attention_fwd_rings_persistent_shared_q"
SQUARE = (1, 4, 2, 400, 400)  # more items than SMs, heads that share K and V, ragged
SHORT = (1, 4, 1, 400, 100)  # a single tile of keys for each item
LONG = (1, 2, 1, 200, 900)  # more tiles of keys than slots

FACTOR = "tlx.barrier_wait(factor_full[group * 2 + factor_slot], factor_phase)"
O_FREE = "tlx.barrier_wait(acc_empty[{}], phase ^ 1)"
RELEASE_O = "tlx.barrier_arrive(acc_empty[group])  # release"

FAULTS = (
    Mutant("K and V not awaited", CAUSAL, "tlx.barrier_wait(kv_full[k_slot], k_phase)", "pass", 0, SQUARE, 2),
    Mutant("V not awaited", CAUSAL, "tlx.barrier_wait(kv_full[v_slot], v_phase)", "pass", 0, SQUARE, 2),
    Mutant("Q not awaited", CAUSAL, "tlx.barrier_wait(q_full[q_slot], q_phase)", "pass", 0, SQUARE),
    Mutant(
        "the other Q not awaited", CAUSAL, "tlx.barrier_wait(q_full[q_slot + Q_STAGES], q_phase)", "pass", 0, SQUARE
    ),
    Mutant("a slot of K never acquired", CAUSAL, "tlx.barrier_wait(kv_empty[k_slot], k_phase ^ 1)", "pass", 0, SQUARE),
    Mutant("a slot of V never acquired", CAUSAL, "tlx.barrier_wait(kv_empty[v_slot], v_phase ^ 1)", "pass", 0, SQUARE),
    Mutant("Q never acquired", CAUSAL, "tlx.barrier_wait(q_empty[bank], q_phase ^ 1)", "pass", 0, SHORT),
    Mutant("Q never released", CAUSAL, "tlx.tcgen05_commit(q_empty[q_slot])", "pass", 0, SQUARE),
    Mutant(
        "K released a product early",
        CAUSAL,
        "mBarriers=[s_full[0]]",
        "mBarriers=[s_full[0], kv_empty[k_slot]]",
        0,
        SQUARE,
    ),
    Mutant("scores not awaited", CAUSAL, "tlx.barrier_wait(s_full[replica], phase)", "pass", 0, SQUARE),
    Mutant("later scores not awaited", PLAIN, "tlx.barrier_wait(s_full[replica], phase)", "pass", 0, SQUARE, 2),
    Mutant("scores never committed", CAUSAL, "mBarriers=[s_full[0]]", "force_async=True", 0, SQUARE, 2),
    Mutant("probabilities not awaited", CAUSAL, "tlx.barrier_wait(p_full[0], phase)", "pass", 0, SQUARE),
    Mutant(
        "probabilities of the tile before not awaited", CAUSAL, "tlx.barrier_wait(p_full[1], phase)", "pass", 0, LONG
    ),
    Mutant("probabilities not published", CAUSAL, "tlx.barrier_arrive(p_full[replica])", "pass", 0, SQUARE, 2),
    Mutant("a factor not awaited", CAUSAL, FACTOR, "pass", 0, LONG),
    Mutant("the last factor not awaited", PLAIN, FACTOR, "pass", 0, LONG, 2),
    Mutant("a factor not published", CAUSAL, "tlx.barrier_arrive(factor_full[factor_slot])", "pass", 0, LONG),
    Mutant("one slot for the factors", PLAIN, "ring_slot(use - 1, 2)", "ring_slot(0, 2)", 0, SHORT, 2),
    Mutant("O not rescaled", PLAIN, "* factor[:, None]", "* 1.0", 0, LONG),
    Mutant("O not released", CAUSAL, RELEASE_O, "pass", 0, LONG),
    Mutant("O of an item not released", CAUSAL, RELEASE_O, "pass", 0, SHORT, 2),
    Mutant("O not acquired", CAUSAL, O_FREE.format(0), "pass", 0, SHORT),
    Mutant("O not acquired in the loop", CAUSAL, O_FREE.format(0), "pass", 0, LONG, 2),
    Mutant("the other O not acquired", PLAIN, O_FREE.format(1), "pass", 0, LONG),
    Mutant("the other O not acquired at last", CAUSAL, O_FREE.format(1), "pass", 0, SHORT, 2),
    Mutant("O not awaited", CAUSAL, "tlx.barrier_wait(acc_full[group], item_phase)", "pass", 0, SQUARE),
    Mutant("O never committed", CAUSAL, "tlx.tcgen05_commit(acc_full[0])", "pass", 0, SQUARE),
    Mutant(
        "O begins with what was there", CAUSAL, "use_acc=False, force_async", "use_acc=True, force_async", 0, SQUARE
    ),
    Mutant("the other O begins with what was there", CAUSAL, "use_acc=end > 1", "use_acc=True", 0, SHORT),
    Mutant("O overwritten while it leaves", CAUSAL, "tlx.async_descriptor_store_wait(1)", "pass", 0, SHORT),
    Mutant("no fence before O's store", CAUSAL, 'tlx.fence("async_shared")', "pass", 0, SQUARE),
    Mutant("items left out", CAUSAL, "            programs,\n", "            programs + 1,\n", 0, SQUARE),
    Mutant("heads mixed up", CAUSAL, "kv_head = head // H_PER_KV", "kv_head = head % (H // H_PER_KV)", 0, SQUARE),
    Mutant("scores before the product that reads P", IN_TURN, "p_tiles[1],", "p_tiles[0],", 0, SQUARE),
    Mutant(
        "V released before the other group's product",
        IN_TURN,
        "force_async=True",
        "mBarriers=[kv_empty[v_slot]]",
        0,
        LONG,
    ),
    Mutant(
        "an item handed to one task too many",
        HANDED,
        "tlx.clc_create_context(5)",
        "tlx.clc_create_context(6)",
        0,
        SQUARE,
    ),
    Mutant(
        "an item handed to one task too few",
        HANDED,
        "tlx.clc_create_context(5)",
        "tlx.clc_create_context(4)",
        0,
        SQUARE,
    ),
    Mutant("a slice of P not awaited", SLICED, "tlx.barrier_wait(p_full[1], phase)", "pass", 0, LONG),
    Mutant("a slice of V twice", SLICED, "[BLOCK_N // 2, 0]", "[0, 0]", 0, LONG, 4),
    Mutant("O never rescaled", SLICED, "if tl.min(factor, 0) < 1.0:", "if False:", 0, LONG),
    Mutant("O stored before it is there", SLICED, "tlx.barrier_wait(o_full[group], item_phase)", "pass", 0, SQUARE),
    Mutant(
        "O not acquired by the correction", SLICED, "tlx.barrier_wait(o_empty[group], item_phase ^ 1)", "pass", 0, SHORT
    ),
    Mutant("O released before it has left", SLICED, "tlx.async_descriptor_store_wait(0)", "pass", 0, SHORT),
    Mutant("O over Q too early", OVER_Q, "tlx.barrier_wait(acc_full[group], item_phase)", "pass", 0, LONG),
    Mutant("Q released before O has left", OVER_Q, "tlx.async_descriptor_store_wait(0)", "pass", 0, SHORT),
    Mutant(
        "Q not released after O", OVER_Q, "tlx.barrier_arrive(q_empty[group * Q_STAGES + q_slot])", "pass", 0, SHORT
    ),
    Mutant("O over the other group's Q", OVER_Q, "o_tiles[group * Q_STAGES + q_slot]", "o_tiles[q_slot]", 0, LONG, 2),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
