"""What a grouped GEMM costs: gemm's figures for one product, times the groups. Sizes are means, and groups alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tlxgen.families.gemm import cost as gemm
from tlxgen.families.gemm.facts import GemmFacts
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


def work(plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
    """Tiles of C of all groups, as many as there are at the least; tiles of K of all of them, and of one.

    None where CTAs share a K, and where problems draw how much there is of all groups.
    """
    groups = cast(GemmFacts, plan.facts).groups
    assert groups
    g, m, n, k = shape
    if groups.given == "masked_m":
        return None
    if groups.vary in ("m", "n"):  # one after the other, in tiles that are full
        return gemm.whole(plan, (g * m, n, k) if groups.vary == "m" else (m, g * n, k))
    return gemm.whole(plan, (m, n, k), g)


def probes(plan: Plan, shape: Shape) -> tuple[Shape, ...]:
    """Those of gemm, as one group."""
    return tuple((1, *probe) for probe in gemm.probes(plan, shape[1:]))


def sharing(plan: Plan, shape: Shape, sms: int, l2: int) -> tuple[float, float]:
    """That of gemm of one group, since no two groups load the same."""
    return gemm.sharing(plan, shape[1:], sms, l2)
