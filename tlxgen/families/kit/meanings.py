"""Descriptions of values that keys of several families take: what each does, and when to choose it."""

from __future__ import annotations

from tlxgen.spec import Choices, choices

DTYPE = choices(
    bf16="8 bits of exponent, 7 of mantissa: the range of fp32. The usual choice for training and inference.",
    fp16="5 bits of exponent, 10 of mantissa: 8 times as exact as bf16, and it overflows at 65504.",
    fp32="No rounding of the result. It takes twice the memory and bandwidth of 16 bits.",
    e4m3="fp8 with 4 bits of exponent, 3 of mantissa, up to 448: for weights and activations.",
    e5m2="fp8 with 5 bits of exponent, 2 of mantissa, up to 57344: for gradients.",
    e2m1="fp4, two values a byte, up to 6: mxfp4, with problem.scaling mx on sm100.",
)
EVICTION = choices(
    none="No hint: L2 evicts what was used least lately. Choose it unless a measurement says otherwise.",
    evict_first="The lines are evicted before others: for data that no other CTA reads again, such as results.",
    evict_last="The lines stay longest: for the operand that many CTAs read, such as the weights of a GEMM.",
)
EMPTY = choices(
    leader="One thread of a task arrives after all of the task have met: a sync of the task a slot, few arrivals.",
    warp="Every thread arrives for itself: no sync of the task, 32 times the warps in arrivals. Choose it where a task "
    "has nothing else to meet for.",
)
KIND = choices(
    grid="One tile a CTA, a CTA a tile: the simplest, and as fast where a launch has less than one wave of tiles.",
    persistent="A CTA an SM stays and walks the tiles: the loads of the next tile run under the epilogue of this one. "
    "Choose it where there are more tiles than SMs.",
    clc="sm100: CTAs that run take over the tiles of CTAs that have not started, by cluster launch control. Choose it "
    "where tiles take unequal times, or where other kernels share the GPU.",
)
ALIGN = choices(
    top_left="Query i sees keys up to i, as torch's is_causal has it: for sequences that begin together.",
    bottom_right="Query i sees keys up to i + Nk - Nq: for decoding, where the queries are the last of the sequence.",
)
MEET = choices(
    named="A named barrier of the SM: no memory, and all that meet stop. A CTA has 16 of them.",
    mbarrier="A barrier in SMEM: each arrives and goes on, and waits where it needs the others.",
)


def of(known: Choices, *values: str, **others: str) -> Choices:
    """The texts of some of the values, with replacements or additions."""
    return choices({**{value: known.texts[value] for value in values}, **others})
