"""The roles and rings of forward attention on Hopper: consumers issue wgmma and hold scores and O in registers."""

from __future__ import annotations

from typing import Any

from tlxgen.arch import Sm90
from tlxgen.plan import Drain, Fill, Reason, Ring, Role, Size, Tile, Turn

from .facts import AttentionFacts
from .spec import AttentionSpec

INSTRUCTION_REGISTERS = 26  # beside N / 2 accumulators of one wgmma at the kernel's own target (ptxas C7602)
ROW_SCRATCH = 4  # bytes a row: the statistics of a tile on their way to the layout in which they are stored
CAPTURE_BYTES = 512  # captured values and the alignment of barrier arrays: an upper bound, held against compiles


def arguments(spec: AttentionSpec, facts: AttentionFacts) -> dict[str, Any]:
    """What the plan says of wgmma: who holds the accumulator, in how many registers, and what must be in the SASS."""
    return {
        "turns": _turns(spec),
        "accumulator_role": "mma",
        "accumulator_registers": _accumulators(spec, facts),
        "instruction_registers": max(spec.tile.n, facts.head_dim_v) // 2 + INSTRUCTION_REGISTERS,
        "expected_opcodes": ("QGMMA" if facts.dtype.is_fp8 else "HGMMA", "UTMALDG", "UTMASTG"),
    }


def smem(spec: AttentionSpec) -> tuple[int, int]:
    """Bytes that the compiler allocates for captures and alignment, and for layout conversions."""
    return CAPTURE_BYTES, spec.tile.m * ROW_SCRATCH if spec.softmax.lse else 0


def _aliased(spec: AttentionSpec) -> bool:
    """Whether O leaves through Q's buffers: it has their shape, and who writes it is the only one who reads them."""
    return spec.rings.o.reuse == "q"


def roles(spec: AttentionSpec, facts: AttentionFacts) -> tuple[Role, ...]:
    mma = spec.tasks.mma
    turn = ("wait for its turn",) if mma.turns != "none" else ()
    if mma.overlap:
        steps: tuple[str, ...] = (*turn, "scores of the next tile", "product of this one's probabilities with V")
    else:
        steps = (*turn, "scores of a tile")
    steps += ("hand the turn on",) if turn else ()
    steps += ("release K", "mask, softmax")
    steps += (
        ("rescale", "release V") if mma.overlap else ("rescale", "product of the probabilities with V", "release V")
    )
    free = ("release Q",) if facts.stays else ()
    last = ("store O by TMA", *free) if _aliased(spec) else (*free, "store O by TMA")
    lse = ("store LSE",) if spec.softmax.lse else ()
    return (
        Role("load", 4, ("load Q", "acquire a slot, load K", "acquire a slot, load V"), default=True),
        Role("mma", 4, ("wait for Q", *steps, *lse, *last), registers=mma.registers, replicas=mma.replicate),
    )


def rings(spec: AttentionSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> tuple[Ring, ...]:
    """Q: a bank a consumer, filled once in a grid. K and V: read by all consumers. O: filled and stored by one."""
    dtype, kv, replicas = facts.dtype, spec.rings.kv, facts.replicas
    shape = {
        o.name: (facts.rows if o.name in "qo" else sizes["BLOCK_N"], Size.literal(o.head_dim)) for o in facts.operands
    }
    if facts.keys_last:
        shape["v"] = shape["v"][::-1]
    aliased = _aliased(spec)
    q_slots = sizes.get("Q_STAGES", Size.literal(1))
    q_drains = (Drain("mma", until="o" if aliased else ""),) if facts.stays else ()
    drains = (Drain("mma", replicas=replicas),)
    rings = [Ring("q", (Tile("q", shape["q"], dtype),), q_slots, Fill("load", "tma"), q_drains, kv.empty, replicas)]
    for name in dict.fromkeys(facts.operand(o).ring for o in "kv"):
        tile = Tile(name, shape[name[0]], dtype, of=name[0])
        rings.append(Ring(name, (tile,), sizes["KV_STAGES"], Fill("load", "tma"), drains, kv.empty))
    o_slots = q_slots if aliased else Size.literal(1)
    o_tile, fill = Tile("o", shape["o"], facts.out), Fill("mma", "store")
    rings.append(Ring("o", (o_tile,), o_slots, fill, (), banks=replicas, alias="q" if aliased else None))
    return tuple(rings)


def _turns(spec: AttentionSpec) -> tuple[Turn, ...]:
    kind = spec.tasks.mma.turns
    return () if kind == "none" else (Turn("mma_turn", "mma", kind, spec.tasks.mma.replicate),)


def _accumulators(spec: AttentionSpec, facts: AttentionFacts) -> int:
    """Registers a thread for O, scores of a tile, probabilities of another where they overlap, and Q if it is kept."""
    threads = spec.tasks.mma.warps * 32
    q = facts.rows.value * facts.head_dim * facts.dtype.bytes // 4 // threads * facts.keep_q
    o, scores = (facts.rows.value * columns // threads for columns in (facts.head_dim_v, spec.tile.n))
    return o + scores + (scores * facts.dtype.bytes // 4 if facts.overlap else 0) + q


def rules(spec: AttentionSpec, facts: AttentionFacts) -> list[Reason]:
    """What wgmma and the pipeline ask of the numbers. Sums over the plan (SMEM, registers, ...) are in `plan`."""
    arch, reasons, n = Sm90, list[Reason](), spec.tile.n
    if facts.rows.value != arch.wgmma_m:
        text = f"{facts.rows.value} rows a consumer ({facts.rows.text}); a warpgroup's wgmma has {arch.wgmma_m}"
        reasons.append(Reason("wgmma-m", text))
    if not arch.wgmma_n_min <= n <= arch.wgmma_n_max:
        reasons.append(Reason("wgmma-n", f"BLOCK_N = {n}, wgmma takes {arch.wgmma_n_min} to {arch.wgmma_n_max}"))
    least = 2 if spec.rings.kv.storage == "shared" and facts.overlap else 1
    if spec.rings.kv.stages < least:
        text = f"KV_STAGES = {spec.rings.kv.stages}: tiles of K and of V are held at a time, {least} slots at least"
        reasons.append(Reason("ring-depth", text))
    return reasons
