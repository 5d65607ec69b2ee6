"""The sequences and windows of the attention families' problems. It needs no torch, and problems and costs need it."""

from __future__ import annotations

WINDOW = (70, 33)  # keys to the left and right that a query sees in a check: fewer than a tile has
WIDE = (270, 133)  # those of a head that is alone: some queries see all keys of a tile


def window_of(heads: int) -> tuple[int, int]:
    """The window of a problem of so many heads."""
    return WIDE if heads == 1 else WINDOW


def lengths(batches: int, longest: int, kind: int) -> list[int]:
    """The longest, then shorter ones, one of them empty."""
    return [longest, *((longest * (3 * i + kind) // (3 * batches)) if i > 1 else 0 for i in range(1, batches))]
