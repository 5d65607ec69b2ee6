"""Rules on the sizes of a variant. A rule's condition is both source text, for an assertion, and a value, for the plan.

This module imports nothing of tlxgen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Extent(Protocol):
    """The protocol of `Size`: a value for a variant, and a text for the source of its structure."""

    @property
    def text(self) -> str: ...

    @property
    def value(self) -> int: ...


@dataclass(frozen=True)
class Condition:
    """A condition as Python source in the kernel's parameters, and its truth for this variant."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Rule:
    """A condition on sizes. A variant that breaks it is rejected with the id `rule`; a kernel asserts it.

    `message` says what is required. `found`, which is put in front of it, says what this variant has instead.
    """

    rule: str
    condition: Condition
    found: str
    message: str

    @property
    def text(self) -> str:
        return self.found + self.message


def at_least(size: Extent, least: int) -> Condition:
    return Condition(f"{size.text} >= {least}", size.value >= least)


def between(size: Extent, least: int, most: int) -> Condition:
    # Triton does not compile chained comparisons.
    return Condition(f"{size.text} >= {least} and {size.text} <= {most}", least <= size.value <= most)


def one_of(size: Extent, *values: int) -> Condition:
    return Condition(" or ".join(f"{size.text} == {value}" for value in values), size.value in values)


def multiple_of(size: Extent, unit: int) -> Condition:
    text = f"({size.text})" if "+" in size.text else size.text
    return Condition(f"{text} % {unit} == 0", size.value % unit == 0)


def divisor_of(size: Extent, whole: int) -> Condition:
    return Condition(f"{whole} % ({size.text}) == 0", whole % size.value == 0)


def equal(size: Extent, other: Extent) -> Condition:
    return Condition(f"{size.text} == {other.text}", size.value == other.value)
