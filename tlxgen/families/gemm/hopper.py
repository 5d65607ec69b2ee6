"""The roles and rings of a GEMM on Hopper: consumers issue wgmma and hold the accumulator in registers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tlxgen.arch import DTYPES, Sm90
from tlxgen.plan import Drain, Fill, Reason, Ring, Role, Size, Tile, Turn

from .facts import GemmFacts
from .ops import OPS, Held
from .spec import GemmSpec

# One wgmma m64nNk16 holds N / 2 accumulator registers a thread; ptxas (C7602) asks for 26 more at the kernel's own
# register target, whatever setmaxnreg grants later.
INSTRUCTION_REGISTERS = 26

# Registers a thread beside the accumulator, by where compiles begin to spill (benchmarks/registers.py).
MAIN_LOOP = 26  # addresses, counters, barriers
SPLIT = 2.05  # for a block of 64 rows, where the sums over a part of K may be stored instead
HELPED = 8  # where a helper's sums are added
ADDING = 80  # in all, of a producer that adds up parts of tiles


def arguments(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> dict[str, Any]:
    """What the plan says of wgmma: who holds the accumulator, in how many registers, and what must be in the SASS."""
    mma = spec.tasks.mma
    return {
        "turns": _turns(spec, facts),
        "accumulator_role": "mma" if spec.tasks.specialized else "gemm",
        "accumulator_registers": (1 + facts.promote) * facts.rows.value * sizes["BLOCK_N"].value // (mma.warps * 32),
        "working_registers": math.ceil(MAIN_LOOP + _epilogue_registers(spec, facts)),
        "instruction_registers": sizes["BLOCK_N"].value // 2 + INSTRUCTION_REGISTERS,
        "expected_opcodes": _opcodes(facts),
    }


def _epilogue_registers(spec: GemmSpec, facts: GemmFacts) -> float:
    """About how many registers a thread needs for a subtile on its way from the accumulator to C, beside its own."""
    warpgroups = spec.tasks.mma.warps // Sm90.warpgroup_warps
    threads = spec.tasks.mma.warps * Sm90.warp_threads
    rows, columns = facts.rows.value, facts.columns.value
    held = Held(rows * columns // threads, columns, rows // (Sm90.wgmma_m * warpgroups))
    ops = facts.ops if spec.schedule.split_k == 1 else ()  # else the reduction applies them
    registers = sum(OPS[op].registers(held) for op in ops)
    if not facts.tma_store:  # through SMEM to a layout whose rows are contiguous in memory
        registers += held.elements / 12 + 1.5 * held.blocks + 0.5 * bool(ops)
    return registers + (HELPED if facts.helped else SPLIT * held.blocks if facts.tail else 0)


def roles(spec: GemmSpec, facts: GemmFacts, optional: frozenset[str]) -> tuple[Role, ...]:
    """The tasks of a variant that has the `optional` ones."""
    mma = spec.tasks.mma
    tiles = "a and b tiles" if spec.rings.ab.full == "shared" else "a tiles and b tiles apart"
    output = f"C in {facts.subtiles} subtiles"
    store = f"store {output} by TMA" if facts.tma_store else f"store {output} from registers"
    if facts.cut_tail:
        store += f", of a part of K its sums in {facts.sum_slices} slices"
    exchange = ("send each CTA of the cluster its columns", "add up what came from each") if facts.cluster_k > 1 else ()
    epilogue = (*exchange, *(OPS[op].meaning for op in facts.ops), store)
    products = ("wgmma on it", "add its products") if facts.promote else ("wgmma on it",)
    multiply = ("wait for a slot", *products, "release the slot before" if facts.in_flight else "release it")
    if not spec.tasks.specialized:
        steps = ("acquire a slot", f"load {tiles}", *multiply, *epilogue)
        return (Role("gemm", mma.warps, steps, default=True),)
    order = ("wait for its turn", *multiply, "hand the turn on") if facts.pingpong else multiply
    if "store" in optional:
        epilogue = (*epilogue[:-1], f"publish {output}")
    after = ["wait for a helper's mark", "load its sums"] if facts.helped else []
    after += ["add up a share of a tile that was left over"] if facts.tail else []
    roles = [
        Role("load", 4, ("acquire a slot", f"load {tiles}", *after), default=True),
        Role("mma", mma.warps, (*order, *epilogue), registers=mma.registers, replicas=facts.replicas),
    ]
    if "store" in optional and spec.tasks.epilogue:
        registers = spec.tasks.epilogue.registers if mma.registers else None  # setmaxnreg: all tasks or none
        steps = ("wait for a subtile", "store it by TMA", "release it")
        roles.append(Role("store", spec.tasks.epilogue.warps, steps, registers=registers, guard=facts.store_guard))
    return tuple(roles)


def rings(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size], optional: frozenset[str]) -> tuple[Ring, ...]:
    """The rings between them."""
    filler, consumer = ("load", "mma") if spec.tasks.specialized else ("gemm", "gemm")
    # Cooperating replicas all read a slot; of pingpong replicas, one does. A multicast slot is read in both CTAs.
    rings = []
    for name in dict.fromkeys(o.ring for o in facts.operands):
        members = [o for o in facts.operands if o.ring == name]
        ctas = facts.cluster if any(o.multicast for o in members) else 1
        drain = Drain(consumer, replicas=facts.row_groups, ctas=ctas)
        tiles = tuple(o.tile for o in members)
        rings.append(Ring(name, tiles, sizes["STAGES"], Fill(filler, "tma"), (drain,), spec.rings.ab.empty))
    if facts.cluster_k > 1:
        rings.append(_parts(facts, sizes, consumer))
    if facts.tma_store:
        tile = facts.staged
        drains = (Drain("store"),) if "store" in optional else ()
        fill = Fill(consumer, "store")
        c = Ring("c", (tile,), sizes["C_STAGES"], fill, drains, spec.rings.c.empty, banks=facts.replicas)
        rings.append(c)
        if facts.sums:
            rings.append(replace(c, name="sums", tiles=(facts.sums,), alias="c", reshaped=True))
    return tuple(rings)


def _parts(facts: GemmFacts, sizes: dict[str, Size], consumer: str) -> Ring:
    """The parts of a CTA's sums, one from each CTA of the cluster; filled once where a CTA has one tile."""
    tile = Tile("part", (facts.rows, sizes["BLOCK_N"]), DTYPES["fp32"], groups=facts.cluster_k, axis=1)
    drains = (Drain(consumer, ctas=facts.cluster_k),) if facts.persistent else ()
    fill = Fill(consumer, "remote", ctas=facts.cluster_k)
    return Ring("part", (tile,), Size.literal(1), fill, drains, banks=facts.replicas)


def _turns(spec: GemmSpec, facts: GemmFacts) -> tuple[Turn, ...]:
    if not facts.pingpong:
        return ()
    return (Turn("mma_turn", "mma", spec.tasks.mma.order, facts.replicas),)


def _opcodes(facts: GemmFacts) -> tuple[str, ...]:
    """What must be in the SASS: tensor core products, TMA loads and, unless C is stored from registers, TMA stores."""
    product = "QGMMA" if facts.a.tile.dtype.is_fp8 else "HGMMA"
    return (product, "UTMALDG", *(("UTMASTG",) if facts.tma_store else ()))


def rules(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> list[Reason]:
    """What wgmma and its pipeline ask of the numbers."""
    arch, mma, reasons = Sm90, spec.tasks.mma, list[Reason]()
    rows, n = facts.rows.value, spec.tile.n
    least = arch.wgmma_m * mma.warps // arch.warpgroup_warps
    if rows < least:
        reasons.append(Reason("wgmma-m", f"{rows} rows a replica ({facts.rows.text}); {mma.warps} warps need {least}"))
    if not arch.wgmma_n_min <= n <= arch.wgmma_n_max:
        reasons.append(Reason("wgmma-n", f"BLOCK_N = {n}, wgmma takes {arch.wgmma_n_min} to {arch.wgmma_n_max}"))
    if spec.tile.k * facts.a.tile.dtype.bytes < arch.wgmma_k_bytes:
        reasons.append(Reason("wgmma-k", f"BLOCK_K = {spec.tile.k}, one wgmma takes {arch.wgmma_k_bytes} B of K"))
    if spec.rings.ab.stages <= facts.in_flight:
        text = f"STAGES = {spec.rings.ab.stages} with {facts.in_flight} wgmma in flight: no slot is left to load into"
        reasons.append(Reason("ring-depth", text))
    if facts.tail and facts.producer_registers < ADDING:
        text = f"load adds up parts of tiles and needs {ADDING} registers a thread; it gets {facts.producer_registers}"
        text += f", as mma asks for {mma.registers}"
        reasons.append(Reason("registers", text))
    if not spec.tasks.specialized and spec.rings.ab.stages == 1:
        text = "STAGES = 1 in the un-specialised form: its one task loads a slot ahead of the one that it multiplies"
        reasons.append(Reason("ring-depth", text))
    return reasons
