"""The roles and rings of backward attention on Blackwell: one thread issues tcgen05, all products lie in tensor memory.

A step goes round: MMA (S^T = K Q^T, dP^T = V dO^T) -> compute (P^T and dS^T in their place, dS^T in SMEM too) -> MMA
(dV += P^T dO, dK += dS^T Q, dQ = dS K) -> reduce, which adds dQ up in global memory. Products of dS are a step behind,
under the next step's exponentials. What of the round needs a barrier of its own, and who releases a slot, follows from
the order in which the products are issued.

Two CTAs have 128 keys each, and walk the same queries. One thread of the first issues for both: each multiplies the
rows of its own keys by columns of which it loads half. dQ is a sum over the keys of both, so that each CTA has half of
its rows: they send each other the dS of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from tlxgen.arch import DTYPES, Sm100
from tlxgen.families.attention.common import WORKING_REGISTERS
from tlxgen.plan import Drain, Fill, Holds, Order, Product, Reason, Ring, Role, Rule, Size, Tile
from tlxgen.plan.rule import at_least, one_of

from . import mx, steps
from .facts import BackwardFacts
from .spec import KeysSpec

NUMBERS = 2  # slots of the numbers of rows, where Q and dO may have one
ROWS = 128  # lanes of tensor memory: keys a CTA
CAPTURED = 256  # bytes that tasks capture beside those of forward attention: where items lie, and alignment
MX_CAPTURED = 512  # and with MX scales: descriptors, and buffers of 7 operands and their scales
PAIR_CAPTURED = 144  # and of two CTAs, where both begin, and more descriptors
ACCUMULATED = ("dv", "dk")  # from step to step


def decisions(spec: KeysSpec) -> dict[str, Any]:
    """The facts that sm90 has otherwise."""
    element = DTYPES[spec.out_dtype].bytes
    columns = spec.dq_columns
    return {
        "part": (spec.queries, columns),
        "grad": (spec.tile.n, columns * DTYPES["fp32"].bytes // element),
        "scores": (spec.tile.n, spec.queries // spec.tasks.compute.parts),
        "tensor_memory": True,
        "order": order(spec),
        "ds_in_tmem": spec.rings.ds.operand == "tmem",
        "dq_place": spec.dq_place,
        "ctas": spec.ctas,
        "exchange": spec.exchange if spec.pair else "",
        "cuts": spec.tasks.compute.parts,
        "dq_slots": spec.dq_stages,
        "warps": spec.tasks.compute.warps,
        "scaled": spec.scaled,
    }


def order(spec: KeysSpec) -> Order:
    """The products of a step: S first, since the exponentials wait for it, and dV last, which waits for them."""
    left = "ds_tmem" if spec.rings.ds.operand == "tmem" else "ds"
    columns = "_columns" if spec.pair or spec.scaled else ""
    products = {
        "s": Product("s", ("k", "q")),
        "dp": Product("dp", ("v", "do")),
        "dv": Product("dv", ("p", f"do{columns}")),
        "dk": Product("dk", (left, f"q{columns}"), behind=1),
        "dq": Product("dq", ("ds", f"k{columns}"), behind=1),
    }
    return Order(tuple(products[name] for name in ("s", *spec.tasks.mma.order.split("_"), "dv")))


def arguments(spec: KeysSpec, facts: BackwardFacts) -> dict[str, Any]:
    """What the plan says of tcgen05: what must be in the SASS."""
    products = ("UTCQMMA", "UTCCP") if facts.scaled else ("UTCHMMA",)
    return {"expected_opcodes": (*products, "UTMALDG", "LDTM", "STTM", "UTMASTG", "UTMAREDG")}


def smem(spec: KeysSpec) -> int:
    """Bytes that the compiler allocates for captures and alignment."""
    return Sm100.captures + CAPTURED + PAIR_CAPTURED * spec.pair + MX_CAPTURED * spec.scaled


def roles(spec: KeysSpec, facts: BackwardFacts) -> tuple[Role, ...]:
    """The tasks. Those of one warp share a warpgroup, and its registers; the exponentials' task gets what is left."""
    tasks, compute = spec.tasks, spec.tasks.compute
    threads = compute.warps * Sm100.warp_threads
    keys, queries = facts.scores
    # P of a step in fp32, dS of it rounded, and the numbers of the columns at hand.
    held = facts.keys * facts.queries * 3 // 2 // threads + keys * queries // threads
    round_ = steps.Round(facts)
    return (
        Role("compute", compute.warps, round_.compute(), default=True, holds=Holds(held, WORKING_REGISTERS)),
        Role("reduce", Sm100.lanes_warps, round_.reduce(), registers=tasks.reduce.registers),
        Role("mma", tasks.mma.warps, round_.mma(), registers=tasks.mma.registers),
        Role("load", 1, round_.load(), registers=tasks.mma.registers),
        *([Role("relay", 1, round_.relay(), registers=tasks.mma.registers)] if facts.pair else []),
    )


def rings(spec: KeysSpec, facts: BackwardFacts, sizes: dict[str, Size]) -> tuple[Ring, ...]:
    """K, V: filled once. Q, dO and, for a softmax, the numbers of their rows: a slot a step. The round of a step, in
    tensor memory but for dS. Parts of dQ, dK, dV: on their way out."""
    fp32, one, order = DTYPES["fp32"], Size.literal(1), facts.order
    queries, keys, columns = (Size.literal(n) for n in (facts.queries, facts.keys, facts.head_dim))
    loads, used = Fill("load", "tma", ctas=facts.ctas), Drain("mma", by="commit")
    q_slots, do_slots = sizes["Q_STAGES"], sizes["DO_STAGES"]
    numbers = tuple(Tile(name, (queries,), fp32) for name in ("lse", "delta"))
    number_slots = Size.literal(NUMBERS) if facts.pair else q_slots
    once = (Drain("mma", by="once"),)
    own, half = Size.literal(facts.own), Size.literal(facts.head_dim // facts.ctas)

    def scales(name: str) -> tuple[Tile, ...]:
        return (mx.scale(name),) if facts.scaled else ()

    def of_columns(name: str, slots: Size) -> Iterator[Ring]:
        """The columns of all queries of a step that a CTA loads, for products that add up over these."""
        if facts.by_sequence:
            tile = Tile(f"{name}_columns", (queries, half), facts.dtype)
            yield Ring(tile.name, (tile, *scales(tile.name)), slots, loads, (used,))

    part = Tile("part", tuple(map(Size.literal, facts.part)), fp32, of="dq")
    grad = Tile("grad", tuple(map(Size.literal, facts.grad)), facts.out, of="dk")
    slots, stores = Size.literal(facts.dq_slots), Fill("reduce", "store")
    sums = tuple(Tile(name, (keys, columns), fp32) for name in ACCUMULATED)
    last = (Drain("reduce", by="once"),)
    own_numbers = Ring("numbers", numbers, number_slots, Fill("load", "tma"), (Drain("compute"),), spec.rings.empty)
    k_columns = Tile("k_columns", (keys * facts.ctas, half), facts.dtype, groups=facts.ctas)
    k_whole = (k_columns, *scales("k_columns"))

    def tile(name: str, rows: Size) -> tuple[Tile, ...]:
        return (Tile(name, (rows, columns), facts.dtype), *scales(name))

    return (
        *(Ring(name, tile(name, keys), one, loads, once, item=True) for name in "kv"),
        *([Ring("k_columns", k_whole, one, loads, once, item=True)] if facts.by_sequence else []),
        Ring("q", tile("q", own), q_slots, loads, (used,)),
        *of_columns("q", q_slots),
        *([own_numbers] if facts.softmax else []),
        Ring("do", tile("do", own), do_slots, loads, (used,)),
        *of_columns("do", do_slots),
        *_round(spec, facts, order),
        Ring("sums", sums, one, Fill("mma", "commit", ctas=facts.ctas), last, space="tmem", item=True),
        Ring("part", (part,), slots, stores, (), stores=facts.ctas),
        Ring("grad", (grad,), slots, stores, (), alias="part", reshaped=True),
    )


def _round(spec: KeysSpec, facts: BackwardFacts, order: Order) -> Iterator[Ring]:
    """The round of a step, in the order of hand-offs.

    S goes back with P in its place, dP with dS. P and dS go back with the next step's S or dP, where that is issued
    after the products that read them; else dS has a barrier of its own. dQ may lie where dP and dS lay, and is
    released by whoever has read it before the next dP; or beside P, and is released before the next S.
    """
    fp32, one = DTYPES["fp32"], Size.literal(1)
    # Of another CTA one thread tells the first: the others would each send an arrival there.
    empty: Literal["leader", "warp"] = "leader" if facts.pair else spec.rings.empty
    queries, keys, columns = (Size.literal(n) for n in (facts.queries, facts.keys, facts.head_dim))
    mma, compute = Fill("mma", "commit", ctas=facts.ctas), Fill("compute", "store", ctas=facts.ctas)
    scores = Tile("s", (keys, queries), fp32), Tile("dp", (keys, queries), fp32)
    weights = {name: Tile(name, (keys, queries), facts.dtype, of="q") for name in ("p", "ds_tmem", "ds")}

    def read_by_mma(ring: str, told: str, until: str = "") -> tuple[Drain, ...]:
        by_order = order.free_by(ring, told)
        return (Drain("mma", until=until, via=(told,)) if by_order else Drain("mma", until=until, by="commit"),)

    def over(parent: str, tile: Tile, fill: Fill, drains: tuple[Drain, ...]) -> Ring:
        place = Ring(tile.name, (tile,), one, fill, drains, empty, space="tmem")
        return replace(place, alias=parent, reshaped=True, slotwise=True)

    in_tmem, reuse = facts.ds_in_tmem, facts.dq_reuse
    told = "ds_tmem" if in_tmem else "ds"
    until = "ds_tmem" if in_tmem else "dq" if reuse else ""
    yield Ring("s", scores[:1], one, mma, (Drain("compute", until="p", via=("p",)),), space="tmem")
    place = over("s", weights["p"], compute, read_by_mma("p", "s"))
    yield replace(place, tiles=(*place.tiles, mx.factor("p"))) if facts.scaled else place
    behind_p, over_dp = mx.places(empty) if facts.scaled else (None, None)
    if behind_p:
        yield behind_p
    yield Ring("dp", scores[1:], one, mma, (Drain("compute", until=until, via=(told,)),), space="tmem")
    if in_tmem:
        yield over("dp", weights["ds_tmem"], compute, read_by_mma("ds_tmem", "dp", "dq" if reuse else ""))
    if over_dp:
        yield over_dp
    read = read_by_mma("ds", "dp")
    if facts.pair:
        yield _exchanged(facts, read)
    else:
        yield Ring("ds", (weights["ds"], *(mx.scales_of_ds() if facts.scaled else ())), one, compute, read, empty)
    own, half, lanes = (Size.literal(n) for n in (facts.own, facts.head_dim // facts.ctas, ROWS))
    dq = [Tile("dq", (own, columns), fp32, halved=facts.pair)]
    if facts.pair:
        dq.append(Tile("dq_lanes", (lanes, half), fp32, view=True))
    taken = (Drain("reduce", ctas=facts.ctas, at="leader" if facts.pair else "each"),)
    place = Ring("dq", tuple(dq), one, mma, taken, empty, space="tmem")
    over_what = {"dp": "ds_tmem" if in_tmem else "dp", "s": "s"}.get(facts.dq_place)
    if over_what:
        place = replace(place, alias=over_what, reshaped=True, slotwise=True, behind=over_what == "s")
    yield place


def _exchanged(facts: BackwardFacts, drains: tuple[Drain, ...]) -> Ring:
    """dS of a CTA's queries and the keys of both, half of which the other CTA sends: where it lies, and, for a bulk
    copy, from where. What is sent has arrived when the slot goes back, so that its place goes back with it."""
    keys, own = Size.literal(facts.keys), Size.literal(facts.own)
    tiles = [Tile("ds", (keys * facts.ctas, own), facts.dtype, groups=facts.ctas, of="q")]
    if facts.exchange == "copy":
        tiles.append(Tile("sent", (keys, own), facts.dtype, of="q"))
    fill = Fill("compute", "exchange", ctas=facts.ctas)
    return Ring("ds", tuple(tiles), Size.literal(1), fill, drains, rendezvous=facts.ctas, relay="relay")


def rules(spec: KeysSpec, facts: BackwardFacts) -> Iterator[Rule]:
    """What the order of products asks of the rings, and the lanes of tensor memory of the tile. Sums over the plan
    (SMEM, TMEM, ...) are in `plan`."""
    for name, parameter, stages in (("q", "Q_STAGES", spec.rings.q.stages), ("do", "DO_STAGES", spec.rings.do.stages)):
        held = facts.order.held(name)
        if held > 1:
            needed = f"products of {held} steps read the ring in turns, {held} slots are needed"
            yield Rule("q-ahead", at_least(Size.of(parameter, stages), held), f"{parameter} = {stages}: ", needed)
    for count, what in ((facts.keys, "keys a CTA"), (facts.queries, "queries of a step")):
        yield Rule("tcgen05-m", one_of(Size.literal(count), ROWS), f"{count} {what}; ", f"a product has {ROWS} rows")


def reasons(facts: BackwardFacts) -> Iterator[Reason]:
    """What tiles ask of a head, and the place that dP, dS and dQ share of the order of products."""
    order, d, dv = facts.order, facts.head_dim, facts.head_dim_v
    if d != dv:
        yield Reason("head-dim-v", f"head_dim_v = {dv}: rows of V are as long as those of K, head_dim = {d}")
    if facts.dq_reuse and facts.ds_in_tmem and not order.precedes("dk", "dq"):
        yield Reason("order", "dQ takes the place of dS, which the product for dK reads: dK comes before dQ")
    if facts.dq_place == "s" and order.precedes("dq", "dp", later=1):
        text = "dQ waits for the next step's P, beside which it lies: dP, which need not wait, comes before"
        yield Reason("order", text)
    if facts.dq_reuse and not order.precedes("dq", "dp", later=1):
        yield Reason("order", "dQ takes the place of dP: it comes before the dP of the next step")
    if not order.precedes("dk", "dp", later=1) and facts.ds_in_tmem:
        yield Reason(
            "order", "dS lies in the place of dP: the product for dK, which reads it, comes before the next dP"
        )
