"""The roles and rings of forward attention on Blackwell: one warp issues tcgen05, scores and O lie in tensor memory.

A tile goes round: MMA (scores) -> softmax (probabilities, in the place of the scores) -> MMA (product with V), which
waits for the correction too: that keeps O in step with the maximum. Each hand-off of the round is a barrier; what
follows from the round needs none (`Drain.via`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tlxgen.arch import DTYPES, Sm100
from tlxgen.families.attention.common import WORKING_REGISTERS
from tlxgen.plan import Drain, Fill, Holds, Ring, Role, Rule, Size, Tile
from tlxgen.plan.rule import at_least, between, one_of

from . import steps
from .facts import AttentionFacts
from .spec import ForwardSpec

ROWS = 128  # queries of a group: a row for each thread of the four warps, the lanes of tensor memory
COLUMNS = 64  # of O that the correction holds at a time, at most: it gets the registers that are left over
COLUMNS_MX = 32  # the same, where it also stores the log-sum-exp and ptxas spills what it holds beside 64
MX_CAPTURED = 64  # bytes that tasks capture with MX scales: three descriptors more, aligned


def decisions(spec: ForwardSpec) -> dict[str, Any]:
    """The facts that sm90 has not."""
    return {
        "tensor_memory": True,
        "slices": spec.rings.s.slices,
        "parts": max(1, spec.head_dim_v // (COLUMNS_MX if spec.scaled else COLUMNS)),
        "lazy": spec.lazy,
        "polynomial": spec.polynomial,
        "store_task": spec.tasks.store is not None,
        "scaled": spec.scaled,
    }


def arguments(spec: ForwardSpec, facts: AttentionFacts) -> dict[str, Any]:
    """What the plan says of tcgen05: what must be in the SASS, and who hands out work."""
    clc = ("UGETNEXTWORKID",) if facts.clc else ()
    products = ("UTCQMMA", "UTCCP") if facts.scaled else ("UTCHMMA",)
    return {
        "turns": (),
        "expected_opcodes": (*products, "UTMALDG", "LDTM", "UTMASTG", *clc),
    }


def smem(spec: ForwardSpec) -> tuple[int, int]:
    """Bytes that the compiler allocates for captures and alignment, and for layout conversions: a thread has a row."""
    captures = Sm100.captures + MX_CAPTURED * spec.scaled
    return captures + (Sm100.clc_response if spec.schedule.kind == "clc" else 0), 0


def roles(spec: ForwardSpec, facts: AttentionFacts) -> tuple[Role, ...]:
    """The tasks. Those of one warp share a warpgroup, and its registers; the correction gets what is left over."""
    tasks, groups, one_warp = spec.tasks, facts.replicas, spec.tasks.mma.registers
    warps, aliased = Sm100.lanes_warps, spec.rings.o.reuse == "q"
    columns = spec.tile.n if facts.rescaled else spec.tile.n // max(2, facts.slices)  # that a thread has at a time
    scores = Holds(facts.rows.value * columns // (warps * Sm100.warp_threads), WORKING_REGISTERS)
    softmax = steps.softmax(facts)
    made = [
        Role(facts.out_task, warps, steps.correction(facts, aliased=aliased), default=True),
        Role(facts.row_task, warps, softmax, registers=tasks.softmax.registers, replicas=groups, holds=scores),
        Role("mma", tasks.mma.warps, steps.tcgen05(facts, aliased=aliased), registers=one_warp),
        Role("load", 1, steps.load(facts), registers=one_warp),
    ]
    if tasks.store:
        made.append(Role("store", tasks.store.warps, steps.store(facts), registers=one_warp))
    return tuple(made)


def rings(spec: ForwardSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> tuple[Ring, ...]:
    """Q, K and V from TMA to the MMA; S, P, the factors and O among MMA, softmax and correction, a bank a group."""
    groups, rows, n = facts.replicas, facts.rows, sizes["BLOCK_N"]
    q_slots, one = sizes.get("Q_STAGES", Size.literal(1)), Size.literal(1)
    q_tile = Tile("q", (rows, Size.literal(facts.head_dim)), facts.dtype)
    used, aliased = Drain("mma", by="commit"), spec.rings.o.reuse == "q"
    # O may take Q's place: that all products are done says that Q has been read, and only then does Q go back.
    read = Drain(facts.out_task, until="o", after=("mma", "acc")) if aliased else used
    q_tiles = (q_tile, *_scales(facts, "q", rows))
    made = [Ring("q", q_tiles, q_slots, Fill("load", "tma"), (read,) if facts.stays else (), banks=groups, item=True)]
    for name in dict.fromkeys(facts.operand(o).ring for o in "kv"):
        tile = Tile(name, (n, Size.literal(facts.operand(name[0]).columns)), facts.dtype, of=name[0])
        made.append(Ring(name, (tile, *_scales(facts, name, n)), sizes["KV_STAGES"], Fill("load", "tma"), (used,)))
    made += _round(spec, facts, rows, n)
    o_tile = Tile("o", (rows, Size.literal(facts.head_dim_v)), facts.out)
    stored = (Drain("store"),) if facts.store_task else ()
    o_slots, over = (q_slots, "q") if aliased else (one, None)
    made.append(
        Ring("o", (o_tile,), o_slots, Fill(facts.out_task, "store"), stored, banks=groups, alias=over, item=True)
    )
    return tuple(made)


def _scales(facts: AttentionFacts, name: str, rows: Size) -> tuple[Tile, ...]:
    """The MX scales of a tile as TMA brings them: a block of 2 x 256 bytes for 128 rows and 128 elements along them.

    Those of V, which are of its columns, are as many where a tile has as many keys as a head has columns.
    """
    if not facts.scaled:
        return ()
    one, along = Size.literal(1), Size.literal(facts.head_dim // Sm100.mx_k)
    extents = (one, rows // Sm100.mx_rows, along, Size.literal(2), Size.literal(256))
    return (Tile(f"{name}_scale", extents, DTYPES["e8m0"], of=f"{name[0]}_scale"),)


def _factors(facts: AttentionFacts, rows: Size, n: Size) -> tuple[Ring, ...]:
    """The MX scales in tensor memory, all of which scores and O take: where scores have been read, behind the rest.

    Those of V lie behind the probabilities that are multiplied by it, and which say that the scores have been read.
    Those of Q and K lie in the place of the other group's scores; its softmax says when it has read them.
    """
    if not facts.scaled:
        return ()
    along, mma, groups = Size.literal(facts.head_dim // Sm100.mx_block), Fill("mma", "copy"), facts.replicas
    one, e8m0 = Size.literal(1), DTYPES["e8m0"]
    v = (Tile("sf_v", (Size.literal(facts.head_dim_v), n // Sm100.mx_block), e8m0),)
    qk = Tile("sf_q", (rows, along), e8m0), Tile("sf_k", (n, along), e8m0)
    told, read = Drain(facts.row_task, via=("p",)), Drain(facts.row_task)

    def behind(name: str, tiles: tuple[Tile, ...], drain: Drain) -> Ring:
        place = Ring(name, tiles, one, mma, (drain,), banks=groups, space="tmem", alias="s", reshaped=True)
        return replace(place, slotwise=True, behind=True)

    return behind("sf_v", v, told), behind("sf_qk", qk, read)


def _round(spec: ForwardSpec, facts: AttentionFacts, rows: Size, n: Size) -> tuple[Ring, ...]:
    """The round of a tile.

    S goes back with P, which the softmax writes over what it has read, and P with the next S: MMAs of one thread are
    done in order. O is acquired for each product and released by each rescaling, or by the last reading of an item;
    that it is complete is committed once an item, and follows from S before. The slots of the factors are two because
    the last of an item, 1 / sum, is not sent after scores that follow the factor before, but after scores that follow
    the one before that. Where O is not rescaled there are no factors, and O is acquired and released once an item.
    """
    groups, arrive, fp32, one = facts.replicas, spec.rings.s.arrive, DTYPES["fp32"], Size.literal(1)
    s, acc = Tile("s", (rows, n), fp32), Tile("acc", (rows, Size.literal(facts.head_dim_v)), fp32)
    p = Tile("p", (rows, n), facts.dtype)
    sf_p = Tile("sf_p", (rows, n // Sm100.mx_block), DTYPES["e8m0"])
    factor = Tile("factor", (rows,), fp32, internal=True)
    weights, mma = Fill(facts.row_task, "store"), Fill("mma", "commit")
    taken, multiplied = Drain(facts.row_task, until="p", via=("p",)), Drain("mma", via=("s",))
    added = (Drain(facts.out_task),) if facts.rescaled or facts.stays else ()
    made = (
        Ring("s", (s,), one, mma, (taken,), banks=groups, space="tmem"),
        Ring(
            "p",
            (p, sf_p) if facts.scaled else (p,),
            one,
            weights,
            (multiplied,),
            arrive,
            groups,
            space="tmem",
            alias="s",
            reshaped=True,
            slotwise=True,
            parts=facts.slices,
        ),
        *_factors(facts, rows, n),
        Ring("acc", (acc,), one, mma, added, arrive, groups, space="tmem", item=True),
    )
    if not facts.rescaled:
        return made
    used = Drain(facts.out_task, via=("acc", "s"))
    sent = (factor, Tile("lse", (rows,), fp32, internal=True)) if facts.lse_apart else (factor,)
    return *made, Ring("factor", sent, Size.literal(2), weights, (used,), arrive, groups)


def rules(spec: ForwardSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> Iterator[Rule]:
    """What tcgen05 and the round ask of the sizes. Sums over the plan (SMEM, TMEM, ...) are in `plan`."""
    rows, n, least, most = facts.rows, sizes["BLOCK_N"], Sm100.mma_n_min, Sm100.mma_n_max
    found = f"{rows.value} rows a group ({rows.text}); "
    yield Rule("tcgen05-m", one_of(rows, ROWS), found, f"a row for each thread of the softmax is {ROWS} rows")
    yield Rule("tcgen05-n", between(n, least, most), f"BLOCK_N = {n.value}, ", f"tcgen05 takes {least} to {most}")
    keys = n // facts.slices
    found = f"{keys.value} keys a slice ({n.value} / {facts.slices}); "
    yield Rule("slices", at_least(keys, least), found, f"a slice has at least {least} keys")
    if facts.scaled:
        unit = Sm100.mx_rows
        yield Rule("mx", one_of(n, unit), f"BLOCK_N = {n.value}; ", f"MX scales of V's tile are a block of {unit} keys")
