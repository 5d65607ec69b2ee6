"""Mutants of generated attention kernels that are no faults: sm90, and both architectures."""

from __future__ import annotations

from .argued import Equivalent

JAGGED = r"^hopper_(gdpa|hstu)/"
DEFAULT_SCHEDULE = rf"^hopper_attention_fwd(_masks/.*packed|/)|{JAGGED}"  # turns, with the products under the softmax
DECODE = r"^hopper_attention_decode"
# Items that are drawn, and told the consumers in a ring.
NARROW = r"(?!.*(?<!no)_max_attn_len)(?!.*_window)"  # items of these are not drawn
DRAWN = rf"^hopper_attention_fwd_(masks/.*_packed$|packed/)|{NARROW}(?:{JAGGED})"
ARGUED = (
    Equivalent(
        "The first item: the ring has not been used, so that its slot is 0, of phase 0, and free.",
        (
            ("counter", r"item_slot, item_phase = ring_slot: .*"),
            ("slots", r"item_slot, item_phase = ring_slot: .*"),
            ("operands", r"item_slot <-> item_phase"),
            ("drop", r"tlx\.barrier_wait\(item_empty\[item_slot\], .*"),
            ("alias", r"tlx\.barrier_wait: item_empty -> item_full"),
            ("index", r"barrier_wait item_empty: item_slot -> .*"),
            ("later", r"tlx\.barrier_wait\(item_empty\[item_slot\], .*"),
            ("phase", r"tlx\.barrier_wait: item_phase -> 0"),
        ),
        at=DRAWN,
        loop=r"^$",
    ),
    Equivalent(
        "A CTA has counted as many items as tiles of queries. No sequence ends where it begins, or before.",
        (
            ("counter", r"item_slot, item_phase = ring_slot: items -> q_count"),
            ("assignment", r"q_start = 0: 0 -> 0 \+ 1"),
            ("assignment", r"q_end = 0: 0 -> 0 - 1"),
        ),
        at=DRAWN,
    ),
    Equivalent(
        "Q has fewer slots than items have: who stores a number in a slot again has acquired Q's slots for items after "
        "the one that was there, and whoever released these has read its number.",
        (
            ("drop", r"tlx\.barrier_wait\(item_empty\[item_slot\], .*"),
            ("alias", r"tlx\.barrier_wait: item_empty -> item_full"),
            ("later", r"tlx\.barrier_wait\(item_empty\[item_slot\], .* after tlx\.local_store\(item_tiles\[.*"),
            (
                "sooner",
                r"tlx\.barrier_arrive\(item_empty\[item_slot\]\) before \w+ = tl\.sum\(tlx\.local_load\(.*_tiles\[it.*",
            ),
        ),
        at=DRAWN,
    ),
    Equivalent(
        "Sums of 32 threads are complete after five steps: no thread has another one 32 before it.",
        (("bound", r"for i in tl\.static_range: 5 -> 5 \+ 1"),),
        at=DRAWN,
    ),
    Equivalent(
        "Items are counted within a sequence: its heads are below H, with and without the remainder, nobody asks for "
        "what is in the place of the batch entry, and in which order heads come is all the same.",
        (
            ("slots", r"return head // H, head % H, tile \* BLOCK_M: H -> \(H \+ 1\)"),
            ("assignment", r"head = group \* GROUP_H \+ within % heads: (.*) -> \1 \+ 1"),
        ),
        at=DRAWN,
    ),
    Equivalent(
        "The other replica's turn is the first: it passes by its own arrival, and lets this one in, as it does later.",
        (("named barrier", r"tlx\.named_barrier_arrive: 4 -> 4 \+ replica"),),
        at=rf"attention_fwd|{JAGGED}",
    ),
    Equivalent(
        "Turns say which replica multiplies first, and nothing depends on that: who comes late has its turn later.",
        (
            ("later", r"tlx\.named_barrier_wait\(4 \+ replica, 256\) after scores = tlx\.async_dot\(.*"),
            ("sooner", r"tlx\.named_barrier_arrive\(5 - replica, 256\) before (scores|acc) = tlx\.async_dot\(.*"),
        ),
        at=rf"attention_fwd|{JAGGED}",
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
        "Of an item's first K, where its slot is known to be free, as below; its last load has long been waited for.",
        (("alias", r"tlx\.barrier_wait: kv_empty -> kv_full"),),
        at=r"attention_fwd_rings/.*shared_leader_q",
        loop=r"^for index ",
        statement=r"kv_empty\[k_slot\]",
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
        loop=r"^(for index|while batch) ",
    ),
    Equivalent(
        "Q_STAGES is 1 in every config of the module: the slot is that of the replica.",
        (
            ("index", r"\w+ q_(full|empty|tiles): q_slot -> replica"),
            ("index", r"\w+ o_tiles: replica -> q_slot"),
        ),
        at=rf"^hopper_attention_fwd(_masks|_rings)?/|{JAGGED}",
    ),
    Equivalent(
        "KV_STAGES is 2 in every config of the module.",
        (("counter", r"\w+_slot, \w+_phase = ring_slot: KV_STAGES -> 2"),),
        at=rf"^hopper_attention_(bwd_dq|fwd_schedules|fwd_masks|fwd)/|{JAGGED}",
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
        at=r"^hopper_attention_bwd(_packed)?/|^hopper_(gdpa|hstu)_bwd/",
    ),
    Equivalent(
        "Q, dO and dS have 2 slots each in every config of the module, and one use a step: one number.",
        (
            ("counter", r"\w+_slot, \w+_phase = ring_slot: (2|Q_STAGES|DO_STAGES) -> (2|Q_STAGES|DO_STAGES)"),
            ("index", r"\w+ \w+: (q|do|ds)_slot -> (q|do|ds)_slot"),
        ),
        at=r"^hopper_attention_bwd(_packed)?/|^hopper_(gdpa|hstu)_bwd/",
    ),
    Equivalent(
        "More queries are walked than see these keys: the mask hides them. Lengths are in registers.",
        (
            ("assignment", r"last = max: (.*) -> \1 \+ 1"),
            ("assignment", r"first = max: (.*) -> \1 - 1"),
            ("later", r"tlx\.async_descriptor_store_wait\(0\) after k_start, n_k = .*"),
        ),
        at=r"^hopper_hstu_bwd/",
    ),
    Equivalent(
        "The kernels before and after take sequences that lie end to end for one batch entry.",
        (("slots", r"return : H -> \(H \+ 1\)"),),
        at=r"^hopper_(gdpa|hstu)_bwd/",
        function=r"^rows_at$",
    ),
    Equivalent(
        "Each of both slots is released by one replica, in each step: twice as often. Replicas meet in each step, at "
        "dS, so that one that has released it in the next step says that the other is done with it.",
        (("index", r"barrier_arrive (do|q)_empty: (do|q)_slot -> replica"),),
        at=r"^hopper_attention_bwd_packed/",
    ),
    Equivalent(
        "The wait is for dQ's buffer, which is written later; items are in registers.",
        (
            ("sooner", r'tlx\.fence\("async_shared"\) before tlx\.async_descriptor_store_wait\(0\)'),
            ("later", r'tlx\.async_descriptor_store_wait\(0\) after tlx\.fence\("async_shared"\)'),
            ("later", r"tlx\.async_descriptor_store_wait\(0\) after batch, kv_head, key = .*"),
        ),
        at=r"^hopper_attention_bwd_packed/",
    ),
    Equivalent(
        "Rows of dO past the end are zeros, and so is what they add.",
        (("condition", r"if row \+ 64 > n_q: seen = visible: .* -> False"),),
        at=r"^hopper_gdpa_bwd/",
    ),
    Equivalent(
        "K and V of a tile of keys have the same number, and as many slots.",
        (("index", r"\w+ \w+: [kv]_slot -> [kv]_slot"),),
        at=r"^hopper_attention_(bwd_dq|fwd_schedules/.*no_overlap)",
    ),
    Equivalent(
        "K and V have 2 slots: the other slot's release, or that of V instead of K, is a later one of the same tasks, "
        "or an earlier one that another wait has told of.",
        (("index", r"barrier_wait [kv]_empty: [kv]_slot -> replica"),),
        at=r"^hopper_attention_(bwd_dq|fwd_schedules/.*no_overlap)",
    ),
    Equivalent(
        "To have waited for K's slot is to know that V's is free: which of V's two is released matters to nobody.",
        (("index", r"barrier_arrive v_empty: v_slot -> replica"),),
        at=r"^hopper_attention_bwd_dq",
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
        "Of an item's first K: the only slot of Q, acquired just before, is released after all scores of the item "
        "before, so that its K has come.",
        (
            ("sooner", r"tlx\.barrier_expect_bytes\(k_full\[k_slot\], .* before tlx\.barrier_wait\(k_empty\[k_slot.*"),
            ("later", r"tlx\.barrier_wait\(k_empty\[k_slot\], .* after tlx\.barrier_expect_bytes\(k_full\[k_slot.*"),
            ("drop", r"tlx\.barrier_wait\(k_empty\[k_slot\], .*"),
            ("alias", r"tlx\.barrier_wait: k_empty -> (k_full|v_full)"),
        ),
        at=r"^hopper_hstu/",
        loop=r"^for index ",
    ),
    Equivalent(
        "More tiles are walked, or masked, than need be: the mask hides what is not seen.",
        (
            ("condition", r"if part != 1: scores = visible: .* -> True"),
            ("assignment", r"(seen = min|end = tl\.cdiv|whole_begin = tl\.cdiv): (.*) -> \2 \+ 1"),
            ("assignment", r"(first = tl\.minimum|whole = min): (.*) -> \2 - 1"),
        ),
        at=r"^hopper_hstu/",
        function=r"^key_tiles$|_kernel$",
    ),
    Equivalent(
        "The rings of K and V have as many slots, which are used as often.",
        (("index", r".*: v_slot -> k_slot"),),
        at=DECODE,
    ),
    Equivalent(
        "V of a tile is released after its K: the producer waits for longer.",
        (("alias", r"tlx\.barrier_wait: k_empty -> v_empty"),),
        at=DECODE,
        role=r"^# Load:",
    ),
    Equivalent(
        "A mask hides nothing in tiles of which all rows see all keys.",
        (
            ("condition", r"if tile >= unmasked: .* -> True"),
            ("assignment", r"unmasked = max: (.*) -> \1 - 1"),
        ),
        at=DECODE,
    ),
    Equivalent(
        "Nobody reads what a split without keys stores; the round past the last split adds zeros.",
        (
            ("condition", r"elif begin < end: .* -> True"),
            ("bound", r"for first in range: used -> used \+ 1"),
        ),
        at=DECODE,
    ),
)
