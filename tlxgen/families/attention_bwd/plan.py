"""From an attention_bwd spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`.

A CTA holds the K and V of a tile of keys and walks the queries that see them, all heads of Q that share the keys. Its
consumers compute scores and their gradient transposed (a row is a key), so that P^T and dS^T are, as they come out of
one wgmma, the left operands of those for dV and dK. Only dQ, a sum over keys, needs dS of all consumers in SMEM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tlxgen.arch import ARCHS, DTYPES, DType, Sm90
from tlxgen.plan import Drain, Fill, Launch, Meeting, Parameter, Plan, Reason, Ring, Role, Size, Tile, Use, complete

from .spec import AttentionBwdSpec

CONFIG_AXES = {"rings.q.stages": "Q_STAGES", "rings.do.stages": "DO_STAGES"}
MEANING = {"Q_STAGES": "slots of the ring of Q", "DO_STAGES": "slots of the ring of dO"}
BLAME = {
    "smem": "rings.q.stages",
    "registers": "tasks.mma.registers",
    "accumulator": "tasks.mma.registers",
    "wgmma-m": "tile.n",
    "queries": "tile.m",
    "dq-parts": "tile.m",
    "q-ahead": "rings.q.stages",
}
WORKING_REGISTERS = 32  # a thread, beside accumulators and tiles: addresses, counters, a column's constants
INSTRUCTION_REGISTERS = 26  # beside N / 2 accumulators of one wgmma at the kernel's own target (ptxas C7602)
CAPTURE_BYTES = 512  # captured values and the alignment of barrier arrays: an upper bound, held against compiles
DS_SLOTS = 2  # one meeting a step: see `Meeting`
BLOCK = Sm90.wgmma_m  # keys a consumer, queries of a part of a step, rows and columns of a part of dQ
ROWS = 64  # rows of O and dO that a program of the kernels before and after takes


@dataclass(frozen=True)
class BackwardFacts:
    """The decisions of the attention_bwd family that its template reads beside the plan."""

    dtype: DType
    head_dim: int
    queries: int  # of a step
    keys: int  # a CTA
    block: int
    replicas: int
    parts: int  # of the queries of a step
    dq_slots: int  # buffers a consumer for its parts of dQ
    grads: int  # that the tiles of dK and dV leave through at the end
    meet: str
    ahead: bool
    keep: str
    gradients: tuple[str, ...]
    mask: str
    bottom_right: bool
    rows: int = ROWS

    @property
    def dq(self) -> bool:
        return "dq" in self.gradients

    @property
    def causal(self) -> bool:
        return self.mask == "causal"


def build(spec: AttentionBwdSpec, *, baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    facts = _facts(spec)
    stages = {"Q_STAGES": spec.rings.q.stages, "DO_STAGES": spec.rings.do.stages}
    parameters = tuple(Parameter(n, v, MEANING[n], n in baked) for n, v in stages.items())
    roles = _roles(spec, facts)
    return complete(
        Plan(
            name=spec.name,
            family="attention_bwd",
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=roles,
            rings=_rings(spec, facts),
            turns=(),
            parameters=parameters,
            meetings=(Meeting("ds_meeting", "mma", facts.replicas),) if facts.meet == "named" else (),
            compiler_smem=(Use("captures and alignment", CAPTURE_BYTES),),
            accumulator_role="mma",
            accumulator_registers=_accumulators(facts),
            working_registers=WORKING_REGISTERS,
            instruction_registers=facts.head_dim // 2 + INSTRUCTION_REGISTERS,
            expected_opcodes=("HGMMA", "UTMALDG", "UTMASTG", *(["UTMAREDG"] if facts.dq else [])),
            facts=facts,
            launches=_launches(spec, facts, parameters),
            reasons=tuple(_rules(spec, facts)),
        )
    )


def _facts(spec: AttentionBwdSpec) -> BackwardFacts:
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
        mask=spec.mask.kind,
        bottom_right=spec.mask.align == "bottom_right" and spec.mask.kind != "none",
    )


def _roles(spec: AttentionBwdSpec, facts: BackwardFacts) -> tuple[Role, ...]:
    mma = spec.tasks.mma
    steps = ["wait for K and V", "wait for Q and dO", "P^T = exp(K Q^T - LSE)", "dV += P^T dO"]
    steps += ["dS^T = P^T (V dO^T - delta)"]
    steps += ["store dS^T", "meet", "part of dQ = dS K"] if facts.dq else []
    steps += ["dK += dS^T Q", "release dO"]
    steps += ["add the part of dQ by TMA"] if facts.dq else []
    steps += ["release Q", "store dV and dK by TMA"]
    return (
        Role("load", 4, ("load K and V", "acquire a slot, load Q", "acquire a slot, load dO"), default=True),
        Role("mma", mma.warps, tuple(steps), registers=mma.registers, replicas=facts.replicas),
    )


def _rings(spec: AttentionBwdSpec, facts: BackwardFacts) -> tuple[Ring, ...]:
    """K, V: filled once. Q, dO: with a number for each of their rows. dS: met over. dQ, dK, dV: on their way out."""
    fp32, empty, drains = DTYPES["fp32"], spec.rings.empty, (Drain("mma", replicas=facts.replicas),)
    one, block = Size.literal(1), Size.literal(BLOCK)
    queries, keys, columns = (Size.literal(n) for n in (facts.queries, facts.keys, facts.head_dim))
    loads, stores = Fill("load", "tma"), Fill("mma", "store")
    whole = {name: Tile(name, (keys, columns), facts.dtype) for name in ("k", "v")}
    q = Tile("q", (queries, columns), facts.dtype), Tile("lse", (queries,), fp32)
    do = Tile("do", (queries, columns), facts.dtype), Tile("delta", (queries,), fp32)
    ds = Tile("ds", (keys, queries), facts.dtype, facts.parts, axis=1, of="q")
    grad = Tile("grad", (block, columns), facts.dtype, of="dk")
    out = Ring("grad", (grad,), Size.literal(facts.grads), stores, (), banks=facts.replicas)
    rings = [
        Ring("k", (whole["k"],), one, loads, ()),
        Ring("v", (whole["v"],), one, loads, ()),
        Ring("q", q, Size.of("Q_STAGES", spec.rings.q.stages), loads, drains, empty),
        Ring("do", do, Size.of("DO_STAGES", spec.rings.do.stages), loads, drains, empty),
    ]
    if not facts.dq:
        return (*rings, out)
    part = Tile("dq", (block, block), fp32)
    dq = Ring("dq", (part,), Size.literal(facts.dq_slots), stores, (), banks=facts.replicas)
    parts = stores if facts.meet == "named" else Fill("mma", "parts")
    met = Ring("ds", (ds,), Size.literal(DS_SLOTS), parts, (), empty)
    return (*rings, met, dq, replace(out, alias="dq", reshaped=True))


def _accumulators(facts: BackwardFacts) -> int:
    """Registers a thread for dK and dV, scores and their gradients, what of them is on its way into a product, and rows
    that stay.
    """
    threads = 4 * Sm90.warp_threads
    sums = 2 * BLOCK * facts.head_dim // threads
    tile = BLOCK * BLOCK // threads
    kept = (facts.keep != "none") * len(facts.keep) * BLOCK * facts.head_dim // 2 // threads
    return sums + 2 * tile + tile // 2 + (tile + tile // 2) * (facts.parts - 1) + kept


def descriptor(signature: str, *box: int) -> str:
    """The Triton type of a descriptor of (B, H, ...), of boxes of one head."""
    return f"tensordesc<{signature}[{', '.join(map(str, (1, 1, *box)))}]>"


def _launches(spec: AttentionBwdSpec, facts: BackwardFacts, parameters: tuple[Parameter, ...]) -> tuple[Launch, ...]:
    """The kernel itself, then those before and after it, as an aligned problem launches them."""
    kind, d = facts.dtype.signature, facts.head_dim
    queries, keys, block = (descriptor(kind, n, d) for n in (facts.queries, facts.keys, BLOCK))
    rows, dq = descriptor("fp32", facts.queries), descriptor("fp32", BLOCK, BLOCK)
    sizes = ["B", "H", "H_KV", "N_Q", "N_K", "GROUP_H"] if facts.causal else ["H", "H_KV", "N_Q", "N_K"]
    arguments = (
        *(("q_desc", queries), ("k_desc", keys), ("v_desc", keys), ("do_desc", queries)),
        *(("lse_desc", rows), ("delta_desc", rows)),
        *((("dq_desc", dq),) if facts.dq else ()),
        *(("dk_desc", block), ("dv_desc", block)),
        *((s, "fp32") for s in ("scale", "scale_log2")),
        *((s, "i32") for s in sizes),
    )
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    main = Launch(f"{spec.name}_kernel", arguments, kept, ("N_Q", "N_K"), 4)
    return main, prepare_launch(spec.name, facts.dtype, facts.dq), *([_finish(spec.name, facts)] if facts.dq else [])


def prepare_launch(name: str, dtype: DType, sums: bool) -> Launch:
    """The kernel that makes the numbers of each row, and zeros where dQ is added up if `sums`."""
    strides = [f"stride_{t}{axis}" for t in ("o", "do") for axis in "bhn"]
    arguments = (
        *((p, f"*{dtype.signature}") for p in ("o_ptr", "do_ptr")),
        *((p, "*fp32") for p in ("lse_ptr", "lse_log2_ptr", "delta_ptr", *(["sum_ptr"] if sums else []))),
        *((s, "i32") for s in (*strides, "H", "N_Q", "ROW_STRIDE")),
    )
    return Launch(f"{name}_prepare_kernel", arguments, (), _divisible(arguments), 4)


def _finish(name: str, facts: BackwardFacts) -> Launch:
    """The kernel that rounds the sums of dQ."""
    arguments = (
        *(("sum_ptr", "*fp32"), ("dq_ptr", f"*{facts.dtype.signature}"), ("scale", "fp32")),
        *((s, "i32") for s in ("stride_b", "stride_h", "stride_n", "H", "N_Q")),
    )
    return Launch(f"{name}_finish_kernel", arguments, (), _divisible(arguments), 4)


def _divisible(arguments: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Pointers, strides and the numbers of rows: multiples of 16 in an aligned problem."""
    return tuple(name for name, kind in arguments if kind.startswith("*") or "stride" in name.lower() or name == "N_Q")


def _rules(spec: AttentionBwdSpec, facts: BackwardFacts) -> list[Reason]:
    """What wgmma and the way of sharing dQ out ask of the numbers. Sums over the plan are in `plan`."""
    reasons = list[Reason]()
    if facts.keys != BLOCK * facts.replicas:
        text = f"{facts.keys} keys for {facts.replicas} consumers; a warpgroup's wgmma has {BLOCK} rows"
        reasons.append(Reason("wgmma-m", text))
    if facts.ahead and spec.rings.q.stages < 2:
        text = "the next step's Q is read beside this one's: 1 slot, 2 are needed"
        reasons.append(Reason("q-ahead", text))
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
