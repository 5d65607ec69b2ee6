"""Mutants that are no faults wherever they are."""

from __future__ import annotations

from .argued import Equivalent

ARGUED = (
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
            ("pendings", r"\w+ = tlx\.async_dot_wait: (1 -> 0|2 -> 1)"),
            ("pendings", r"tlx\.async_descriptor_store_wait: (1 -> 0|2 -> 1)"),
        ),
    ),
    Equivalent(
        "After the loop over K, which has one round at least (the host refuses K = 0), `slot` is that of its last "
        "round, and so is (count + STAGES - 1) % STAGES after the count has gone on by one.",
        (("index", r"barrier_arrive (ab|a|b)_empty: last -> slot"),),
        loop=r"^(?!for k )",
    ),
    Equivalent(
        "The K tile past the end lies outside of both tensors in K, TMA fills both operands with zeros, and every role "
        "counts the same number of tiles; with parts of K, each part grows by a tile and starts that much later, so "
        "that they still cover K without overlap.",
        (("assignment", r"k_tiles = tl\.cdiv: (.*) -> \1 \+ 1"),),
        at=r"^(?!tutorials/|hopper_gemm_fp8_block/)",
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
            ("later", r"tlx\.barrier_wait\(.*\) after tlx\.(named_)?barrier_wait\(.*"),
        ),
    ),
    Equivalent(
        "The guard's barriers are allocated where nobody uses them; a task that has issued no store waits for none.",
        (
            ("condition", r"if EPILOGUE_TASK: c_full = .*: EPILOGUE_TASK -> True"),
            ("condition", r"if not EPILOGUE_TASK: tlx\.async_descriptor_store_wait: not EPILOGUE_TASK -> True"),
        ),
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
        at=r"^(?!.*_norm|hopper_gemm_any_rows/)",
        function=r"^(?!sum_partials$|.*_combine_kernel$|.*_packed_.*_prepare_kernel$)",
    ),
    Equivalent(
        "The condition spares tiles that no boundary cuts the mask, which hides nothing in them.",
        (
            ("condition", r"if part == 0: scores = visible: part == 0 -> True"),
            ("condition", r"if : \(row( \+ n_k - n_q)? < key \+ (63|127)\) .* -> True"),
            ("condition", r"if : \(key \+ 63 >= min\(.* -> True"),
            ("condition", r"if row \+ 64 > n_q: seen = visible: .* -> True"),
            ("condition", r"if key \+ 128 > N_K: keys = key \+ tl\.arange: .* -> True"),
            ("condition", r"if key \+ scores\.shape\[1\] > N_K: .* -> True"),
        ),
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
        "Two waits, or a wait and a load of the task's own numbers or a fence after its own stores, one directly after "
        "the other.",
        (
            ("later", r"dp = tlx\.async_dot_wait\(0, dp\) after delta = (tl\.reshape\()?tlx\.local_load\(.*"),
            ("later", r"scores = tlx\.async_dot_wait\(1, scores\) after dq = tlx\.async_dot_wait\(0, dq\)"),
            ("later", r"tlx\.barrier_wait\(acc_full\[group\], .*\) after tlx\.async_descriptor_store_wait\(1\)"),
            ("later", r"tlx\.async_descriptor_store_wait\(1\) after tlx\.fence\(.*"),
            ("sooner", r"tlx\.fence\(.*\) before tlx\.async_descriptor_store_wait\(1\)"),
            ("sooner", r'tlx\.fence\("async_shared"\) before tlx\.barrier_arrive\(acc_empty\[group\]\)'),
        ),
    ),
    Equivalent(
        "The count is raised before or after the wait, whose slot and phase are known by then.",
        (("later", r"tlx\.barrier_wait\(.*\) after ((acc_|item_)?count|use) \+= 1"),),
    ),
    Equivalent(
        "cp.async fills with zeros what the mask leaves out, with or without being told.",
        (("mask", r"tlx\.async_load: other=0\.0 dropped"),),
    ),
)
