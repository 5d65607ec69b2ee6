"""Faults put into generated backward kernels by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

NAMED = "hopper_attention_bwd_schedules/hopper_attention_bwd_schedules_{}_named_stages1"
AHEAD = "hopper_attention_bwd/hopper_attention_bwd_none_together"
PLAIN = NAMED.format("head_dim128")
RINGS = "hopper_attention_bwd_rings/hopper_attention_bwd_rings_head_dim128"  # the fourth config: Q has the longer ring
CAUSAL = "hopper_attention_bwd/hopper_attention_bwd_causal_together"
SMALL = NAMED.format("head_dim64")
LOWER = "hopper_attention_bwd_masks/hopper_attention_bwd_masks_bf16_head_dim128"
KV = "hopper_attention_bwd_kv/hopper_attention_bwd_kv_causal_head_dim64"
DQ = "hopper_attention_bwd_dq/hopper_attention_bwd_dq_causal_head_dim128"
PACKED = "hopper_attention_bwd_packed/hopper_attention_bwd_packed_head_dim128_{}_together"
BOTTOM, WINDOW = (PACKED.format(f"{mask}_bottom_right") for mask in ("causal", "window"))
PACKED_DQ = "hopper_attention_bwd_dq_packed/hopper_attention_bwd_dq_packed_causal_bottom_right"
KEYS = "hopper_attention_bwd_keys/hopper_attention_bwd_keys_none_top_left"
SLICED = "hopper_attention_bwd_d192_dv128/hopper_attention_bwd_d192_dv128_causal"
SEQUENCES = (4, 2, 1, 150, 150)  # of their own lengths, the second empty
FEW_KEYS = (4, 2, 1, 260, 70)
ZEROS = "tl.float32), mask=inside[:, None] & (columns < 192)"
ENDS = "row - n_q, key - n_k, 0, 0"
SUMS = "(head * T_Q + rows[:, None]"
NUMBERS = "(q_start + batch * 64) // 64"
SQUARE = (1, 2, 1, 200, 200)  # more steps than slots, heads that share K and V, ragged
HEADS = (1, 4, 2, 130, 130)  # two heads of K and V
LONG = (1, 1, 1, 130, 400)  # more keys than queries
TWICE = (1, 2, 1, 150, 150)  # two tiles of keys, steps of two heads
SHORT = (1, 2, 1, 300, 100)  # and the other way round: rows that see nothing when aligned at the bottom
FENCE = 'tlx.fence("async_shared")'
MEET = "tlx.named_barrier_wait(4, 256)"
LEFT = "tlx.async_descriptor_store_wait(0)"

FAULTS = (
    Mutant("K not awaited", PLAIN, "tlx.barrier_wait(k_full[0], 0)", "pass", 0, SQUARE),
    Mutant("V not awaited", PLAIN, "tlx.barrier_wait(v_full[0], 0)", "pass", 0, SQUARE),
    Mutant("Q not awaited", PLAIN, "tlx.barrier_wait(q_full[q_slot], q_phase)", "pass", 0, SQUARE),
    Mutant("dO not awaited", PLAIN, "tlx.barrier_wait(do_full[do_slot], do_phase)", "pass", 0, SQUARE),
    Mutant("Q never acquired", PLAIN, "tlx.barrier_wait(q_empty[q_slot], q_phase ^ 1)", "pass", 0, SQUARE),
    Mutant("dO never acquired", RINGS, "tlx.barrier_wait(do_empty[do_slot], do_phase ^ 1)", "pass", 3, SQUARE),
    Mutant("Q never released", PLAIN, "tlx.barrier_arrive(q_empty[q_slot])", "pass", 0, SQUARE),
    Mutant("dO never released", PLAIN, "tlx.barrier_arrive(do_empty[do_slot])", "pass", 0, SQUARE),
    Mutant("bytes of Q alone", PLAIN, "64 * 128 * 2 + 64 * 4", "64 * 128 * 2", 0, SQUARE),
    Mutant("no meeting", PLAIN, MEET, "pass", 0, SQUARE),
    Mutant("a meeting of one", PLAIN, MEET, "tlx.named_barrier_wait(4 + replica, 128)", 0, SQUARE),
    Mutant("dS in one slot", PLAIN, "ds_slot = count % 2", "ds_slot = 0", 0, SQUARE),
    Mutant("no fence after dS", PLAIN, FENCE, "pass", 0, SQUARE),
    Mutant("no fence before the sum of dQ", PLAIN, f"{FENCE}  # the TMA engine", "pass  #", 0, SQUARE),
    Mutant("dQ stored while it leaves", PLAIN, f"{LEFT}  # the part before has left", "pass", 0, SQUARE),
    Mutant("dV stored while dQ leaves", PLAIN, f"{LEFT}  # dQ has left the buffers of dV and dK", "pass", 0, SQUARE),
    Mutant("dK stored while dV leaves", PLAIN, f"{LEFT}  # dV has left the buffer", "pass", 0, SQUARE),
    Mutant("dQ stored, not added", PLAIN, ', store_reduce="add"', "", 0, SQUARE),
    Mutant("sums of dQ not begun at zero", PLAIN, "tl.zeros((64, 128), tl.float32), mask", "o, mask", 0, SQUARE),
    Mutant("dV not awaited", PLAIN, "dv = tlx.async_dot_wait(1, dv)", "pass", 0, SQUARE),
    Mutant("dO released before dV is done", PLAIN, "tlx.async_dot_wait(1, dv)", "tlx.async_dot_wait(2, dv)", 0, SQUARE),
    Mutant("dQ used before it is done", PLAIN, "tlx.async_dot_wait(1, dq)", "tlx.async_dot_wait(2, dq)", 0, SQUARE),
    Mutant("Q released before dK is done", PLAIN, "dk = tlx.async_dot_wait(0, dk)", "pass", 0, SQUARE),
    Mutant("dQ of the other columns", PLAIN, "[0, replica * 64]", "[0, (1 - replica) * 64]", 0, SQUARE),
    Mutant("dK not scaled", PLAIN, "(dk * scale)", "dk", 0, SQUARE),
    Mutant("delta left out", PLAIN, "(dp - delta[None, :])", "dp", 0, SQUARE),
    Mutant("the next head too late", PLAIN, "if row >= N_Q:", "if row > N_Q:", 0, (1, 2, 1, 128, 128), 2),
    Mutant("one head for all", PLAIN, "head += 1", "head += 0", 0, SQUARE, 2),
    Mutant("heads mixed up", PLAIN, "head = kv_head * heads", "head = kv_head", 0, HEADS),
    Mutant("a step too few", PLAIN, "steps = tl.cdiv(N_Q, 64) * heads", "steps = N_Q // 64 * heads", 0, SQUARE),
    Mutant("dS of the other not awaited", AHEAD, "tlx.barrier_wait(ds_full[ds_slot], ds_phase)", "pass", 0, SQUARE),
    Mutant("dS not said to be there", AHEAD, "tlx.barrier_arrive(ds_full[ds_slot])", "pass", 0, SQUARE),
    Mutant("dS in one slot, ahead", AHEAD, "ds_phase = ring_slot(count, 2)", "ds_phase = 0, count & 1", 0, SQUARE),
    Mutant("no fence before dQ", AHEAD, f"{FENCE}  # every replica", "pass  #", 0, SQUARE),
    Mutant("the next Q not awaited", AHEAD, "tlx.barrier_wait(q_full[next_slot], next_phase)", "pass", 0, SQUARE),
    Mutant("the next scores of this Q", AHEAD, "q_tiles[next_slot]", "q_tiles[q_slot]", 0, SQUARE),
    Mutant("the next scores not awaited", AHEAD, "scores = tlx.async_dot_wait(1, scores)", "pass", 0, SQUARE),
    Mutant("Q released before dK is done, ahead", AHEAD, "_wait(1, dk)", "_wait(2, dk)", 0, SQUARE),
    Mutant("a Q too few", AHEAD, "range(steps + 1)", "range(steps)", 0, SQUARE),
    Mutant("dQ stored while it leaves, ahead", AHEAD, "tlx.async_descriptor_store_wait(1)", "pass", 0, SQUARE),
    Mutant("the diagonal a step too late", CAUSAL, "first = key // 64 * 64", "first = key // 64 * 64 + 64", 0, SQUARE),
    Mutant("the diagonal not masked", CAUSAL, "row < key + 63", "row < key", 0, SQUARE),
    Mutant("one key too many", CAUSAL, "tl.minimum(place, N_K - 1)", "tl.minimum(place + 1, N_K - 1)", 0, SQUARE),
    Mutant("the first query aligned at the top", LOWER, "max(key - N_K + N_Q, 0)", "max(key, 0)", 0, LONG),
    Mutant("the mask aligned at the top", LOWER, "place = row + N_K - N_Q", "place = row", 0, LONG),
    Mutant("a row that sees nothing", LOWER, "tl.where(keys <= tl.minimum(place, N_K - 1), p, 0.0)", "p", 0, SHORT),
    Mutant("dQ of the other queries", SMALL, "ds_slot * 2 + replica", "ds_slot * 2 + 1 - replica", 0, SQUARE),
    Mutant("slots of dS that overlap", SMALL, "ds_slot * 2", "ds_slot", 0, SQUARE),
    Mutant("scores of a part not awaited", SMALL, "_wait(2, next_scores)", "_wait(3, next_scores)", 0, SQUARE),
    Mutant("dP of a part not awaited", SMALL, "dp = tlx.async_dot_wait(1, dp)", "pass", 0, SQUARE),
    Mutant("numbers of the wrong part", SMALL, "lse_tiles[q_slot], [0, 64]", "lse_tiles[q_slot], [0, 0]", 0, SQUARE),
    Mutant("dV and dK in one buffer", SMALL, "grad_tiles[replica * 2 + 1]", "grad_tiles[replica * 2]", 0, SQUARE, 2),
    Mutant("dK in the other's buffer", SMALL, "grad_tiles[replica * 2 + 1]", "grad_tiles[replica + 1]", 0, SQUARE, 2),
    Mutant("dO released before dV is done, alone", KV, "_wait(1, dv)", "_wait(2, dv)", 0, SQUARE),
    Mutant("dK of the wrong part", KV, "tlx.async_dot(ds_1, q_1, dk)", "tlx.async_dot(ds_1, q_0, dk)", 0, SQUARE),
    Mutant("K released before dQ is done", DQ, "dq = tlx.async_dot_wait(0, dq)", "pass", 0, SQUARE),
    Mutant("V released before dP is done", DQ, "dp = tlx.async_dot_wait(0, dp)", "pass", 0, SQUARE),
    Mutant("a tile of keys too few", DQ, "row + 128", "row", 0, SQUARE),
    Mutant("heads mixed up, dQ alone", DQ, "head // (H // H_KV)", "head % H_KV", 0, HEADS),
    Mutant("rows past the end", DQ, "[batch, head, row + replica * 64, 0]", "[batch, head, row, 0]", 0, SQUARE),
    Mutant("numbers not filled up", BOTTOM, "mask=filled", "mask=inside", 0, SEQUENCES),
    Mutant("numbers of two in one tile", BOTTOM, NUMBERS, "q_start // 64", 0, SEQUENCES),
    Mutant("numbers of the sequence before", BOTTOM, "[head, numbers + row]", "[head, q_start + row]", 0, SEQUENCES),
    Mutant("sums of another row", BOTTOM, SUMS, f"{SUMS} - q_start", 0, SEQUENCES),
    Mutant("the last query at another key", BOTTOM, ENDS, "row, key, 0, 0", 0, SEQUENCES),
    Mutant("the window's place", WINDOW, ENDS, "row, key, 0, 0", 0, SEQUENCES),
    Mutant("keys of one replica", BOTTOM, "key += replica * 64\n                k", "k", 0, SEQUENCES),
    Mutant("dK where queries lie", BOTTOM, "k_start, n_k, kv_head, key)", "q_start, n_q, kv_head, key)", 0, FEW_KEYS),
    Mutant("loads that nobody awaits", BOTTOM, "if key < n_k:", "if key < N_K:", 0, SEQUENCES),
    Mutant("numbers of unpadded rows", PACKED_DQ, "+ first_number(q_start, batch)", "+ q_start", 0, SEQUENCES),
    Mutant("rows past ends", PACKED_DQ, "ragged(q_start, n_q, head, row))", "(q_start, 0, head, row, 0))", 0, FEW_KEYS),
    Mutant("all keys there", KEYS, "n_k = tl.load(key_lengths_ptr + batch)", "n_k = N_K", 0, SEQUENCES),
    # Tiles whose columns lie in several buffers.
    Mutant("columns of Q twice", SLICED, "[batch, head, row, 128], q_full", "[batch, head, row, 64], q_full", 0, TWICE),
    Mutant("bytes of two buffers", SLICED, "64 * 192 * 2 + 64 * 4", "64 * 128 * 2 + 64 * 4", 0, TWICE),
    Mutant("columns of K missing", SLICED, "tlx.async_dot(k_rows_2, tlx.local_trans(q_2), scores)", "scores", 0, TWICE),
    Mutant("columns of V twice", SLICED, "v_tiles[origin * 2 + 1]", "v_tiles[origin * 2]", 0, TWICE),
    Mutant("a part of dV in flight", SLICED, "tlx.async_dot_wait(3, dv_1)", "tlx.async_dot_wait(4, dv_1)", 0, TWICE),
    Mutant("a part of dK in flight", SLICED, "tlx.async_dot_wait(1, dk_2)", "tlx.async_dot_wait(2, dk_2)", 0, TWICE),
    Mutant("dQ in the place of dQ that leaves", SLICED, f"{LEFT}  # the part before has left", "pass", 0, TWICE),
    Mutant("the rest of dQ elsewhere", SLICED, "row, 128 + replica * 32]", "row, 128]", 0, TWICE),
    Mutant("the rest of dQ by other keys", SLICED, "[0, replica * 32]", "[0, (1 - replica) * 32]", 0, TWICE),
    Mutant("dK in the place of dV", SLICED, "tlx.async_descriptor_store_wait(1)  # what was", "pass  #", 0, TWICE),
    Mutant("zeros past a head", SLICED, ZEROS, ZEROS.replace(" & (columns < 192)", ""), 0, TWICE),
    Mutant("another's length", KEYS, "key_lengths_ptr + batch", "key_lengths_ptr", 0, SEQUENCES),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
