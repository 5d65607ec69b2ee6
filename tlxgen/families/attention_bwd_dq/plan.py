"""From an attention_bwd_dq spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`.

A CTA holds the Q and dO of a tile of queries, walks the keys that they see, and adds dS K up in registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tlxgen.arch import ARCHS, DTYPES, DType, Sm90
from tlxgen.families.attention_bwd.plan import (
    CAPTURE_BYTES,
    INSTRUCTION_REGISTERS,
    ROWS,
    WORKING_REGISTERS,
    descriptor,
    prepare_launch,
)
from tlxgen.plan import Drain, Fill, Launch, Parameter, Plan, Reason, Ring, Role, Size, Tile, Use, complete

from .spec import AttentionBwdDqSpec

CONFIG_AXES = {"tile.n": "BLOCK_N", "rings.kv.stages": "KV_STAGES"}
MEANING = {"BLOCK_N": "keys of a step", "KV_STAGES": "slots of the rings of K and V"}
BLAME = {
    "smem": "rings.kv.stages",
    "registers": "tasks.mma.registers",
    "accumulator": "tile.n",
    "instruction": "tile.n",
    "wgmma-m": "tile.m",
}
BLOCK = Sm90.wgmma_m  # queries a consumer


@dataclass(frozen=True)
class DqFacts:
    """The decisions of the attention_bwd_dq family that its template reads beside the plan."""

    dtype: DType
    head_dim: int
    queries: int  # a CTA
    block: int
    replicas: int
    mask: str
    bottom_right: bool
    gradients: tuple[str, ...]
    dq: bool = False  # whether the kernel before makes zeros to add dQ up in
    rows: int = ROWS

    @property
    def causal(self) -> bool:
        return self.mask == "causal"


def build(spec: AttentionBwdDqSpec, *, baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    facts = _facts(spec)
    sizes = {"BLOCK_N": spec.tile.n, "KV_STAGES": spec.rings.kv.stages}
    parameters = tuple(Parameter(n, v, MEANING[n], n in baked) for n, v in sizes.items())
    roles = _roles(spec, facts)
    return complete(
        Plan(
            name=spec.name,
            family="attention_bwd_dq",
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=roles,
            rings=_rings(spec, facts),
            turns=(),
            parameters=parameters,
            compiler_smem=(Use("captures and alignment", CAPTURE_BYTES),),
            accumulator_role="mma",
            accumulator_registers=_accumulators(spec, facts),
            working_registers=WORKING_REGISTERS,
            instruction_registers=max(facts.head_dim, spec.tile.n) // 2 + INSTRUCTION_REGISTERS,
            expected_opcodes=("HGMMA", "UTMALDG", "UTMASTG"),
            facts=facts,
            launches=(_launch(spec, facts, parameters), prepare_launch(spec.name, facts.dtype, sums=False)),
            reasons=tuple(_rules(spec, facts)),
        )
    )


def _facts(spec: AttentionBwdDqSpec) -> DqFacts:
    return DqFacts(
        dtype=DTYPES[spec.problem.dtype],
        head_dim=spec.problem.head_dim,
        queries=spec.tile.m,
        block=BLOCK,
        replicas=spec.tasks.mma.replicate,
        mask=spec.mask.kind,
        bottom_right=spec.mask.align == "bottom_right" and spec.mask.kind != "none",
        gradients=spec.gradients,
    )


def _roles(spec: AttentionBwdDqSpec, facts: DqFacts) -> tuple[Role, ...]:
    mma = spec.tasks.mma
    steps = ("wait for Q and dO", "P = exp(Q K^T - LSE)", "dS = P (dO V^T - delta)", "release V", "dQ += dS K")
    return (
        Role("load", 4, ("load Q and dO", "acquire a slot, load K", "acquire a slot, load V"), default=True),
        Role(
            "mma",
            mma.warps,
            (*steps, "release K", "store dQ by TMA"),
            registers=mma.registers,
            replicas=facts.replicas,
        ),
    )


def _rings(spec: AttentionBwdDqSpec, facts: DqFacts) -> tuple[Ring, ...]:
    """Q, dO: a bank a consumer, filled once. K, V: read by all consumers. dQ leaves through Q's buffer."""
    one, block, columns = Size.literal(1), Size.literal(BLOCK), Size.literal(facts.head_dim)
    keys, stages = Size.of("BLOCK_N", spec.tile.n), Size.of("KV_STAGES", spec.rings.kv.stages)
    loads, drains = Fill("load", "tma"), (Drain("mma", replicas=facts.replicas),)
    held = [
        Ring(name, (Tile(name, (block, columns), facts.dtype),), one, loads, (), banks=facts.replicas)
        for name in ("q", "do")
    ]
    walked = [
        Ring(name, (Tile(name, (keys, columns), facts.dtype),), stages, loads, drains, spec.rings.empty)
        for name in ("k", "v")
    ]
    dq = Tile("dq", (block, columns), facts.dtype)
    return (*held, *walked, Ring("dq", (dq,), one, Fill("mma", "store"), (), banks=facts.replicas, alias="q"))


def _accumulators(spec: AttentionBwdDqSpec, facts: DqFacts) -> int:
    """Registers a thread for dQ, the scores of a step, and their gradients on the way into the product."""
    threads = 4 * Sm90.warp_threads
    tile = BLOCK * spec.tile.n // threads
    return BLOCK * facts.head_dim // threads + 2 * tile


def _launch(spec: AttentionBwdDqSpec, facts: DqFacts, parameters: tuple[Parameter, ...]) -> Launch:
    kind, d = facts.dtype.signature, facts.head_dim
    queries, keys = descriptor(kind, BLOCK, d), descriptor(kind, spec.tile.n, d)
    sizes = ["B", "H", "H_KV", "N_Q", "N_K", "ROW_STRIDE", "GROUP_H"]
    arguments = (
        *(("q_desc", queries), ("k_desc", keys), ("v_desc", keys), ("do_desc", queries), ("dq_desc", queries)),
        *(("lse_log2_ptr", "*fp32"), ("delta_ptr", "*fp32"), ("scale", "fp32"), ("scale_log2", "fp32")),
        *((s, "i32") for s in (sizes if facts.causal else sizes[1:-1])),
    )
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    divisible = ("lse_log2_ptr", "delta_ptr", "N_Q", "N_K", "ROW_STRIDE")
    return Launch(f"{spec.name}_kernel", arguments, kept, divisible, 4)


def _rules(spec: AttentionBwdDqSpec, facts: DqFacts) -> list[Reason]:
    """What wgmma asks of the numbers. Sums over the plan (SMEM, registers, ...) are in `plan`."""
    if facts.queries != BLOCK * facts.replicas:
        text = f"{facts.queries} queries for {facts.replicas} consumers; a warpgroup's wgmma has {BLOCK} rows"
        return [Reason("wgmma-m", text)]
    return []
