"""Extents that are no powers of two, as sums of such: blocks of Triton are powers of two, tiles need not be.

Imports only sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

from .size import Size

WORDS = {3: "thirds", 5: "fifths", 7: "sevenths"}  # of the parts that the smallest piece is one of


@dataclass(frozen=True)
class Piece:
    """A piece of an extent: where it begins (None: with the extent), how long it is, and in how many slices it is cut.

    `suffix` ends the names of what is its own; it is empty where there is one piece.
    """

    suffix: str
    begin: Size | None
    extent: Size
    slices: int


def shares(extent: int) -> tuple[int, ...]:
    """The powers of two that a positive extent is the sum of, largest first, in units of the smallest: 2, 1 of 192."""
    units = extent // (extent & -extent)
    return tuple(1 << i for i in reversed(range(units.bit_length())) if units >> i & 1)


def form(extent: int) -> str:
    """What extents have in common whose pieces have the same shares, in a word; empty for a power of two."""
    units = sum(shares(extent))
    return "" if units == 1 else WORDS.get(units, f"of_{units}")


def pieces(extent: Size, slices: int = 1) -> tuple[Piece, ...]:
    """The pieces of an extent, in order, cut into equal slices: at least so many in all, a power of two."""
    parts = shares(extent.value)
    unit, each = extent // sum(parts), 1
    while each * sum(parts) < slices:
        each *= 2
    found = []
    for i, share in enumerate(parts):
        suffix, before = f"_{i}" if len(parts) > 1 else "", sum(parts[:i])
        found.append(Piece(suffix, unit * before if before else None, unit * share, each * share))
    return tuple(found)
