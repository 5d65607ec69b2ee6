"""From an attention_fwd spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tlxgen.arch import ARCHS, DTYPES, DType, Sm90
from tlxgen.plan import Drain, Fill, Launch, Parameter, Plan, Reason, Ring, Role, Size, Tile, Turn, Use, complete

from .spec import AttentionSpec

CONFIG_AXES = {
    "tile.m": "BLOCK_M",
    "tile.n": "BLOCK_N",
    "rings.q.stages": "Q_STAGES",
    "rings.kv.stages": "KV_STAGES",
}
BLAME = {
    "smem": "rings.kv.stages",
    "ring-depth": "rings.kv.stages",
    "registers": "tasks.mma.registers",
    "accumulator": "tile.n",
    "instruction": "tile.n",
    "threads": "tasks.mma.replicate",
    "named-barriers": "tasks.mma.turns",
    "wgmma-m": "tile.m",
    "wgmma-n": "tile.n",
    "alias": "rings.o.reuse",
}
MEANING = {
    "BLOCK_M": "queries a CTA",
    "BLOCK_N": "keys of a tile",
    "Q_STAGES": "buffers of Q a consumer",
    "KV_STAGES": "slots of the rings of K and V",
}
# Registers a thread beside scores, probabilities and accumulator: maximum, sum, addresses, counters (ptxas reports).
WORKING_REGISTERS = 32
INSTRUCTION_REGISTERS = 26  # beside N / 2 accumulators of one wgmma at the kernel's own target (ptxas C7602)
CAPTURE_BYTES = 512  # captured values and the alignment of barrier arrays: an upper bound, held against compiles
ROW_SCRATCH = 4  # bytes a row: the statistics of a tile on their way to the layout in which they are stored


@dataclass(frozen=True)
class Operand:
    """Q, K, V or O as the template needs it: its head dimension, ring and cache hint."""

    name: str
    head_dim: int
    ring: str
    eviction: str


@dataclass(frozen=True)
class AttentionFacts:
    """The decisions of the attention_fwd family that its template reads beside the plan."""

    dtype: DType
    head_dim: int
    head_dim_v: int
    rows: Size  # queries a consumer
    replicas: int
    overlap: bool
    keep_q: bool
    persistent: bool
    mask: str
    bottom_right: bool
    lengths: str
    softcap: bool
    sink: bool
    lse: bool
    operands: tuple[Operand, ...]
    cluster: int = 1  # CTAs that take a work item together
    clc: bool = False  # whether work items are handed out while the kernel runs

    @property
    def causal(self) -> bool:
        return self.mask == "causal"

    @property
    def window(self) -> bool:
        return self.mask == "window"

    @property
    def packed(self) -> bool:
        return self.lengths == "packed"

    def operand(self, name: str) -> Operand:
        return next(o for o in self.operands if o.name == name)


def build(spec: AttentionSpec, *, baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    sizes = _sizes(spec)
    facts = _facts(spec, sizes)
    parameters = [Parameter(n, s.value, MEANING[n], n in baked) for n, s in sizes.items()]
    roles = _roles(spec)
    return complete(
        Plan(
            name=spec.name,
            family="attention_fwd",
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=roles,
            rings=_rings(spec, facts, sizes),
            turns=_turns(spec),
            parameters=tuple(parameters),
            compiler_smem=_compiler_smem(spec),
            accumulator_role="mma",
            accumulator_registers=_accumulators(spec, facts),
            working_registers=WORKING_REGISTERS,
            instruction_registers=max(spec.tile.n, facts.head_dim_v) // 2 + INSTRUCTION_REGISTERS,
            expected_opcodes=("HGMMA", "UTMALDG", "UTMASTG"),
            facts=facts,
            launches=(_launch(spec, facts, sizes, parameters),),
            reasons=tuple(_rules(spec, facts)),
        )
    )


def _sizes(spec: AttentionSpec) -> dict[str, Size]:
    values = {"BLOCK_M": spec.tile.m, "BLOCK_N": spec.tile.n}
    if spec.schedule.kind == "persistent":
        values["Q_STAGES"] = spec.rings.q.stages
    values["KV_STAGES"] = spec.rings.kv.stages
    return {name: Size.of(name, value) for name, value in values.items()}


def _facts(spec: AttentionSpec, sizes: dict[str, Size]) -> AttentionFacts:
    shared = spec.rings.kv.storage == "shared"
    kv = _hint(spec.cache.kv)
    return AttentionFacts(
        dtype=DTYPES[spec.problem.dtype],
        head_dim=spec.problem.head_dim,
        head_dim_v=spec.head_dim_v,
        rows=sizes["BLOCK_M"] // spec.tasks.mma.replicate,
        replicas=spec.tasks.mma.replicate,
        overlap=spec.tasks.mma.overlap,
        keep_q=spec.tasks.mma.keep == "q",
        persistent=spec.schedule.kind == "persistent",
        mask=spec.mask.kind,
        bottom_right=spec.mask.align == "bottom_right" and spec.mask.kind != "none",
        lengths=spec.problem.lengths,
        softcap=spec.softmax.softcap,
        sink=spec.softmax.sink,
        lse=spec.softmax.lse,
        operands=(
            Operand("q", spec.problem.head_dim, "q", _hint(spec.cache.q)),
            Operand("k", spec.problem.head_dim, "kv" if shared else "k", kv),
            Operand("v", spec.head_dim_v, "kv" if shared else "v", kv),
            Operand("o", spec.head_dim_v, "o", _hint(spec.cache.o)),
        ),
    )


def _hint(eviction: str) -> str:
    return "" if eviction == "none" else eviction


def _aliased(spec: AttentionSpec) -> bool:
    """Whether O leaves through Q's buffers: it has their shape, and who writes it is the only one who reads them."""
    return spec.rings.o.reuse == "q"


def _roles(spec: AttentionSpec) -> tuple[Role, ...]:
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
    free = ("release Q",) if spec.schedule.kind == "persistent" else ()
    last = ("store O by TMA", *free) if _aliased(spec) else (*free, "store O by TMA")
    lse = ("store LSE",) if spec.softmax.lse else ()
    return (
        Role("load", 4, ("load Q", "acquire a slot, load K", "acquire a slot, load V"), default=True),
        Role("mma", 4, ("wait for Q", *steps, *lse, *last), registers=mma.registers, replicas=mma.replicate),
    )


def _rings(spec: AttentionSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> tuple[Ring, ...]:
    """Q: a bank a consumer, filled once in a grid. K and V: read by all consumers. O: filled and stored by one."""
    dtype, kv, replicas = facts.dtype, spec.rings.kv, facts.replicas
    shape = {
        o.name: (facts.rows if o.name in "qo" else sizes["BLOCK_N"], Size.literal(o.head_dim)) for o in facts.operands
    }
    aliased = _aliased(spec)
    q_slots = sizes.get("Q_STAGES", Size.literal(1))
    q_drains = (Drain("mma", until="o" if aliased else ""),) if facts.persistent else ()
    drains = (Drain("mma", replicas=replicas),)
    rings = [Ring("q", (Tile("q", shape["q"], dtype),), q_slots, Fill("load", "tma"), q_drains, kv.empty, replicas)]
    for name in dict.fromkeys(facts.operand(o).ring for o in "kv"):
        tile = Tile(name, shape[name[0]], dtype, of=name[0])
        rings.append(Ring(name, (tile,), sizes["KV_STAGES"], Fill("load", "tma"), drains, kv.empty))
    o_slots = q_slots if aliased else Size.literal(1)
    o_tile, fill = Tile("o", shape["o"], dtype), Fill("mma", "store")
    rings.append(Ring("o", (o_tile,), o_slots, fill, (), banks=replicas, alias="q" if aliased else None))
    return tuple(rings)


def _turns(spec: AttentionSpec) -> tuple[Turn, ...]:
    kind = spec.tasks.mma.turns
    return () if kind == "none" else (Turn("mma_turn", "mma", kind, spec.tasks.mma.replicate),)


def _accumulators(spec: AttentionSpec, facts: AttentionFacts) -> int:
    """Registers a thread for O, scores of a tile, probabilities of another where they overlap, and Q if it is kept."""
    threads = spec.tasks.mma.warps * 32
    q = facts.rows.value * facts.head_dim // 2 // threads * facts.keep_q
    o, scores = (facts.rows.value * columns // threads for columns in (facts.head_dim_v, spec.tile.n))
    return o + scores + (scores // 2 if facts.overlap else 0) + q


def _compiler_smem(spec: AttentionSpec) -> tuple[Use, ...]:
    """What fbtriton allocates beside the rings: an upper bound, held against compiles."""
    rows = spec.tile.m * ROW_SCRATCH if spec.softmax.lse else 0
    return Use("captures and alignment", CAPTURE_BYTES), Use("layout conversion", rows)


def _arguments(spec: AttentionSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> tuple[tuple[str, str], ...]:
    """The kernel's run-time arguments in order, with the types that a launch passes."""
    rows = {"q": facts.rows, "k": sizes["BLOCK_N"], "v": sizes["BLOCK_N"], "o": facts.rows}
    leading = (1, 1, 1) if facts.packed else (1, 1)
    arguments = []
    for o in facts.operands:
        box = (*leading, rows[o.name].value, o.head_dim)
        arguments.append((f"{o.name}_desc", f"tensordesc<{facts.dtype.signature}[{', '.join(map(str, box))}]>"))
    pointers = [("lse_ptr", "*fp32")] * facts.lse + [("sink_ptr", "*fp32")] * facts.sink
    pointers += {
        "dense": [],
        "keys": [("key_lengths_ptr", "*i32")],
        "packed": [("cu_seqlens_q_ptr", "*i32"), ("cu_seqlens_k_ptr", "*i32")],
    }[facts.lengths]
    scalars = ["cap", "scale_log2"] if facts.softcap else ["scale_log2"]
    sizes_of = ["LEFT", "RIGHT"] * facts.window + ["B", "H", "H_KV", "N_Q"]
    sizes_of += {"dense": ["N_K"], "keys": [], "packed": ["T_Q"] * facts.lse}[facts.lengths] + ["GROUP_H"]
    return (*arguments, *pointers, *((s, "fp32") for s in scalars), *((s, "i32") for s in sizes_of))


def _launch(spec: AttentionSpec, facts: AttentionFacts, sizes: dict[str, Size], parameters: list[Parameter]) -> Launch:
    arguments = _arguments(spec, facts, sizes)
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    divisible = tuple(name for name, kind in arguments if kind.startswith("*") or name in ("N_Q", "N_K", "T_Q"))
    return Launch(f"{spec.name}_kernel", arguments, kept, divisible, 4)


def _rules(spec: AttentionSpec, facts: AttentionFacts) -> list[Reason]:
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
