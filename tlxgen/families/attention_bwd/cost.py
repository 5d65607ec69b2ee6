"""What backward attention costs: the work in a problem, and an estimate of a variant's clocks to rank variants with.

The estimate is arithmetic on the plan: it times nothing and need not be right, only in the right order.
"""

from __future__ import annotations

import math
from typing import Any, cast

from tlxgen.arch import DTYPES, Arch, Sm90, Sm100
from tlxgen.families.attention.common import ITEM_START, Shape, pairs, rounds, stall
from tlxgen.families.attention.sequences import window_of
from tlxgen.families.attention_fwd import sparse
from tlxgen.plan import Plan

from .facts import BackwardFacts
from .spec import BackwardSpec

BARE = {"named": 900, "mbarrier": 600, "none": 500}  # clocks a step that no product covers, by the way of meeting
WEIGHTS = 5  # instructions a score, beside the exponential: scale, difference, product, two roundings
QUANTISED = 3  # more, where dS has block scales: magnitude, maximum, product
ROUND = 400  # clocks of a step on sm100 that hand-offs between its tasks leave bare
AHEAD = 200  # of these, that the next step's scores cover


def flops(spec: BackwardSpec, shape: Shape) -> int:
    """Floating-point operations of the products over the pairs that are seen: scores, dP, and one a gradient."""
    b, h, _, n, m = shape
    bottom_right = spec.mask.align == "bottom_right"
    seen = b * h * pairs(n, m, mask=spec.mask.kind, bottom_right=bottom_right, window=window_of(h))
    if spec.weights.get("blocks"):
        seen = sparse.pairs(cast(Any, spec), shape, window_of(h))
    by_v = 1 + ("dv" in spec.gradients)  # dP and dV have the columns of V, the others those of Q
    columns = (2 + len(spec.gradients) - by_v) * spec.problem.head_dim + by_v * spec.head_dim_v
    return 2 * seen * columns


def bytes_moved(spec: BackwardSpec, shape: Shape) -> float:
    """Bytes of Q, K, V, O, dO, the log-sum-exp and the gradients, each once; of MXFP8, Q, K and dO twice."""
    b, h, kv, n, m = shape
    if spec.scaled:
        numbers, rounded = 4 * h * n + 3 * kv * m, 2 * (h * n + kv * m)
        read = numbers * (1 + 1 / Sm100.mx_block) + rounded * DTYPES[spec.out_dtype].bytes
        return float(b * (read * spec.problem.head_dim + 4 * h * n))
    of_q = h * n * (1 + ("dq" in spec.gradients)) + kv * m * (1 + ("dk" in spec.gradients))
    of_v = h * n * 2 + kv * m * (1 + ("dv" in spec.gradients))  # O and dO among them
    elements = b * (of_q * spec.problem.head_dim + of_v * spec.head_dim_v)
    matrices = (b if n % 2 else 1) * (h if m % 2 else 1) * n * m if spec.weights.get("bias") else 0
    elements += matrices * (1 + (spec.dbias != "none"))
    return float(elements * DTYPES[spec.problem.dtype].bytes + 4 * b * h * n)


def clocks(plan: Plan, shape: Shape, sms: int) -> float:
    """Estimated clocks of the plan's main kernel on a problem (B, H, Hkv, Nq, Nk)."""
    facts = cast(BackwardFacts, plan.facts)
    b, h, kv, n, m = shape
    size = {p.name: int(p.value) for p in plan.parameters}
    items = math.ceil(m / (facts.keys * facts.ctas)) * facts.ctas * b * (h if facts.apart else kv)
    steps = math.ceil(n / facts.queries) * (1 if facts.apart else h // kv) * (0.5 if facts.causal else 1.0)
    at_a_time = max(items / sms, 1.0) if facts.causal else rounds(items, sms)
    step = _tcgen05_step if facts.tensor_memory else _step
    swept = b * kv * m * facts.sweeping / sms
    return at_a_time * (steps * step(facts, size) + facts.adding + ITEM_START) + swept


def _step(facts: BackwardFacts, size: dict[str, int]) -> float:
    """Clocks of a step: the slower of tensor cores and SMEM, and what neither covers."""
    d, queries, keys = facts.columns, facts.queries, facts.keys
    multiply = (2 + len(facts.gradients)) * queries * keys * d / Sm90.products
    kept = len(facts.keep) if facts.keep != "none" else 0
    read = 4 * facts.replicas * queries * d + (2 - kept) * keys * d * facts.parts  # right operands, then left ones
    read += 2 * queries * keys * facts.replicas if facts.dq else 0  # dS and its part of K
    smem = read * facts.dtype.bytes / Arch.smem_bytes_per_clock + (
        3 * queries * d * 4 / Arch.smem_bytes_per_clock if facts.dq else 0
    )
    bare = BARE[facts.meet] - AHEAD * facts.ahead
    step = max(multiply, smem) + bare
    return step + stall(min(size["Q_STAGES"] - facts.ahead, size["DO_STAGES"]), step)


def _tcgen05_step(facts: BackwardFacts, size: dict[str, int]) -> float:
    """Clocks of a step on sm100: the slowest of tensor cores, SMEM and exponentials, and the way round that is bare."""
    d, queries, keys = facts.head_dim, facts.queries, facts.keys
    tile = queries * keys
    product = tile * d / (Sm100.products * (2 if facts.scaled else 1))
    multiply = 5 * product
    # Right operands of all products, K and V on the left, dS for dQ and, out of SMEM, for dK; dS stored; dQ on its way.
    read = (3 * queries + 3 * keys) * d + tile * (1 if facts.ds_in_tmem else 2)
    if facts.pair:  # half of each right operand, of dQ half of the rows, and half of dS on its way
        read += (tile if facts.exchange == "copy" else 0) // 2 - 2 * queries * d
    smem = ((read + tile) * facts.dtype.bytes + 2 * facts.own * d * 4) / Arch.smem_bytes_per_clock
    instructions = WEIGHTS + QUANTISED * facts.scaled
    weights = tile * (1 / Arch.exponentials_per_clock + instructions / Arch.instructions_per_clock)
    waits = facts.dq_reuse + (
        facts.order.place(facts.order.product("dq")) > facts.order.place(facts.order.product("dk"))
    )
    step = max(multiply, smem, weights) + ROUND * (1 + waits / 2 + facts.ds_in_tmem / 4)
    if facts.scaled:  # scores wait until dP has been read, where their scales lie
        step += product
    return step + stall(min(size["Q_STAGES"], size["DO_STAGES"] + 1), step)
