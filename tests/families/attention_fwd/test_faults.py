"""Faults put into generated attention kernels by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

CAUSAL = "hopper_attention_fwd/hopper_attention_fwd_causal"
PLAIN = "hopper_attention_fwd/hopper_attention_fwd_none"
WINDOW = "hopper_attention_fwd_masks/hopper_attention_fwd_masks_window_bottom_right_dense"
LOWER = "hopper_attention_fwd_masks/hopper_attention_fwd_masks_causal_bottom_right_dense"
PACKED = "hopper_attention_fwd_masks/hopper_attention_fwd_masks_causal_top_left_packed"
KEYS = "hopper_attention_fwd_masks/hopper_attention_fwd_masks_none_top_left_keys"
APART = "hopper_attention_fwd_rings/hopper_attention_fwd_rings_shared_leader_no_reuse"
SINK = "hopper_attention_fwd_softmax/hopper_attention_fwd_softmax_causal_softcap_sink_lse"
NARROW = "hopper_attention_fwd_fp8/hopper_attention_fwd_fp8_head_dim128_causal_dense"
BIAS = "hopper_attention_fwd_bias/hopper_attention_fwd_bias_causal_like_q"
BLOCKS = "hopper_attention_fwd_blocks/hopper_attention_fwd_blocks_causal_full"
ALONE = "hopper_attention_fwd_blocks/hopper_attention_fwd_blocks_none_full"
SQUARE = (1, 4, 2, 300, 300)  # more items than SMs, heads that share K and V
LONG = (1, 2, 1, 200, 600)  # more keys than queries
SHORT = (1, 2, 1, 400, 200)  # and the other way round: rows that see nothing when aligned at the bottom
ODD = (1, 4, 2, 301, 301)  # lists and biases of each head
EVEN = (2, 4, 2, 300, 301)  # and for all batch entries
LAST_TURN = "tlx.named_barrier_arrive(5 - replica, 256)"

FAULTS = (
    Mutant("K not awaited", CAUSAL, "tlx.barrier_wait(k_full[k_slot], k_phase)", "pass", 0, SQUARE, 2),
    Mutant("V not awaited", CAUSAL, "tlx.barrier_wait(v_full[v_slot], v_phase)", "pass", 0, SQUARE, 2),
    Mutant("Q not awaited", CAUSAL, "tlx.barrier_wait(q_full[q_slot], q_phase)", "pass", 0, SQUARE),
    Mutant("K never acquired", CAUSAL, "tlx.barrier_wait(k_empty[k_slot], k_phase ^ 1)", "pass", 0, SQUARE, 2),
    Mutant("K never released", CAUSAL, "tlx.barrier_arrive(k_empty[k_slot])  # release", "pass", 0, SQUARE, 2),
    Mutant("Q never released", CAUSAL, "tlx.barrier_arrive(q_empty[q_slot])  # release", "pass", 0, SQUARE),
    Mutant("Q released before O has left", CAUSAL, "tlx.async_descriptor_store_wait(0)", "pass", 0, SQUARE),
    Mutant("no fence before O's store", CAUSAL, 'tlx.fence("async_shared")', "pass", 0, SQUARE),
    Mutant("O's product not awaited", CAUSAL, "acc = tlx.async_dot_wait(0, acc)", "pass", 0, SQUARE),
    Mutant("two products in flight", CAUSAL, "scores = tlx.async_dot_wait(1, scores)", "pass", 0, SQUARE),
    Mutant("the turn is not handed on", CAUSAL, LAST_TURN, "pass", 0, SQUARE, 2),
    Mutant("V of the wrong tile", CAUSAL, "(tile + 1) * BLOCK_N", "tile * BLOCK_N", 0, SQUARE),
    Mutant(
        "V a slot ahead",
        CAUSAL,
        "v_slot, v_phase = ring_slot(count - 1",
        "v_slot, v_phase = ring_slot(count",
        0,
        SQUARE,
    ),
    Mutant("O not rescaled", CAUSAL, "acc = acc * alpha[:, None]", "pass", 0, SQUARE),
    Mutant("the sum not rescaled", PLAIN, "l * alpha + tl.sum(p, 1)", "l + tl.sum(p, 1)", 0, SQUARE),
    Mutant("whole tiles begin too late", LOWER, "row + 1 + ", "row + 200 + ", 0, LONG),
    Mutant("the mask of a part forgotten", LOWER, "if part == 0:", "if part == 2:", 0, LONG),
    Mutant("the first tile not masked", PLAIN, "scores = visible(", "_ = visible(", 0, SQUARE),
    Mutant("a row that sees nothing", LOWER, "tl.where(l > 0.0, 1.0 / l, 0.0)", "1.0 / l", 0, SHORT),
    Mutant("-inf minus -inf", LOWER, 'tl.where(top == float("-inf"), 0.0, top)', "top", 0, SHORT),
    Mutant("the left edge of a window not masked", WINDOW, "if part != 1:", "if part == 0:", 0, LONG),
    Mutant("one key too many to the left", WINDOW, "first = place - LEFT", "first = place - LEFT - 1", 0, LONG),
    Mutant("heads mixed up", CAUSAL, "kv_head = head // (H // H_KV)", "kv_head = head % H_KV", 0, (1, 4, 2, 200, 200)),
    Mutant("an item too few", CAUSAL, "tl.cdiv(N_Q, BLOCK_M) * B * H", "tl.cdiv(N_Q, BLOCK_M) * B * H - 1", 0, SQUARE),
    Mutant(
        "rows of the next sequence",
        PACKED,
        "ragged(q_start, n_q, head, row)",
        "ragged(q_start, n_q + 9, head, row)",
        0,
        SHORT,
    ),
    Mutant("keys past the length", KEYS, "keys < n_k", "keys < n_k + 1", 0, SHORT),
    Mutant("fp8 V of the keys before", NARROW, "[batch, kv_head, 0, 0]", "[batch, kv_head, 0, 128]", 0, SQUARE),
    Mutant("the sum of fp8 forgets the lift", NARROW, "tl.log2(l) - 8", "tl.log2(l)", 0, SQUARE),
    Mutant(
        "O overwritten while it leaves", APART, "tlx.async_descriptor_store_wait(0)", "pass", 0, (1, 4, 2, 900, 130)
    ),
    Mutant("K and V in another order", APART, "count += 1", "count += 2", 0, SQUARE),
    Mutant("the sink left out", SINK, "tl.load(sink_ptr + head)", "0.0", 0, SQUARE),
    Mutant("the bias not awaited", BIAS, "tlx.barrier_wait(bias_full[replica], bias_phase)", "pass", 0, SQUARE, 2),
    Mutant(
        "the bias never acquired", BIAS, "tlx.barrier_wait(bias_empty[replica], bias_phase ^ 1)", "pass", 0, SQUARE, 2
    ),
    Mutant("the bias never released", BIAS, "tlx.barrier_arrive(bias_empty[replica])", "pass", 0, SQUARE, 2),
    Mutant("the bias in other units", BIAS, ".to(tl.float32) * bias_unit", ".to(tl.float32)", 0, SQUARE, 2),
    Mutant(
        "the bias left out",
        BIAS,
        "tlx.local_trans(k_tiles[k_slot]), scores)",
        "tlx.local_trans(k_tiles[k_slot]))",
        0,
        SQUARE,
        2,
    ),
    Mutant("one bias for all heads", BIAS, "head * BIAS_H", "0", 0, ODD, 2),
    Mutant("a bias for each entry", BIAS, "differs(attn_mask, 0)", "1", 0, EVEN),
    Mutant(
        "the other consumer's bias",
        BIAS,
        "tlx.local_load(bias_tiles[replica])",
        "tlx.local_load(bias_tiles[1 - replica])",
        0,
        SQUARE,
        2,
    ),
    Mutant("full blocks masked", BLOCKS, "if part == 0:", "if part >= 0:", 0, ODD),
    Mutant("partial blocks not masked", BLOCKS, "if part == 0:", "if part == 2:", 0, ODD),
    Mutant("the first tile taken for a partial one", BLOCKS, "if partial > 0:", "if partial >= 0:", 0, ODD),
    Mutant("the end of full blocks not hidden", BLOCKS, "tile * BLOCK_N + BLOCK_N > N_K", "tile > N_K", 0, ODD, 2),
    Mutant("V of the wrong block", BLOCKS, "previous * BLOCK_N", "tile * BLOCK_N", 0, ODD),
    Mutant("lists of other heads", BLOCKS, "head * LISTS_H", "0", 0, ODD, 2),
    Mutant(
        "full blocks left out by the loader",
        BLOCKS,
        "tiles = max(partial + full, 1)",
        "tiles = max(partial, 1)",
        0,
        ODD,
    ),
    Mutant("nothing past the end for empty rows", ALONE, "tile = tl.cdiv(n_k, BLOCK_N)", "tile = 0", 0, ODD),
    Mutant("the cap left out", SINK, "scores = capped(scores, scale_log2, cap)", "pass", 0, SQUARE, 2),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
