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


def resident(spec: NormSpec) -> int:
    """The number of CTAs for which an SM has registers."""
    return Arch.registers // (32 * spec.warps * spec.registers)


def clusters(spec: NormSpec, sms: int) -> int:
    """The number of clusters that run at a time."""
    return max(resident(spec) * sms // spec.cluster.n, 1)


def clocks(plan: Plan, shape: tuple[int, ...], sms: int) -> float:
    """Estimated clocks of the plan's kernel on (M, N), as its host function launches it."""
    spec = plan.facts
    assert isinstance(spec, NormSpec)
    tile, cluster = spec.tile, spec.cluster.n
    if shape[1] > spec.most or shape[1] % spec.step:
        return math.inf
    width = math.ceil(shape[1] / (tile.n * cluster)) * tile.n
    columns = (9 * shape[1] / cluster + width) / 10  # what is masked costs little
    read, ctas = tile.m * columns * spec.dtype.bytes * len(spec.read), resident(spec)
    again = 2.4 if read * ctas * sms < Arch.l2_bytes else 3  # looped: x comes again from L2, or from memory
    moved = read * (again if spec.looped else 2)
    each = moved / Arch.dram_bytes_per_clock + (1500 + 1000 * (cluster > 1)) / ctas
    return max(math.ceil(shape[0] / tile.m) * cluster / sms, 1.0) * each


def work(plan: Plan, shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Tiles of rows, times the CTAs of a cluster; inner loops are not counted. None for rows that are too long."""
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
