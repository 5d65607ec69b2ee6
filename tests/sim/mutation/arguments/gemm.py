"""Mutants of generated GEMMs that are no faults."""

from __future__ import annotations

from .argued import Equivalent

BEFORE = (
    ("counter", r"item_slot, item_phase = ring_slot: .*"),
    ("slots", r"item_slot, item_phase = ring_slot: 4 -> .*"),
    ("operands", r"item_slot <-> item_phase"),
    ("phase", r"tlx\.barrier_wait: item_phase -> 0"),
    ("alias", r"tlx\.barrier_wait: item_empty -> item_full"),
)
PAIRED = r"^hopper_(grouped_)?gemm_fp8(_block|_exact/|/.*_promote)"  # products of two slots are under way
ARGUED = (
    Equivalent(
        "Waits for all of the task's stores, where C has two buffers and one of them might go on being read.",
        (("pendings", r"tlx\.async_descriptor_store_wait: C_STAGES - 1 -> C_STAGES - 1 - 1"),),
        at=r"^blackwell|^hopper_gemm_helped/",
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
        at=r"^hopper_((grouped_)?gemm(?!.*store_task|_helped)|matmul/)",
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
        at=r"^blackwell_(gemm(_clc|_2cta)?|grouped_gemm_clc)/",
    ),
    Equivalent(
        "Which of the cluster's two CTAs loads a shared tile for both is a matter of balance: the condition and its "
        "opposite each hold in exactly one of them, and each has waited for the consumers of both.",
        (("condition", r"tlx\.async_descriptor_load: \(count & 1\) == cta -> \(\(\(count & 1\) == cta\) == 0\)"),),
        at=r"cluster_",
    ),
    Equivalent(
        "The item past the last lies beyond M or N in every role: TMA loads zeros there and stores nothing, and what "
        "threads store is masked.",
        (("assignment", r"num_items = tl\.cdiv: (tl\.cdiv\(M, .*\) \* tl\.cdiv\(N, [^)]*\)) -> \1 \+ 1"),),
        at=r"^(hopper_gemm|blackwell_gemm|blackwell_mx_gemm)(?!_split_k|_any_rows|_fp8_block)",
    ),
    Equivalent(
        "The item before the first lies before the first row, the one past the last beyond M or N: loads there give "
        "zeros, and nothing is stored. Each other one is the next CTA's.",
        (
            ("bound", r"for index in range: tl\.program_id\(0\) -> tl\.program_id\(0\) - 1"),
            ("bound", r"for index in range: num_items -> num_items \+ 1"),
        ),
        at=r"hopper_gemm_pipelined_persistent$",
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
            (
                "later",
                r"acc = tlx\.async_dot_wait\([01], acc\) after (if k > 0: )?tlx\.barrier_arrive\(ab_empty\[last\].*",
            ),
        ),
        at=r"pipelined",
    ),
    Equivalent(
        "The epilogue asks for a tile when it has drained the one two before: who has been handed that tile knows that "
        "its accumulator, of two, is free.",
        (
            ("later", r"tlx\.barrier_wait\(acc_empty\[acc_slot\], .* after for k in range\(k_tiles\).*"),
            ("drop", r"tlx\.barrier_wait\(acc_empty\[acc_slot\], .*"),
            ("alias", r"tlx\.barrier_wait: acc_empty -> acc_full"),
        ),
        at=r"gemm.*_clc",
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
        at=r"^blackwell_(gemm_2cta|mx_gemm|grouped_gemm_clc)",
    ),
    Equivalent(
        "The same, of the statements of these waits.",
        (
            ("drop", r"tlx\.barrier_wait\((acc|ab)_empty\[.*"),
            ("alias", r"tlx\.barrier_wait: acc_empty -> acc_full"),
            ("count", r"(acc_)?count \+= 1: .* -> pass"),
        ),
        at=r"^blackwell_(gemm_2cta|mx_gemm|grouped_gemm_clc)",
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
        "The task asks only whether there is an item, and takes each but the first from cluster launch control.",
        (("assignment", r"item = tl\.program_id: tl\.program_id\(0\) -> tl\.program_id\(0\) \+ 1"),),
        at=r"^blackwell_gemm",
        role=r"^# (MMA|Scheduler):",
    ),
    Equivalent(
        "A tile of B's scales begins at a column // 128, and columns of tiles are even.",
        (("offset", r"tlx\.async_descriptor_load: column -> \(column \+ 1\)"),),
        at=r"^blackwell_mx_gemm",
        statement=r"\bb_scale_desc\b",
    ),
    Equivalent(
        "The scales of a row and of the columns are multiplied with each other.",
        (("operands", r"(first_|second_|next_|)scale_a <-> \1scale_b"),),
        at=PAIRED,
    ),
    Equivalent(
        "The last two slots begin two before the end.",
        (("bound", r"for k in range: k_tiles -> k_tiles - 1"),),
        at=PAIRED,
        statement=r"range\(2 - k_tiles % 2",
    ),
    Equivalent(
        "Past the last group nobody uses where it would end.",
        (("mask", r"tl\.load: other=0 dropped"),),
        at=r"^((hopper|blackwell)_grouped_gemm|hopper_attention_fwd_masks/)",
        function=r"^group_of$",
    ),
    Equivalent(
        "Each group has the same number of items, which is not 0, and so has what comes after the last one: the loop "
        "ends, at a number that is no group's.",
        (("mask", r"while : \(group < groups\) & .* -> \(\(group < groups\) \| True\) & .*"),),
        at=r"^hopper_grouped_gemm_weights/",
        function=r"^group_of$",
    ),
    Equivalent(
        "Before the loop the ring of items is empty and the counts are 0: whatever slot and phase it asks for, the "
        "first acquire passes at once.",
        (
            ("drop", r"tlx\.barrier_wait\(item_empty\[item_slot\], .*"),
            ("index", r"barrier_wait item_empty: item_slot -> .*"),
            ("later", r"tlx\.barrier_wait\(item_empty\[item_slot\], .*\) after tlx\.local_store\(item_tiles.*"),
            ("sooner", r"tlx\.local_store\(item_tiles.* before tlx\.barrier_wait\(item_empty\[item_slot\], .*"),
            ("operands", r"item_slot <-> item_phase"),
            ("counter", r"item_slot, item_phase = ring_slot: items -> count"),
        ),
        at=r"^hopper_grouped_gemm_(dynamic|weights_split)/",
        loop=r"^$",
        role=r"^# Load:",
    ),
    Equivalent(
        "A tile past the last one of its group, or of the problem, lies outside of what is loaded and stored.",
        (
            ("assignment", r"across = tl\.cdiv: (.*) -> \1 \+ 1"),
            ("assignment", r"num_items = tl\.cdiv: (.*) -> \1 \+ 1"),
        ),
        at=r"^hopper_(grouped_gemm(_dynamic|_weights)?|gemm_cluster_k|gemm_any_rows|matmul)/",
    ),
    Equivalent(
        "Before the loop all counts are 0, so that slot and phase are 0 for any number of slots.",
        BEFORE,
        at=r"^hopper_grouped_gemm_(dynamic|weights_split)/",
        loop=r"^$",
        role=r"^# Load:",
    ),
    Equivalent(
        "The same, of both consumers.",
        BEFORE,
        at=r"^hopper_grouped_gemm_weights_split/",
        loop=r"^$",
        role=r"^# MMA:",
    ),
    Equivalent(
        "Before the loop the count is the replica's number, so that the phase is 0, and the slot is the count for any "
        "number of slots but one.",
        (
            ("slots", r"item_slot, item_phase = ring_slot: 4 -> .*"),
            ("counter", r"item_slot, item_phase = ring_slot: 4 -> STAGES"),
            ("phase", r"tlx\.barrier_wait: item_phase -> 0"),
        ),
        at=r"^hopper_grouped_gemm_dynamic/",
        loop=r"^$",
        role=r"^# MMA:",
    ),
    Equivalent(
        "This task has waited for the last phase of its own barrier, and bytes that came before count; two waits in a "
        "row may be turned round.",
        (
            ("sooner", r"tlx\.barrier_expect_bytes\(part_full.* before tlx\.barrier_wait\(part_empty.*"),
            ("later", r"tlx\.barrier_wait\(part_empty.* after tlx\.barrier_expect_bytes\(part_full.*"),
            ("later", r"tlx\.barrier_wait\(part_empty.* after tlx\.async_descriptor_store_wait\(0\)"),
        ),
        at=r"^hopper_gemm_cluster_k/",
    ),
    Equivalent(
        "In a cluster of two CTAs the loop over the other parts has one round.",
        (("initialisation", r"acc = tlx\.(async_dot_wait|local_load)\(.* in each round"),),
        at=r"^hopper_gemm_cluster_k/",
    ),
    Equivalent(
        "C_STAGES is 1 in every config of the module, a tile leaves in one piece, and its parts have one slot: both "
        "counts are those of tiles, and both slots that of the replica.",
        (
            ("counter", r"part_slot, part_phase = ring_slot: (sums -> c_count|1 -> C_STAGES)"),
            ("index", r"\w+ \w+: (c_slot -> part_slot|part_slot -> c_slot)"),
        ),
        at=r"^hopper_gemm_cluster_k/",
    ),
    Equivalent(
        "A tile that is cut has two parts or more, and as many CTAs that have added up are counted at the most.",
        (
            ("assignment", r"counts = 0: 0 -> 0 [-+] 1"),
            ("slots", r"while counts % 256 < tail_parts: .*: 256 -> \(256 - 1\)"),
        ),
        at=r"^hopper_gemm_tail/",
        function=r"^fix_up$",
    ),
    Equivalent(
        "Few parts may be added up by the loop for more. Up to four are added up by two CTAs, which have as many "
        "stripes each, a power of two.",
        (
            ("condition", r"if tail_parts > 4: .* -> True"),
            ("condition", r"if stripe \+ i < end: .* -> True"),
            ("bound", r"for stripe in range: (end -> end [-+] 1|2 -> 2 - 1)"),
        ),
        at=r"^hopper_gemm_tail/",
        function=r"^fix_up$",
    ),
    Equivalent(
        "Nobody reads the count behind the last use.",
        (("count", r"items \+= 1: .*"),),
        at=r"^hopper_grouped_gemm_dynamic/",
        loop=r"^after while ",
        role=r"^# Load:",
    ),
    Equivalent(
        "The other replica has an item only when all loads of this one's have been issued. So with a wgmma in flight "
        "it waits for no slot before this one has.",
        (("sooner", r"tlx\.named_barrier_arrive\(5 - replica, 256\) before for k in range\(k_tiles\): .*"),),
        at=r"^hopper_grouped_gemm_dynamic/",
    ),
    Equivalent(
        "STAGES is 4 in every config of the module, as many as items have.",
        (("counter", r"\w+, \w+ = ring_slot: (STAGES -> 4|4 -> STAGES)"),),
        at=r"^hopper_grouped_gemm_weights_split/",
    ),
    Equivalent(
        "Few parts may be added up by the loop for more. A stripe is then stored twice, or lies past the end of C.",
        (
            ("condition", r"(if tail_parts <= 4|elif tail_parts <= 8): .* -> False"),
            ("condition", r"if stripe \+ i < end: .* -> True"),
            ("bound", r"for stripe in range: (4 -> 4 - 1|2 -> 2 - 1)"),
        ),
        at=r"^hopper_grouped_gemm_weights_split/",
        function=r"^fix_up$",
    ),
    Equivalent(
        "A stripe past the last one is not stored.",
        (("bound", r"for stripe in range: end -> end \+ 1"),),
        at=r"^hopper_grouped_gemm_weights_split/",
        statement=r"range\(0, end, \d\)",
    ),
    Equivalent(
        "A part past the last one is masked.",
        (("bound", r"for i in tl\.static_range: UNROLL -> UNROLL \+ 1"),),
        at=r"^hopper_grouped_gemm_weights_split/",
        function=r"^sum_partials$",
    ),
    Equivalent(
        "There is room for twice as many parts: for one more, of zeros.",
        (("assignment", r"part_k = part_tiles \* BLOCK_K: (.*) -> \1 - 1"),),
        at=r"^hopper_grouped_gemm_weights_split/",
    ),
    Equivalent(
        "A group begins where the one before it ends. Nothing lies between 1 and 0, where that before the first ends.",
        (("assignment", r"begin = 0: 0 -> 0 \+ 1"),),
        at=r"^(hopper|blackwell)_grouped_gemm",
    ),
    Equivalent(
        "The same; and what is before the first group has no items.",
        (("assignment", r"begin = 0: 0 -> 0 - 1"),),
        at=r"^hopper_grouped_gemm_weights",
    ),
    Equivalent(
        "Nobody waits for a slot behind the last use.",
        (("condition", r"if count >= LAG - later: .* -> True"),),
        at=r"^hopper_gemm_(any_rows|fp8_block)/",
    ),
    Equivalent(
        "Turns say which replica issues its products first, and nothing depends on that: who comes late has its turn "
        "later, and where nobody waits, two arrivals of the other fill the barrier.",
        (
            ("named barrier", r"tlx\.named_barrier_arrive: 4 -> 4 \+ replica"),
            ("later", r"tlx\.named_barrier_wait\(4 \+ replica, 256\) after tlx\.barrier_wait\(ab_full.*"),
            ("sooner", r"tlx\.named_barrier_arrive\(5 - replica, 256\) before next_products = tlx\.async_dot\(.*"),
            ("drop", r"tlx\.named_barrier_wait\(4 \+ replica, 256\) dropped"),
        ),
        at=r"^hopper_gemm_fp8_block/",
    ),
    Equivalent(
        "What threads store themselves and what they copy lies in buffers of different operands; LAG is 1 where they "
        "store.",
        (
            ("later", r"tlx\.async_load_wait_group\(0\) after if VEC_A == 1: .*"),
            ("index", r"local_store [ab]_tiles: last(.*) -> slot\1"),
        ),
        at=r"^hopper_gemm_any_rows/",
        loop=r"^after for index ",
    ),
    Equivalent(
        "Elements held over for a loader that does not hold any; addresses, in registers.",
        (
            ("condition", r"if VEC_[AB] == 1: [ab]_held(_[01])? = tl\.zeros: .* -> True"),
            ("later", r"tlx\.barrier_wait\(ab_empty\[slot\], .*\) after [ab]_ptrs, inside = .*"),
        ),
        at=r"^hopper_gemm_any_rows/",
    ),
    Equivalent(
        "What is asked for ahead of its load is in L2 then, or is not: no result depends on that.",
        (
            ("bound", r"for first in range: (worker \* 128 -> .* \+ 1|(workers \* 128|rows \* LINES|lines) -> .*)"),
            ("slots", r"k = line % .*"),
            ("assignment", r"((line|k) = .* \+ 1|lines = .*)"),
            ("mask", r"tlx\.prefetch: .* -> \(\(line < lines\) \| True\) & \(k < K\)"),
        ),
        at=r"^hopper_(matmul|gemm_helped)/",
        function=r"^prefetch_a(long|cross)_k$",
    ),
    Equivalent(
        "The same, of who asks for what.",
        (
            ("assignment", r"workers? = tl\.(program_id|num_programs): .*"),
            ("condition", r"if worker % 2 == 0: prefetch_along_k: .*"),
            ("slots", r"if worker % 2 == 0: prefetch_along_k: .*"),
        ),
        at=r"^hopper_matmul/",
    ),
    Equivalent(
        "The same, as long as there are two workers or more.",
        (
            ("assignment", r"(worker = tl\.program_id: .*|workers = tl\.num_programs: .* \+ 1)"),
            ("condition", r"if worker % 2 == 0: prefetch_along_k: .*"),
            ("slots", r"if worker % 2 == 0: prefetch_along_k: .*"),
        ),
        at=r"^hopper_gemm_helped/",
    ),
    Equivalent(
        "A tile leaves in 4 or 8 pieces, and C_STAGES is 2 in every config of the module: at the end of a tile the "
        "buffer is that of its start. Which is the first is nobody's concern.",
        (("initialisation", r"c_count = 0 in each round"), ("assignment", r"c_count = 0: 0 -> 0 \+ 1")),
        at=r"^hopper_gemm_helped/",
    ),
    Equivalent(
        "The flag is 0 or 1, so that another number than 1 is as good as 0. Without a last wave there are no helpers.",
        (("assignment", r"found = 0: 0 -> 0 - 1"), ("condition", r"if num_whole < num_tiles: cta = .* -> True")),
        at=r"^hopper_gemm_helped/",
    ),
    Equivalent(
        "Within a tile a slot is released when the next one has been waited for, and a tile that is helped has five K "
        "tiles of its own or more: who has acquired a slot knows that what was in the next one has come, and was "
        "awaited. Its bytes may be announced then. Four parts announce them for four slots.",
        (
            (
                "sooner",
                r"tlx\.barrier_expect_bytes\(ab_full\[slot\], .* before tlx\.barrier_wait\(ab_empty\[slot\], .*",
            ),
            ("later", r"tlx\.barrier_wait\(ab_empty\[slot\], .* after tlx\.barrier_expect_bytes\(ab_full\[slot\], .*"),
            ("index", r"barrier_expect_bytes ab_full: slot -> \(slot \+ 1\) % \(STAGES\)"),
        ),
        at=r"^hopper_gemm_helped/",
        loop=r"^for part in range\(4\)",
    ),
    Equivalent(
        "A tile that is fixed up is the last one of its CTA: nobody loads into these slots again.",
        (
            ("drop", r"tlx\.barrier_arrive\(ab_empty\[slot\]\) dropped"),
            ("duplicate", r"tlx\.barrier_arrive\(ab_empty\[slot\]\) twice"),
            ("alias", r"tlx\.barrier_arrive: ab_empty -> ab_full"),
        ),
        at=r"^hopper_gemm_helped/",
        loop=r"^for i in ",
    ),
    Equivalent(
        "Two columns of the product are one of C, and those of tiles are even: half of the next number is the same.",
        (
            ("assignment", r"column = tile_n \* BLOCK_N: (.*) -> \1 \+ 1"),
            ("offset", r"tlx\.async_descriptor_store: column -> \(column \+ 1\)"),
        ),
        at=r"^hopper_gemm_swiglu/",
        role=r"^# MMA:",
    ),
    Equivalent(
        "The first product has been waited for.",
        (("initialisation", r"acc = tlx\.async_dot_wait\(0, acc\) in each round"),),
        at=r"^hopper_gemm_fp8_block/",
    ),
    Equivalent(
        "The first CTA of a cluster alone multiplies. Its number is even: half of the next one is the same.",
        (("assignment", r"item = tl\.program_id: tl\.program_id\(0\) -> tl\.program_id\(0\) \+ 1"),),
        at=r"^blackwell_grouped_gemm_clc/.*_m2$",
        role=r"^# MMA:",
    ),
    Equivalent(
        "Boxes bring as many bytes as a whole tile; rows past the end do not matter.",
        (("condition", r"if row \+ BLOCK_M <= M: .* -> (True|False)"),),
        at=r"^hopper_matmul/",
    ),
)
