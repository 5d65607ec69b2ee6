"""Sizes that have a value, for a variant, and a text, for the source of its structure. Imports nothing of tlxgen."""

from __future__ import annotations

from dataclasses import dataclass

_SUM, _PRODUCT, _ATOM = range(3)


@dataclass(frozen=True)
class Size:
    """A non-negative integer that has both a value, for this variant, and a text, for the source of its structure.

    `Size.of("BLOCK_M", 128) // 2` has the value 64 and the text `BLOCK_M // 2`: the kernel is written in names, the
    budgets are computed in numbers, and the two cannot disagree.
    """

    text: str
    value: int
    rank: int = _ATOM

    @staticmethod
    def of(name: str, value: int) -> Size:
        return Size(name, value)

    @staticmethod
    def literal(value: int) -> Size:
        return Size(str(value), value)

    def _as(self, rank: int) -> str:
        return self.text if self.rank >= rank else f"({self.text})"

    def __mul__(self, other: Size | int) -> Size:
        other = other if isinstance(other, Size) else Size.literal(other)
        if other.text == "1" or self.text == "0":
            return self
        if self.text == "1":
            return other
        # a // 2 * b and a * (b // 2) may differ, so a right operand that is itself a product keeps its parentheses
        return Size(f"{self._as(_PRODUCT)} * {other._as(_ATOM)}", self.value * other.value, _PRODUCT)

    def __floordiv__(self, other: int) -> Size:
        if other == 1:
            return self
        return Size(f"{self._as(_PRODUCT)} // {other}", self.value // other, _PRODUCT)

    def __add__(self, other: Size | int) -> Size:
        other = other if isinstance(other, Size) else Size.literal(other)
        return Size(f"{self.text} + {other.text}", self.value + other.value, _SUM)

    def __sub__(self, other: int) -> Size:
        if self.text == str(self.value):
            return Size.literal(self.value - other)
        return Size(f"{self.text} - {other}", self.value - other, _SUM)

    def __gt__(self, other: int) -> bool:
        return self.value > other

    def __str__(self) -> str:
        return self.text


class Count(int):
    """A number that has a text, too, for the source of its structure."""

    text: str

    def __new__(cls, value: int, text: str) -> Count:
        made = super().__new__(cls, value)
        made.text = text
        return made

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]
        return int(self), self.text

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return format(self.text, spec)


def total(sizes: list[Size]) -> Size:
    """The sum of one or more sizes."""
    result = sizes[0]
    for size in sizes[1:]:
        result = result + size
    return result
