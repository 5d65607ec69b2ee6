"""The roles and rings of a GEMM on Hopper: consumers issue wgmma and hold the accumulator in registers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tlxgen.arch import DTYPES, Sm90
from tlxgen.plan import Drain, Fill, Holds, Reason, Ring, Role, Rule, Size, Tile, Turn, Work
from tlxgen.plan.pieces import form
from tlxgen.plan.rule import at_least, between, multiple_of

from . import steps
from .facts import GemmFacts, Operand
from .ops import OPS, Held
from .spec import GemmSpec

# Registers a thread beside the accumulator, by where compiles begin to spill (benchmarks/registers.py).
MAIN_LOOP = 26  # addresses, counters, barriers
SPLIT = 2.05  # for a block of 64 rows, where the sums over a part of K may be stored instead
HELPED = 8  # where a helper's sums are added
DRAWN_AHEAD = 4  # tiles
ADDING = 80  # in all, of a producer that adds up parts of tiles


def arguments(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> dict[str, Any]:
    """What the plan says of wgmma: who takes turns, what one instruction needs, and what must be in the SASS."""
    return {
        "turns": _turns(spec, facts),
        "instruction_registers": Sm90.wgmma_registers(_instruction(facts)),
        "expected_opcodes": _opcodes(facts),
        "builder": _builder(facts),
    }


def _instruction(facts: GemmFacts) -> int:
    """Columns of the widest wgmma."""
    return facts.width.value if facts.whole else facts.pieces[0].extent.value


def _builder(facts: GemmFacts) -> tuple[str, ...]:
    """What the source asks of the compiler's builder beside the operations of tlx."""
    if facts.whole:
        return ("create_inline_asm", "create_require_layout")
    return ("make_nv_mma_encoding_attr",) if facts.narrow else ()


def _holds(spec: GemmSpec, facts: GemmFacts) -> Holds:
    """The registers of who multiplies: all sums of its rows, the products of a slot or two if these are promoted, and
    what the epilogue works with."""
    columns = spec.tile.n // facts.row_groups if facts.exchange else spec.tile.n
    sums = (1 + facts.promote + facts.paired) * facts.rows.value * columns
    working = math.ceil(MAIN_LOOP + _epilogue_registers(spec, facts))
    return Holds(sums // (spec.tasks.mma.warps * Sm90.warp_threads), working)


def _epilogue_registers(spec: GemmSpec, facts: GemmFacts) -> float:
    """About how many registers a thread needs for a subtile on its way from the accumulator to C, beside its own."""
    warpgroups = spec.tasks.mma.warps // Sm90.warpgroup_warps
    threads = spec.tasks.mma.warps * Sm90.warp_threads
    rows, columns = facts.stored_rows.value, facts.columns.value
    blocks = max(rows // (Sm90.wgmma_m * warpgroups), 1)
    held = Held(rows * columns // threads, columns, blocks)
    ops = facts.ops if spec.schedule.split_k == 1 else ()  # else the reduction applies them
    registers = sum(OPS[op].registers(held) for op in ops)
    if not facts.tma_store:  # through SMEM to a layout whose rows are contiguous in memory
        registers += held.elements / 12 + 1.5 * held.blocks + 0.5 * bool(ops)
    return registers + (HELPED if facts.helped else SPLIT * held.blocks if facts.tail else 0)


def roles(spec: GemmSpec, facts: GemmFacts, optional: frozenset[str]) -> tuple[Role, ...]:
    """The tasks of a variant that has the `optional` ones."""
    mma = spec.tasks.mma
    if not spec.tasks.specialized:
        held, whole = _holds(spec, facts), steps.pipelined(facts)
        return (Role("gemm", mma.warps, whole, default=True, in_flight=facts.in_flight, holds=held),)
    roles = [
        Role("load", spec.tasks.load.warps, steps.load(facts), default=True),
        Role(
            "mma",
            mma.warps,
            steps.wgmma(facts, mma.order if facts.pingpong or facts.pairs_in_turn else ""),
            registers=mma.registers,
            replicas=facts.replicas,
            in_flight=facts.in_flight,
            holds=_holds(spec, facts),
        ),
    ]
    if "store" in optional and spec.tasks.epilogue:
        registers = spec.tasks.epilogue.registers if mma.registers else None  # setmaxnreg: all tasks or none
        store = steps.store(facts)
        roles.append(Role("store", spec.tasks.epilogue.warps, store, registers, guard=facts.store_guard))
    return tuple(roles)


def rings(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size], optional: frozenset[str]) -> tuple[Ring, ...]:
    """The rings between them."""
    filler, consumer = ("load", "mma") if spec.tasks.specialized else ("gemm", "gemm")
    # Cooperating replicas all read a slot; of pingpong replicas, one does.
    rings = []
    for name in dict.fromkeys(o.ring for o in facts.operands):
        members = [o for o in facts.operands if o.ring == name]
        ctas, others = _released_to(facts, members)
        drain = Drain(consumer, replicas=facts.row_groups, ctas=ctas, others=others)
        tiles = tuple(tile for o in members for tile in o.tiles)
        if facts.block_scales and name == facts.scaled_ring:
            tiles = (*tiles, _scales_of_a(facts, sizes))
        fill = Fill(filler, "async" if members[0] in facts.copied else "tma")
        ring = Ring(name, tiles, sizes["STAGES"], fill, (drain,), spec.rings.ab.empty)
        rings.append(ring)
        if facts.rest and facts.a in members:
            rings.append(replace(ring, name="rest", tiles=(facts.rest,), alias=name, over="a", slotwise=True))
    if facts.drawn:
        rings.append(_numbers(facts, filler, consumer, "store" in optional))
    if facts.cluster_k > 1:
        rings.append(_parts(facts, sizes, consumer))
    if facts.tma_store:
        tile = facts.staged
        drains = (Drain("store"),) if "store" in optional else ()
        fill = Fill(consumer, "store")
        guard, empty = facts.store_guard, spec.rings.c.empty
        c = Ring("c", (tile,), sizes["C_STAGES"], fill, drains, empty, banks=facts.replicas, guard=guard)
        rings.append(c)
        if facts.sums:
            rings.append(replace(c, name="sums", tiles=(facts.sums,), alias="c", reshaped=True, slotwise=True))
        for tile in facts.staged_rest:
            rings.append(replace(c, name=tile.name, tiles=(tile,), alias="c", reshaped=True, slotwise=True))
    return tuple(rings)


def _released_to(facts: GemmFacts, members: Sequence[Operand]) -> tuple[int, tuple[int, ...]]:
    """How many CTAs hear that a slot of some operands is released, and which: those that share a multicast operand.

    Where a slot has two, along an axis of the cluster each, all CTAs hear of it. With its row and its column alone, a
    CTA would count the arrival of one that is a round ahead for that of another that still reads, since the loads of
    the one wait for none of the other's. Each then has the same arrivals, and the first to count them all has them
    from every CTA.
    """
    shared = [sharing for o in members if (sharing := facts.sharing(o))]
    if len(shared) == 1:
        return shared[0].ctas, shared[0].others
    return (facts.cluster, ()) if shared else (1, ())


def _scales_of_a(facts: GemmFacts, sizes: dict[str, Size]) -> Tile:
    """The scales of a tile's rows of A in a slot's block of K, which the producer copies."""
    rows, beside_tma = (sizes["BLOCK_M"],), not facts.copied
    return Tile("a_scale", rows, DTYPES["fp32"], facts.row_groups, internal=True, copied=beside_tma)


def _numbers(facts: GemmFacts, filler: str, consumer: str, stored: bool) -> Ring:
    """The tiles that the producer has drawn, which is a ring of operands ahead: some tiles of a short K."""
    work = Work("grouped" if facts.groups and facts.groups.searched else "dynamic")
    told = tuple(Tile(name, (Size.literal(1),), DTYPES["i32"], internal=True) for name in work.told)
    drains = (Drain(consumer, replicas=facts.row_groups), *([Drain("store")] if stored else []))
    return Ring("item", told, Size.literal(DRAWN_AHEAD), Fill(filler, "store"), drains, item=True)


def _parts(facts: GemmFacts, sizes: dict[str, Size], consumer: str) -> Ring:
    """The parts of a CTA's sums, one from each CTA of the cluster; filled once where a CTA has one tile."""
    tile = Tile("part", (facts.rows, sizes["BLOCK_N"]), DTYPES["fp32"], groups=facts.cluster_k, axis=1)
    drains = (Drain(consumer, ctas=facts.cluster_k),) if facts.persistent else ()
    fill = Fill(consumer, "remote", ctas=facts.cluster_k)
    return Ring("part", (tile,), Size.literal(1), fill, drains, banks=facts.replicas, item=True)


def _turns(spec: GemmSpec, facts: GemmFacts) -> tuple[Turn, ...]:
    if not facts.pingpong and not facts.pairs_in_turn:
        return ()
    return (Turn("mma_turn", "mma", spec.tasks.mma.order, facts.replicas),)


def _opcodes(facts: GemmFacts) -> tuple[str, ...]:
    """What must be in the SASS: tensor core products, TMA loads and, unless C is stored from registers, TMA stores."""
    product = "QGMMA" if facts.a.tile.dtype.is_fp8 else "HGMMA"
    loads = ("UTMALDG",) if facts.by_tma else ()  # how wide copies are is known at the launch
    return (product, *loads, *(("UTMASTG",) if facts.tma_store else ()))


def rules(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> Iterator[Rule]:
    """What wgmma and its pipeline ask of the sizes."""
    arch, warps, rows = Sm90, spec.tasks.mma.warps, facts.rows
    n, k, stages = facts.pieces[-1].extent, sizes["BLOCK_K"], sizes["STAGES"]
    least = arch.wgmma_m * warps // arch.warpgroup_warps
    kind, shared = "rows", "BLOCK_N"
    if facts.exchange:
        rows, kind, shared = facts.columns, "columns", "BLOCK_M"
    found = f"{rows.value} {kind} a replica ({rows.text}); "
    yield Rule("wgmma-m", at_least(rows, least), found, f"{warps} warps need {least} {kind}")
    n = facts.width if facts.whole else n
    least = arch.wgmma_n_narrow if facts.narrow or facts.whole else arch.wgmma_n_min
    yield Rule(
        "wgmma-n",
        between(n, least, arch.wgmma_n_max),
        f"{n.text} = {n.value}, ",
        f"wgmma takes {least} to {arch.wgmma_n_max}",
    )
    if len(facts.pieces) > 1:
        extent = sizes[shared].value
        whole = multiple_of(sizes[shared], extent // n.value)
        kind = "rows" if facts.exchange else "columns"
        yield Rule("wgmma-n", whole, f"{shared} = {extent}, ", f"products share the {kind} by {form(extent)}")
    deep = at_least(k, arch.wgmma_k_bytes // facts.a.tile.dtype.bytes)
    yield Rule("wgmma-k", deep, f"BLOCK_K = {k.value}, ", f"one wgmma takes {arch.wgmma_k_bytes} B of K")
    if facts.paired:
        held = "products of two slots are under way"
        yield Rule("ring-depth", at_least(stages, 2), f"STAGES = {stages.value}: ", held)
    if facts.in_flight:
        flying = f"{facts.in_flight} wgmma in flight: no slot is left to load into"
        yield Rule("ring-depth", at_least(stages, facts.in_flight + 1), f"STAGES = {stages.value} with ", flying)
    if not spec.tasks.specialized:
        ahead = "the un-specialised form: its one task loads a slot ahead of the one that it multiplies"
        yield Rule("ring-depth", at_least(stages, 2), f"STAGES = {stages.value} in ", ahead)
    if facts.pointers:
        ahead = "a slot is published when half of the ring has been asked for, and released a product later"
        yield Rule("ring-depth", at_least(stages, 2 + facts.in_flight), f"STAGES = {stages.value}: ", ahead)


def reasons(spec: GemmSpec, facts: GemmFacts) -> Iterator[Reason]:
    """What the tasks ask of each other beside."""
    if facts.tail and facts.adder_registers < ADDING:
        who = "mma" if facts.mma_adds else "load"
        text = f"{who} adds up parts of tiles and needs {ADDING} registers a thread; it gets {facts.adder_registers}"
        text += f", as mma asks for {spec.tasks.mma.registers}"
        yield Reason("registers", text)
