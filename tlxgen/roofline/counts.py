"""Counts of a kernel's operations. It imports nothing of tlxgen."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Counts:
    """Work of one or several CTAs. Additive: of two problems the difference is what the larger one does more."""

    products: float = 0.0  # multiply-adds of the tensor cores, as many of 16-bit types as take the same time
    exponentials: float = 0.0  # and what else the MUFU does: reciprocals, roots, logarithms
    alu: float = 0.0  # comparisons, minima, maxima, selections
    instructions: float = 0.0  # all that threads issue, those of the MUFU and the ALU among them
    smem_bytes: float = 0.0  # read by products, TMA stores and threads, or written by threads
    tmem_bytes: float = 0.0  # likewise
    l2_bytes: float = 0.0  # to and from global memory
    fma: float = 0.0  # floats that are multiplied, added or both; one instruction may do two
    stored: float = 0.0  # of the bytes of global memory, those that go there
    added: float = 0.0  # of these, those that TMA adds to what is there
    operands: float = 0.0  # floats that multiplications and additions read

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(self.values, other.values, strict=True)))

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(a - b for a, b in zip(self.values, other.values, strict=True)))

    def __mul__(self, factor: float) -> Counts:
        return Counts(*(factor * a for a in self.values))

    def add(self, other: Counts) -> None:
        """Adds in place."""
        for f in fields(self):
            setattr(self, f.name, getattr(self, f.name) + getattr(other, f.name))

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(getattr(self, f.name) for f in fields(self))
