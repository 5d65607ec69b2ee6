"""The roles and rings of forward attention on Blackwell: one warp issues tcgen05, scores and O lie in tensor memory.

A tile goes round: MMA (scores) -> softmax (probabilities, in the place of the scores) -> MMA (product with V), which
waits for the correction too: that keeps O in step with the maximum. Each hand-off of the round is a barrier; what
follows from the round needs none (`Drain.via`).
"""

from __future__ import annotations

from typing import Any

from tlxgen.arch import DTYPES, Sm100
from tlxgen.plan import Barrier, Drain, Fill, Reason, Ring, Role, Size, Tile, hand_out

from .facts import AttentionFacts
from .spec import AttentionSpec

ROWS = 128  # queries of a group: a row for each thread of the four warps, the lanes of tensor memory
WARPS = 4  # a warp reads the 32 lanes of TMEM that are its own [ptx: tcgen05.ld]
COLUMNS = 64  # of O that the correction holds at a time, at most: it gets the registers that are left over
CAPTURE_BYTES = 560  # captures, alignment and where tcgen05.alloc puts the address: an upper bound
CLC_BYTES = 80  # a response of 16 bytes, aligned, and captures


def decisions(spec: AttentionSpec) -> dict[str, Any]:
    """The facts that sm90 has not."""
    store = spec.tasks.store is not None
    return {
        "tensor_memory": True,
        "slices": spec.rings.s.slices,
        "parts": max(1, spec.head_dim_v // COLUMNS),
        "lazy": spec.softmax.rescale == "lazy",
        "store_task": store,
        "consumers": 3 + spec.tasks.mma.replicate + store,
    }


def arguments(spec: AttentionSpec, facts: AttentionFacts) -> dict[str, Any]:
    """What the plan says of tcgen05: who holds scores in registers, how many, and what must be in the SASS."""
    clc = ("UGETNEXTWORKID",) if facts.clc else ()
    return {
        "turns": (),
        "accumulator_role": "softmax",
        "accumulator_registers": facts.rows.value * spec.tile.n // (WARPS * Sm100.warp_threads),
        "expected_opcodes": ("UTCHMMA", "UTMALDG", "LDTM", "UTMASTG", *clc),
        "source_barriers": _source_barriers(facts),
    }


def _source_barriers(facts: AttentionFacts) -> tuple[Barrier, ...]:
    return hand_out("clc", facts.consumers, "every task") if facts.clc else ()


def smem(spec: AttentionSpec) -> tuple[int, int]:
    """Bytes that the compiler allocates for captures and alignment, and for layout conversions: a thread has a row."""
    return CAPTURE_BYTES + (CLC_BYTES if spec.schedule.kind == "clc" else 0), 0


def roles(spec: AttentionSpec, facts: AttentionFacts) -> tuple[Role, ...]:
    """The tasks. Those of one warp share a warpgroup, and its registers; the correction gets what is left over."""
    tasks, groups = spec.tasks, facts.replicas
    free = ("release Q",) if spec.rings.o.reuse == "q" else ()
    rescale = "rescale O where a maximum has risen a lot" if facts.lazy else "rescale O"
    last = "release O, publish it" if facts.store_task else "release O, store it by TMA"
    slices = f"in {facts.slices} slices" if facts.slices > 1 else "in their place"
    lse = ("store LSE",) if facts.lse else ()
    softmax = ("take the scores", "mask, maximum", "publish the factor", f"publish probabilities {slices}", *lse)
    one_warp = tasks.mma.registers
    made = [
        Role("correction", WARPS, ("wait for a factor", rescale, "release O", "normalise", last, *free), default=True),
        Role("softmax", WARPS, softmax, registers=tasks.softmax.registers, replicas=groups),
        Role("mma", tasks.mma.warps, _products(facts), registers=one_warp),
        Role("load", 1, ("load Q", "acquire a slot, load K", "acquire a slot, load V"), registers=one_warp),
    ]
    if tasks.store:
        made.append(
            Role("store", tasks.store.warps, ("wait for O", "store it by TMA", "release it"), registers=one_warp)
        )
    return tuple(made)


def _products(facts: AttentionFacts) -> tuple[str, ...]:
    groups = range(facts.replicas)
    if facts.overlap:
        return "wait for Q and K", "Q0 K, P1 V of the tile before, Q1 K, P0 V", "commit each", "commit O"
    scores, products = (", ".join(text.format(g) for g in groups) for text in ("Q{} K", "P{} V"))
    return "wait for Q and K", f"{scores}, {products}", "commit each", "commit O"


def rings(spec: AttentionSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> tuple[Ring, ...]:
    """Q, K and V from TMA to the MMA; S, P, the factors and O among MMA, softmax and correction, a bank a group."""
    groups, rows, n = facts.replicas, facts.rows, sizes["BLOCK_N"]
    q_slots, one = sizes.get("Q_STAGES", Size.literal(1)), Size.literal(1)
    q_tile = Tile("q", (rows, Size.literal(facts.head_dim)), facts.dtype)
    used, aliased = Drain("mma", by="commit"), spec.rings.o.reuse == "q"
    # O may take Q's place: that all products are done says that Q has been read, and only then does Q go back.
    read = Drain("correction", until="o", after=("mma", "acc")) if aliased else used
    made = [Ring("q", (q_tile,), q_slots, Fill("load", "tma"), (read,) if facts.stays else (), banks=groups)]
    for name in dict.fromkeys(facts.operand(o).ring for o in "kv"):
        tile = Tile(name, (n, Size.literal(facts.operand(name[0]).head_dim)), facts.dtype, of=name[0])
        made.append(Ring(name, (tile,), sizes["KV_STAGES"], Fill("load", "tma"), (used,)))
    made += _round(spec, facts, rows, n)
    o_tile = Tile("o", (rows, Size.literal(facts.head_dim_v)), facts.dtype)
    stored = (Drain("store"),) if facts.store_task else ()
    o_slots, over = (q_slots, "q") if aliased else (one, None)
    made.append(Ring("o", (o_tile,), o_slots, Fill("correction", "store"), stored, banks=groups, alias=over))
    return tuple(made)


def _round(spec: AttentionSpec, facts: AttentionFacts, rows: Size, n: Size) -> tuple[Ring, ...]:
    """The round of a tile.

    S goes back with P, which the softmax writes over what it has read, and P with the next S: MMAs of one thread are
    done in order. O is acquired for each product and released by each rescaling, or by the last reading of an item;
    that it is complete is committed once an item, and follows from S before. The slots of the factors are two because
    the last of an item, 1 / sum, is not sent after scores that follow the factor before, but after scores that follow
    the one before that.
    """
    groups, arrive, fp32, one = facts.replicas, spec.rings.s.arrive, DTYPES["fp32"], Size.literal(1)
    s, acc = Tile("s", (rows, n), fp32), Tile("acc", (rows, Size.literal(facts.head_dim_v)), fp32)
    p = Tile("p", (rows, n), facts.dtype)
    factor = Tile("factor", (rows,), fp32, internal=True)
    softmax, mma = Fill("softmax", "store"), Fill("mma", "commit")
    taken, multiplied = Drain("softmax", until="p", via=("p",)), Drain("mma", via=("s",))
    return (
        Ring("s", (s,), one, mma, (taken,), banks=groups, space="tmem"),
        Ring(
            "p",
            (p,),
            one,
            softmax,
            (multiplied,),
            arrive,
            groups,
            space="tmem",
            alias="s",
            reshaped=True,
            parts=facts.slices,
        ),
        Ring("acc", (acc,), one, mma, (Drain("correction"),), arrive, groups, space="tmem"),
        Ring("factor", (factor,), Size.literal(2), softmax, (Drain("correction", via=("acc", "s")),), arrive, groups),
    )


def rules(spec: AttentionSpec, facts: AttentionFacts) -> list[Reason]:
    """What tcgen05 and the round ask of the numbers. Sums over the plan (SMEM, TMEM, ...) are in `plan`."""
    reasons, n = list[Reason](), spec.tile.n
    if facts.rows.value != ROWS:
        text = f"{facts.rows.value} rows a group ({facts.rows.text}); a row for each thread of the softmax is {ROWS}"
        reasons.append(Reason("tcgen05-m", text))
    if not Sm100.mma_n_min <= n <= Sm100.mma_n_max:
        reasons.append(Reason("tcgen05-n", f"BLOCK_N = {n}, tcgen05 takes {Sm100.mma_n_min} to {Sm100.mma_n_max}"))
    if n // facts.slices < Sm100.mma_n_min:
        text = f"{n // facts.slices} keys a slice ({n} / {facts.slices}), at least {Sm100.mma_n_min}"
        reasons.append(Reason("slices", text))
    least = 2 if spec.rings.kv.storage == "shared" and facts.overlap else 1
    if spec.rings.kv.stages < least:
        text = f"KV_STAGES = {spec.rings.kv.stages}: tiles of K and of V are held at a time, {least} slots at least"
        reasons.append(Reason("ring-depth", text))
    return reasons
