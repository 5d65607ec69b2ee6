"""The extents of a family's problems. Help, errors, the schema and tables take the names and meanings from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

INT32 = 2**31 - 1  # kernels count rows, columns and sequences in 32 bits


@dataclass(frozen=True)
class Extent:
    """One extent of a problem: its name (`M`), what it counts (`rows of C`), and its largest value."""

    name: str
    means: str
    most: int = INT32


def form(extents: Sequence[Extent]) -> str:
    """'M x N x K'."""
    return " x ".join(extent.name for extent in extents)


def meaning(extents: Sequence[Extent]) -> str:
    """'M x N x K (M: rows of C, N: columns of C, K: the length of a sum)'."""
    return f"{form(extents)} ({', '.join(f'{extent.name}: {extent.means}' for extent in extents)})"


def wrong(extents: Sequence[Extent], shape: Sequence[int]) -> str:
    """A sentence that says what is wrong with a shape; empty if nothing is."""
    if len(shape) != len(extents):
        count = f"{len(extents)} extent{'s' * (len(extents) != 1)}"
        return f"a shape has {count}, {form(extents)}, and this has {len(shape)}"
    for extent, value in zip(extents, shape, strict=True):
        if not 1 <= value <= extent.most:
            return f"{extent.name} ({extent.means}) is 1 to {extent.most:,}, not {value}"
    return ""


def example(extents: Sequence[Extent], shapes: Sequence[Sequence[int]]) -> str:
    """A hint on how to write a shape: 'write M x N x K, such as 2048x2048x2048'."""
    such = f", such as {written(shapes[0])}" if shapes else ""
    return f"write {meaning(extents)}{such}"


def written(shape: Sequence[int]) -> str:
    """'4096x4096x4096'."""
    return "x".join(map(str, shape))


def read(text: str) -> tuple[int, ...]:
    """Parses a shape such as 4096x4096x4096. Raises ValueError for another form."""
    extents = text.lower().split("x")
    if not all(extent.isdecimal() and extent.isascii() for extent in extents):
        raise ValueError(f"{cut(text)!r} is not a shape: extents are whole numbers with x between them")
    if longest := next((extent for extent in extents if len(extent.lstrip("0")) > len(str(INT32))), ""):
        raise ValueError(f"{cut(text)!r} is not a shape: no extent is more than {INT32:,}, and {cut(longest)} is")
    return tuple(map(int, extents))


def cut(text: str, most: int = 60) -> str:
    """Shortens a text to at most `most` characters."""
    return text if len(text) <= most else f"{text[:most]}..."
