"""What plans and templates know of an expression: device code, its arguments, and whether its derivative is one."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

from tlxgen.spec import ExpressionFault

from .grammar import parse

PARAMETERS = ("head", "batch", "heads", "n_q", "n_k")  # that a tile has one number of


@dataclass(frozen=True)
class Modified:
    """How scores are modified before they are weighed: scaled scores to exponents of two.

    `code` are statements that return the exponents; `sloped` those that return the derivative by the scaled score, too,
    which `steep` says is not one, and `flat` that it is one number for a tile. `uses` has the names that either reads.
    """

    text: str
    unit: Literal["scale", "scale_log2"]  # what scores as they are multiplied have as their factor
    uses: frozenset[str]
    code: tuple[str, ...]
    sloped: tuple[str, ...]
    steep: bool
    flat: bool

    @property
    def by_tanh(self) -> bool:
        return any("tanh(" in line for line in (*self.code, *self.sloped))

    @property
    def relations(self) -> tuple[str, ...]:
        """By which its choices differ within a tile."""
        return tuple(sorted(set(re.findall(r"\bwhere_(\w+)\(", " ".join((*self.code, *self.sloped))))))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The numbers of a tile that it reads, in order."""
        aligned = ("n_q", "n_k") if "aligned" in self.uses else ()
        return tuple(name for name in PARAMETERS if name in self.uses or name in aligned)

    @property
    def by_place(self) -> bool:
        """Whether it reads where queries or keys are."""
        return not self.uses.isdisjoint(("q", "k", "apart", "aligned"))


@functools.lru_cache(maxsize=64)
def modified(text: str) -> Modified:
    """Of the text of an expression. Raises ExpressionFault for a text that is none, or is no finite number."""
    parsed = parse(text)
    import sympy

    from . import emitted, symbolic

    made = symbolic.symbolic(parsed)
    both = made.value, made.slope
    if any(x.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I) for x in both):
        raise ExpressionFault(f"{parsed.canonical} is not a finite number")
    steep = made.slope != 1
    read = both if steep else both[:1]
    return Modified(
        text=parsed.canonical,
        unit="scale_log2" if made.affine else "scale",
        uses=frozenset(s.name for x in read for s in x.free_symbols),
        code=emitted.lines(both[:1]),
        sloped=emitted.lines(both) if steep else (),
        steep=steep,
        flat=emitted.is_flat(made.slope),
    )


def facts(text: str | None) -> dict[str, Modified]:
    """What of the facts of weights an expression decides; nothing without one."""
    return {"modified": modified(text)} if text else {}


def checked(text: str) -> str:
    """The text, if it is an expression. Raises ExpressionFault, with the place in it, otherwise."""
    modified(text)
    return text
