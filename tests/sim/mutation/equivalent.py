"""Mutants that are no faults, each with the argument: real hardware gives no wrong result, hang or fault.

An argument claims all mutants that it matches, in every module: one that is found all the same contradicts it, and a
run says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .mutant import Mutant


@dataclass(frozen=True)
class Equivalent:
    """`mutants` are (mutator, what it does), the latter as a regular expression for all of it. Where the argument needs
    more than the statement, `at` is one for some of the module's name, and `loop` for some of the header of the
    innermost loop around it."""

    reason: str
    mutants: tuple[tuple[str, str], ...]
    at: str = ""
    loop: str = ""

    def __contains__(self, mutant: Mutant) -> bool:
        of_kind = (what for kind, what in self.mutants if kind == mutant.kind)
        there = re.search(self.at, mutant.at) and re.search(self.loop, mutant.loop)
        return there is not None and any(re.fullmatch(w, mutant.what) for w in of_kind)


NORM = r"_norm"
DEFAULT_SCHEDULE = r"^hopper_attention_fwd(_masks/.*packed|/)"  # turns, with the products under the softmax
ARGUED: tuple[Equivalent, ...] = (
    Equivalent(
        "A second wait on an mbarrier for the same phase passes at once: the barrier's next phase needs what this task "
        "does only later (its release of the slot, its next load into it, or its own turn).",
        (("duplicate", r"tlx\.barrier_wait\(.*\) twice"),),
    ),
    Equivalent(
        "After the wait for asynchronous operations nothing is left to wait for, and after the fence nothing to fence: "
        "saying it again does nothing.",
        (
            ("duplicate", r"\w+ = tlx\.async_dot_wait\(.*\) twice"),
            ("duplicate", r"tlx\.async_descriptor_store_wait\(.*\) twice"),
            ("duplicate", r'tlx\.fence\("async_shared"\) twice'),
        ),
    ),
    Equivalent(
        "Waits for this task's own wgmmas or stores earlier than it must: they end whatever others do, and every "
        "release still comes after the operation that it is for. It costs overlap alone.",
        (
            ("pendings", r"\w+ = tlx\.async_dot_wait: 1 -> 0"),
            ("pendings", r"tlx\.async_descriptor_store_wait: 1 -> 0"),
        ),
    ),
    Equivalent(
        "Waits for all of the task's stores, where C has two buffers and one of them might go on being read.",
        (("pendings", r"tlx\.async_descriptor_store_wait: C_STAGES - 1 -> C_STAGES - 1 - 1"),),
        at=r"blackwell",
    ),
    Equivalent(
        "After the loop over K, which has one round at least (the host refuses K = 0), `slot` is that of its last "
        "round, and so is (count + STAGES - 1) % STAGES after the count has gone on by one.",
        (("index", r"barrier_arrive (ab|a|b)_empty: last -> slot"),),
    ),
    Equivalent(
        "The K tile past the end lies outside of both tensors in K, TMA fills both operands with zeros, and every role "
        "counts the same number of tiles; with parts of K, each part grows by a tile and starts that much later, so "
        "that they still cover K without overlap.",
        (("assignment", r"k_tiles = tl\.cdiv: (.*) -> \1 \+ 1"),),
        at=r"^(?!tutorials/)",
    ),
    Equivalent(
        "C_STAGES is 1 in every config of the module: c_count % 1 is 0 whatever is counted, and the slot is that of "
        "the replica.",
        (
            ("assignment", r"c_count = 0: 0 -> 0 [-+] 1"),
            ("count", r"c_count \+= 1: .*"),
            ("initialisation", r"c_count = 0 in each round"),
            ("index", r"(local_store|async_descriptor_store) c_tiles: c_slot -> replica"),
            ("index", r"(local_store|async_descriptor_store) c_tiles: c_slot -> \(c_slot \+ 1\) % \(C_STAGES\)"),
        ),
        at=r"^hopper_gemm(?!.*store_task)",
    ),
    Equivalent(
        "A tile has 4 subtiles, or 4 of each of 2 row groups, and C_STAGES is 2 in every config of the module: at the "
        "end of a tile c_count % C_STAGES is what it was at its start. Nothing but the buffer depends on the count.",
        (("initialisation", r"c_count = 0 in each round"),),
        at=r"^blackwell_(?!gemm_store_task)",
    ),
    Equivalent(
        "ACC_STAGES and C_STAGES are both 2 in every config of the module.",
        (("counter", r"acc_slot, acc_phase = ring_slot: ACC_STAGES -> C_STAGES"),),
        at=r"^blackwell_gemm(_clc|_2cta)?/",
    ),
    Equivalent(
        "What is set before or after the wait is in this task's own registers.",
        (("later", r"tlx\.(named_)?barrier_wait\(.*\) after (acc|highest) = tl\.(zeros|full)\(.*"),),
    ),
    Equivalent(
        "Under `if replica == 1`, 5 - replica is 4, the number that was there.",
        (("named barrier", r"tlx\.named_barrier_arrive: 4 -> 5 - replica"),),
    ),
    Equivalent(
        "The consumers arrive on the barriers of A's and of B's slot side by side, after the wgmma that reads both is "
        "done and after they have waited for both to be full: to have waited for either is to know that both slots are "
        "free and that the full barrier's last phase is over.",
        (
            ("drop", r"tlx\.barrier_wait\(b_empty\[slot\], phase \^ 1\) dropped"),
            ("alias", r"tlx\.barrier_wait: b_empty -> (a_empty|b_full)"),
            ("alias", r"tlx\.barrier_wait: a_empty -> b_empty"),
            ("sooner", r"tlx\.barrier_expect_bytes\(b_full\[slot\], .*\) before tlx\.barrier_wait\(b_empty\[slot\].*"),
            ("later", r"tlx\.barrier_wait\(b_empty\[slot\], .*\) after tlx\.barrier_expect_bytes\(b_full\[slot\].*"),
            ("drop", r"tlx\.barrier_wait\(bar=empty_a_2nd, .*"),
            (
                "sooner",
                r"tlx\.barrier_expect_bytes\((bar=)?full_(b|a_2nd),.* before tlx\.barrier_wait\(bar=empty_(b|a_2nd).*",
            ),
            (
                "later",
                r"tlx\.barrier_wait\(bar=empty_(b|a_2nd), .* after tlx\.barrier_expect_bytes\((bar=)?full_(b|a_2nd),.*",
            ),
        ),
    ),
    Equivalent(
        "Two arrivals, or two waits for barriers, one directly after the other: their order is nobody's concern.",
        (
            ("sooner", r"tlx\.barrier_arrive\(\w+_empty\[last\].*\) before tlx\.barrier_arrive\(\w+_empty\[last\].*\)"),
            ("sooner", r"tlx\.barrier_arrive\(empty_b\) before tlx\.barrier_arrive\(empty_a\)"),
            ("later", r"tlx\.barrier_wait\(.*\) after tlx\.(named_)?barrier_wait\(.*\)"),
        ),
    ),
    Equivalent(
        "Which of the cluster's two CTAs loads a shared tile for both is a matter of balance: the condition and its "
        "opposite each hold in exactly one of them, and each has waited for the consumers of both.",
        (("condition", r"tlx\.async_descriptor_load: \(count & 1\) == cta -> \(\(\(count & 1\) == cta\) == 0\)"),),
        at=r"cluster_",
    ),
    Equivalent(
        "The guard's barriers are allocated where nobody uses them; a task that has issued no store waits for none.",
        (
            ("condition", r"if EPILOGUE_TASK: c_full = .*: EPILOGUE_TASK -> True"),
            ("condition", r"if not EPILOGUE_TASK: tlx\.async_descriptor_store_wait: not EPILOGUE_TASK -> True"),
        ),
    ),
    Equivalent(
        "The one task both loads and multiplies. Before it loads into a slot it has itself waited for the slot's last "
        "load, and, with async_dot_wait, for the wgmma that read it; among its warps there is a bar.sync before each "
        "TMA load (read in the PTX of these very mutants). The ring's empty barriers order what is ordered anyway.",
        (
            ("drop", r"tlx\.barrier_wait\(ab_empty\[(slot|next_slot)\], .*"),
            ("alias", r"tlx\.barrier_wait: ab_empty -> ab_full"),
            ("sooner", r"tlx\.barrier_expect_bytes\(ab_full\[.*\) before tlx\.barrier_wait\(ab_empty\[.*"),
            ("later", r"tlx\.barrier_wait\(ab_empty\[.*\) after tlx\.barrier_expect_bytes\(ab_full\[.*"),
            ("sooner", r"tlx\.barrier_arrive\(ab_empty\[last\].*\) before acc = tlx\.async_dot_wait\([01], acc\)"),
            ("later", r"acc = tlx\.async_dot_wait\([01], acc\) after tlx\.barrier_arrive\(ab_empty\[last\].*\)"),
        ),
        at=r"pipelined",
    ),
    Equivalent(
        "`last` and `next_slot` are both (count + STAGES - 1) % STAGES here.",
        (("index", r"(barrier_wait|barrier_expect_bytes|async_descriptor_load) \w+: next_slot -> last"),),
    ),
    Equivalent(
        "The item past the last one is the first tile of a part past the last one: its K tiles lie outside of A and B, "
        "which gives zeros, and its rows outside of the workspace (or of C, with one part), where TMA clips them.",
        (("assignment", r"num_items = tl\.cdiv: (.*) \* SPLIT_K -> \1 \* SPLIT_K \+ 1"),),
    ),
    Equivalent(
        "What the mask leaves out goes only to elements of the result that are masked or clipped when it is stored.",
        (("mask", r"tl\.load: other=0\.0 dropped"),),
        at=r"^(?!.*_norm)",
    ),
    Equivalent(
        "The condition spares tiles that no boundary cuts the mask, which hides nothing in them.",
        (
            ("condition", r"if part == 0: scores = visible: part == 0 -> True"),
            ("condition", r"if : \(row < key \+ 63\) .* -> True"),
            ("condition", r"if key \+ scores\.shape\[1\] > N_K: .* -> True"),
        ),
    ),
    Equivalent(
        "The other replica's turn is the first: it passes by its own arrival, and lets this one in, as it does later.",
        (("named barrier", r"tlx\.named_barrier_arrive: 4 -> 4 \+ replica"),),
        at=r"attention_fwd",
    ),
    Equivalent(
        "The bytes of one barrier are announced before the copy on another one, or those of both replicas' barriers in "
        "another order: each phase is complete when its bytes have been announced and come, whichever is first.",
        (
            ("sooner", r"tlx\.barrier_expect_bytes\(v_full.* before tlx\.async_descriptor_load\(k_desc, .*"),
            ("sooner", r"tlx\.barrier_expect_bytes\(do_full.* before tlx\.async_descriptor_load\( q_desc, .*"),
            ("index", r"barrier_expect_bytes (q|do)_full: replica -> \(replica \+ 1\) % \(2\)"),
        ),
    ),
    Equivalent(
        "Turns say which replica multiplies first, and nothing depends on that: who comes late has its turn later.",
        (
            ("later", r"tlx\.named_barrier_wait\(4 \+ replica, 256\) after scores = tlx\.async_dot\(.*"),
            ("sooner", r"tlx\.named_barrier_arrive\(5 - replica, 256\) before (scores|acc) = tlx\.async_dot\(.*"),
        ),
        at=r"attention_fwd",
    ),
    Equivalent(
        "The first round of a softmax is the same from any finite m or from -inf, and what l was it multiplies by "
        "exp2(-inf) = 0, or by the factor that belongs to that m where only m is kept: acc and l are zero then.",
        (
            ("initialisation", r"m = tl\.full\(.*\) once, before the loop"),
            ("initialisation", r"l = tl\.zeros\(.*\) once, before the loop"),
        ),
        at=r"attention_fwd(_rings|_schedules/.*persistent|/)",
    ),
    Equivalent(
        "Of an item's first K: the only slot of Q, acquired just before, is released after all slots of the item "
        "before, since O leaves through it.",
        (
            ("drop", r"tlx\.barrier_wait\(kv_empty\[k_slot\], .*"),
            (
                "sooner",
                r"tlx\.barrier_expect_bytes\(kv_full\[k_slot\], .* before tlx\.barrier_wait\(kv_empty\[k_slot.*",
            ),
            ("later", r"tlx\.barrier_wait\(kv_empty\[k_slot\], .* after tlx\.barrier_expect_bytes\(kv_full\[k_slot.*"),
        ),
        at=r"attention_fwd_rings/.*shared_leader_q",
        loop=r"^for index ",
    ),
    Equivalent(
        "Of an item's last V: nothing is loaded any more before Q's only slot is released, and O leaves through that "
        "after the product with V.",
        (
            ("sooner", r"tlx\.barrier_arrive\(kv_empty\[v_slot\]\) before acc = tlx\.async_dot_wait\(0, acc\)"),
            ("later", r"acc = tlx\.async_dot_wait\(0, acc\) after tlx\.barrier_arrive\(kv_empty\[v_slot\]\)"),
        ),
        at=r"attention_fwd_rings/.*shared_leader_q",
        loop=r"^for index ",
    ),
    Equivalent(
        "K's slot is released after the wait for V of the round before: where K of the next round has been acquired, "
        "the last load into V's slot has landed.",
        (
            (
                "sooner",
                r"tlx\.barrier_expect_bytes\(v_full\[v_slot\], .* before tlx\.barrier_wait\(v_empty\[v_slot\].*",
            ),
            ("later", r"tlx\.barrier_wait\(v_empty\[v_slot\], .* after tlx\.barrier_expect_bytes\(v_full.*"),
        ),
        at=DEFAULT_SCHEDULE,
        loop=r"^for tile ",
    ),
    Equivalent(
        "K and V have 2 slots: the other slot's release, or that of V instead of K, is a later one of the same tasks, "
        "which does not wait for what is loaded here. It costs overlap alone.",
        (
            ("index", r"barrier_wait [kv]_empty: [kv]_slot -> bank"),
            ("alias", r"tlx\.barrier_wait: k_empty -> v_empty"),
        ),
        at=DEFAULT_SCHEDULE,
    ),
    Equivalent(
        "An item's last V has the number of its last K, and K and V have as many slots.",
        (("index", r"\w+ v_(full|empty|tiles): v_slot -> k_slot"),),
        at=DEFAULT_SCHEDULE,
        loop=r"^for index ",
    ),
    Equivalent(
        "Q_STAGES is 1 in every config of the module: the slot is that of the replica.",
        (
            ("index", r"\w+ q_(full|empty|tiles): q_slot -> replica"),
            ("index", r"\w+ o_tiles: replica -> q_slot"),
        ),
        at=r"^hopper_attention_fwd(_masks|_rings)?/",
    ),
    Equivalent(
        "KV_STAGES is 2 in every config of the module.",
        (("counter", r"\w+_slot, \w+_phase = ring_slot: KV_STAGES -> 2"),),
        at=r"^hopper_attention_(bwd_dq|fwd_schedules|fwd_masks|fwd)/",
    ),
    Equivalent(
        "In each step K's slot is released after V's, and acquired before it: to have waited for K's is to know V's.",
        (
            ("drop", r"tlx\.barrier_wait\(v_empty\[v_slot\], .*"),
            ("sooner", r"tlx\.barrier_expect_bytes\(v_full\[v_slot\], .* before tlx\.barrier_wait\(v_empty\[.*"),
            ("later", r"tlx\.barrier_wait\(v_empty\[v_slot\], .* after tlx\.barrier_expect_bytes\(v_full\[.*"),
            ("alias", r"tlx\.barrier_wait: v_empty -> (k_empty|v_full)"),
            ("sooner", r"tlx\.barrier_arrive\(v_empty\[v_slot\]\) before dp = tlx\.async_dot_wait\(.*"),
            ("later", r"dp = tlx\.async_dot_wait\(.*\) after tlx\.barrier_arrive\(v_empty\[v_slot\]\)"),
        ),
        at=r"attention_bwd_dq",
    ),
    Equivalent(
        "In each step Q's slot is released after dO's, and acquired before it: to have waited for Q's is to know dO's.",
        (
            ("drop", r"tlx\.barrier_wait\(do_empty\[do_slot\], .*"),
            ("sooner", r"tlx\.barrier_expect_bytes\(do_full\[do_slot\], .* before tlx\.barrier_wait\(do_empty\[.*"),
            ("later", r"tlx\.barrier_wait\(do_empty\[do_slot\], .* after tlx\.barrier_expect_bytes\(do_full\[.*"),
            ("alias", r"tlx\.barrier_wait: do_empty -> do_full"),
            ("sooner", r"tlx\.barrier_arrive\(do_empty\[do_slot\]\) before dv = tlx\.async_dot_wait\(.*"),
            ("later", r"dv = tlx\.async_dot_wait\(.*\) after tlx\.barrier_arrive\(do_empty\[do_slot\]\)"),
        ),
        at=r"attention_bwd_(none|causal)",
    ),
    Equivalent(
        "The config has the value that the condition gets, or what it adds is an allocation that nobody uses, or one "
        "of the same bytes; waits and arrivals on a warp barrier count threads, on both sides.",
        (
            ("condition", r"if (not )?\w+_ROW_MAJOR: \w = tlx\.local_alloc: .* -> (True|False)"),
            ("condition", r"if USE_WARP_BARRIER: .* -> (True|False)"),
            ("condition", r"if USE_NAMED_BARRIER: .* -> True"),
            ("condition", r"if EPILOGUE_SUBTILE: .* -> True"),
            ("condition", r"if NUM_CTAS == 2: cta_bars = tlx\.alloc_barriers: .* -> True"),
            ("condition", r"if (NUM_CTAS == 2|not [AB]_ROW_MAJOR|not USE_NAMED_BARRIER): .* -> False"),
        ),
        at=r"^tutorials/",
    ),
    Equivalent(
        "Named barriers are in use, mbarriers are not.",
        (
            ("alias", r"pingpong_epi_bar is pingpong_mma_bar"),
            ("arrive count", r"pingpong_(epi|mma)_bar = tlx\.alloc_barriers: 1 -> 2"),
            ("arrive count", r"tlx\.barrier_arrive: (epi|mma)_bar -> .*"),
            ("assignment", r"phase_(mma|epi) = .*"),
            ("condition", r"if not USE_NAMED_BARRIER: tlx\.barrier_arrive: .*"),
            ("drop", r"tlx\.barrier_arrive\((epi|mma)_bar\) dropped"),
            ("duplicate", r"tlx\.barrier_arrive\((epi|mma)_bar\) twice"),
        ),
        at=r"^tutorials/.*pingpong",
    ),
    Equivalent(
        "An empty group more, or a group less that may be outstanding: it waits for more. A second wait does nothing, "
        "nor does the place of pointers that go on.",
        (
            ("duplicate", r"tlx\.async_load_(commit|wait)_group\(.*\) twice"),
            ("sooner", r"tlx\.async_load_commit_group\(.*\) before \w+_ptrs \+= .*"),
            ("pendings", r"tlx\.async_load_wait_group: (.*) -> \1 - 1"),
        ),
    ),
    Equivalent(
        "How the compiler unrolls or pipelines a loop is no part of what it means.",
        (("bound", r"for \w+ in tl\.range: (loop_unroll_factor|num_stages)=.*"),),
    ),
    Equivalent(
        "The K tile past the end is masked: cp.async fills it with zeros.",
        (("bound", r"for k in tl\.range: (tl\.cdiv\(.*\)) -> \1 \+ 1"),),
        at=r"^tutorials/hopper_gemm_pipelined",
    ),
    Equivalent(
        "The epilogue asks for a tile when it has drained the one two before: who has been handed that tile knows that "
        "its accumulator, of two, is free.",
        (
            ("later", r"tlx\.barrier_wait\(acc_empty\[acc_slot\], .* after for k in range\(k_tiles\).*"),
            ("drop", r"tlx\.barrier_wait\(acc_empty\[acc_slot\], .*"),
            ("alias", r"tlx\.barrier_wait: acc_empty -> acc_full"),
        ),
        at=r"_clc",
    ),
    Equivalent(
        "Q, dO and dS have 2 slots each in every config of the module, and one use a step: one number.",
        (
            ("counter", r"\w+_slot, \w+_phase = ring_slot: (2|Q_STAGES|DO_STAGES) -> (2|Q_STAGES|DO_STAGES)"),
            ("index", r"\w+ \w+: (q|do|ds)_slot -> (q|do|ds)_slot"),
        ),
        at=r"attention_bwd/",
    ),
    Equivalent(
        "K and V of a tile of keys have the same number, and as many slots.",
        (("index", r"\w+ \w+: [kv]_slot -> [kv]_slot"),),
        at=r"^hopper_attention_(bwd_dq|fwd_schedules/.*no_overlap)",
    ),
    Equivalent(
        "K and V have 2 slots: the other slot's release, or that of V instead of K, is a later one of the same tasks, "
        "or an earlier one that another wait has told of.",
        (
            ("index", r"barrier_wait [kv]_empty: [kv]_slot -> replica"),
            ("index", r"barrier_arrive v_empty: v_slot -> replica"),
        ),
        at=r"^hopper_attention_(bwd_dq|fwd_schedules/.*no_overlap)",
    ),
    Equivalent(
        "V's slot is released after K's of the same number.",
        (("alias", r"tlx\.barrier_wait: k_empty -> v_empty"),),
        at=r"^hopper_attention_fwd_schedules/.*no_overlap",
    ),
    Equivalent(
        "O leaves through Q's buffers, which nobody reads any more: what rings.o.reuse = q asks for.",
        (("alias", r"o_tiles is q_tiles"),),
        at=r"attention_fwd_schedules/.*_grid_",
    ),
    Equivalent(
        "A tile of keys is a multiple of a consumer's rows: the diagonal cuts one alone, the last, whose softmax "
        "stands before the loop; the loop's masked part is empty.",
        (
            ("condition", r"if part == 0: scores = visible: part == 0 -> False"),
            ("bound", r"for part in tl\.static_range: 2 -> 1, 2"),
            ("assignment", r"start = end - 1: end - 1 -> end - 1 - 1"),
        ),
        at=r"^hopper_attention_fwd/",
    ),
    Equivalent(
        "A tile of keys past the end is of zeros, and so is what it adds.",
        (("assignment", r"steps = tl\.cdiv: (.*) -> \1 \+ 1"),),
        at=r"attention_bwd_dq",
    ),
    Equivalent(
        "Two waits, or a wait and a load of the task's own numbers or a fence after its own stores, one directly after "
        "the other.",
        (
            ("later", r"dp = tlx\.async_dot_wait\(0, dp\) after delta = tlx\.local_load\(.*"),
            ("later", r"scores = tlx\.async_dot_wait\(1, scores\) after dq = tlx\.async_dot_wait\(0, dq\)"),
            ("later", r"tlx\.barrier_wait\(acc_full\[group\], .*\) after tlx\.async_descriptor_store_wait\(1\)"),
            ("later", r"tlx\.async_descriptor_store_wait\(1\) after tlx\.fence\(.*"),
            ("sooner", r"tlx\.fence\(.*\) before tlx\.async_descriptor_store_wait\(1\)"),
            ("sooner", r'tlx\.fence\("async_shared"\) before tlx\.barrier_arrive\(acc_empty\[group\]\)'),
        ),
    ),
    Equivalent(
        "Which of C's two buffers is the first is nobody's concern.",
        (("assignment", r"c_count = 0: 0 -> 0 \+ 1"),),
        at=r"^blackwell_",
    ),
    Equivalent(
        "fbtriton ends a kernel with an MMA of two CTAs by a sync of the cluster, so that nobody leaves a peer which "
        "still arrives. The last waits do not rely on that.",
        (
            ("bound", r"for _ in range: (ACC_STAGES|STAGES) -> (\1 - 1|1, \1)"),
            ("condition", r"if cta == 0: for _ in range: .*"),
        ),
        at=r"^blackwell_(gemm_2cta|mx_gemm)",
    ),
    Equivalent(
        "The same, of the statements of these waits.",
        (
            ("drop", r"tlx\.barrier_wait\((acc|ab)_empty\[.*"),
            ("alias", r"tlx\.barrier_wait: acc_empty -> acc_full"),
            ("count", r"(acc_)?count \+= 1: .* -> pass"),
        ),
        at=r"^blackwell_(gemm_2cta|mx_gemm)",
        loop=r"^for _ in range\((ACC_)?STAGES\)",
    ),
    Equivalent(
        "The same; each CTA's loads have completed on its own barrier.",
        (("alias", r"tlx\.barrier_wait: ab_empty -> ab_full"),),
        at=r"rendezvous",
        loop=r"^for _ in range\(STAGES\)",
    ),
    Equivalent(
        "A tile of scales begins at a row // 128, and rows of tiles are multiples of 128.",
        (("offset", r"tlx\.async_descriptor_load: row -> \(row \+ 1\)"),),
        at=r"^blackwell_mx_gemm",
    ),
    Equivalent(
        "A maximum carried over from another tile or item is one that is not less: probabilities, their sum and "
        "O have one factor in common.",
        (("initialisation", r"highest = tl\.full\(.*\) once, before the loop"),),
        at=r"^blackwell_attention_fwd",
    ),
    Equivalent(
        "Every row has seen a key by then: what stands in the place of the maximum is the maximum.",
        (("operands", r"m <-> base"),),
        at=r"^blackwell_attention_fwd(/|_rings)",
        loop=r"^for tile ",
    ),
    Equivalent(
        "Without a mask every row sees a key: what stands in the place of the maximum is the maximum.",
        (("operands", r"m <-> base"),),
        at=r"^blackwell_attention_fwd_schedules/.*_none_",
    ),
    Equivalent(
        "Commits side by side, of one thread whose MMAs end in order: each says that all before is done.",
        (
            ("sooner", r"tlx\.tcgen05_commit\(.*\) before tlx\.tcgen05_commit\(.*\)"),
            ("index", r"barrier_wait q_empty: bank -> .*"),
            ("index", r"barrier_expect_bytes q_full: bank -> .*"),
        ),
        at=r"^blackwell_attention_fwd(/|_schedules)",
    ),
    Equivalent(
        "Both groups' products end together, and both Qs are awaited before either's scores.",
        (
            ("index", r"barrier_wait acc_full: group -> \(group \+ 1\).*"),
            ("index", r"barrier_arrive acc_empty: group -> \(group \+ 1\).*"),
            ("index", r"async_descriptor_load q_full: bank -> .*"),
        ),
        at=r"^blackwell_attention_fwd_schedules/.*no_overlap",
    ),
    Equivalent(
        "The correction works on group 0, then on group 1: to have waited for the second is to know the first.",
        (("index", r"barrier_wait acc_empty: 0 -> .*"),),
        at=r"^blackwell_attention_fwd",
    ),
    Equivalent(
        "Q_STAGES is 1 in every config of the module: q_slot is 0.",
        (("index", r"\w+ \w+: (q_slot -> 0|0 -> q_slot|q_slot \+ Q_STAGES -> 1|1 -> q_slot \+ Q_STAGES)"),),
        at=r"^blackwell_attention_fwd(/|_schedules)",
    ),
    Equivalent(
        "The count is raised before or after the wait, whose slot and phase are known by then.",
        (("later", r"tlx\.barrier_wait\(.*\) after (count|acc_count|use) \+= 1"),),
    ),
    Equivalent(
        "cluster_barrier() is barrier.cluster.arrive and .wait, with release and acquire (read in the PTX of these "
        "kernels): they order the initialisation of barriers before what peers do to them. The fence is for "
        "arrive.relaxed.",
        (
            ("drop", r"tlx\.fence_mbarrier_init_cluster\(\) dropped"),
            ("duplicate", r"tlx\.fence_mbarrier_init_cluster\(\) twice"),
            ("sooner", r"tlx\.fence_mbarrier_init_cluster\(\) before sums_full = .*"),
            ("sooner", r"tlx\.cluster_barrier\(\) before tlx\.fence_mbarrier_init_cluster\(\)"),
        ),
        at=NORM,
    ),
    Equivalent(
        "The CTAs of a cluster meet a second time, or a cluster of one CTA meets itself, or allocates what nobody "
        "uses.",
        (
            ("duplicate", r"tlx\.cluster_barrier\(\) twice"),
            ("condition", r"if CLUSTER > 1: (sums_tiles = .*|tlx\.fence_mbarrier_init_cluster): CLUSTER > 1 -> True"),
        ),
        at=NORM,
    ),
    Equivalent(
        "What is set before or after the wait is in registers.",
        (("later", r"tlx\.barrier_wait\(.*\) after (mean|squares|along|total) = tl\.zeros\(.*"),),
        at=NORM,
    ),
    Equivalent(
        "cp.async fills with zeros what the mask leaves out, with or without being told.",
        (("mask", r"tlx\.async_load: other=0\.0 dropped"),),
    ),
    Equivalent(
        "A tile is one row in every config of the module: there are no rows past the last one.",
        (("mask", r"tl\.store: \(rows < M\) & \(cta == 0\) -> \(\(rows < M\) \| True\) & \(cta == 0\)"),),
        at=r"layer_norm_(looped|staged)",
    ),
    Equivalent(
        "The columns of a CTA are a multiple of 8, and a part of them has more: one less leaves out no part.",
        (("bound", r"for start in range: end - cta \* share -> end - cta \* share - 1"),),
        at=r"layer_norm_staged",
    ),
    Equivalent(
        "The tile past the last one has no rows, and the part past the last one no columns: masks leave out all of it.",
        (
            ("assignment", r"num_items = tl\.cdiv: (.*) -> \1 \+ 1"),
            ("bound", r"for index in range: num_items -> num_items \+ 1"),
            ("bound", r"for start in range: end - cta \* share -> end - cta \* share \+ 1"),
        ),
        at=NORM,
    ),
    Equivalent(
        "What is loaded or computed once more is what it was; sums that nobody stores are added up for nothing.",
        (
            ("condition", r"if (not )?AGAIN: .* -> True"),
            ("condition", r"if SUMS > [01]: (dweight|dbias) \+= .* -> True"),
        ),
        at=r"norm_bwd",
    ),
    Equivalent(
        "The copies that are left are of rows past the last one, which nobody reads; a thread that has ended has no "
        "cp.async under way.",
        (
            ("drop", r"tlx\.async_load_wait_group\(0\) dropped"),
            ("pendings", r"tlx\.async_load_wait_group: 0 -> 1"),
            ("condition", r"if STAGES > 0: tlx\.async_load_wait_group: STAGES > 0 -> (True|False)"),
        ),
        at=r"norm_bwd",
    ),
)


# What is missing where a mutant survives, or why it is none although the same statement elsewhere is a fault; by name.
REMARKS: tuple[tuple[str, str], ...] = (
    (
        r"blackwell_gemm.* item = tl\.program_id: tl\.program_id\(0\) -> tl\.program_id\(0\) \+ 1",
        "of the MMA, which asks only whether there is an item. In the other roles it is a fault, and found",
    ),
    (
        r"blackwell_attention_fwd.* operands: (batch <-> head|head <-> row)",
        "of the MMA, which needs neither. In the other roles it is a fault, and found",
    ),
    (
        r"blackwell_mx_gemm.* offset: tlx\.async_descriptor_load: column",
        "of B's scales, whose tile begins at column // 128. Of B it is a fault, and found",
    ),
    (
        r"attention_fwd_rings.* alias: tlx\.barrier_wait: kv_empty -> kv_full",
        "of an item's first K: Q's only slot is released after all scores. In the loop it is a fault, and found",
    ),
    (
        r"attention_bwd_dq.*( > N_K -> False|keys = .* - 1)",
        "rows of K past the end are zeros: only a probability that overflows shows it, as in the family's own tests",
    ),
    (
        r"attention_bwd.* tiles = tl\.cdiv",
        "wrong where the heads do not fit into L2 together, 65,536 / N_K of them: the simulated shapes have fewer",
    ),
    (
        r"_norm.* mask: tl\.load: other=0\.0 dropped",
        "of a weight or a bias: the results that it goes into are not stored. Of rows it is a fault, and found",
    ),
    (
        r"layer_norm_looped.* bound: for start in range: BLOCK_N -> BLOCK_N - 1",
        "of the loop that stores y: parts that overlap are stored twice, with the same values",
    ),
    (
        r"attention_fwd_.* later: tlx\.barrier_wait\(v_empty",
        "of an item's last V: nearly always an earlier wait has told of it",
    ),
)


def remark(mutant: Mutant) -> str:
    """What is known of a mutant that survives and is not argued to be no fault, or nothing."""
    return next((text for name, text in REMARKS if re.search(name, mutant.name)), "")


def argument(mutant: Mutant) -> str | None:
    """Why a mutant is no fault, when that has been argued."""
    return next((e.reason for e in ARGUED if mutant in e), None)
