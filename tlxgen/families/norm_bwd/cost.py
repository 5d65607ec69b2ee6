"""The cost of the backward of a norm: its bytes, and an estimate in clocks by which variants are ranked."""

from __future__ import annotations

import math

from tlxgen.arch import Arch
from tlxgen.plan import Plan

from .spec import NormBwdSpec


def flops(spec: NormBwdSpec, shape: tuple[int, ...]) -> float:
    """Operations of an element: three for xhat and wdy, four for sums of rows, eight for the rest."""
    return 15.0 * shape[0] * shape[1]


def bytes_moved(spec: NormBwdSpec, shape: tuple[int, ...]) -> float:
    """Bytes of all rows and of statistics, each counted once. Weights and their gradients are negligible."""
    return float(shape[0] * ((len(spec.read) + 1) * shape[1] * spec.dtype.bytes + 4 * len(spec.stats)))


def clocks(plan: Plan, shape: tuple[int, ...], sms: int) -> float:
    """Estimated clocks of the plan's kernels on (M, N), as their host function launches them."""
    spec = plan.facts
    assert isinstance(spec, NormBwdSpec)
    tile, cluster, copies = spec.tile, spec.cluster.n, spec.rings.rows.stages > 0
    if spec.columns < shape[1] or shape[1] % spec.step:
        return math.inf
    tiles = math.ceil(shape[0] / tile.m)
    clusters = min(tiles, max(spec.ctas * (sms - 12 * (cluster == 8)) // cluster, 1))
    moved = (
        tile.m * spec.columns * clusters * (len(spec.read) + 1) * spec.dtype.bytes / (Arch.dram_bytes_per_clock * sms)
    )
    return math.ceil(tiles / clusters) * (moved + (500 if copies else 4000))


def work(plan: Plan, shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Tiles of rows, times the CTAs of a cluster. None for rows that are too long."""
    spec = plan.facts
    assert isinstance(spec, NormBwdSpec)
    if spec.columns < shape[1] or shape[1] % spec.step:
        return None
    return math.ceil(shape[0] / spec.tile.m) * spec.cluster.n, 0, 0


def probes(plan: Plan, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """One tile and two tiles of rows that are as long as those of the shape."""
    spec = plan.facts
    assert isinstance(spec, NormBwdSpec)
    return (spec.tile.m, shape[1]), (2 * spec.tile.m, shape[1])
