"""The roles and rings of forward attention on Hopper: consumers issue wgmma and hold scores and O in registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tlxgen.arch import DTYPES, Sm90
from tlxgen.families.attention.common import WORKING_REGISTERS
from tlxgen.plan import Drain, Fill, Holds, Ring, Role, Rule, Size, Tile, Turn
from tlxgen.plan.rule import between, one_of

from . import steps
from .facts import AttentionFacts
from .spec import ForwardSpec

DRAWN_SCRATCH = 128  # bytes of an item's number on its way to the threads of a task
DRAWN_AHEAD = 4  # items
ROW_SCRATCH = 4  # bytes a row: the statistics of a tile on their way to the layout in which they are stored


def arguments(spec: ForwardSpec, facts: AttentionFacts) -> dict[str, Any]:
    """What the plan says of wgmma: who takes turns, what one instruction needs, and what must be in the SASS."""
    return {
        "turns": _turns(spec),
        "instruction_registers": Sm90.wgmma_registers(max(spec.tile.n, *facts.operand("v").slices)),
        "expected_opcodes": ("QGMMA" if facts.dtype.is_fp8 else "HGMMA", "UTMALDG", "UTMASTG"),
    }


def smem(spec: ForwardSpec) -> tuple[int, int]:
    """Bytes that the compiler allocates for captures and alignment, and for layout conversions."""
    told = DRAWN_SCRATCH * (spec.schedule.kind == "dynamic")
    return Sm90.captures + told, spec.tile.m * ROW_SCRATCH if spec.lse else 0


def _aliased(spec: ForwardSpec) -> bool:
    """Whether O leaves through Q's buffers: it fits into them, and who writes it is the only one who reads them."""
    return spec.rings.o.reuse == "q"


def roles(spec: ForwardSpec, facts: AttentionFacts) -> tuple[Role, ...]:
    mma = spec.tasks.mma
    consumer = steps.consumer(facts, mma.turns, aliased=_aliased(spec))
    return (
        Role("load", 4, steps.load(facts), default=True),
        Role(
            "mma",
            4,
            consumer,
            registers=mma.registers,
            replicas=mma.replicate,
            holds=Holds(_accumulators(spec, facts), WORKING_REGISTERS),
        ),
    )


def rings(spec: ForwardSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> tuple[Ring, ...]:
    """Q: a bank a consumer, filled once in a grid. K and V: read by all consumers. O: filled and stored by one."""
    kv, replicas = spec.rings.kv, facts.replicas
    aliased = _aliased(spec)
    q_slots = sizes.get("Q_STAGES", Size.literal(1))
    q_drains = (Drain("mma", until="o" if aliased else ""),) if facts.stays else ()
    drains = (Drain("mma", replicas=replicas),)
    rings = [
        Ring(
            *("q", _tiles(facts, "q", facts.rows), q_slots, Fill("load", "tma"), q_drains, kv.empty, replicas),
            item=True,
        )
    ]
    for name in dict.fromkeys(facts.operand(o).ring for o in "kv"):
        tiles = _tiles(facts, name[0], sizes["BLOCK_N"], name)
        rings.append(Ring(name, tiles, sizes["KV_STAGES"], Fill("load", "tma"), drains, kv.empty))
    if facts.bias:
        tile, fill = Tile("bias", (facts.rows, sizes["BLOCK_N"]), facts.bias), Fill("load", "tma")
        rings.append(Ring("bias", (tile,), sizes["BIAS_STAGES"], fill, (Drain("mma"),), kv.empty, banks=replicas))
    if facts.drawn:
        told = tuple(Tile(name, (Size.literal(1),), DTYPES["i32"], internal=True) for name in facts.work.told)
        rings.append(Ring("item", told, Size.literal(DRAWN_AHEAD), Fill("load", "store"), drains, item=True))
    o_slots = q_slots if aliased else Size.literal(1)
    o = _tiles(facts, "o", facts.rows)
    if aliased:  # whose first buffers it takes
        o = tuple(replace(q, name=mine.name, tail=mine.tail) for q, mine in zip(rings[0].tiles, o, strict=False))
    rings.append(
        Ring(
            *("o", o, o_slots, Fill("mma", "store"), ()),
            banks=replicas,
            alias="q" if aliased else None,
            stores=1 if facts.in_parts else len(facts.operand("o").slices),
            item=True,
        )
    )
    return tuple(rings)


def _tiles(facts: AttentionFacts, operand: str, rows: Size, name: str = "") -> tuple[Tile, ...]:
    """The tile of an operand, in buffers of equal columns, and its tail, the last columns, if they are fewer."""
    slices, dtype = facts.operand(operand).slices, facts.out if operand == "o" else facts.dtype
    slices = slices[:1] if operand == "o" and facts.in_parts else slices
    name, of = name or operand, operand if name else ""
    count = slices.count(slices[0])
    shape = rows, Size.literal(slices[0] * count)
    if facts.keys_last and operand == "v":
        return (Tile(name, shape[::-1], dtype, of=of),)
    tile = Tile(name, shape, dtype, count, axis=1 if count > 1 else 0, of=of)
    tail = (Tile(f"{name}_tail", (rows, Size.literal(last)), dtype, of=operand, tail=name) for last in slices[count:])
    return (tile, *tail)


def _turns(spec: ForwardSpec) -> tuple[Turn, ...]:
    kind = spec.tasks.mma.turns
    return () if kind == "none" else (Turn("mma_turn", "mma", kind, spec.tasks.mma.replicate),)


def _accumulators(spec: ForwardSpec, facts: AttentionFacts) -> int:
    """Registers a thread for O, scores of a tile, probabilities of another where they overlap, and Q if it is kept."""
    threads = spec.tasks.mma.warps * Sm90.warp_threads
    q = facts.rows.value * facts.operand("q").columns * facts.dtype.bytes // 4 // threads * facts.keep_q
    o, scores = (facts.rows.value * columns // threads for columns in (facts.operand("o").columns, spec.tile.n))
    return o + scores + (scores * facts.dtype.bytes // 4 if facts.overlap else 0) + q


def rules(spec: ForwardSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> Iterator[Rule]:
    """What wgmma and the pipeline ask of the sizes. Sums over the plan (SMEM, registers, ...) are in `plan`."""
    arch, rows, n = Sm90, facts.rows, sizes["BLOCK_N"]
    found = f"{rows.value} rows a consumer ({rows.text}); "
    yield Rule("wgmma-m", one_of(rows, arch.wgmma_m), found, f"a warpgroup's wgmma has {arch.wgmma_m} rows")
    wide = between(n, arch.wgmma_n_min, arch.wgmma_n_max)
    yield Rule("wgmma-n", wide, f"BLOCK_N = {n.value}, ", f"wgmma takes {arch.wgmma_n_min} to {arch.wgmma_n_max}")
