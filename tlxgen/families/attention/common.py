"""What the attention families share: problems, pairs that are seen, and what an H200 does in a clock."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tlxgen.arch import Arch
from tlxgen.families.kit import Extent

Shape = tuple[int, ...]

EXTENTS = (
    Extent("B", "batch entries"),
    Extent("H", "heads of Q"),
    Extent("Hkv", "heads of K and V"),
    Extent("Nq", "queries"),
    Extent("Nk", "keys"),
)

# Long sequences, where attention is all of the time, and more heads than SMs.
SHAPES: tuple[Shape, ...] = (
    (4, 32, 32, 4096, 4096),
    (4, 32, 32, 8192, 8192),
    (2, 32, 32, 16384, 16384),
)

COLUMNS = (64, 128, 256)  # of a tile of a head: powers of two, as Triton's blocks are

SLICE, TAIL = 64, 32  # columns of a slice of a tile, whose rows of two bytes TMA and wgmma swizzle; and of its last

ITEM_START = 2000  # clocks of a CTA from its start to its first product, and from its last to its end
WORKING_REGISTERS = 32  # a thread, beside scores and accumulators: statistics, addresses, counters (ptxas reports)


def pairs(n: int, m: int, *, mask: str, bottom_right: bool, window: tuple[int, int]) -> int:
    """How many of n queries x m keys are seen; `window` is keys to the left and to the right of a query's own."""
    if mask == "none":
        return n * m
    shift = m - n if bottom_right else 0
    left, right = window if mask == "window" else (n + m, 0)
    return sum(max(0, min(m, i + shift + right + 1) - max(0, i + shift - left)) for i in range(n))


def columns_of(head_dim: int) -> int:
    """Columns of the tiles of a head dimension: TMA fills those past the head's with zeros, and stores none of them."""
    return min(c for c in COLUMNS if c >= head_dim)


def slices_of(head_dim: int) -> tuple[int, ...]:
    """Columns of the buffers that hold a head dimension on sm90: one of `columns_of`, or several of fewer columns."""
    whole, needed = columns_of(head_dim), max(SLICE, -(-head_dim // TAIL) * TAIL)
    if needed >= whole:
        return (whole,)
    return (SLICE,) * (needed // SLICE) + (TAIL,) * (needed % SLICE // TAIL)


def rounds(items: float, sms: int) -> int:
    """Rounds of equal items over the SMs, the last of them perhaps not full."""
    return max(1, math.ceil(items / sms))


def stall(stages: int, clocks: float) -> float:
    """Clocks a step of `clocks` that the latency of loads leaves bare, because the ring is short of it."""
    return max(0.0, Arch.tma_latency - (stages - 1) * clocks) / stages


def unequal_groups(shape: Sequence[int]) -> str:
    """What is wrong with the heads of a shape; nothing if each head of K and V has as many of Q."""
    _, heads, kv_heads, _, _ = shape
    return f"{heads} heads of Q are not a multiple of {kv_heads} of K and V" if heads % kv_heads else ""


def work(items: int, tiles: Sequence[int]) -> tuple[int, int, int]:
    """Work items, the tiles that all of them walk, and the most that one walks: `items` for each entry of `tiles`."""
    return items * len(tiles), items * sum(tiles), max(tiles)


def probes_of(block: int) -> tuple[Shape, Shape, Shape]:
    """Problems of one head and of two, of so many queries and keys, whose items and rounds are not in proportion."""
    return (1, 1, 1, 3 * block, 3 * block), (1, 1, 1, 6 * block, 6 * block), (1, 2, 2, 3 * block, 3 * block)
