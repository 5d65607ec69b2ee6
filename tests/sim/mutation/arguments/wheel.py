"""Mutants of kernels of the wheel that are no faults."""

from __future__ import annotations

from .argued import Equivalent

ARGUED = (
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
        "The K tile past the end is masked: cp.async fills it with zeros.",
        (("bound", r"for k in tl\.range: (tl\.cdiv\(.*\)) -> \1 \+ 1"),),
        at=r"^tutorials/hopper_gemm_pipelined",
    ),
    Equivalent(
        "One warp arrives on the full barriers, and four on the empty ones: a warp barrier counts just their threads.",
        (("condition", r"if USE_WARP_BARRIER: .* -> (True|False)"),),
        at=r"^rows/blackwell_gemm_clc",
    ),
    Equivalent(
        "The epilogue asks for a tile when it has read the one before: who has been handed the tile that reuses an "
        "accumulator, of two, knows that it is free.",
        (("sooner", r"tlx\.barrier_arrive\(tmem_empty_bars\[cur_tmem_buf\], 1\) before if EPILOGUE_SUBTILE: .*"),),
        at=r"^rows/blackwell_gemm_clc",
    ),
    Equivalent(
        "Bytes are announced on two barriers, one directly after the other, before any copy.",
        (("sooner", r"tlx\.barrier_expect_bytes\(bar_b, .* before tlx\.barrier_expect_bytes\(bar_a, .*"),),
        at=r"^rows/blackwell_gemm_2cta",
    ),
    Equivalent(
        "Of an item's first K: the only slot of Q, acquired just before, is released by a replica that has waited for "
        "each K of the item before. So the barrier's last phase is complete, and this one needs bytes that come later.",
        (
            ("sooner", r"tlx\.barrier_expect_bytes\(k_fulls\[.* before tlx\.barrier_wait\(k_empties\[.*"),
            ("later", r"tlx\.barrier_wait\(k_empties\[.* after tlx\.barrier_expect_bytes\(k_fulls\[.*"),
        ),
        at=r"^rows/hopper_fa_ws_pipelined_pingpong_persistent",
        loop=r"^for i in ",
    ),
    Equivalent(
        "The other replica's turn is the first: it passes by its own arrival, and lets this one in, as it does later.",
        (("named barrier", r"tlx\.named_barrier_arrive: 9 -> 10"),),
        at=r"^rows/hopper_fa_ws_pipelined_pingpong_persistent",
        loop=r"^$",
    ),
    Equivalent(
        "The producer uses neither.",
        (("operands", r"start_m <-> off_hz"),),
        at=r"^rows/hopper_fa_ws_pipelined_pingpong_persistent",
        role=r"producer",
    ),
)
