"""The roles and rings of backward attention on Hopper: consumers of 64 keys each multiply and keep dK and dV.

Consumers compute scores and their gradient transposed (a row is a key), so that P^T and dS^T are, as they come out of
one wgmma, the left operands of those for dV and dK. Only dQ, a sum over keys, needs dS of all consumers in SMEM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tlxgen.arch import DTYPES, DType, Sm90
from tlxgen.families.attention.common import WORKING_REGISTERS, columns_of
from tlxgen.plan import Drain, Fill, Holds, Meeting, Reason, Ring, Role, Rule, Size, Tile
from tlxgen.plan.rule import at_least

from . import steps
from .facts import SLICE, BackwardFacts
from .spec import KeysSpec

BLOCK = Sm90.wgmma_m  # keys a consumer, queries of a part of a step, rows and columns of a part of dQ
CUT_CAPTURED = 64  # bytes that tasks capture where tiles have buffers of 64 and of 32 columns: eight buffers more


def decisions(spec: KeysSpec) -> dict[str, Any]:
    """The facts that sm100 has otherwise."""
    d, dq = spec.columns, "dq" in spec.gradients
    if spec.by_columns:
        return _by_columns(spec, dq)
    if spec.tight:
        return _tight(spec, dq)
    tile = BLOCK * d * _leaving(spec).bytes  # of dK or dV on its way out
    room = spec.dq_stages * BLOCK**2 * DTYPES["fp32"].bytes if dq else 2 * BLOCK * d * DTYPES[spec.problem.dtype].bytes
    return {
        "part": (BLOCK, BLOCK),
        "grad": (BLOCK, SLICE if spec.cut else d),
        "scores": (BLOCK, BLOCK),
        "block": BLOCK,
        "replicas": spec.tasks.mma.replicate,
        "parts": spec.queries // BLOCK,
        "dq_slots": spec.dq_stages,
        "grads": 2 if spec.cut else max(1, room // tile),
        "sliced": spec.cut,
        "meet": spec.tasks.mma.meet if dq else "none",
        "ahead": spec.ahead,
        "keep": spec.kept_rows,
    }


def _leaving(spec: KeysSpec) -> DType:
    """The type of dK and dV on their way out: what is added up is so in fp32."""
    return DTYPES["fp32" if spec.apart else spec.problem.dtype]


def _tight(spec: KeysSpec, dq: bool) -> dict[str, Any]:
    """The same where a head is wide and each consumer has its own keys: dK and dV fill its registers."""
    return {
        "part": (BLOCK, BLOCK),
        "grad": (BLOCK, SLICE),
        "scores": (BLOCK, BLOCK),
        "block": BLOCK,
        "replicas": spec.tasks.mma.replicate,
        "sliced": True,
        "tight": True,
        "dq_slots": spec.dq_stages,
        "grads": spec.dq_stages * DTYPES["fp32"].bytes // _leaving(spec).bytes,
        "meet": spec.tasks.mma.meet if dq else "none",
        "ahead": spec.ahead,
        "keep": "none",
    }


def _by_columns(spec: KeysSpec, dq: bool) -> dict[str, Any]:
    """The same where consumers share out columns: each has the scores of some queries, and leaves by its columns."""
    replicas = spec.tasks.mma.replicate
    piece, element = columns_of(spec.head_dim_v) // replicas, DTYPES[spec.problem.dtype].bytes
    return {
        "part": (BLOCK, BLOCK),
        "grad": (BLOCK, piece),
        "scores": (spec.tile.n, spec.queries // replicas),
        "block": BLOCK,
        "replicas": replicas,
        "by_columns": True,
        "dq_slots": spec.dq_stages,
        "grads": spec.dq_stages * BLOCK * DTYPES["fp32"].bytes // (piece * element) if dq else 1,
        "meet": spec.tasks.mma.meet,
        "ahead": spec.ahead,
        "keep": "none",
    }


def arguments(spec: KeysSpec, facts: BackwardFacts) -> dict[str, Any]:
    """What the plan says of wgmma: meetings, the widest instruction, and what must be in the SASS."""
    return {
        "meetings": (Meeting("ds_meeting", "mma", facts.replicas),) if facts.meet == "named" else (),
        "instruction_registers": Sm90.wgmma_registers(facts.piece if facts.by_columns else facts.slices[0]),
        "expected_opcodes": ("HGMMA", "UTMALDG", *_stores(facts)),
    }


def _stores(facts: BackwardFacts) -> list[str]:
    """The instructions by which gradients leave: those of which there are sums are added."""
    return ["UTMASTG"] * (not facts.apart) + ["UTMAREDG"] * bool(facts.sums)


def smem(spec: KeysSpec) -> int:
    """Bytes that the compiler allocates for captures and alignment."""
    return Sm90.captures + CUT_CAPTURED * spec.cut


def roles(spec: KeysSpec, facts: BackwardFacts) -> tuple[Role, ...]:
    mma, consumer = spec.tasks.mma, (steps.ColumnsConsumer if facts.by_columns else steps.Consumer)(facts).steps()
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


def rings(spec: KeysSpec, facts: BackwardFacts, sizes: dict[str, Size]) -> tuple[Ring, ...]:
    """K, V: filled once. Q, dO: with a number for each of their rows. dS: met over. dQ, dK, dV: on their way out."""
    fp32, empty, drains = DTYPES["fp32"], spec.rings.empty, (Drain("mma", replicas=facts.replicas),)
    one, block = Size.literal(1), Size.literal(BLOCK)
    queries, keys = (Size.literal(n) for n in (facts.queries, facts.keys))
    loads, stores = Fill("load", "tma"), Fill("mma", "store")
    k, v = (_tiles(name, keys, slices, facts.dtype) for name, slices in (("k", facts.slices), ("v", facts.slices_v)))
    q, do = (_tiles(name, queries, s, facts.dtype) for name, s in (("q", facts.slices), ("do", facts.slices_v)))
    if facts.softmax:
        # One row, not one dimension: stock Triton's TMA copies have tiles of two.
        q, do = (*q, Tile("lse", (one, queries), fp32)), (*do, Tile("delta", (one, queries), fp32))
    ds: tuple[Tile, ...] = (Tile("ds", (keys, queries), facts.dtype, facts.queries // BLOCK, axis=1, of="q"),)
    if facts.dbias == "stored":  # a row is a query, as in the gradient that TMA stores
        ds = (Tile("ds", (queries, keys), facts.dtype, of="q"),)
    if facts.by_columns:  # a row is a query, of which a consumer has some
        ds = tuple(Tile(name, (queries, keys), facts.dtype, of="q") for name in ("p", "ds"))
    grad = tuple(replace(t, of="dk") for t in _tiles("grad", block, facts.grad_widths[:2], _leaving(spec)))
    if not facts.uneven:
        grad = (Tile("grad", (block, Size.literal(facts.grad[1])), _leaving(spec), of="dk"),)
    out = Ring("grad", grad, Size.literal(facts.grads // len(grad)), stores, (), banks=facts.replicas)
    made = [
        Ring("k", k, one, loads, (), item=True),
        Ring("v", v, one, loads, (), item=True),
        Ring("q", q, sizes["Q_STAGES"], loads, drains, empty),
        Ring("do", do, sizes["DO_STAGES"], loads, drains, empty),
    ]
    if facts.bias:
        made.append(Ring("bias", (Tile("bias", (queries, keys), facts.bias),), one, loads, drains, empty))
    parts = stores if facts.meet == "named" else Fill("mma", "parts")
    met = Ring("ds", ds, Size.literal(Meeting.SLOTS), parts, (), empty)
    if not facts.dq:
        return (*made, met, out) if facts.by_columns else (*made, out)
    if facts.uneven:  # a consumer's parts of dQ have a ring of their own
        parts_of_dq = (
            Ring(name, (Tile(name, (block, Size.literal(width)), fp32),), Size.literal(facts.dq_slots), stores, ())
            for name, width in facts.dq_tiles.items()
        )
        return (*made, met, *parts_of_dq, out)
    first, *others = (Tile(name, (block, Size.literal(width)), fp32) for name, width in facts.dq_tiles.items())
    dq = Ring("dq", (first,), Size.literal(facts.dq_slots), stores, (), banks=facts.replicas)
    after = [Ring(t.name, (t,), dq.slots * (first.bytes.value // t.bytes.value), stores, ()) for t in others]
    after = [replace(ring, banks=facts.replicas, alias="dq", reshaped=True) for ring in (*after, out)]
    return (*made, met, dq, *after)


def _tiles(name: str, rows: Size, slices: Sequence[int], dtype: DType) -> tuple[Tile, ...]:
    """A tile in buffers of equal columns, and its tail, the last columns, if they are fewer."""
    count = slices.count(slices[0])
    tile = Tile(name, (rows, Size.literal(slices[0] * count)), dtype, count, axis=1)
    tails = (Tile(f"{name}_tail", (rows, Size.literal(last)), dtype, of=name, tail=name) for last in slices[count:])
    return (tile, *tails)


def rules(spec: KeysSpec, facts: BackwardFacts) -> Iterator[Rule]:
    """What running ahead asks of the sizes."""
    if facts.ahead:
        yield _q_slots(spec.rings.q.stages)


def _accumulators(facts: BackwardFacts) -> int:
    """Registers a thread for dK and dV, scores and their gradients, what of them is on its way into a product, and rows
    that stay.
    """
    threads = Sm90.warpgroup_threads
    if facts.by_columns:
        tile = facts.scores[0] * facts.scores[1] // threads
        part = facts.part[0] * facts.part[1] // threads if facts.dq else 0
        return (len(facts.dks) + 1) * facts.keys * facts.piece // threads + tile + max(2 * tile, part)
    sums = BLOCK * (facts.columns + facts.columns_v) // threads
    tile = facts.scores[0] * facts.scores[1] // threads
    if facts.tight:  # scores, or P and dP, or dS and a part of dQ
        return sums + tile + tile // 2
    kept = (facts.keep != "none") * len(facts.keep) * BLOCK * facts.columns // 2 // threads
    return sums + 2 * tile + tile // 2 + (tile + tile // 2) * (facts.parts - 1) + kept


def _q_slots(stages: int) -> Rule:
    needed = "the next step's Q is read beside this one's, 2 slots are needed"
    return Rule("q-ahead", at_least(Size.of("Q_STAGES", stages), 2), f"Q_STAGES = {stages}: ", needed)


def reasons(facts: BackwardFacts) -> list[Reason]:
    """What wgmma and the way of sharing dQ out ask of the numbers. Sums over the plan are in `plan`."""
    found = list[Reason]()
    if facts.by_columns:
        return _columns_reasons(facts)
    if facts.keys != BLOCK * facts.replicas:
        text = f"{facts.keys} keys for {facts.replicas} consumers; a warpgroup's wgmma has {BLOCK} rows"
        found.append(Reason("wgmma-m", text))
    parts = facts.queries * facts.columns // BLOCK**2
    if facts.sliced:
        if facts.queries != BLOCK:
            found.append(Reason("queries", f"{facts.queries} queries of a step; dQ of a consumer has {BLOCK} rows"))
    elif facts.queries % BLOCK:
        found.append(Reason("queries", f"{facts.queries} queries of a step, not a multiple of {BLOCK}"))
    elif facts.dq and parts != facts.replicas:
        text = (
            f"dQ of a step is {facts.queries} x {facts.columns}, {parts} parts of {BLOCK} x {BLOCK}; "
            f"each of {facts.replicas} consumers takes one"
        )
        found.append(Reason("dq-parts", text))
    return found


def _columns_reasons(facts: BackwardFacts) -> list[Reason]:
    """All consumers have the same keys, and each the scores of a part of the queries."""
    found = list[Reason]()
    if facts.keys != BLOCK:
        text = f"{facts.keys} keys of scores for each consumer; a warpgroup's wgmma has {BLOCK} rows"
        found.append(Reason("wgmma-m", text))
    if facts.queries != BLOCK:
        found.append(Reason("queries", f"{facts.queries} queries of a step; dQ of a consumer has {BLOCK} rows"))
    return found
