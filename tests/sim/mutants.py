"""Faults put into generated kernels, by hand: each the source text to replace, and what with.

KILLED must all be caught. SURVIVORS are not, each with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`at` is SPEC/MODULE below generated/; `old` must occur there, and its first occurrences become `new`."""

    name: str
    at: str
    old: str
    new: str
    config: int = 0
    shape: tuple[int, ...] = (400, 264, 328)
    times: int = 1
    sms: int = 4


COOP = "hopper_gemm/hopper_gemm_cooperative"
PING = "hopper_gemm/hopper_gemm_pingpong"
TURN = "hopper_gemm_pingpong/hopper_gemm_pingpong_mbarrier_in_flight1_separate"
CLUSTER = "hopper_gemm_cluster/hopper_gemm_cluster_m2_cooperative_leader"
CLUSTER_PING = "hopper_gemm_cluster/hopper_gemm_cluster_n2_pingpong_warp"
SUMS = "hopper_gemm_cluster_k/hopper_gemm_cluster_k_k4_grid_cooperative"
SUMS_LOOP = "hopper_gemm_cluster_k/hopper_gemm_cluster_k_k2_persistent_cooperative"
PDL = "hopper_gemm_pdl/hopper_gemm_pdl_grid_m1_cooperative"
STORE = "hopper_gemm_store_task/hopper_gemm_store_task_cooperative_warp"
PIPE = "hopper_gemm_pipelined/hopper_gemm_pipelined_persistent"
SPLIT = "hopper_gemm_split_k/hopper_gemm_split_k_persistent"
DIRECT = "hopper_gemm_epilogue/hopper_gemm_epilogue_scale_bias_gelu_subtiles4_direct"

HELP = "hopper_gemm_helped/hopper_gemm_helped_pingpong_prefetch0_no_ops_subtiles2"
HELP_COOP = "hopper_gemm_helped/hopper_gemm_helped_cooperative_prefetch0_no_ops_subtiles2"
PARTS = "hopper_gemm_tail/hopper_gemm_tail_pingpong_no_ops_subtiles2"
PARTS_COOP = "hopper_gemm_tail/hopper_gemm_tail_cooperative_no_ops_subtiles2"
LEFT = (5 * 128 - 3, 128, 40 * 64 - 8)  # five tiles for four CTAs: the last one in four parts
MANY = (13 * 128 - 3, 128, 36 * 64 - 8)  # 13 tiles for twelve CTAs: the last one in twelve parts
TWO = (128, 256 - 8, 59 * 64)  # two tiles in two parts each
WIDE = (5 * 128 - 3, 256, 40 * 64 - 8)
ROUND = (6 * 128 - 3, 64, 31 * 64)  # six tiles for four CTAs: two of them help
FEW = (3 * 128 - 3, 56, 60 * 64)  # three tiles: one CTA helps with each

ACQUIRE = "tlx.barrier_wait(ab_empty[slot], phase ^ 1)  # acquire: free on the first pass"
FULL = "tlx.barrier_wait(ab_full[slot], phase)"
RELEASE = "if k > 0:\n                        tlx.barrier_arrive(ab_empty[last])  # release"
LAST = "\n                tlx.barrier_arrive(ab_empty[last])  # release"
BYTES = "BLOCK_M * BLOCK_K * 2 + BLOCK_K * BLOCK_N * 2)"
FENCE = 'tlx.fence("async_shared")'
REMOTE = "tlx.barrier_arrive(ab_empty[last], remote_cta_rank=cta ^ 1)"
REMOTE_LAST = f"\n                {REMOTE}"

KILLED = (
    # One CTA, two replicas of a tile's rows.
    Mutant("release dropped", COOP, RELEASE, "pass"),
    Mutant("last release dropped", COOP, LAST, "\n                pass"),
    Mutant("release twice", COOP, LAST, f"{LAST}{LAST}"),
    Mutant("release without its condition", COOP, "if k > 0:", "if True:"),
    Mutant("acquire dropped", COOP, ACQUIRE, "pass"),
    Mutant("acquire of the wrong phase", COOP, "ab_empty[slot], phase ^ 1", "ab_empty[slot], phase"),
    Mutant("acquire of the next slot", COOP, "ab_empty[slot], phase ^ 1", "ab_empty[(slot + 1) % STAGES], phase ^ 1"),
    Mutant("full wait dropped", COOP, FULL, "pass"),
    Mutant("full wait of the wrong phase", COOP, FULL, "tlx.barrier_wait(ab_full[slot], phase ^ 1)"),
    Mutant("full wait on empty", COOP, FULL, "tlx.barrier_wait(ab_empty[slot], phase)"),
    Mutant("full wait for a fixed phase", COOP, FULL, "tlx.barrier_wait(ab_full[slot], 0)"),
    Mutant("empty count too small", COOP, "STAGES, arrive_count=2)", "STAGES, arrive_count=1)"),
    Mutant("empty count too large", COOP, "STAGES, arrive_count=2)", "STAGES, arrive_count=3)"),
    Mutant("full count too large", COOP, "STAGES, arrive_count=1)", "STAGES, arrive_count=2)"),
    Mutant("bytes of A alone", COOP, BYTES, "BLOCK_M * BLOCK_K * 2)"),
    Mutant("bytes of A twice", COOP, BYTES, "BLOCK_M * BLOCK_K * 4 + BLOCK_K * BLOCK_N * 2)"),
    Mutant("expect dropped", COOP, f"tlx.barrier_expect_bytes(ab_full[slot], {BYTES}", "pass"),
    Mutant("released before the dot is done", COOP, "tlx.async_dot_wait(1, acc)", "tlx.async_dot_wait(2, acc)"),
    Mutant(
        "released at issue", COOP, "(count + STAGES - 1) % STAGES\n                    ", "slot\n                    "
    ),
    Mutant("last dot not waited for", COOP, "acc = tlx.async_dot_wait(0, acc)", "pass"),
    Mutant("last dot half waited for", COOP, "tlx.async_dot_wait(0, acc)", "tlx.async_dot_wait(1, acc)"),
    Mutant("rows of the other replica", COOP, "a_tiles[slot * 2 + replica]", "a_tiles[slot * 2 + 1 - replica]"),
    Mutant("slot past the ring", COOP, "a_tiles[slot * 2 + 1]", "a_tiles[slot * 2 + 2]"),
    Mutant("B read from the next slot", COOP, "b_tiles[slot], acc)", "b_tiles[(slot + 1) % STAGES], acc)"),
    Mutant(
        "count restarts with the tile",
        COOP,
        "                acc = tl.zeros",
        "                count = 0\n                acc = tl.zeros",
    ),
    Mutant("store wait dropped", COOP, "tlx.async_descriptor_store_wait(C_STAGES - 1)", "pass"),
    Mutant("store wait leaves one", COOP, "store_wait(C_STAGES - 1)", "store_wait(C_STAGES)"),
    Mutant("store wait at exit dropped", COOP, "            tlx.async_descriptor_store_wait(0)", "            pass"),
    Mutant("fence dropped", COOP, FENCE, "pass"),
    Mutant("C buffer of the other replica", COOP, "c_slot = replica * C_STAGES +", "c_slot ="),
    Mutant("tile columns off by one", COOP, "rows, last_reciprocal))", "rows, last_reciprocal)) + 1"),
    Mutant("quotient not corrected", COOP, "estimate + (dividend - estimate * divisor >= divisor)", "estimate"),
    Mutant("K tile off by one", COOP, "[k * BLOCK_K, column]", "[(k + 1) * BLOCK_K, column]"),
    Mutant("a step too long", COOP, "tl.program_id(0), num_items, step", "tl.program_id(0), num_items, step + 1"),
    Mutant("one item too few", COOP, "num_items, step):", "num_items - 1, step):", times=2),
    Mutant("every CTA does all", COOP, "tl.program_id(0), num_items, step", "0, num_items, 1", times=2),
    Mutant("accumulator kept over tiles", COOP, "acc = tl.zeros", "acc = acc if index > step else tl.zeros"),
    # Turns.
    Mutant("turn not taken", PING, "tlx.named_barrier_wait(4 + replica, 256)", "pass"),
    Mutant("turn not handed on", PING, "tlx.named_barrier_arrive(5 - replica, 256)", "pass"),
    Mutant(
        "turn handed to itself",
        PING,
        "tlx.named_barrier_arrive(5 - replica, 256)",
        "tlx.named_barrier_arrive(4 + replica, 256)",
    ),
    Mutant("nobody begins", PING, "tlx.named_barrier_arrive(4, 256)  #", "pass  #"),
    Mutant("turn of 128 threads", PING, "named_barrier_wait(4 + replica, 256)", "named_barrier_wait(4 + replica, 128)"),
    Mutant("other replica's slots not skipped", PING, "count += k_tiles", "count += 0"),
    Mutant("both begin at slot 0", PING, "count = replica * k_tiles", "count = 0"),
    Mutant("turn of the wrong parity", TURN, "(turns & 1) ^ (1 - replica)", "(turns & 1) ^ replica"),
    Mutant("turns not counted", TURN, "turns += 1", "pass"),
    Mutant(
        "mbarrier turn not taken", TURN, "tlx.barrier_wait(mma_turn[1 - replica], (turns & 1) ^ (1 - replica))", "pass"
    ),
    Mutant("mbarrier turn not handed on", TURN, "tlx.barrier_arrive(mma_turn[replica])", "pass"),
    Mutant("only A waited for", TURN, "tlx.barrier_wait(b_full[slot], phase)", "pass"),
    # Clusters.
    Mutant("drain dropped", CLUSTER, "for _ in range(STAGES):", "for _ in range(0):"),
    Mutant("drain one short", CLUSTER, "for _ in range(STAGES):", "for _ in range(STAGES - 1):"),
    Mutant("remote release dropped", CLUSTER, REMOTE, "pass"),
    Mutant("remote last release dropped", CLUSTER, REMOTE_LAST, "\n                pass"),
    Mutant("remote release to itself", CLUSTER, "remote_cta_rank=cta ^ 1)", "remote_cta_rank=cta)"),
    Mutant("empty counts one CTA", CLUSTER, "arrive_count=4)", "arrive_count=2)"),
    Mutant("multicast to itself", CLUSTER, "multicast_targets=[cta, cta ^ 1]", "multicast_targets=[cta]"),
    Mutant("both load for both", CLUSTER, "pred=(count & 1) == cta,", "pred=True,"),
    Mutant("neither waits for the peer", CLUSTER, ACQUIRE, "tlx.barrier_wait(ab_full[slot], phase ^ 1)"),
    Mutant("rank left out of the tile", CLUSTER, "tile_m = tile_m * 2 + tlx.cluster_cta_rank()", "tile_m = tile_m * 2"),
    # Clusters along K.
    Mutant("cluster not met", SUMS, "tlx.cluster_barrier()", "pass", shape=(130, 72, 600)),
    Mutant("parts not waited for", SUMS, "tlx.barrier_wait(part_full[replica], 0)", "pass", shape=(130, 72, 600)),
    Mutant("parts of one CTA expected", SUMS, "BLOCK_M // 2 * BLOCK_N * 4)", "BLOCK_M // 2 * BLOCK_N)"),
    Mutant("parts in one place", SUMS, "part_tiles[replica * 4 + cta]", "part_tiles[replica * 4]"),
    Mutant("a part left out", SUMS, "tl.static_range(1, 4)", "tl.static_range(1, 3)", shape=(130, 72, 600)),
    Mutant("columns of the first CTA", SUMS, "column += cta * (BLOCK_N // 4)", "column += 0"),
    Mutant("every CTA the first part of K", SUMS, "first_k = cta * k_tiles", "first_k = 0"),
    Mutant("parts not acquired", SUMS_LOOP, "tlx.barrier_wait(part_empty[part_slot], part_phase ^ 1)", "pass"),
    Mutant("parts of the wrong phase", SUMS_LOOP, "tlx.barrier_wait(part_full[part_slot], part_phase)", "pass"),
    Mutant("parts released at home", SUMS_LOOP, "remote_cta_rank=peer)  # release", "remote_cta_rank=cta)  # release"),
    Mutant(
        "last acquire dropped",
        SUMS_LOOP,
        "# The other CTAs of the cluster still release slots here: stay until "
        "the last.\n            tlx.barrier_wait(part_empty[part_slot], part_phase ^ 1)",
        "pass",
    ),
    # Launched before the launch before has ended.
    Mutant("grid not awaited", PDL, "tl.extra.cuda.gdc_wait()", "pass"),
    Mutant(
        "grid awaited after a load",
        PDL,
        "tl.extra.cuda.gdc_wait()",
        "tl.load(bias_ptr)\n            tl.extra.cuda.gdc_wait()",
    ),
    Mutant("warp barrier of 2 warps", CLUSTER_PING, "num_warps=4, num_arrivals=2)", "num_warps=2, num_arrivals=2)"),
    Mutant("warp barrier of one CTA", CLUSTER_PING, "num_arrivals=2)", "num_arrivals=1)"),
    # A task that stores.
    Mutant("publish dropped", STORE, "tlx.barrier_arrive(c_full[c_slot])  # publish", "pass"),
    Mutant(
        "publish before the store",
        STORE,
        "tlx.local_store(c_tiles",
        "tlx.barrier_arrive(c_full[c_slot]); tlx.local_store(c_tiles",
    ),
    Mutant("staging not acquired", STORE, "tlx.barrier_wait(c_empty[c_slot], c_phase ^ 1)", "pass"),
    Mutant("store does not wait", STORE, "tlx.barrier_wait(c_full[", "pass; (lambda *_: 0)(c_full["),
    Mutant(
        "released while the copy reads",
        STORE,
        "tlx.async_descriptor_store_wait(0)\n                            tlx",
        "tlx",
    ),
    Mutant("fence of the publisher dropped", STORE, FENCE, "pass"),
    Mutant("full of one warp", STORE, "num_warps=4, num_arrivals=1)", "num_warps=1, num_arrivals=1)"),
    # No tasks.
    Mutant("prologue one too deep", PIPE, "min(STAGES - 1, k_tiles)", "min(STAGES + 1, k_tiles)"),
    Mutant("refill not awaited", PIPE, "tlx.barrier_wait(ab_full[slot], phase)", "pass"),
    Mutant("refill before the dot is done", PIPE, "tlx.async_dot_wait(1, acc)", "tlx.async_dot_wait(2, acc)"),
    Mutant("refill of the wrong tile", PIPE, "ahead = k + STAGES - 1", "ahead = k + STAGES"),
    # Split K and the reduction.
    Mutant("slabs overlap", SPLIT, "slabs = split * cdiv(m, block_m) * block_m", "slabs = split * block_m", config=1),
    Mutant(
        "a part too few is added", SPLIT, "for split in range(SPLIT_K)", "for split in range(SPLIT_K - 1)", config=1
    ),
    Mutant("parts write one slab", SPLIT, "c_row = split * (tl.cdiv(M, BLOCK_M) * BLOCK_M)", "c_row = 0", config=1),
    Mutant(
        "slabs overlap by a tile",
        SPLIT,
        "split * (tl.cdiv(M, BLOCK_M) * BLOCK_M)",
        "split * ((tl.cdiv(M, BLOCK_M) - 1) * BLOCK_M)",
        config=1,
    ),
    Mutant("parts share a slab", SPLIT, "split * slab_rows + rows", "0 * slab_rows + rows", config=1),
    # Stores without TMA.
    Mutant("store without a mask", DIRECT, "mask=(rows[:, None] < M) & (columns[None, :] < N),", ""),
    Mutant(
        "mask of rows alone",
        DIRECT,
        "mask=(rows[:, None] < M) & (columns[None, :] < N),",
        "mask=(rows[:, None] < M) & (columns[None, :] >= 0),",
    ),
    Mutant(
        "a part's columns off", DIRECT, "columns = column + i * (BLOCK_N // 4)", "columns = column + i * (BLOCK_N // 2)"
    ),
    Mutant("bias not masked", DIRECT, "mask=columns < N, other=0.0", ""),
    # The last round: helpers, their marks, and what comes of their sums.
    Mutant("sums not awaited", HELP, "cp.async.bulk.wait_group 0; ", "", shape=ROUND),
    Mutant("mark left by warps that have not met", HELP, "tl.debug_barrier()", "pass", shape=ROUND),
    Mutant("mark left without a release", HELP, 'sem="release"', 'sem="relaxed"', shape=ROUND),
    Mutant("mark read without an acquire", HELP, 'sem="acquire"', 'sem="relaxed"', shape=ROUND),
    Mutant("mark not awaited", HELP, "wait_partial(flags_ptr + (tile - num_whole))", "pass", shape=ROUND),
    Mutant(
        "mark of another tile",
        HELP,
        "signal_partial(flags_ptr + (tile - num_whole)",
        "signal_partial(flags_ptr",
        shape=ROUND,
    ),
    Mutant("mark not taken away", HELP, "flag_ptr, 1, 0, sem", "flag_ptr, 1, 1, sem", shape=ROUND),
    Mutant("mark of another row", HELP_COOP, "* 2 + replica)", "* 2)", shape=ROUND),
    Mutant("help from the start of K", HELP, "first_k = k_tiles - helper_k_tiles", "first_k = 0", shape=ROUND),
    Mutant(
        "help that nobody leaves away",
        HELP,
        "helper_k_tiles, k_tiles - helper_k_tiles)",
        "helper_k_tiles, k_tiles)",
        shape=ROUND,
    ),
    Mutant(
        "sums of the next tile", HELP, "sums_row = (tile - num_whole)", "sums_row = (tile + 1 - num_whole)", shape=ROUND
    ),
    Mutant(
        "bytes of half the sums", HELP, "BLOCK_M * (BLOCK_K // 2) * 4)", "BLOCK_M * (BLOCK_K // 2) * 2)", shape=ROUND
    ),
    Mutant(
        "sums awaited for a fixed phase",
        HELP,
        f"{FULL}\n                        part =",
        "tlx.barrier_wait(ab_full[slot], 0)\n                        part =",
        shape=(9 * 128 - 3, 64, 33 * 64),
    ),
    Mutant("one part of the sums twice", HELP, "part * (BLOCK_K // 2)]", "0]", shape=ROUND),
    Mutant("sums left in their slot", HELP, "rest_tiles[slot])", "rest_tiles[slot ^ 1])", shape=ROUND),
    Mutant(
        "other replica's help not skipped",
        HELP,
        "count += trips_of(index + step",
        "count += 0 * trips_of(index + step",
        shape=FEW,
    ),
    Mutant("one piece too few", HELP, "end += (helper_items - 1 -", "end += (helper_items - 2 -", shape=FEW),
    # What is left over: parts, their count, and CTAs that add them up.
    Mutant("part counted before it is stored", PARTS, "cp.async.bulk.wait_group 0; ", "", shape=LEFT),
    Mutant("part counted by warps that have not met", PARTS, "tl.debug_barrier()", "pass", shape=LEFT),
    Mutant("part not counted", PARTS, "signal_partial(counts_ptr + (tile - num_whole))", "pass", shape=LEFT),
    Mutant("part counted without a release", PARTS, 'sem="release"', 'sem="relaxed"', shape=LEFT),
    Mutant("count read without an acquire", PARTS, 'sem="acquire"', 'sem="relaxed"', shape=LEFT),
    Mutant("one part not awaited", PARTS, "% 256 < tail_parts", "% 256 < tail_parts - 1", shape=LEFT),
    Mutant("one replica's parts awaited", PARTS_COOP, "< tail_parts * 2", "< tail_parts", shape=WIDE),
    Mutant(
        "count of another tile",
        PARTS,
        "signal_partial(counts_ptr + (tile - num_whole)",
        "signal_partial(counts_ptr",
        shape=TWO,
    ),
    Mutant("count not taken away", PARTS, "atomic_xchg(counts_ptr, 0,", "atomic_xchg(counts_ptr, 1,", shape=LEFT),
    Mutant("parts overlap", PARTS, "% tail_parts * part_tiles", "% tail_parts * (part_tiles - 1)", shape=LEFT),
    Mutant("last of few parts left out", PARTS, "tail_parts, STRIDE, 4", "tail_parts - 1, STRIDE, 4", shape=LEFT),
    Mutant("last parts left out", PARTS, "range(8, tail_parts, 8)", "range(8, tail_parts - 8, 8)", shape=MANY, sms=12),
    Mutant("sums of the next part", PARTS, "part * STRIDE", "(part + 1) * STRIDE", shape=MANY, sms=12),
    Mutant("sums of parts that are not there", PARTS, "tail_parts - part, STRIDE", "8, STRIDE", shape=MANY, sms=12),
    Mutant("a stripe twice", PARTS, "min(stripe + 1, end - 1)", "min(stripe, end - 1)", shape=LEFT),
    Mutant(
        "sums of another part's place",
        PARTS,
        "(index - num_whole) * BLOCK_M",
        "(tile - num_whole) * BLOCK_M",
        shape=LEFT,
    ),
    Mutant(
        "a stripe left out",
        PARTS,
        "start = fix_up_cta * STRIPES // fix_up_ctas",
        "start = fix_up_cta * STRIPES // fix_up_ctas + 1",
        shape=LEFT,
    ),
    Mutant(
        "a share too many",
        PARTS,
        "(fix_up_cta + 1) * STRIPES // fix_up_ctas",
        "(fix_up_cta + 2) * STRIPES // fix_up_ctas",
        shape=LEFT,
    ),
    Mutant(
        "adders take items, too",
        PARTS,
        "tl.program_id(0), num_items)",
        "tl.program_id(0), tl.program_id(0))",
        shape=LEFT,
    ),
    Mutant(
        "C's edge not minded", PARTS, "mask=(rows[:, None] < M) & (", "mask=(rows[:, None] < M + 3) & (", shape=LEFT
    ),
    # What no kernel should do.
    Mutant(
        "never ends", COOP, "count = 0\n", "count = 0\n            while True:\n                count = count ^ 1\n"
    ),
    Mutant("raises", COOP, "count = 0\n", "count = 0 + missing\n"),
)

SURVIVORS = (
    (
        Mutant(
            "B's slot acquired by A's barrier",
            TURN,
            "tlx.barrier_wait(b_empty[slot], phase ^ 1)",
            "tlx.barrier_wait(a_empty[slot], phase ^ 1)",
        ),
        "equivalent: the consumer arrives on a_empty, too, only after the wgmma that reads both slots is done",
    ),
    (
        Mutant("the only task does not acquire", PIPE, ACQUIRE, "pass"),
        "equivalent: the task that loads has itself waited for the wgmma that read the slot",
    ),
    (
        Mutant("C buffers not counted", COOP, "c_count += 1", "pass"),
        "equivalent with one C buffer a replica, which is what this config has",
    ),
)
