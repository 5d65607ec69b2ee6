"""The roles and rings of a GEMM on Blackwell: one warp issues tcgen05, the accumulators lie in tensor memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tlxgen.arch import DTYPES, Sm100
from tlxgen.plan import Barrier, Drain, Fill, Reason, Ring, Role, Size, Tile, Use, hand_out

from .facts import GemmFacts
from .ops import OPS
from .spec import GemmSpec

SWIZZLED_ROWS = 8  # "ttng.tmem_copy op: The source should not be swizzled for now" [compiler]
WORKING_REGISTERS = 40  # a thread, beside the accumulator: addresses, counters, fragments (read off ptxas reports)
EPILOGUE_WARPS = 4  # a warp reads the 32 lanes of TMEM that are its own [ptx: tcgen05.ld]


def arguments(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> dict[str, Any]:
    """What the plan says of tcgen05: who holds a subtile of the accumulator in registers, and what the SASS has."""
    held = facts.rows.value * facts.columns.value // (EPILOGUE_WARPS * Sm100.warp_threads)
    return {
        "turns": (),
        "accumulator_role": "epilogue",
        "accumulator_registers": held if facts.tma_store else 2 * held,  # on its way to the layout of the store
        "working_registers": WORKING_REGISTERS,
        "expected_opcodes": _opcodes(facts),
        "source_barriers": _source_barriers(facts),
        "compiler_tmem": () if facts.scale_columns else _scale_columns(facts),
    }


def _scale_columns(facts: GemmFacts) -> tuple[Use, ...]:
    """Where the compiler copies MX scales to, before each product: 4 columns for a packed block of 512 bytes."""
    return tuple(Use(s.name, s.tile.bytes.value // 512 * 4) for s in facts.scales)


def consumers(possible: Sequence[Role], guards: Mapping[str, bool], baked: Mapping[str, int | bool], ctas: int) -> Size:
    """How many tasks read each answer of cluster launch control: all of them, in all CTAs of the cluster.

    Tasks whose guard is a constant of the source are counted or not; an open guard counts as the number that it is.
    """
    always = sum(r.replicas for r in possible if r.guard is None or (r.guard in baked and guards[r.guard]))
    count = Size.literal(always)
    for role in possible:
        if role.guard and role.guard not in baked:
            count = count + Size.of(role.guard, int(guards[role.guard]))
    return count * ctas


def _source_barriers(facts: GemmFacts) -> tuple[Barrier, ...]:
    if not facts.clc:
        return ()
    who = "every task" + (f" of {facts.cluster} CTAs" if facts.cluster > 1 else "")
    return hand_out("clc", facts.consumers.value, who)


def roles(spec: GemmSpec, facts: GemmFacts, optional: frozenset[str]) -> tuple[Role, ...]:
    """The tasks of a variant that has the `optional` ones. One-warp tasks share a warpgroup, and its registers."""
    mma, tasks = spec.tasks.mma, spec.tasks
    tiles = "a and b tiles" if spec.rings.ab.full == "shared" else "a tiles and b tiles apart"
    output = f"C in {facts.subtiles} subtiles"
    store = f"store {output} by TMA" if facts.tma_store else f"store {output} from registers"
    store = f"publish {output}" if "store" in optional else store
    drain = ("wait for an accumulator", "load it subtile by subtile", "release it")
    multiply = (
        "acquire an accumulator",
        "wait for a slot",
        "tcgen05 on it, which releases it",
        "commit the accumulator",
    )
    roles = [
        Role("epilogue", EPILOGUE_WARPS, (*drain, *(OPS[op].meaning for op in facts.ops), store), default=True),
        Role("mma", mma.warps, multiply, registers=mma.registers),
        Role("load", 1, ("acquire a slot", f"load {tiles}"), registers=mma.registers),
    ]
    if "store" in optional and tasks.epilogue:
        registers = tasks.epilogue.registers if mma.registers else None  # setmaxnreg: all tasks or none
        steps = ("wait for a subtile", "store it by TMA", "release it")
        roles.append(Role("store", tasks.epilogue.warps, steps, registers=registers, guard=facts.store_guard))
    if "scheduler" in optional:
        ask = ("ask for a tile", "read which it is")
        roles.append(Role("scheduler", 1, ask, registers=mma.registers, guard=facts.scheduler_guard))
    return tuple(roles)


def rings(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size], optional: frozenset[str]) -> tuple[Ring, ...]:
    """The operands' rings, that of the accumulators in TMEM, and the staging of C."""
    leader = facts.protocol == "leader"
    made: list[Ring] = []
    for name in dict.fromkeys(o.ring for o in facts.loads):
        tiles = tuple(o.tile for o in facts.loads if o.ring == name)
        fill, drain = Fill("load", "tma", ctas=2 if leader else 1), Drain("mma", by="commit")
        rendezvous = 2 if facts.protocol == "rendezvous" and not made else 0  # one tells of all operands
        made.append(Ring(name, tiles, sizes["STAGES"], fill, (drain,), rendezvous=rendezvous))
    accumulator = Tile("acc", (sizes["BLOCK_M"], sizes["BLOCK_N"]), DTYPES["fp32"], facts.row_groups)
    made.append(
        Ring(
            "acc",
            (accumulator,),
            sizes["ACC_STAGES"],
            Fill("mma", "commit"),
            (Drain("epilogue", ctas=2, at="leader") if leader else Drain("epilogue"),),
            spec.rings.acc.empty,
            space="tmem",
        )
    )
    if facts.scale_columns:
        made.append(Ring("scale", _factors(sizes), sizes["STAGES"], Fill("mma", "copy"), (), space="tmem"))
    if facts.tma_store:
        drains = (Drain("store"),) if "store" in optional else ()
        staged = (facts.staged,)
        made.append(Ring("c", staged, sizes["C_STAGES"], Fill("epilogue", "store"), drains, spec.rings.c.empty))
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


def rules(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> list[Reason]:
    """What tcgen05 asks of the numbers."""
    rows, n, reasons = facts.rows.value, spec.tile.n, list[Reason]()
    legal = Sm100.mma_pair_m if facts.pair else Sm100.mma_m
    if rows not in legal:
        who = "two CTAs multiply" if facts.pair else "tcgen05 multiplies"
        text = f"{rows} rows a group ({facts.rows.text}); {who} {' or '.join(map(str, legal))} each"
        reasons.append(Reason("tcgen05-m", text))
    least = Sm100.mma_n_min * (2 if facts.pair else 1)
    if not least <= n <= Sm100.mma_n_max:
        reasons.append(Reason("tcgen05-n", f"BLOCK_N = {n}, tcgen05 takes {least} to {Sm100.mma_n_max}"))
    if spec.tile.k * facts.a.k_bytes < Sm100.mma_k_bytes:
        reasons.append(Reason("tcgen05-k", f"BLOCK_K = {spec.tile.k}, one tcgen05 takes {Sm100.mma_k_bytes} B of K"))
    unit = {"rows a group": (rows, Sm100.mx_rows), "BLOCK_N": (n, Sm100.mx_rows), "BLOCK_K": (spec.tile.k, Sm100.mx_k)}
    for what, (extent, whole) in unit.items() if facts.scales else ():
        if extent % whole:
            reasons.append(Reason("mx", f"{what} = {extent}; MX scales come in blocks of {whole}"))
    return [*reasons, *_swizzled(facts)]


def _swizzled(facts: GemmFacts) -> Iterator[Reason]:
    """Scales that fbtriton 3.7.4 would swizzle in SMEM, where its own tmem_copy then cannot read them."""
    for scales in facts.scales if facts.scale_columns else ():
        rows = scales.tile.bytes.value // 256
        if rows >= SWIZZLED_ROWS:
            text = f"a tile of {scales.name} has {rows} rows of 256 B; tmem_copy takes less than {SWIZZLED_ROWS}"
            yield Reason("mx", text)
