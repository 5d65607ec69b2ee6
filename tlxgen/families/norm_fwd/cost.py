"""What a norm costs: its bytes, and an estimate of a variant's clocks to rank variants with."""

from __future__ import annotations

import math

from tlxgen.arch import Arch
from tlxgen.plan import Plan

from .spec import NormSpec


def flops(spec: NormSpec, shape: tuple[int, ...]) -> float:
    """Additions and multiplications: two an element for the sums, two for the squares, and four for y at most."""
    return 8.0 * shape[0] * shape[1]


def bytes_moved(spec: NormSpec, shape: tuple[int, ...]) -> float:
    """Bytes of x, y, what belongs to a residual, and statistics, each once; weights are as nothing to them."""
    moved = len(spec.read) + len(spec.written)
    return float(shape[0] * (moved * shape[1] * spec.dtype.bytes + 4 * len(spec.stats)))


def resident(spec: NormSpec) -> int:
    """How many CTAs the registers of an SM are enough for."""
    return Arch.registers // (32 * spec.warps * spec.registers)


def clusters(spec: NormSpec, sms: int) -> int:
    """How many clusters run at a time."""
    return max(resident(spec) * sms // spec.cluster.n, 1)


def clocks(plan: Plan, shape: tuple[int, ...], sms: int) -> float:
    """Estimated clocks of the plan's kernel on (M, N), as its host function has it."""
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
    """Tiles of rows, a CTA's part of each; no inner loop is told apart. None for rows that the kernel does not take."""
    spec = plan.facts
    assert isinstance(spec, NormSpec)
    if shape[1] > spec.most or shape[1] % spec.step:
        return None
    return math.ceil(shape[0] / spec.tile.m) * spec.cluster.n, 0, 0


def probes(plan: Plan, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """One tile and two of rows as long as those of the shape."""
    spec = plan.facts
    assert isinstance(spec, NormSpec)
    return (spec.tile.m, shape[1]), (2 * spec.tile.m, shape[1])
