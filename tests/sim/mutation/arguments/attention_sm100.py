"""Mutants of generated attention kernels on sm100 that are no faults."""

from __future__ import annotations

from .argued import Equivalent

PAIR = r"^blackwell_attention_bwd_2cta/"
ONE_CTA = r"^blackwell_(attention|hstu)_bwd/"  # of sm100
GDPA = r"^blackwell_gdpa/"
ARGUED = (
    Equivalent(
        "The task needs neither the batch entry nor the head of an item.",
        (("operands", r"batch <-> head"),),
        at=r"^blackwell_attention_fwd",
        role=r"^# MMA:",
        statement=r"item_at\(",
    ),
    Equivalent(
        "Without a mask the task needs neither the head nor the row of an item.",
        (("operands", r"head <-> row"),),
        at=r"^blackwell_attention_fwd.*_none_",
        role=r"^# MMA:",
        statement=r"item_at\(",
    ),
    Equivalent(
        "A maximum carried over from another tile or item is one that is not less: probabilities, their sum and "
        "O have one factor in common.",
        (("initialisation", r"highest = tl\.full\(.*\) once, before the loop"),),
        at=r"^blackwell_attention_fwd(?!_mxfp8)",
    ),
    Equivalent(
        "A maximum carried over from another tile of the item is one that the row's maximum has already.",
        (("initialisation", r"highest = tl\.full\(.*\) once, before the loop"),),
        at=r"^blackwell_attention_fwd_mxfp8/",
        loop=r"^for tile ",
    ),
    Equivalent(
        "The first round of a softmax multiplies what l was by exp2(-inf) = 0.",
        (("initialisation", r"l = tl\.zeros\(.*\) once, before the loop"),),
        at=r"^blackwell_attention_fwd_mxfp8/",
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
        at=rf"^blackwell_attention_fwd(/|_schedules)|{GDPA}",
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
        (("index", r"barrier_wait acc_empty: 0 -> (1|q_slot|\(0 \+ 1\) % \(2\))"),),
        at=r"^blackwell_attention_fwd",
    ),
    Equivalent(
        "The correction works on group 0, then on group 1. Q_STAGES is 1 in every config of the module: it is group 1.",
        (("index", r"barrier_wait acc_empty: 0 -> q_slot \+ Q_STAGES"),),
        at=r"^blackwell_attention_fwd(/|_mxfp8/|_schedules)",
    ),
    Equivalent(
        "Q_STAGES is 1 in every config of the module: q_slot is 0.",
        (("index", r"\w+ \w+: (q_slot -> 0|0 -> q_slot|q_slot \+ Q_STAGES -> 1|1 -> q_slot \+ Q_STAGES)"),),
        at=rf"^blackwell_attention_fwd(/|_mxfp8/|_schedules)|{GDPA}",
    ),
    Equivalent(
        "O of group 0 is read before that of group 1, and the MMA waits for both before it multiplies for either.",
        (
            ("drop", r"tlx\.barrier_wait\(acc_empty\[0\], .*"),
            ("alias", r"tlx\.barrier_wait: acc_empty -> acc_full"),
            ("index", r"barrier_wait acc_empty: 0 -> (1|q_slot \+ Q_STAGES|\(0 \+ 1\) % \(2\))"),
        ),
        at=GDPA,
        role=r"^# MMA:",
        statement=r"acc_empty\[0\]",
    ),
    Equivalent(
        "The same, of who reads it; and of what the MMA publishes, O of group 1 is last.",
        (
            ("index", r"barrier_wait acc_full: group -> \(group \+ 1\).*"),
            ("index", r"barrier_arrive acc_empty: group -> \(group \+ 1\).*"),
        ),
        at=GDPA,
        role=r"^# Output:",
    ),
    Equivalent(
        "Who stores O needs to know of no keys.",
        (("operands", r"k_start <-> n_k"),),
        at=GDPA,
        role=r"^# Output:",
    ),
    Equivalent(
        "A CTA has counted as many items as tiles of queries.",
        (("counter", r"q_slot, q_phase = ring_slot: q_count -> item_count"),),
        at=GDPA,
    ),
    Equivalent(
        "More tiles are walked, or masked, than need be: the mask hides what is not seen.",
        (
            ("condition", r"if part != 1: scores = visible: .* -> True"),
            ("assignment", r"(end = max|whole_begin = tl\.cdiv): (.*) -> \2 \+ 1"),
        ),
        at=GDPA,
    ),
    Equivalent(
        "The MMA needs neither: which tiles there are it takes from the row alone.",
        (("operands", r"batch <-> head"),),
        at=r"^blackwell_attention_fwd",
        role=r"^# MMA:",
    ),
    Equivalent(
        "Both barriers of a step are of the same warps, one after the other: under one number they meet as often.",
        (("named barrier", r"tlx\.named_barrier_wait: [678] -> [678]"),),
        at=r"^blackwell_attention_bwd",
        role=r"# Compute:",
    ),
    Equivalent(
        "Without a mask neither the MMA nor the softmax needs any of them; the correction stores the log-sum-exp.",
        (("operands", r"(batch <-> head|head <-> row)"),),
        at=r"^blackwell_attention_fwd_mxfp8/.*_none",
        role=r"^# (MMA|Softmax):",
    ),
    Equivalent(
        "At an item's begin the second group's scores of the item before have been read: the MMA has waited for their "
        "probabilities, which are published later. In the loop it is a fault, and found. q_slot is 0.",
        (
            ("drop", r"tlx\.barrier_wait\(sf_qk_empty\[1\], .*"),
            ("alias", r"tlx\.barrier_wait: sf_qk_empty -> (acc_empty|p_full|s_full)"),
            ("index", r"barrier_wait sf_qk_empty: 1 -> (0|q_slot|\(1 \+ 1\) % \(2\))"),
            ("later", r"tlx\.barrier_wait\(sf_qk_empty\[1\], .* after tlx\.tmem_copy\(q_scale_tiles\[q_slot\], .*"),
        ),
        at=r"^blackwell_attention_fwd_mxfp8/",
        loop=r"^for index ",
        statement=r"sf_qk_empty\[1\]",
    ),
    Equivalent(
        "A group's softmax publishes probabilities after it has read the scores, and needs nothing else for them. The "
        "MMA waits for them a few statements later in any case: it waits for longer.",
        (("alias", r"tlx\.barrier_wait: sf_qk_empty -> p_full"),),
        at=r"^blackwell_attention_fwd_mxfp8/",
        role=r"^# MMA:",
    ),
    Equivalent(
        "Behind the last tile nothing is written over the first group's scales before this product is done: those of P "
        "are all one number, those of V the same ones. In the loop it is a fault, and found. q_slot is 0.",
        (("index", r"async_dot_scaled sf_[pv]_tiles: 1 -> (0|q_slot|\(1 \+ 1\) % \(2\))"),),
        at=r"^blackwell_attention_fwd_mxfp8/",
        loop=r"^for index ",
    ),
    Equivalent(
        "Q_STAGES is 2 and DO_STAGES 1 in every config of the module.",
        (
            ("counter", r"\w+_slot, \w+_phase = ring_slot: (Q_STAGES -> 2|DO_STAGES -> 1)"),
            ("index", r"\w+ do_\w+: do_slot -> (0|\(do_slot \+ 1\) % \(DO_STAGES\))"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
    ),
    Equivalent(
        "All warps of the task meet a second time, between whose statements nothing is done.",
        (("duplicate", r"tlx\.named_barrier_wait\(6, 256\) twice"),),
        at=r"^blackwell_attention_bwd",
        role=r"^# Compute:",
    ),
    Equivalent(
        "Both names stand for an empty tuple.",
        (("operands", r"numbers <-> scales"),),
        at=r"^blackwell_attention_bwd_mxfp8/",
        statement=r"^numbers, scales = \(\), \(\)",
    ),
    Equivalent(
        "Two arrivals, one directly after the other, behind the fence that both need.",
        (("sooner", r"tlx\.barrier_arrive\(numbers_empty\[q_slot\]\) before tlx\.barrier_arrive\(ds_full\[0\]\)"),),
        at=r"^blackwell_attention_bwd_mxfp8/",
    ),
    Equivalent(
        "dO is zero in rows past the end, and their delta is not stored; blocks of 128 rows have their scales in full.",
        (("mask", r"tl\.load: (mask=inside\[:, None\]|other=127) dropped"),),
        at=r"^blackwell_attention_bwd_mxfp8/",
        statement=r"^do \*= ",
    ),
    Equivalent(
        "Commits side by side, of one thread whose MMAs end in order: each says that all before is done.",
        (
            ("sooner", r"tlx\.tcgen05_commit\(.*\) before tlx\.tcgen05_commit\(.*\)"),
            ("index", r"barrier_wait q_empty: bank -> \(bank \+ 1\) % \(Q_STAGES \* 2\)"),
            ("index", r"barrier_expect_bytes q_full: bank -> \(bank \+ 1\) % \(Q_STAGES \* 2\)"),
        ),
        at=r"^blackwell_attention_fwd_mxfp8/",
    ),
    Equivalent(
        "V's scales lie beside the probabilities, where scores were: the MMA has waited until they were read before it "
        "copied the other group's. After the last tile it has not, and there it is a fault, and found.",
        (("later", r"tlx\.barrier_wait\(p_full\[0\], .* after tlx\.tmem_copy\(kv_scale_tiles\[v_slot\], .*"),),
        at=r"^blackwell_attention_fwd_mxfp8/",
    ),
    Equivalent(
        "V's scales lie beside the probabilities, where scores were: the MMA has waited until they were read before it "
        "copied the other group's.",
        (("later", r"tlx\.barrier_wait\(p_full\[1\], .* after tlx\.tmem_copy\(kv_scale_tiles\[v_slot\], .*"),),
        at=r"^blackwell_attention_fwd_mxfp8/",
        loop=r"^for tile ",
    ),
    Equivalent(
        "A tile's first row and key are multiples of 128: the block of scales is the same one.",
        (("offset", r"tlx\.async_descriptor_load: (row|key) -> \(\1 \+ 1\)"),),
        at=r"^blackwell_attention_(fwd|bwd)_mxfp8/",
        statement=r"^tlx\.async_descriptor_load\(\s*\w+_scale_desc",
    ),
    Equivalent(
        "dQ of the last step has been waited for, the last product that the MMA issues: dV and dK are done before it.",
        (
            ("drop", r"tlx\.barrier_wait\(sums_full\[0\], 0\) dropped"),
            ("later", r"tlx\.barrier_wait\(sums_full\[0\], 0\) after .*"),
            ("sooner", r"tlx\.tcgen05_commit\(sums_full\[0\]\) before .*"),
            ("alias", r"tlx\.barrier_wait: sums_full -> (k|v|k_columns)_full"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
    ),
    Equivalent(
        "The load acquires dO's columns just before: the MMA has issued the product with these after the one that read "
        "Q's columns in this slot, and its products are done in order.",
        (
            ("drop", r"tlx\.barrier_wait\(q_columns_empty\[q_slot\], .*"),
            ("alias", r"tlx\.barrier_wait: q_columns_empty -> q_columns_full"),
            ("later", r"tlx\.barrier_wait\(q_columns_empty\[.* after tlx\.barrier_expect_bytes\(q_columns_full\[.*"),
            ("sooner", r"tlx\.barrier_expect_bytes\(q_columns_full\[.* before tlx\.barrier_wait\(q_columns_empty\[.*"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
        role=r"^# Load:",
    ),
    Equivalent(
        "dO has one slot. The load has acquired its columns in the step before: the product with those of two steps "
        "before is done, and so are that step's scores, which came first, and the loads of what they are made of.",
        (
            ("drop", r"tlx\.barrier_wait\(q_empty\[q_slot\], .*"),
            (
                "alias",
                r"tlx\.barrier_wait: q_empty -> (q_full|q_columns_full|q_columns_empty|numbers_full|numbers_empty)",
            ),
            ("later", r"tlx\.barrier_wait\(q_empty\[q_slot\], .* after tlx\.barrier_expect_bytes\(q_full\[.*"),
            ("sooner", r"tlx\.barrier_expect_bytes\(q_full\[.* before tlx\.barrier_wait\(q_empty\[.*"),
            (
                "later",
                r"tlx\.barrier_wait\(numbers_empty\[q_slot\], .* after tlx\.barrier_expect_bytes\(numbers_full.*",
            ),
            ("sooner", r"tlx\.barrier_expect_bytes\(numbers_full\[.* before tlx\.barrier_wait\(numbers_empty\[.*"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
        role=r"^# Load:",
    ),
    Equivalent(
        "The bytes of one barrier are announced before the copy on another one.",
        (
            (
                "sooner",
                r"tlx\.barrier_expect_bytes\((v|k_columns)_full.* before tlx\.async_descriptor_load\( [kv]_scale_.*",
            ),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
        role=r"^# Load:",
    ),
    Equivalent(
        "What is copied before the wait is of another operand, to columns that other waits have found free.",
        (
            ("later", r"tlx\.barrier_wait\(q_columns_full\[.* after tlx\.tmem_copy\(ds_scale_tiles\[.*"),
            ("later", r"tlx\.barrier_wait\(dq_empty\[0\], .* after tlx\.tmem_copy\(v_scale_tiles\[.*"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
        role=r"^# MMA:",
    ),
    Equivalent(
        "i is 0 and 1.",
        (("slots", r"tlx\.(local_store|async_descriptor_store): 2 -> \(2 \+ 1\)"),),
        at=r"^blackwell_attention_bwd_mxfp8/",
        loop=r"^for i in tl\.static_range\(2\)",
    ),
    Equivalent(
        "One thread issues the copies and the products, which are done in that order: what the columns held has been "
        "read by the product before this copy. Scales of one product are apart.",
        (
            ("alias", r"sf_(v|do)_tiles is sf_(ds_turned|k_columns)_tiles"),
            ("alias", r"sf_do_columns_tiles is sf_(ds_turned|k_columns|v|do)_tiles"),
            ("alias", r"sf_(ds|q_columns)_tiles is sf_(k|q)_tiles"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
    ),
    Equivalent(
        "dQ and dP have the same columns of tensor memory, the same shape and the same type.",
        (
            ("alias", r"dq_tiles is dp_tiles"),
            ("alias", r"dp_parts = dp_parts \+ : dp_tiles -> dq_tiles"),
            ("alias", r"part = tlx\.local_load: dq_tiles -> dp_tiles"),
            ("alias", r"tlx\.async_dot_scaled: (dq_tiles -> dp_tiles|dp_tiles -> dq_tiles)"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
    ),
    Equivalent(
        "The same warps arrive on both, on this one later in a step, and need nothing for it that the MMA has still to "
        "issue: it waits for longer.",
        (
            ("alias", r"tlx\.barrier_wait: sf_dp_empty -> ds_full"),
            ("alias", r"tlx\.barrier_wait: sf_s_empty -> p_full"),
            ("alias", r"tlx\.barrier_wait: p_full -> (sf_dp_empty|ds_full)"),
        ),
        at=r"^blackwell_attention_bwd_mxfp8/",
        role=r"^# MMA:",
    ),
    Equivalent(
        "The product that releases Q's columns reads dS, which is published after the numbers of its rows have been "
        "read, behind a fence: it waits for longer, for a product that has all it needs.",
        (("alias", r"tlx\.barrier_wait: numbers_empty -> q_columns_empty"),),
        at=r"^blackwell_attention_bwd_mxfp8/",
        role=r"^# Load:",
    ),
    Equivalent(
        "The product that releases dO's columns is issued after the one that releases dO, by the same thread, and has "
        "all it needs: it waits for longer.",
        (("alias", r"tlx\.barrier_wait: do_empty -> do_columns_empty"),),
        at=r"^blackwell_attention_bwd_mxfp8/",
        role=r"^# Load:",
    ),
    Equivalent(
        "Q_STAGES is 2 and DO_STAGES 1 in every config of the module.",
        (
            ("counter", r"q_slot, q_phase = ring_slot: Q_STAGES -> 2"),
            ("counter", r"do_slot, do_phase = ring_slot: DO_STAGES -> 1"),
            ("index", r"\w+ do_\w+: do_slot -> (0|\(do_slot \+ 1\) % \(DO_STAGES\))"),
        ),
        at=ONE_CTA,
    ),
    Equivalent(
        "Of both parts of a gradient the number is 0 or 1.",
        (("slots", r"tlx\.(local_store|async_descriptor_store): 2 -> \(2 \+ 1\)"),),
        at=ONE_CTA,
        loop=r"static_range\(2\)",
    ),
    Equivalent(
        "Numbers of rows have been read before dS is stored. Warps meet a second time.",
        (
            ("sooner", r"tlx\.barrier_arrive\(numbers_empty\[q_slot\]\) before tlx\.barrier_arrive\(ds_full\[0\]\)"),
            ("duplicate", r"tlx\.named_barrier_wait\(\d, 256\) twice"),
        ),
        at=ONE_CTA,
        role=r"# Compute:",
    ),
    Equivalent(
        "dQ of the last step has been waited for, the last product that the MMA issues: dV and dK are done before it.",
        (
            ("drop", r"tlx\.barrier_wait\(sums_full\[0\], 0\) dropped"),
            ("later", r"tlx\.barrier_wait\(sums_full\[0\], 0\) after .*"),
            ("sooner", r"tlx\.tcgen05_commit\(sums_full\[0\]\) before .*"),
            ("alias", r"tlx\.barrier_wait: sums_full -> [kv]_full"),
        ),
        at=ONE_CTA,
    ),
    Equivalent(
        "dO has one slot. To have acquired it for the step before is to know that Q and numbers of the step before "
        "that have come: their barriers' last phases are over.",
        (
            ("sooner", r"tlx\.barrier_expect_bytes\((q|numbers)_full\[q_slot\], .* before tlx\.barrier_wait\(.*"),
            ("later", r"tlx\.barrier_wait\((q|numbers)_empty\[q_slot\], .* after tlx\.barrier_expect_bytes\(.*"),
        ),
        at=ONE_CTA,
        role=r"^# Load:",
    ),
    Equivalent(
        "dP and dQ lie in the same columns of tensor memory, with the same type.",
        (("alias", r".*(dq_tiles (is|->) dp_tiles|dp_tiles (is|->) dq_tiles)"),),
        at=ONE_CTA,
    ),
    Equivalent(
        "The same thread commits, or the same warps arrive, on this one later in a step, and need nothing for it that "
        "the MMA has still to issue: it waits for longer.",
        (
            ("alias", r"tlx\.barrier_wait: s_full -> dp_full"),
            ("alias", r"tlx\.barrier_wait: ds_tmem_full -> ds_full"),
            ("alias", r"tlx\.barrier_wait: p_full -> (ds_tmem_full|ds_full)"),
        ),
        at=ONE_CTA,
    ),
    Equivalent(
        "Q, dO and numbers of rows have 2 slots each in every config of the module, and one use a step: one number.",
        (
            ("counter", r"\w+_slot, \w+_phase = ring_slot: (2|Q_STAGES|DO_STAGES) -> (2|Q_STAGES|DO_STAGES)"),
            ("index", r"\w+ \w+(, pred=cta == 0)?: (q|do|numbers)_slot -> (q|do|numbers)_slot"),
        ),
        at=PAIR,
    ),
    Equivalent(
        "Of two slots the other's release is a later one of the same task, or the same one, and needs nothing of what "
        "is loaded here: it costs overlap alone.",
        (("index", r"barrier_wait (q|do|numbers|do_columns|q_columns)_empty: (q|do|numbers)_slot -> 1"),),
        at=PAIR,
        role=r"^# Load:",
    ),
    Equivalent(
        "Numbers of rows have been read before dS is stored. This CTA's part of dS is behind the fence when it comes, "
        "the other's counts by its bytes. Bytes are announced before the copy, and on which side of the fence is all "
        "one. Warps meet a second time.",
        (
            ("sooner", r"tlx\.barrier_arrive\(numbers_empty\[numbers_slot\]\) before tlx\.barrier_arrive\(ds_full\[.*"),
            ("sooner", r"tlx\.barrier_arrive\(ds_full\[0\]\) before tlx\.async_remote_shmem_copy\(.*"),
            ("sooner", r'tlx\.barrier_expect_bytes\(ds_full\[0\], 16384\) before tlx\.fence\("async_shared"\)'),
            ("duplicate", r"tlx\.named_barrier_wait\(\d, 256\) twice"),
        ),
        at=PAIR,
        role=r"# Compute:",
    ),
    Equivalent(
        "dQ of the last step has been waited for, the last product that the MMA issues: dV and dK are done before it.",
        (
            ("drop", r"tlx\.barrier_wait\(sums_full\[0\], 0\) dropped"),
            ("later", r"tlx\.barrier_wait\(sums_full\[0\], 0\) after .*"),
            ("sooner", r"tlx\.tcgen05_commit\(sums_full\[0\], two_ctas=True\) before .*"),
        ),
        at=PAIR,
    ),
    Equivalent(
        "The load has acquired the slot of numbers, which the compute task releases after the product that reads dO.",
        (
            ("drop", r"tlx\.barrier_wait\(do_empty\[do_slot\], .*"),
            ("later", r"tlx\.barrier_wait\(do_empty\[do_slot\], .* after tlx\.barrier_expect_bytes\(do_full\[.*"),
            ("sooner", r"tlx\.barrier_expect_bytes\(do_full\[.* before tlx\.barrier_wait\(do_empty\[.*"),
        ),
        at=PAIR,
        role=r"^# Load:",
    ),
    Equivalent(
        "The bytes of one barrier are announced before the copy on another one. The second CTA's barriers of what is "
        "loaded once are waited for by nobody, so that their phases may never end.",
        (
            ("sooner", r"tlx\.barrier_expect_bytes\(k_columns_full.* before tlx\.async_descriptor_load\(v_desc, .*"),
            ("condition", r"tlx\.barrier_expect_bytes: pred=cta == 0 dropped"),
        ),
        at=PAIR,
        role=r"^# Load:",
        statement=r"expect_bytes\((k|v|k_columns)_full",
    ),
    Equivalent(
        "i is 0 and 1.",
        (("slots", r"(tlx\.(local_store|async_descriptor_store)|rows = tlx\.local_slice): 2 -> \(2 \+ 1\)"),),
        at=PAIR,
        loop=r"static_range\(2\)",
    ),
    Equivalent(
        "Gradients are staged when all products are done, for which K's columns were there.",
        (("alias", r"grad_tiles is k_columns_tiles"),),
        at=PAIR,
    ),
    Equivalent(
        "The same thread commits, or the same warps arrive, on this one with the other or later in a step, and need "
        "nothing for it that the MMA has still to issue: it waits for longer.",
        (
            ("alias", r"tlx\.barrier_wait: s_full -> dp_full"),
            ("alias", r"tlx\.barrier_wait: (ds_empty -> dq_full|dq_full -> ds_empty)"),
            ("alias", r"tlx\.barrier_wait: ds_tmem_full -> (ds_full|ds_ready)"),
            ("alias", r"tlx\.barrier_wait: p_full -> (ds_tmem_full|ds_full|ds_ready)"),
            ("alias", r"tlx\.barrier_wait: (q_empty -> q_columns_empty|do_empty -> do_columns_empty)"),
        ),
        at=PAIR,
    ),
    Equivalent(
        "More queries are walked, or masked, than see these keys: the mask hides them.",
        (
            ("condition", r"if : \(key \+ 127 >= min\(.* -> True"),
            ("assignment", r"shift = n_k - n_q: (.*) -> \1 \+ 1"),
            ("assignment", r"first = max: (.*) -> \1 - 1"),
            ("assignment", r"last = max: (.*) -> \1 \+ 1"),
        ),
        at=r"^blackwell_hstu_bwd/",
    ),
    Equivalent(
        "All warps meet on either barrier, in turns.",
        (("named barrier", r"tlx\.named_barrier_wait: (6 -> 7|7 -> 6)"),),
        at=r"^blackwell_hstu_bwd/",
        role=r"# Compute:",
    ),
    Equivalent(
        "Both are empty there.",
        (("operands", r"p_parts <-> slope_parts"),),
        at=r"^blackwell_hstu_bwd/",
        statement=r"^p_parts, slope_parts = \(\), \(\)",
    ),
    Equivalent(
        "The kernels before and after take sequences that lie end to end for one batch entry.",
        (("slots", r"return : H -> \(H \+ 1\)"),),
        at=r"^blackwell_hstu_bwd/",
        function=r"^rows_at$",
    ),
)
