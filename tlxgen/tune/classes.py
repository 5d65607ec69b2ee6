"""Shape classes: which shapes share a winner. LEAF module: imports nothing of tlxgen."""

from __future__ import annotations

from collections.abc import Iterable

Shape = tuple[int, ...]


def class_of(shape: Shape) -> Shape:
    """The class of a shape: each extent rounded up to a power of two. 3000x4096x100 is of the class 4096x4096x128."""
    return tuple(1 << (extent - 1).bit_length() for extent in shape)


def classes(shapes: Iterable[Shape]) -> dict[Shape, tuple[Shape, ...]]:
    """Class -> its shapes, both in a fixed order."""
    found: dict[Shape, list[Shape]] = {}
    for shape in sorted(set(shapes)):
        found.setdefault(class_of(shape), []).append(shape)
    return {key: tuple(found[key]) for key in sorted(found)}
