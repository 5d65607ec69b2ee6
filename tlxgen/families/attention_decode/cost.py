"""The cost of decoding: its bytes, and an estimate in clocks by which variants are ranked."""

from __future__ import annotations

import math

from tlxgen.arch import Arch
from tlxgen.plan import Plan

from .spec import DecodeSpec

MOST_SPLITS = 128  # parts of a sequence's keys, of which the second kernel has the statistics in one vector
# Clocks of a CTA beside tiles, of a tile beside bytes, of a second kernel.
START, TILE, COMBINE = 2500, 150, 5000


def flops(spec: DecodeSpec, shape: tuple[int, ...]) -> float:
    """Floating-point operations of both products, a multiply-add as two; all keys count as seen."""
    b, h, _, n, m = shape
    return 4.0 * b * h * n * m * spec.problem.head_dim


def bytes_moved(spec: DecodeSpec, shape: tuple[int, ...]) -> float:
    """Bytes of K, V, Q, O and the log-sum-exp, each once; sequences are taken as long as the longest."""
    b, h, kv, n, m = shape
    return float(b * (2 * (kv * m + h * n) * spec.problem.head_dim * spec.dtype.bytes + 4 * h * n))


def clocks(plan: Plan, shape: tuple[int, ...], sms: int) -> float:
    """Estimated clocks of the plan's kernels on a problem (B, H, Hkv, Nq, Nk)."""
    spec = plan.facts
    assert isinstance(spec, DecodeSpec)
    b, h, kv, n, m = shape
    tiles = math.ceil(m / spec.tile.n)
    items = b * kv * math.ceil(h // kv * n / spec.rows)
    loaded = TILE + 2 * spec.tile.n * spec.problem.head_dim * spec.dtype.bytes / Arch.dram_bytes_per_clock
    each = max(loaded, spec.key_clocks * spec.tile.n)
    return min(
        math.ceil(items * s / sms) * (math.ceil(tiles / s) * each + START) + (COMBINE if s > 1 or spec.by_keys else 0)
        for s in range(1, min(max(tiles, 1), MOST_SPLITS) + 1)
    )
