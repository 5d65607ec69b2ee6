"""From an attention_bwd spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`.

A CTA holds the K and V of a tile of keys and walks the queries that see them, all heads of Q that share the keys. Its
consumers compute scores and their gradient transposed (a row is a key), so that P^T and dS^T are, as they come out of
one wgmma, the left operands of those for dV and dK. Only dQ, a sum over keys, needs dS of all consumers in SMEM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tlxgen.arch import ARCHS, DTYPES, DType, Sm90
from tlxgen.families import kit
from tlxgen.families.attention.common import WORKING_REGISTERS
from tlxgen.families.attention.weights import Weights
from tlxgen.plan import Drain, Fill, Holds, Meeting, Plan, Reason, Ring, Role, Rule, Size, Tile, Use, complete
from tlxgen.plan.rule import at_least

from . import arguments, steps
from .axes import AXES
from .spec import KeysSpec

BLOCK = Sm90.wgmma_m  # keys a consumer, queries of a part of a step, rows and columns of a part of dQ
ROWS = 64  # rows of O and dO that a program of the kernels before and after takes


@dataclass(frozen=True, kw_only=True)
class GradientFacts(Weights):
    """What all kernels of the backward decide."""

    transposed: ClassVar[bool] = True
    peeled: ClassVar[bool] = False

    dtype: DType
    head_dim: int
    queries: int  # of a step, or a CTA
    block: int
    replicas: int
    gradients: tuple[str, ...]
    rows: int = ROWS

    @property
    def head_dim_v(self) -> int:
        return self.head_dim

    @property
    def softmax(self) -> bool:
        """Whether rows have numbers of their own: else a weight is a function of its score."""
        return self.row == "online_softmax"


@dataclass(frozen=True, kw_only=True)
class BackwardFacts(GradientFacts):
    """The decisions of the attention_bwd family that its template reads beside the plan."""

    keys: int  # a CTA
    parts: int  # of the queries of a step
    dq_slots: int  # buffers a consumer for its parts of dQ
    grads: int  # that the tiles of dK and dV leave through at the end
    meet: str
    ahead: bool
    keep: str

    @property
    def dq(self) -> bool:
        return "dq" in self.gradients


def build(spec: KeysSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    facts = _facts(spec)
    parameters = tuple(kit.parameters(AXES, spec, guards=guards, baked=baked))
    roles = _roles(spec, facts)
    return complete(
        Plan(
            name=spec.name,
            family=spec.kernel,
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=roles,
            rings=_rings(spec, facts),
            turns=(),
            parameters=parameters,
            meetings=(Meeting("ds_meeting", "mma", facts.replicas),) if facts.meet == "named" else (),
            compiler_smem=(Use("captures and alignment", Sm90.captures),),
            instruction_registers=Sm90.wgmma_registers(facts.head_dim),
            expected_opcodes=("HGMMA", "UTMALDG", "UTMASTG", *(["UTMAREDG"] if facts.dq else [])),
            facts=facts,
            host=arguments.host(facts) if facts.softmax else arguments.packed_host(facts),
            launches=arguments.launches(facts, parameters),
            rules=(_q_slots(spec.rings.q.stages),) if facts.ahead else (),
            reasons=tuple(_rules(facts)),
        )
    )


def _facts(spec: KeysSpec) -> BackwardFacts:
    dtype, dq = DTYPES[spec.problem.dtype], "dq" in spec.gradients
    return BackwardFacts(
        dtype=dtype,
        head_dim=spec.problem.head_dim,
        queries=spec.queries,
        keys=spec.tile.n,
        block=BLOCK,
        replicas=spec.tasks.mma.replicate,
        parts=spec.queries // BLOCK,
        dq_slots=spec.dq_stages,
        grads=spec.dq_stages * BLOCK * DTYPES["fp32"].bytes // (spec.problem.head_dim * dtype.bytes) if dq else 2,
        meet=spec.tasks.mma.meet if dq else "none",
        ahead=spec.ahead,
        keep=spec.kept_rows,
        gradients=spec.gradients,
        lengths=spec.lengths,
        **spec.weights,
    )


def _roles(spec: KeysSpec, facts: BackwardFacts) -> tuple[Role, ...]:
    mma, consumer = spec.tasks.mma, steps.Consumer(facts).steps()
    return (
        Role("load", 4, steps.load(facts), default=True),
        Role(
            "mma",
            mma.warps,
            consumer,
            registers=mma.registers,
            replicas=facts.replicas,
            holds=Holds(_accumulators(facts), WORKING_REGISTERS),
        ),
    )


def _rings(spec: KeysSpec, facts: BackwardFacts) -> tuple[Ring, ...]:
    """K, V: filled once. Q, dO: with a number for each of their rows. dS: met over. dQ, dK, dV: on their way out."""
    fp32, empty, drains = DTYPES["fp32"], spec.rings.empty, (Drain("mma", replicas=facts.replicas),)
    one, block, sizes = Size.literal(1), Size.literal(BLOCK), kit.sizes(AXES, spec)
    queries, keys, columns = (Size.literal(n) for n in (facts.queries, facts.keys, facts.head_dim))
    loads, stores = Fill("load", "tma"), Fill("mma", "store")
    whole = {name: Tile(name, (keys, columns), facts.dtype) for name in ("k", "v")}
    q, do = ([Tile(name, (queries, columns), facts.dtype)] for name in ("q", "do"))
    if facts.softmax:
        q.append(Tile("lse", (queries,), fp32))
        do.append(Tile("delta", (queries,), fp32))
    ds = Tile("ds", (keys, queries), facts.dtype, facts.parts, axis=1, of="q")
    grad = Tile("grad", (block, columns), facts.dtype, of="dk")
    out = Ring("grad", (grad,), Size.literal(facts.grads), stores, (), banks=facts.replicas)
    rings = [
        Ring("k", (whole["k"],), one, loads, (), item=True),
        Ring("v", (whole["v"],), one, loads, (), item=True),
        Ring("q", tuple(q), sizes["Q_STAGES"], loads, drains, empty),
        Ring("do", tuple(do), sizes["DO_STAGES"], loads, drains, empty),
    ]
    if not facts.dq:
        return (*rings, out)
    part = Tile("dq", (block, block), fp32)
    dq = Ring("dq", (part,), Size.literal(facts.dq_slots), stores, (), banks=facts.replicas)
    parts = stores if facts.meet == "named" else Fill("mma", "parts")
    met = Ring("ds", (ds,), Size.literal(Meeting.SLOTS), parts, (), empty)
    return (*rings, met, dq, replace(out, alias="dq", reshaped=True))


def _accumulators(facts: BackwardFacts) -> int:
    """Registers a thread for dK and dV, scores and their gradients, what of them is on its way into a product, and rows
    that stay.
    """
    threads = Sm90.warpgroup_threads
    sums = 2 * BLOCK * facts.head_dim // threads
    tile = BLOCK * BLOCK // threads
    kept = (facts.keep != "none") * len(facts.keep) * BLOCK * facts.head_dim // 2 // threads
    return sums + 2 * tile + tile // 2 + (tile + tile // 2) * (facts.parts - 1) + kept


def _q_slots(stages: int) -> Rule:
    needed = "the next step's Q is read beside this one's, 2 slots are needed"
    return Rule("q-ahead", at_least(Size.of("Q_STAGES", stages), 2), f"Q_STAGES = {stages}: ", needed)


def _rules(facts: BackwardFacts) -> list[Reason]:
    """What wgmma and the way of sharing dQ out ask of the numbers. Sums over the plan are in `plan`."""
    reasons = list[Reason]()
    if facts.keys != BLOCK * facts.replicas:
        text = f"{facts.keys} keys for {facts.replicas} consumers; a warpgroup's wgmma has {BLOCK} rows"
        reasons.append(Reason("wgmma-m", text))
    parts = facts.queries * facts.head_dim // BLOCK**2
    if facts.queries % BLOCK:
        reasons.append(Reason("queries", f"{facts.queries} queries of a step, not a multiple of {BLOCK}"))
    elif facts.dq and parts != facts.replicas:
        text = (
            f"dQ of a step is {facts.queries} x {facts.head_dim}, {parts} parts of {BLOCK} x {BLOCK}; "
            f"each of {facts.replicas} consumers takes one"
        )
        reasons.append(Reason("dq-parts", text))
    return reasons
