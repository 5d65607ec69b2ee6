"""More faults of benchmarks/planted.py, one for each way in which a hand-off is often got wrong by hand."""

# ruff: noqa: E501  the text of kernels as it is
from __future__ import annotations

from benchmarks.planted_faults import BGEMM, CLC2, CLUSTER, COOP, PING, W_2CTA, W_BFA, W_CLC, W_FA, Fault

BWD = "hopper_attention_bwd/hopper_attention_bwd_causal_together"
BFWD_CAUSAL = "blackwell_attention_fwd/blackwell_attention_fwd_causal"
CLUSTER_K = "hopper_gemm_cluster_k/hopper_gemm_cluster_k_k2_persistent_cooperative"
GROUPED = "hopper_grouped_gemm/hopper_grouped_gemm_row_pingpong"
WEIGHTS = "hopper_grouped_gemm_weights/hopper_grouped_gemm_weights"
PDL = "hopper_gemm_pdl/hopper_gemm_pdl_grid_k2_cooperative"
PAIRS = "blackwell_gemm_2cta/blackwell_gemm_2cta_leader_persistent"
MX = "blackwell_mx_gemm/blackwell_mx_gemm_e4m3_m2_persistent"
W_WS = "blackwell_gemm_ws, 2 MMA groups"
AT_LEAST_ONE = "k_tiles = tl.maximum(tl.cdiv(end - begin, BLOCK_K), 1)  # of an empty group one, of zeros"

FAULTS = (
    # MMA and loads of two CTAs.
    Fault(
        "bytes of one CTA expected of loads by two",
        CLC2,
        (
            (
                "ab_full[slot], (BLOCK_M * BLOCK_K * 2 + BLOCK_K * (BLOCK_N // 2) * 2) * 2, pred=cta == 0",
                "ab_full[slot], BLOCK_M * BLOCK_K * 2 + BLOCK_K * (BLOCK_N // 2) * 2, pred=cta == 0",
            ),
        ),
    ),
    Fault(
        "bytes of the scales of one CTA expected",
        MX,
        (
            (
                "+ BLOCK_M // 128 * (BLOCK_K // 128) * 2 * 256\n                            + BLOCK_N",
                "+ BLOCK_M // 128 * (BLOCK_K // 128) * 256\n                            + BLOCK_N",
            ),
        ),
    ),
    Fault(
        "each epilogue releases the accumulator to its own CTA",
        PAIRS,
        (
            (
                "acc_empty = tlx.alloc_barriers(ACC_STAGES, arrive_count=2)",
                "acc_empty = tlx.alloc_barriers(ACC_STAGES, arrive_count=1)",
            ),
            (
                "tlx.barrier_arrive(acc_empty[acc_slot], remote_cta_rank=0)",
                "tlx.barrier_arrive(acc_empty[acc_slot], remote_cta_rank=cta)",
            ),
        ),
    ),
    Fault(
        "accumulator released before its last subtile is loaded",
        PAIRS,
        (("if i == 3:\n                        tlx.barrier", "if i == 2:\n                        tlx.barrier"),),
    ),
    Fault(
        "commit reaches the leader alone",
        CLC2,
        (("tlx.tcgen05_commit(acc_full[acc_slot], two_ctas=True)", "tlx.tcgen05_commit(acc_full[acc_slot])"),),
    ),  # fmt: skip
    Fault(
        "the idle MMA task of a CTA leaves, and is counted on",
        CLC2,
        (
            (
                "while item >= 0:\n                if cta == 0:",
                "while (item >= 0) & (cta == 0):\n                if cta == 0:",
            ),
        ),
    ),  # fmt: skip
    # Commits.
    Fault(
        "accumulator published before its last product",
        BGEMM,
        (
            (
                "                    # done: release",
                "                    if k == k_tiles - 1:\n                        tlx.tcgen05_commit(acc_full[acc_slot])\n                    # done: release",
            ),
            ("                tlx.tcgen05_commit(acc_full[acc_slot])  # publish", "                pass  # publish"),
        ),
    ),
    Fault(
        "K released with the first group's product",
        BFWD_CAUSAL,
        (
            (
                "mBarriers=[s_full[0]],\n                    )\n                    # The tile before.",
                "mBarriers=[s_full[0], kv_empty[k_slot]],\n                    )\n                    # The tile before.",
            ),
            (
                "mBarriers=[s_full[1], kv_empty[k_slot]],\n                    )\n                    v_slot",
                "mBarriers=[s_full[1]],\n                    )\n                    v_slot",
            ),
        ),
    ),
    # Stores.
    Fault(
        "fence before the store to SMEM",
        CLC2,
        (
            (
                'tlx.local_store(c_tiles[c_slot], part.to(tlx.dtype_of(c_desc)))\n                    tlx.fence("async_shared")',
                'tlx.fence("async_shared")\n                    tlx.local_store(c_tiles[c_slot], part.to(tlx.dtype_of(c_desc)))',
            ),
        ),
    ),
    Fault(
        "one store more under way than buffers",
        BFWD_CAUSAL,
        (("tlx.async_descriptor_store_wait(1)  # the copy", "tlx.async_descriptor_store_wait(2)  # the copy"),),
    ),
    Fault(
        "dV stored where dQ still leaves",
        BWD,
        (("tlx.async_descriptor_store_wait(0)  # dQ has left", "tlx.async_descriptor_store_wait(1)  # dQ has left"),),
    ),
    Fault(
        "Q released one wait too early, from the third step on",
        BWD,
        (("dk = tlx.async_dot_wait(1, dk)", "dk = tlx.async_dot_wait(1 if count < 2 else 2, dk)"),),
    ),
    # Empty and ragged tiles.
    Fault(
        "bytes of a ragged K tile clipped",
        COOP,
        (
            (
                "BLOCK_M * BLOCK_K * 2 + BLOCK_K * BLOCK_N * 2",
                "(BLOCK_M + BLOCK_N) * 2 * tl.minimum(BLOCK_K, K - k * BLOCK_K)",
            ),
        ),
    ),  # fmt: skip
    Fault(
        "phase off after an empty group: the loads count a tile that the MMA skips",
        WEIGHTS,
        (
            (
                AT_LEAST_ONE
                + "\n                tile_m, tile_n = tile_at(index - first, M, N, BLOCK_M, BLOCK_N, GROUP_M)\n                row = tile_m * BLOCK_M\n                column = tile_n * BLOCK_N\n                row +=",
                "k_tiles = tl.cdiv(end - begin, BLOCK_K)\n                tile_m, tile_n = tile_at(index - first, M, N, BLOCK_M, BLOCK_N, GROUP_M)\n                row = tile_m * BLOCK_M\n                column = tile_n * BLOCK_N\n                row +=",
            ),
        ),
    ),
    Fault(
        "slot of the last K tile released in an empty group, too",
        WEIGHTS,
        ((AT_LEAST_ONE, "k_tiles = tl.cdiv(end - begin, BLOCK_K)"),),
        2,
    ),
    Fault(
        "rows of the next group written from a ragged tile",
        GROUPED,
        (("clipped(end, row, column + i", "clipped(M, row, column + i"),),
    ),
    # Turns.
    Fault(
        "a replica does not hand on its last turn",
        PING,
        (
            (
                "tlx.named_barrier_arrive(5 - replica, 256)",
                "if index + 2 * step < num_items:\n                    tlx.named_barrier_arrive(5 - replica, 256)",
            ),
        ),
    ),
    # Clusters.
    Fault(
        "multicast to the peer alone", CLUSTER, (("multicast_targets=[cta, cta ^ 1]", "multicast_targets=[cta ^ 1]"),)
    ),
    Fault(
        "a CTA exits while its peer still arrives there",
        CLUSTER_K,
        (
            (
                "            tlx.barrier_wait(part_empty[part_slot], part_phase ^ 1)  # acquire: free on the first pass\n            tlx.async",
                "            tlx.async",
            ),
        ),
    ),
    Fault(
        "part of the peer read once a CTA's own has come",
        CLUSTER_K,
        (
            (
                "tlx.barrier_expect_bytes(part_full[part_slot], BLOCK_M // 2 * BLOCK_N * 4)",
                "tlx.barrier_expect_bytes(part_full[part_slot], BLOCK_M // 2 * BLOCK_N * 2)",
            ),
        ),
    ),
    Fault("dependent launch not waited for", PDL, (("tl.extra.cuda.gdc_wait()", "pass"),)),
    # The wheel's.
    Fault(
        "wheel: accumulator published before the last products are done",
        W_CLC,
        (
            (
                "tlx.barrier_wait(smem_empty_bars[last_buf], last_dot_phase)",
                "tlx.barrier_wait(smem_empty_bars[last_buf], last_dot_phase ^ 1)",
            ),
        ),  # fmt: skip
    ),
    Fault(
        "wheel: accumulator given back before it is loaded",
        W_WS,
        (
            (
                "result = tlx.local_load(acc_tmem_subslice)\n                tlx.barrier_arrive(tmem_empty_bars[buf_idx], 1)",
                "tlx.barrier_arrive(tmem_empty_bars[buf_idx], 1)\n                result = tlx.local_load(acc_tmem_subslice)",
            ),
        ),
    ),
    Fault(
        "wheel: leader counts on itself alone",
        W_2CTA,
        (("alloc_barriers(1, arrive_count=2)", "alloc_barriers(1, arrive_count=1)"),),
    ),
    Fault(
        "wheel: bytes of the whole of B expected by each CTA",
        W_2CTA,
        (("BLOCK_K * (BLOCK_N // 2) * 2)  # 2cta", "BLOCK_K * BLOCK_N * 2)  # 2cta"),),
    ),
    Fault(
        "wheel: K given back before its product is done, from the second tile on",
        W_FA,
        (
            (
                "qk = tlx.async_dot_wait(0, qk)\n                # release the K buffer",
                "qk = tlx.async_dot_wait(0 if i < 1 else 1, qk)\n                # release the K buffer",
            ),
        ),
    ),
    Fault(
        "wheel: softmax and correction count factors apart",
        W_BFA,
        (
            (
                "                    accum_cnt += 1\n\n                _, phase",
                "                    accum_cnt += 1 if i < 1 else 2\n\n                _, phase",
            ),
        ),  # fmt: skip
    ),
)
