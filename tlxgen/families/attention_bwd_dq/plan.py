"""From an attention_bwd_dq spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`.

A CTA holds the Q and dO of a tile of queries, walks the keys that they see, and adds dS K up in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tlxgen.arch import ARCHS, DTYPES, Sm90
from tlxgen.families import kit
from tlxgen.families.attention.common import WORKING_REGISTERS
from tlxgen.families.attention_bwd import arguments
from tlxgen.families.attention_bwd.plan import GradientFacts
from tlxgen.families.attention_fwd import arguments as forward
from tlxgen.plan import (
    Drain,
    Fill,
    Holds,
    KernelArgument,
    Launch,
    Parameter,
    Plan,
    Reason,
    Ring,
    Role,
    Size,
    Tile,
    Use,
    complete,
)
from tlxgen.plan.arguments import scalar
from tlxgen.plan.steps import steps

from .axes import AXES
from .spec import AttentionBwdDqSpec

BLOCK = Sm90.wgmma_m  # queries a consumer


@dataclass(frozen=True, kw_only=True)
class DqFacts(GradientFacts):
    """The decisions of the attention_bwd_dq family that its template reads beside the plan."""

    transposed: ClassVar[bool] = False

    dq: bool = False  # whether the kernel before makes zeros to add dQ up in


def build(spec: AttentionBwdDqSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    facts = _facts(spec)
    parameters = tuple(kit.parameters(AXES, spec, guards=guards, baked=baked))
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
            compiler_smem=(Use("captures and alignment", Sm90.captures),),
            instruction_registers=Sm90.wgmma_registers(max(facts.columns, spec.tile.n)),
            expected_opcodes=("HGMMA", "UTMALDG", "UTMASTG"),
            facts=facts,
            host=arguments.host(facts),
            launches=_launches(spec, facts, parameters),
            reasons=tuple(_rules(spec, facts)),
        )
    )


def _facts(spec: AttentionBwdDqSpec) -> DqFacts:
    return DqFacts(
        dtype=DTYPES[spec.problem.dtype],
        head_dim=spec.problem.head_dim,
        head_dim_v=spec.head_dim_v,
        queries=spec.tile.m,
        block=BLOCK,
        scores=(spec.tile.n, BLOCK),
        replicas=spec.tasks.mma.replicate,
        gradients=spec.gradients,
        lengths=spec.lengths,
        **spec.weights,
    )


def _roles(spec: AttentionBwdDqSpec, facts: DqFacts) -> tuple[Role, ...]:
    mma = spec.tasks.mma
    once = ("expect q", "load q", "expect do", "load do")
    walk = [f"{do} {ring}" for ring in ("k", "v") for do in ("acquire", "expect", "load")]
    scores = ("wait k", "multiply scores", "wait v", "multiply dp", "wgmma_wait scores 1", ": P = exp(Q K^T - LSE)")
    gradient = ("wgmma_wait dp", "release v", ": dS = P (dO V^T - delta)", "multiply dq", "wgmma_wait dq", "release k")
    consumer = steps("wait q", "wait do", *scores, *gradient, "fence", "store dq", "store_wait")
    return (
        Role("load", 4, steps(*once, *walk), default=True),
        Role(
            "mma",
            mma.warps,
            consumer,
            registers=mma.registers,
            replicas=facts.replicas,
            holds=Holds(_accumulators(spec, facts), WORKING_REGISTERS),
        ),
    )


def _rings(spec: AttentionBwdDqSpec, facts: DqFacts) -> tuple[Ring, ...]:
    """Q, dO: a bank a consumer, filled once. K, V: read by all consumers. dQ leaves through Q's buffer."""
    one, block, columns = Size.literal(1), Size.literal(BLOCK), Size.literal(facts.columns)
    keys, stages = kit.sizes(AXES, spec).values()
    loads, drains = Fill("load", "tma"), (Drain("mma", replicas=facts.replicas),)
    columns_v = Size.literal(facts.columns_v)
    held = [
        Ring(name, (Tile(name, (block, width), facts.dtype),), one, loads, (), banks=facts.replicas, item=True)
        for name, width in (("q", columns), ("do", columns_v))
    ]
    walked = [
        Ring(name, (Tile(name, (keys, width), facts.dtype),), stages, loads, drains, spec.rings.empty)
        for name, width in (("k", columns), ("v", columns_v))
    ]
    dq = Tile("dq", (block, columns), facts.dtype)
    return (*held, *walked, Ring("dq", (dq,), one, Fill("mma", "store"), (), banks=facts.replicas, alias="q"))


def _accumulators(spec: AttentionBwdDqSpec, facts: DqFacts) -> int:
    """Registers a thread for dQ, the scores of a step, and their gradients on the way into the product."""
    threads = Sm90.warpgroup_threads
    tile = BLOCK * spec.tile.n // threads
    return BLOCK * facts.columns // threads + 2 * tile


def _launches(spec: AttentionBwdDqSpec, facts: DqFacts, parameters: tuple[Parameter, ...]) -> tuple[Launch, ...]:
    """The kernel itself, then the one before it."""
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    main = Launch("kernel", tuple(_arguments(facts, Size.of("BLOCK_N", spec.tile.n))), kept, 4)
    return main, arguments.prepare(facts, sums=False)


def _arguments(facts: DqFacts, keys: Size) -> Iterator[KernelArgument]:
    yield arguments.matrix("q", "q", facts, BLOCK)
    yield arguments.matrix("k", "k", facts, keys)
    yield arguments.matrix("v", "v", facts, keys, facts.columns_v)
    yield from (
        arguments.matrix("do", "dout", facts, BLOCK, facts.columns_v),
        arguments.matrix("dq", "dq", facts, BLOCK),
    )
    yield from arguments.numbers()
    yield from forward.addresses(facts)
    yield from arguments.scales(facts)
    yield from forward.extents(facts)
    yield from arguments.sizes(facts, longest="qk" if facts.lengths == "dense" else "q")
    yield arguments.row_stride(facts)
    if facts.causal:
        yield scalar("GROUP_H", "heads_together(n_k, kv_heads, heads)")


def _rules(spec: AttentionBwdDqSpec, facts: DqFacts) -> list[Reason]:
    """What wgmma asks of the numbers. Sums over the plan (SMEM, registers, ...) are in `plan`."""
    if facts.queries != BLOCK * facts.replicas:
        text = f"{facts.queries} queries for {facts.replicas} consumers; a warpgroup's wgmma has {BLOCK} rows"
        return [Reason("wgmma-m", text)]
    return []
