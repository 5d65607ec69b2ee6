"""What a grouped GEMM costs: gemm's figures for one product, times the groups. Sizes are means, and groups alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tlxgen.families.gemm import cost as gemm
from tlxgen.plan import Plan

Shape = tuple[int, ...]

# Experts of models and their tokens: few and large, many and small.
SHAPES: tuple[Shape, ...] = (
    (8, 2048, 4096, 4096),
    (32, 512, 4096, 4096),
    (64, 256, 2048, 7168),
    (8, 4096, 7168, 4096),
    (256, 64, 2048, 7168),
    (16, 2048, 768, 2048),
)


def flops(spec: Any, shape: Shape) -> float:
    """Floating-point operations, a multiply-add as two; the epilogue is not counted."""
    return shape[0] * gemm.flops(spec, shape[1:])


def bytes_moved(spec: Any, shape: Shape) -> float:
    """Bytes that must cross to or from memory: A, B, C and what the epilogue reads, each once."""
    return shape[0] * gemm.bytes_moved(spec, shape[1:])


def estimate(plan: Plan, sms: int) -> Callable[[Shape], float]:
    """Clocks of a launch on a problem (G, M, N, K): whole tiles of each group, as one product that has them all."""
    alone = gemm.estimate(plan, sms)
    block_m = int(plan.value("BLOCK_M"))

    def clocks(shape: Shape) -> float:
        g, m, n, k = shape
        return alone((g * -(-m // block_m) * block_m, n, k))

    return clocks
