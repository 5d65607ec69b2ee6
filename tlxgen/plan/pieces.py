"""Cuts tile extents that are not powers of two into pieces that are, since a block of Triton has to be one.

This module imports only sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

from .size import Count, Size

UNIT, BOXES = 8, (64, 32, 16, 8)  # rows of blocks, and of boxes, of an operand whose rows are the columns of one wgmma
BOX = BOXES[0]
NARROW = 32  # [tlx: async_dot asserts N >= 32]
WORDS = {3: "thirds", 5: "fifths", 7: "sevenths"}  # keys: how many times the smallest piece fits in the extent


@dataclass(frozen=True)
class Piece:
    """A piece of an extent: its start (None for the first piece), its length, and the number of slices it is cut into.

    `suffix` is appended to the names of the piece's own variables. It is empty where there is one piece.
    """

    suffix: str
    begin: Size | None
    extent: Size
    slices: int


def shares(extent: int) -> tuple[int, ...]:
    """The powers of two whose sum is a positive extent, largest first, in units of the smallest: (2, 1) for 192."""
    units = extent // (extent & -extent)
    return tuple(1 << i for i in reversed(range(units.bit_length())) if units >> i & 1)


def form(extent: int) -> str:
    """A word for the extents whose pieces have the same shares, such as "thirds" for 192; empty for a power of two."""
    units = sum(shares(extent))
    return "" if units == 1 else WORDS.get(units, f"of_{units}")


def narrow(extent: int) -> str:
    """A word for extents that `tlx.async_dot` does not take as columns of a product; empty for others."""
    return "narrow" if extent < NARROW else ""


def units(extent: Size) -> Count:
    """How many times UNIT is in an extent."""
    return Count(extent.value // UNIT, f"({extent.text} // {UNIT})")


def whole_boxes(extent: Size) -> tuple[Count, Size]:
    """How many boxes of BOX cover an extent, and what they have together."""
    count = (extent + (BOX - 1)) // BOX
    return Count(count.value, f"({count.text})"), count * BOX


def pieces(extent: Size, slices: int = 1) -> tuple[Piece, ...]:
    """The pieces of an extent, in order. They are cut into equal slices, at least `slices` (a power of two) in all."""
    parts = shares(extent.value)
    unit, each = extent // sum(parts), 1
    while each * sum(parts) < slices:
        each *= 2
    found = []
    for i, share in enumerate(parts):
        suffix, before = f"_{i}" if len(parts) > 1 else "", sum(parts[:i])
        found.append(Piece(suffix, unit * before if before else None, unit * share, each * share))
    return tuple(found)
