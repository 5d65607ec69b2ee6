"""Mutants of generated norms that are no faults."""

from __future__ import annotations

from .argued import Equivalent

NORM = r"_norm"
ARGUED = (
    Equivalent(
        "cluster_barrier() is barrier.cluster.arrive and .wait, with release and acquire (read in the PTX of these "
        "kernels): they order the initialisation of barriers before what peers do to them. The fence is for "
        "arrive.relaxed.",
        (
            ("drop", r"tlx\.fence_mbarrier_init_cluster\(\) dropped"),
            ("sooner", r"tlx\.fence_mbarrier_init_cluster\(\) before sums_full = .*"),
            ("sooner", r"tlx\.cluster_barrier\(\) before tlx\.fence_mbarrier_init_cluster\(\)"),
        ),
        at=r"norm_bwd",
    ),
    Equivalent(
        "One fence is enough.",
        (("duplicate", r"tlx\.fence_mbarrier_init_cluster\(\) twice"),),
        at=NORM,
    ),
    Equivalent(
        "A CTA may tell its own barrier what to expect at any time before it waits: bytes that came before count, and "
        "no phase ends without that arrival. The fence is for the initialisation.",
        (("sooner", r"tlx\.fence_mbarrier_init_cluster\(\) before tlx\.barrier_expect_bytes\(.*"),),
        at=NORM,
    ),
    Equivalent(
        "The sums of all slots are added up, whosever they are.",
        (
            ("index", r"async_remote_shmem_store sums_tiles: cta -> \(cta \+ 1\) % \(CLUSTER\)"),
            ("index", r"local_load sums_tiles: peer -> \(peer \+ 1\) % \(CLUSTER\)"),
        ),
        at="rms_norm",
    ),
    Equivalent(
        "All configs have clusters, so the rank in one follows.",
        (
            ("assignment", r"cta = 0: 0 -> 0 [-+] 1"),
            ("condition", r"if CLUSTER > 1: .*: CLUSTER > 1 -> True"),
        ),
        at="norm_staged",
    ),
    Equivalent(
        "All configs have one row a CTA, and as many CTAs as there are rows.",
        (("mask", r"tl\.store: (.*)\(rows < M\)(.*) -> \1\(\(rows < M\) \| True\)\2"),),
        at="norm_staged",
    ),
    Equivalent(
        "What is loaded into registers belongs to no group of copies.",
        (("sooner", r"tlx\.async_load_commit_group\(\) before (weight|bias) = load_vector\(.*"),),
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
        "The tile past the last one has no rows, and the part past the last one no columns: masks leave out all of it.",
        (
            ("assignment", r"num_items = tl\.cdiv: (.*) -> \1 \+ 1"),
            ("bound", r"for index in range: (num_items|tl\.cdiv\(M, 16\)) -> \1 \+ 1"),
            ("bound", r"for first in range: 2 \* P -> 2 \* P \+ 1"),
        ),
        at=NORM,
    ),
    Equivalent(
        "The same, of the sums of the first gradient.",
        (("bound", r"for first in range: P -> P \+ 1"),),
        at=r"norm_bwd",
        statement=r"range\(0, P,",
    ),
    Equivalent(
        "What is loaded or computed once more, or from memory and not from its copy in SMEM, is what it was; sums that "
        "nobody stores are added up for nothing, and those that are stored are written anew by the next kernel.",
        (
            ("condition", r"if (not )?AGAIN: .* -> True"),
            ("condition", r"if SUMS( > [01])?: (dweight|dbias) \+= .* -> True"),
            ("condition", r"if STAGES > 0: x = tlx\.local_load: .* -> False"),
            ("condition", r"if SUMS: store_sums: SUMS -> True"),
        ),
        at=r"norm_bwd",
    ),
    Equivalent(
        "Rows are read from SMEM again in clusters alone, and there both rings have two slots.",
        (("index", r"local_load (x|dy)_tiles: row_slot -> slot"),),
        at=r"norm_bwd",
        loop=r"static_range\(CHUNKS\)",
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
    Equivalent(
        "What the mask leaves out of a weight that is read again, deeper in the text and so over several lines, goes "
        "only to columns of dx that are not stored.",
        (("mask", r"tl\.load: other=0\.0 dropped"),),
        at=r"norm_bwd",
        loop=r"static_range\(CHUNKS\)",
        statement=r'^weight = .*"evict_last", \)$',
    ),
    Equivalent(
        "What the mask leaves out of a weight or a bias goes only to columns of y that are not stored.",
        (("mask", r"tl\.load: other=0\.0 dropped"),),
        at=NORM,
        function=r"^load_vector$",
    ),
)
