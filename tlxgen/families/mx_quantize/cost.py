"""The cost of a quantiser: its bytes, and an estimate in clocks by which variants are ranked."""

from __future__ import annotations

import math

from tlxgen.arch import Arch
from tlxgen.plan import Plan

from .spec import BLOCK, QuantizeSpec


def bytes_moved(spec: QuantizeSpec, shape: tuple[int, ...]) -> float:
    """Bytes of x, of the numbers and of the scales, each once."""
    each = spec.dtype.bytes + len(spec.results) // 2 * (1 + 1 / BLOCK)
    return shape[0] * shape[1] * each


def clocks(plan: Plan, shape: tuple[int, ...], sms: int) -> float:
    """Estimated clocks of the plan's kernel on (M, N): memory time of whole tiles, and of persistent CTAs of whole
    rounds, so that few tiles are better small."""
    spec = plan.facts
    assert isinstance(spec, QuantizeSpec)
    tile = bytes_moved(spec, (spec.tile.m, spec.tile.n)) / Arch.dram_bytes_per_clock
    tiles = math.ceil(shape[0] / spec.tile.m) * math.ceil(shape[1] / spec.tile.n)
    if spec.persistent:
        return (math.ceil(tiles / (sms * spec.ctas)) * spec.ctas * tile + spec.begin) / spec.faster
    return max(tiles / sms, 1.0) * tile


def work(plan: Plan, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Tiles."""
    spec = plan.facts
    assert isinstance(spec, QuantizeSpec)
    return math.ceil(shape[0] / spec.tile.m) * math.ceil(shape[1] / spec.tile.n), 0, 0


def probes(plan: Plan, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """One tile and two."""
    spec = plan.facts
    assert isinstance(spec, QuantizeSpec)
    return (spec.tile.m, spec.tile.n), (2 * spec.tile.m, spec.tile.n)
