"""What forward attention costs: the work in a problem, and an estimate of a variant's clocks to rank variants with.

The estimate is arithmetic on the plan: it times nothing and need not be right, only in the right order.
"""

from __future__ import annotations

import math
from typing import cast

from tlxgen.arch import DTYPES, Arch, Sm90
from tlxgen.families.attention.common import ITEM_START, Shape, rounds, stall
from tlxgen.families.attention.common import pairs as count_pairs
from tlxgen.families.attention.sequences import WINDOW, window_of
from tlxgen.plan import Plan

from . import sparse
from .facts import AttentionFacts
from .spec import AttentionSpec, ForwardSpec

SOFTMAX_INSTRUCTIONS = 6  # a score: maximum, scale, sum, rounding, and its share of the rescaled O
FMAS, POLYNOMIAL = 3, 7  # multiply-adds of a score: scale, sum, its share of O; and of a polynomial in place of exp2
LEADER_RELEASE = 60  # clocks of a release that syncs the task
PAIRED = 0.25  # of a softmax: what stays bare when the products of another consumer, or of this one, run under it


def pairs(spec: ForwardSpec, n: int, m: int, window: tuple[int, int] = WINDOW) -> int:
    """How many pairs of a query and a key are seen; sequences are taken as long as the longest."""
    weights = spec.weights
    return count_pairs(n, m, mask=weights["mask"], bottom_right=weights["bottom_right"], window=window)


def flops(spec: ForwardSpec, shape: Shape) -> int:
    """Floating-point operations of both products over the pairs that are seen, a multiply-add as two."""
    b, h, _, n, m = shape
    if isinstance(spec, AttentionSpec) and spec.mask.blocks:
        seen = sparse.pairs(spec, shape, window_of(h))
    else:
        seen = b * h * pairs(spec, n, m, window_of(h))
    return 2 * seen * (spec.problem.head_dim + spec.head_dim_v)


def bytes_moved(spec: ForwardSpec, shape: Shape) -> float:
    """Bytes of Q, K, V, O, the bias and the log-sum-exp, each once."""
    b, h, kv, n, m = shape
    width, wide = DTYPES[spec.problem.dtype].bytes, DTYPES[spec.out_dtype].bytes
    d, dv = spec.problem.head_dim, spec.head_dim_v
    read = h * n * d + kv * m * (d + dv)
    bias = n * m * (b if n % 2 else 1) * (h if m % 2 else 1) * (DTYPES[spec.bias].bytes if spec.bias else 0)
    return float(b * (read * width + h * n * dv * wide) + 4 * b * h * n * spec.lse + bias)


def clocks(plan: Plan, shape: Shape, sms: int) -> float:
    """Estimated clocks of the plan's kernel on a problem (B, H, Hkv, Nq, Nk)."""
    facts = cast(AttentionFacts, plan.facts)
    b, h, _, n, m = shape
    size = {p.name: int(p.value) for p in plan.parameters}
    items = math.ceil(n / size["BLOCK_M"]) * b * h
    seen = 0.5 + size["BLOCK_M"] / (2 * n) if facts.causal else 1.0  # of the keys, by an item on average
    tiles = max(1.0, math.ceil(m / size["BLOCK_N"]) * seen)
    hidden = facts.persistent and items > sms
    around = ITEM_START * ((0.3 if size["Q_STAGES"] > 1 or facts.keep_q else 0.5) if hidden else 1.0)
    at_a_time = items / sms if facts.causal else rounds(items, sms)  # the longest first: no round ends together
    return max(at_a_time, 1.0) * (tiles * _tile(plan, facts, size) + around)


def _tile(plan: Plan, facts: AttentionFacts, size: dict[str, int]) -> float:
    """Clocks of a tile of keys: the slower of tensor cores and SMEM, and what of the softmax nothing hides."""
    block_m, block_n = size["BLOCK_M"], size["BLOCK_N"]
    columns, columns_v = (facts.operand(name).columns for name in "kv")
    multiply = block_m * block_n * (columns + columns_v) / (Sm90.products * 2 / facts.dtype.bytes)
    read = facts.replicas * block_n * (columns + columns_v)
    read += 0 if facts.keep_q else block_m * columns
    smem = read * facts.dtype.bytes / Arch.smem_bytes_per_clock
    softmax = block_m * block_n * (_exponential(facts) + SOFTMAX_INSTRUCTIONS / Arch.instructions_per_clock)
    bare = (1 if facts.overlap else 2) * (1 if plan.turns else 1.5) * PAIRED / facts.replicas
    releases = 2 * LEADER_RELEASE * any(r.empty == "leader" and r.name in "kv" for r in plan.rings)
    step = max(multiply, smem, softmax) + bare * softmax + releases
    return step + stall(size["KV_STAGES"], step)


def _exponential(facts: AttentionFacts) -> float:
    """Clocks of a score's exponential: of the exponential unit, or of the FMA units, whichever need more."""
    share = facts.polynomial / 64
    return max((1 - share) / Arch.exponentials_per_clock, (FMAS + POLYNOMIAL * share) / Arch.fma_per_clock)
