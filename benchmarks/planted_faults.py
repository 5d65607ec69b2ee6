"""The faults of benchmarks/planted.py: text of a kernel, and what stands there instead."""

# ruff: noqa: E501  the text of kernels as it is
from __future__ import annotations

from dataclasses import dataclass

COOP = "hopper_gemm/hopper_gemm_cooperative"
PING = "hopper_gemm/hopper_gemm_pingpong"
CLUSTER = "hopper_gemm_cluster/hopper_gemm_cluster_m2_cooperative_leader"
STORE = "hopper_gemm_store_task/hopper_gemm_store_task_cooperative_warp"
TAIL = "hopper_gemm_tail/hopper_gemm_tail_pingpong_no_ops_subtiles2"
FWD = "hopper_attention_fwd/hopper_attention_fwd_causal"
CLC2 = "blackwell_gemm_2cta/blackwell_gemm_2cta_leader_clc"
CLC = "blackwell_gemm_clc/blackwell_gemm_clc_warp"
BGEMM = "blackwell_gemm/blackwell_gemm_persistent"
BFWD = "blackwell_attention_fwd_rings/blackwell_attention_fwd_rings_clc_shared_q"
NORM = "hopper_layer_norm/hopper_layer_norm_staged"
NORM_BWD = "hopper_layer_norm_bwd/hopper_layer_norm_bwd"
W_CLC = "blackwell_gemm_clc, base"
W_FA, W_BFA = "hopper_fa_ws_pipelined_pingpong_persistent", "blackwell_fa_ws_persistent causal"
W_2CTA = "blackwell_gemm_2cta"


@dataclass(frozen=True)
class Fault:
    """`at` is SPEC/MODULE below generated/, or the name of a row of benchmarks/tutorials."""

    name: str
    at: str
    edits: tuple[tuple[str, str], ...]
    times: int = 1

    def planted(self, text: str) -> str:
        for old, new in self.edits:
            if text.count(old) < 1:
                raise LookupError(f"{self.name}: {self.at} has no {old!r}")
            text = text.replace(old, new, self.times)
        return text


ACQUIRE = "tlx.barrier_wait(ab_empty[slot], phase ^ 1)  # acquire: free on the first pass"
FULL = "tlx.barrier_wait(ab_full[slot], phase)"
RELEASE = "tlx.barrier_arrive(ab_empty[last], pred=k > 0)  # release"
CLC_NEXT = "item = tlx.clc_consumer(clc, turn, multi_ctas=True)  # -1: none is left\n                turn ^= 1"

FAULTS = (
    # Only in a later round.
    Fault(
        "acquire left out from the third use of a slot on",
        COOP,
        ((ACQUIRE, f"if count < 2 * STAGES:\n                        {ACQUIRE}"),),
    ),
    Fault(
        "acquire left out from the second tile on",
        COOP,
        ((ACQUIRE, f"if index == tl.program_id(0):\n                        {ACQUIRE}"),),
    ),
    Fault(
        "full wait with the phase of the first two rounds",
        COOP,
        ((FULL, "tlx.barrier_wait(ab_full[slot], phase if count < 2 * STAGES else 0)"),),
    ),
    Fault(
        "full not waited for in the last K tile of a later tile",
        COOP,
        ((FULL, f"if k < k_tiles - 1 or index == tl.program_id(0):\n                        {FULL}"),),
    ),
    Fault(
        "early release in the second tile",
        COOP,
        ((RELEASE, "tlx.barrier_arrive(ab_empty[slot if index > tl.program_id(0) else last], pred=k > 0)"),),
    ),
    Fault(
        "one replica releases for both, the other not",
        COOP,
        (
            (RELEASE, "tlx.barrier_arrive(ab_empty[last], 2, pred=(k > 0) & (replica == 0))"),
            (
                "tlx.barrier_arrive(ab_empty[last])  # release",
                "tlx.barrier_arrive(ab_empty[last], 2, pred=replica == 0)",
            ),
        ),
    ),
    Fault(
        "store wait once a tile",
        COOP,
        (
            (
                "tlx.async_descriptor_store_wait(C_STAGES - 1)  #",
                "tlx.async_descriptor_store_wait(C_STAGES - 1 if i == 0 else C_STAGES)  #",
            ),
        ),
    ),
    Fault(
        "no fence before the store of the second half",
        COOP,
        (('tlx.fence("async_shared")', 'if i == 0:\n                        tlx.fence("async_shared")'),),
    ),
    Fault(
        "accumulator kept where a CTA has a third tile",
        COOP,
        (
            (
                "acc = tl.zeros((BLOCK_M // 2, BLOCK_N), tl.float32)",
                "acc = tl.zeros((BLOCK_M // 2, BLOCK_N), tl.float32) if index <= tl.program_id(0) + step else acc",
            ),
        ),
    ),
    Fault(
        "count kept in one role only",
        COOP,
        (
            (
                "            count = 0\n            for index in range(tl.program_id(0), num_items, step):",
                "            for index in range(tl.program_id(0), num_items, step):\n                count = 0",
            ),
        ),
    ),
    Fault(
        "count restarts with each tile in both roles",
        COOP,
        (
            (
                "            count = 0\n            for index in range(tl.program_id(0), num_items, step):",
                "            for index in range(tl.program_id(0), num_items, step):\n                count = 0",
            ),
            (
                "            count = 0\n            c_count = 0\n            for index in range(tl.program_id(0), num_items, step):",
                "            c_count = 0\n            for index in range(tl.program_id(0), num_items, step):\n                count = 0",
            ),
        ),
    ),
    # Turns.
    Fault(
        "turn handed on before the last wgmma",
        PING,
        (
            (
                "tlx.named_barrier_arrive(5 - replica, 256)",
                "tlx.named_barrier_arrive(5 - replica, 256 if count < 8 else 128)",
            ),
        ),
    ),
    # Clusters.
    Fault(
        "remote release to its own CTA in later tiles",
        CLUSTER,
        (
            (
                "tlx.barrier_arrive(ab_empty[last], remote_cta_rank=cta ^ 1, pred=k > 0)",
                "tlx.barrier_arrive(ab_empty[last], remote_cta_rank=cta ^ (index == tl.program_id(0) // 2), pred=k > 0)",
            ),
        ),
    ),
    Fault("drain left out by one CTA", CLUSTER, (("for _ in range(STAGES):", "for _ in range(STAGES * cta):"),)),
    # Stores by a task of its own.
    Fault(
        "staging buffer given back at issue",
        STORE,
        (("tlx.async_descriptor_store_wait(", "tlx.async_descriptor_store_wait(1 + "),),
    ),
    # Sums in global memory.
    Fault("semaphore not left at zero", TAIL, (('tl.atomic_xchg(counts_ptr, 0, sem="relaxed", scope="gpu")', "pass"),)),
    Fault(
        "semaphore raised without release",
        TAIL,
        (
            (
                'tl.atomic_add(counts_ptr, 1, sem="release", scope="gpu")',
                'tl.atomic_add(counts_ptr, 1, sem="relaxed", scope="gpu")',
            ),
        ),
    ),
    Fault(
        "last stripe left out where they do not divide",
        TAIL,
        (("end = (fix_up_cta + 1) * STRIPES // fix_up_ctas", "end = (fix_up_cta + 1) * (STRIPES // fix_up_ctas)"),),
    ),
    # Attention.
    Fault(
        "mask off by one on the diagonal",
        FWD,
        (("keys <= tl.minimum(place, n_k - 1)", "keys <= tl.minimum(place, n_k)"),),
    ),
    Fault(
        "O stored over a copy that still reads, from the third tile",
        FWD,
        (
            (
                "                tlx.async_descriptor_store_wait(0)  # the copy that last read this buffer is done",
                "                if q_count < 3:\n                    tlx.async_descriptor_store_wait(0)",
            ),
        ),
    ),
    Fault(
        "V released before its product where K wraps",
        FWD,
        (
            (
                "acc = tlx.async_dot_wait(0, acc)\n                        tlx.barrier_arrive(v_empty[v_slot])",
                "acc = tlx.async_dot_wait(0 if count < 4 else 1, acc)\n                        tlx.barrier_arrive(v_empty[v_slot])",
            ),
        ),
    ),
    Fault(
        "rescaling left out in the unmasked part",
        FWD,
        (("acc = acc * alpha[:, None]", "acc = acc * alpha[:, None] if part == 0 else acc"),),
    ),
    # Cluster launch control.
    Fault(
        "stale response: the turn flips in the first two tiles alone",
        CLC2,
        (
            (
                CLC_NEXT,
                "item = tlx.clc_consumer(clc, turn, multi_ctas=True)  # -1: none is left\n                turn ^= acc_count < 2",
            ),
        ),
    ),
    Fault(
        "one role takes the next tile from arithmetic",
        CLC2,
        (
            (
                CLC_NEXT,
                "tlx.clc_consumer(clc, turn, multi_ctas=True)\n                item = item + tl.num_programs(0) if item < 0 else -1\n                turn ^= 1",
            ),
        ),
    ),
    Fault(
        "accumulator acquired in the first two tiles alone",
        BGEMM,
        (
            (
                "tlx.barrier_wait(acc_empty[acc_slot], acc_phase ^ 1)",
                "tlx.barrier_wait(acc_empty[acc_slot], acc_phase ^ 1, pred=acc_count < 2)",
            ),
        ),
    ),
    Fault("accumulates onto the tile two before", CLC, (("use_acc=k > 0", "use_acc=(k > 0) | (acc_count > 1)"),)),
    Fault(
        "Q given back before O has left its place, from the second item",
        BFWD,
        (
            (
                "                tlx.async_descriptor_store_wait(0)  # O has left",
                "                if item_count < 2:\n                    tlx.async_descriptor_store_wait(0)  # O has left",
            ),
        ),
    ),
    Fault(
        "request before the last answer is read by all",
        BFWD,
        (("clc = tlx.clc_create_context(5)", "clc = tlx.clc_create_context(4)"),),
    ),
    # Norms.
    Fault(
        "copies waited for but the last group",
        NORM,
        (("tlx.async_load_wait_group(0)", "tlx.async_load_wait_group(1)"),),
    ),
    Fault(
        "sums of the peer in one slot",
        NORM_BWD,
        (
            ("sums_tiles[slot * CLUSTER + cta]", "sums_tiles[cta]"),
            ("sums_tiles[slot * CLUSTER + peer]", "sums_tiles[peer]"),
        ),
    ),
    Fault(
        "phase of the sums of the first two rounds",
        NORM_BWD,
        (("tlx.barrier_wait(sums_full[slot], phase)", "tlx.barrier_wait(sums_full[slot], phase if count < 4 else 0)"),),
    ),
    Fault(
        "rows refilled before they are read again",
        NORM_BWD,
        (
            (
                "tlx.async_load_wait_group(STAGES - 1)",
                "tlx.async_load_wait_group(STAGES - 1 if count < STAGES else STAGES)",
            ),
        ),
    ),
    Fault(
        "columns at the edge not masked in the sums",
        NORM,
        (("apart = tl.where((columns + start < end)[None, :], more - x, 0.0)", "apart = more - x"),),
    ),
    # The wheel's.
    Fault(
        "wheel: stale answer, the phase flips once",
        W_CLC,
        (
            (
                "                tile_id = tlx.clc_consumer(clc_context, clc_phase_consumer)\n                clc_phase_consumer ^= 1",
                "                tile_id = tlx.clc_consumer(clc_context, clc_phase_consumer)\n                clc_phase_consumer = 1",
            ),
        ),
    ),
    Fault("wheel: request before the answer is read by all", W_CLC, (("num_consumers=3", "num_consumers=2"),)),
    Fault(
        "wheel: counter of K one short for each tile, in both roles",
        W_CLC,
        (("processed_k_iters += k_tiles", "processed_k_iters += k_tiles - 1"),),
        2,
    ),
    Fault(
        "wheel: TMEM acquired with the phase of the first round",
        W_CLC,
        (("tmem_write_phase = tmem_write_phase ^ (cur_tmem_buf == NUM_TMEM_BUFFERS - 1)", "pass"),),
    ),
    Fault(
        "wheel: accumulator kept over tiles",
        W_CLC,
        (("use_acc=k > 0", "use_acc=(k > 0) | (processed_k_iters > k_tiles)"),),
    ),
    Fault(
        "wheel: leader waits for its peer in the first K tile alone",
        W_2CTA,
        (
            (
                "tlx.barrier_wait(bar_leader_cta, phase=k % 2, pred=pred_leader_cta)",
                "tlx.barrier_wait(bar_leader_cta, phase=k % 2, pred=pred_leader_cta & (k == 0))",
            ),
        ),
    ),
    Fault(
        "wheel: arrival at the wrong CTA",
        W_2CTA,
        (("remote_cta_rank=cluster_cta_rank & ~1", "remote_cta_rank=cluster_cta_rank | 1"),),
    ),
    Fault(
        "wheel: Q not acquired from the second item on",
        W_FA,
        (
            (
                "tlx.barrier_wait(q_empties[q_bufIdx], q_phase ^ 1)",
                "tlx.barrier_wait(q_empties[q_bufIdx], q_phase ^ 1, pred=i < 1)",
            ),
        ),
    ),
    Fault(
        "wheel: V of another slot given back once the ring has wrapped",
        W_FA,
        (
            (
                "tlx.barrier_arrive(v_empties[v_bufIdx], 1)",
                "tlx.barrier_arrive(v_empties[k_bufIdx if accum_cnt_kv > 2 else v_bufIdx], 1)",
            ),
        ),
    ),
    Fault(
        "wheel: scores overwritten from the second item on",
        W_BFA,
        (("tlx.barrier_wait(qk_empties[1], q_phase ^ 1)", "tlx.barrier_wait(qk_empties[1], q_phase ^ 1, pred=j < 1)"),),
    ),
    Fault(
        "wheel: the last products awaited in the first item alone",
        W_BFA,
        (("tlx.barrier_wait(acc_empties[cid], phase)", "tlx.barrier_wait(acc_empties[cid], phase, pred=i < 1)"),),
    ),
)
