"""Which shapes share a winner: none do. LEAF module: imports nothing of tlxgen.

A shape near another one can have another winner, by one tile more that begins a round, or by rows that begin elsewhere
in lines of L2; the model of time knows such things, and a table does not.
"""

from __future__ import annotations

from collections.abc import Iterable

Shape = tuple[int, ...]


def classes(shapes: Iterable[Shape]) -> dict[Shape, tuple[Shape, ...]]:
    """What is searched at a time, in a fixed order: each shape by itself."""
    return {shape: (shape,) for shape in sorted(set(shapes))}
