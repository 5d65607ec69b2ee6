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


def least_bytes(spec: DecodeSpec, shape: tuple[int, ...]) -> float:
    """Bytes that a launch moves at the least, by the lengths that its sequences have."""
    return bytes_moved(spec, shape) * sum(_keys(spec, shape)) / (shape[0] * shape[4])


def work(plan: Plan, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Tiles of rows of all heads of K and V, the tiles of keys that all of them walk, and those of a part of the most
    that one walks, in as many parts as there may be."""
    spec = plan.facts
    assert isinstance(spec, DecodeSpec)
    b, h, kv, n, _ = shape
    rows = kv * math.ceil(h // kv * n / spec.rows)
    tiles = [math.ceil(keys / spec.tile.n) for keys in _keys(spec, shape)]
    return b * rows, sum(tiles) * rows, math.ceil(max(tiles) / MOST_SPLITS)


def probes(plan: Plan, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """One sequence and one head, over some tiles of keys and twice as many, and two heads."""
    spec = plan.facts
    assert isinstance(spec, DecodeSpec)
    keys = 6 * spec.tile.n
    return (1, 1, 1, 1, keys), (1, 1, 1, 1, 2 * keys), (1, 2, 2, 1, keys)


def _keys(spec: DecodeSpec, shape: tuple[int, ...]) -> list[int]:
    """Of each sequence of a problem, as `problem` makes them."""
    if not spec.has_lengths:
        return [shape[4]] * shape[0]
    from .problem import lengths  # imports torch

    return lengths(shape[0], shape[4])
