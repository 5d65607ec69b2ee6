"""Classes of shapes that share a winner. Each shape is a class of its own. This module imports nothing of tlxgen.

Two similar shapes can have different winners: one more tile can start another wave, and rows can start at other offsets
in lines of L2. A model of time can express this, but classes of a table cannot.
"""

from __future__ import annotations

from collections.abc import Iterable

Shape = tuple[int, ...]


def classes(shapes: Iterable[Shape]) -> dict[Shape, tuple[Shape, ...]]:
    """Class -> its shapes, in a fixed order. A search is for one class."""
    return {shape: (shape,) for shape in sorted(set(shapes))}
