"""The cost of a norm: its bytes, and an estimate in clocks by which variants are ranked."""

from __future__ import annotations

import math

from tlxgen.arch import Arch
from tlxgen.plan import Plan

from .spec import NormSpec


def flops(spec: NormSpec, shape: tuple[int, ...]) -> float:
    """Additions and multiplications of an element: two for the sums, two for the squares, and at most four for y."""
    return 8.0 * shape[0] * shape[1]


def bytes_moved(spec: NormSpec, shape: tuple[int, ...]) -> float:
    """Bytes of x, y, residuals and statistics, each counted once. Weights are negligible."""
    moved = len(spec.read) + len(spec.written)
    return float(shape[0] * (moved * shape[1] * spec.dtype.bytes + 4 * len(spec.stats)))


def clocks(plan: Plan, shape: tuple[int, ...], sms: int) -> float:
    """Estimated clocks of the plan's kernel on (M, N), as its host function launches it."""
    spec = plan.facts
    assert isinstance(spec, NormSpec)
    tile, cluster = spec.tile, spec.cluster.n
    if shape[1] > spec.most or shape[1] % spec.step:
        return math.inf
    columns = (9 * min(shape[1], tile.n) + tile.n) / 10  # what is masked costs little
    moved = tile.m * columns * 2 * spec.dtype.bytes * len(spec.read)
    resident = Arch.registers // (32 * spec.warps * spec.registers)
    each = moved / Arch.dram_bytes_per_clock + (1500 + (500 if spec.staged else 1000) * (cluster > 1)) / resident
    return max(math.ceil(shape[0] / tile.m) * cluster / sms, 1.0) * each


def work(plan: Plan, shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Tiles of rows, times the CTAs of a cluster. None for rows that are too long."""
    spec = plan.facts
    assert isinstance(spec, NormSpec)
    if shape[1] > spec.most or shape[1] % spec.step:
        return None
    return math.ceil(shape[0] / spec.tile.m) * spec.cluster.n, 0, 0


def probes(plan: Plan, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """One tile and two tiles of rows that are as long as those of the shape."""
    spec = plan.facts
    assert isinstance(spec, NormSpec)
    return (spec.tile.m, shape[1]), (2 * spec.tile.m, shape[1])
