"""The roles and rings of a GEMM on Blackwell: one warp issues tcgen05, the accumulators lie in tensor memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tlxgen.arch import DTYPES, Sm100
from tlxgen.plan import Drain, Fill, Holds, Reason, Ring, Role, Rule, Size, Tile, Use
from tlxgen.plan.rule import at_least, between, multiple_of, one_of

from . import steps
from .facts import GemmFacts
from .spec import GemmSpec

SWIZZLED_ROWS = 8  # "ttng.tmem_copy op: The source should not be swizzled for now" [compiler]
WORKING_REGISTERS = 40  # a thread, beside the accumulator: addresses, counters, fragments (read off ptxas reports)


def arguments(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> dict[str, Any]:
    """What the plan says of tcgen05: what the SASS has, who hands out work, and what the compiler takes of TMEM."""
    return {
        "turns": (),
        "expected_opcodes": _opcodes(facts),
        "compiler_tmem": () if facts.scale_columns else _scale_columns(facts),
    }


def _holds(facts: GemmFacts) -> Holds:
    """The registers of the epilogue: a subtile of the accumulator, twice on its way to the layout of a direct store."""
    held = facts.rows.value * facts.columns.value // (Sm100.lanes_warps * Sm100.warp_threads)
    return Holds(held if facts.tma_store else 2 * held, WORKING_REGISTERS)


def _scale_columns(facts: GemmFacts) -> tuple[Use, ...]:
    """Where the compiler copies MX scales to, before each product: 4 columns for a packed block of 512 bytes."""
    return tuple(Use(s.name, s.tile.bytes.value // 512 * 4) for s in facts.scales)


def roles(spec: GemmSpec, facts: GemmFacts, optional: frozenset[str]) -> tuple[Role, ...]:
    """The tasks of a variant that has the `optional` ones. One-warp tasks share a warpgroup, and its registers."""
    mma, tasks = spec.tasks.mma, spec.tasks
    roles = [
        Role("epilogue", Sm100.lanes_warps, steps.epilogue(facts), default=True, holds=_holds(facts)),
        Role("mma", mma.warps, steps.tcgen05(facts), registers=mma.registers),
        Role("load", 1, steps.load(facts), registers=mma.registers),
    ]
    if "store" in optional and tasks.epilogue:
        registers = tasks.epilogue.registers if mma.registers else None  # setmaxnreg: all tasks or none
        store = steps.store(facts)
        roles.append(Role("store", tasks.epilogue.warps, store, registers=registers, guard=facts.store_guard))
    if "scheduler" in optional:
        ask = steps.scheduler(facts)
        roles.append(Role("scheduler", 1, ask, registers=mma.registers, guard=facts.scheduler_guard))
    return tuple(roles)


def rings(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size], optional: frozenset[str]) -> tuple[Ring, ...]:
    """The operands' rings, that of the accumulators in TMEM, and the staging of C."""
    leader = facts.protocol == "leader"
    made: list[Ring] = []
    for name in dict.fromkeys(o.ring for o in facts.loads):
        tiles = tuple(o.tile for o in facts.loads if o.ring == name)
        fill, drain = Fill("load", "tma", ctas=facts.cluster if leader else 1), Drain("mma", by="commit")
        rendezvous = facts.cluster if facts.protocol == "rendezvous" and not made else 0  # one tells of all operands
        made.append(Ring(name, tiles, sizes["STAGES"], fill, (drain,), rendezvous=rendezvous))
    accumulator = Tile("acc", (sizes["BLOCK_M"], sizes["BLOCK_N"]), DTYPES["fp32"], facts.row_groups)
    made.append(
        Ring(
            "acc",
            (accumulator,),
            sizes["ACC_STAGES"],
            Fill("mma", "commit"),
            (Drain("epilogue", ctas=facts.cluster, at="leader") if leader else Drain("epilogue"),),
            spec.rings.acc.empty,
            space="tmem",
        )
    )
    if facts.scale_columns:
        made.append(Ring("scale", _factors(sizes), sizes["STAGES"], Fill("mma", "copy"), (), space="tmem"))
    if facts.tma_store:
        drains = (Drain("store"),) if "store" in optional else ()
        fill, empty = Fill("epilogue", "store"), spec.rings.c.empty
        made.append(Ring("c", (facts.staged,), sizes["C_STAGES"], fill, drains, empty, guard=facts.store_guard))
    return tuple(made)


def _factors(sizes: dict[str, Size]) -> tuple[Tile, Tile]:
    """The scales of a slot in tensor memory: those of a CTA's rows of A, and of all columns of B."""
    along_k, e8m0 = sizes["BLOCK_K"] // Sm100.mx_block, DTYPES["e8m0"]
    return Tile("a_factor", (sizes["BLOCK_M"], along_k), e8m0), Tile("b_factor", (sizes["BLOCK_N"], along_k), e8m0)


def _opcodes(facts: GemmFacts) -> tuple[str, ...]:
    """What must be in the SASS: products, copies of scales, loads, stores by TMA, requests for tiles."""
    wide, packed = facts.a.tile.dtype.bits > 8, all(o.packed for o in facts.operands)
    product = "UTCHMMA" if wide else "UTCOMMA" if packed else "UTCQMMA"
    store = ("UTMASTG",) if facts.tma_store else ()
    copies = ("UTCCP",) if facts.scales else ()
    return (product, *copies, "UTMALDG", "LDTM", *store, *(("UGETNEXTWORKID",) if facts.clc else ()))


def rules(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> Iterator[Rule]:
    """What tcgen05 asks of the sizes."""
    rows, n, k = facts.rows, sizes["BLOCK_N"], sizes["BLOCK_K"]
    legal = Sm100.mma_pair_m if facts.pair else Sm100.mma_m
    needed = f"{'two CTAs multiply' if facts.pair else 'tcgen05 multiplies'} {' or '.join(map(str, legal))} rows each"
    yield Rule("tcgen05-m", one_of(rows, *legal), f"{rows.value} rows a group ({rows.text}); ", needed)
    least, most = Sm100.mma_n_min * (2 if facts.pair else 1), Sm100.mma_n_max
    yield Rule("tcgen05-n", between(n, least, most), f"BLOCK_N = {n.value}, ", f"tcgen05 takes {least} to {most}")
    deep = at_least(k, int(Sm100.mma_k_bytes / facts.a.k_bytes))
    yield Rule("tcgen05-k", deep, f"BLOCK_K = {k.value}, ", f"one tcgen05 takes {Sm100.mma_k_bytes} B of K")
    blocks = {"rows a group": (rows, Sm100.mx_rows), "BLOCK_N": (n, Sm100.mx_rows), "BLOCK_K": (k, Sm100.mx_k)}
    for what, (extent, unit) in blocks.items() if facts.scales else ():
        found = f"{what} = {extent.value}; "
        yield Rule("mx", multiple_of(extent, unit), found, f"MX scales come in blocks of {unit}")


def reasons(spec: GemmSpec, facts: GemmFacts) -> Iterator[Reason]:
    """Scales that fbtriton 3.7.4 would swizzle in SMEM, where its own tmem_copy then cannot read them."""
    for scales in facts.scales if facts.scale_columns else ():
        rows = scales.tile.bytes.value // 256
        if rows >= SWIZZLED_ROWS:
            text = f"a tile of {scales.name} has {rows} rows of 256 B; tmem_copy takes less than {SWIZZLED_ROWS}"
            yield Reason("mx", text)
