"""Device code of a symbolic expression: lines of fp32 arithmetic on a tile, with what repeats computed once.

What is one number for a tile is multiplied before it meets a row, and that before it meets the tile. Imports sympy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import sympy
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from .symbolic import SCORE, SCORES, Choice, Greatest, Least, Where

Expr = Any
NUMBER, SCALAR, ROW, TILE = range(4)
RANKS = {"q": ROW, "k": ROW, **dict.fromkeys(("apart", "aligned", "score", "scores"), TILE)}  # others are scalars
SUM, PRODUCT, ATOM = range(3)  # how tightly a text binds
HALF = sympy.Rational(1, 2)
RELATIONS = {">": "gt", ">=": "ge", "<": "lt", "<=": "le", "==": "eq", "!=": "ne"}
CALLS = {
    sympy.Abs: "tl.abs",
    sympy.exp: "tl.exp",
    sympy.log: "tl.log",
    sympy.tanh: "tanh",
    Least: "tl.minimum",
    Greatest: "tl.maximum",
}


def lines(results: Sequence[Expr]) -> tuple[str, ...]:
    """Statements that compute the results, the last of which returns them."""
    printer, made = _Printer(), []
    chosen = [printer.chosen(x) for x in results]
    repeated, reduced = sympy.cse(chosen, symbols=sympy.numbered_symbols("repeated"), order="canonical")
    names, again = _names(), dict[Expr, Expr]()
    for symbol, found in repeated:
        value = found.xreplace(again)
        again[symbol] = value if _is_free(value) else sympy.Symbol(next(names))
        if not _is_free(value):
            printer.ranks[again[symbol].name] = printer.rank(value)
            made.append(f"{again[symbol].name} = {printer.text(value)}")
    return (*made, f"return {', '.join(printer.text(value.xreplace(again)) for value in reduced)}")


def is_flat(of: Expr) -> bool:
    """Whether an expression is one number for a tile."""
    return _Printer().rank(of) < ROW


def _names() -> Iterator[str]:
    return (f"t{i}" for i in itertools.count())


class _Printer:
    """Prints expressions; knows of each symbol whether it is a number for a tile, a row or column, or a tile."""

    def __init__(self) -> None:
        self.ranks = dict(RANKS)

    def rank(self, of: Expr) -> int:
        if of.is_Symbol:
            return self.ranks.get(of.name, SCALAR)
        if not of.args:
            return NUMBER
        both = {s.name for s in of.free_symbols} >= {"q", "k"}
        return TILE if both else max(self.rank(x) for x in of.args)

    def chosen(self, of: Expr) -> Expr:
        """With choices that differ within a tile by relations."""
        by_tile = of.replace(
            lambda x: isinstance(x, sympy.sign) and self.rank(x.args[0]) == TILE,
            lambda x: Where(x.args[0] > 0, 1, Where(x.args[0] < 0, -1, 0)),
        )
        return by_tile.replace(
            lambda x: isinstance(x, Where) and self.rank(x.args[0]) == TILE, lambda x: self._by_relations(*x.args)
        )

    def _by_relations(self, condition: Expr, yes: Expr, no: Expr) -> Expr:
        """A choice by one relation after the other."""
        if self.rank(condition) < TILE:
            return Where(condition, yes, no)
        if isinstance(condition, Relational):
            return Choice(sympy.Symbol(RELATIONS[condition.rel_op]), condition.lhs, condition.rhs, yes, no)
        first, *others = sorted(condition.args, key=sympy.default_sort_key)
        rest = self._by_relations(condition.func(*others), yes, no)
        found = (rest, no) if isinstance(condition, sympy.And) else (yes, rest)
        return self._by_relations(first, *found)

    def text(self, of: Expr, binds: int = SUM) -> str:
        """The expression as device code, in brackets where it binds less than `binds`."""
        found, strength = (self._truth(of), ATOM) if _is_truth(of) else self._number(of)
        return f"({found})" if strength < binds else found

    def _number(self, of: Expr) -> tuple[str, int]:
        if of.is_Symbol:
            return of.name, ATOM
        if of.is_number:
            return repr(float(of)), ATOM if of >= 0 else PRODUCT
        if of.is_Add:
            return self._sum(of), SUM
        if of.is_Mul:
            return self._product(of), PRODUCT
        if of.is_Pow:
            return self._power(of.base, of.exp)
        if isinstance(of, sympy.sign):
            x = self.text(of.args[0])
            return f"tl.where({x} > 0.0, 1.0, tl.where({x} < 0.0, -1.0, 0.0))", ATOM
        if isinstance(of, Choice):
            return f"where_{of.args[0].name}({', '.join(self.text(x) for x in of.args[1:])})", ATOM
        if isinstance(of, Where):
            return f"tl.where({', '.join(self.text(x) for x in of.args)})", ATOM
        return f"{CALLS[of.func]}({', '.join(self.text(x) for x in of.args)})", ATOM

    def _truth(self, of: Expr) -> str:
        if isinstance(of, Relational):
            return f"{self.text(of.lhs)} {of.rel_op} {self.text(of.rhs)}"
        sign = " & " if isinstance(of, sympy.And) else " | "
        return sign.join(f"({self.text(x)})" for x in sorted(of.args, key=sympy.default_sort_key))

    def _sum(self, of: Expr) -> str:
        """The score first; what is alike for a row, or for all of the tile, is added up before it meets the tile."""
        terms = sorted(of.args, key=lambda x: (not x.has(SCORE, SCORES), sympy.default_sort_key(x)))
        tile, row = ([x for x in terms if self.rank(x) == rank] for rank in (TILE, ROW))
        others = [x for x in terms if self.rank(x) < ROW]
        inner = self._signed([*row[:1], *others, *row[1:]])
        if tile and len(inner) > 1:
            inner = [(False, f"({_joined(inner)})")]
        return _joined([*self._signed(tile), *inner])

    def _signed(self, terms: list[Expr]) -> list[tuple[bool, str]]:
        """Texts of terms, each with whether it is subtracted."""
        negative = [bool(term.as_coeff_Mul()[0] < 0) for term in terms]
        return [(n, self.text(-x if n else x, PRODUCT)) for n, x in zip(negative, terms, strict=True)]

    def _product(self, of: Expr) -> str:
        """Factors by rank: a division for those that are alike before what differs in a tile."""
        factors = sympy.Mul.make_args(of)
        constant = float(sympy.Mul(*[x for x in factors if x.is_number]))
        text = "" if abs(constant) == 1.0 else repr(abs(constant))
        for rank in (SCALAR, ROW, TILE):
            mine = sorted((x for x in factors if not x.is_number and self.rank(x) == rank), key=sympy.default_sort_key)
            below = [x for x in mine if _divides(x)]
            above = [self.text(x, ATOM) for x in mine if x not in below]
            text = " * ".join([*([text] if text else []), *above])
            if below:
                text = f"{text or '1.0'} / {self.text(sympy.Mul(*[1 / x for x in below]), ATOM)}"
        return f"-{text}" if constant < 0 else text

    def _power(self, base: Expr, exponent: Expr) -> tuple[str, int]:
        if abs(exponent) == HALF:
            return f"tl.{'sqrt' if exponent == HALF else 'rsqrt'}({self.text(base)})", ATOM
        if exponent.is_Integer and exponent < 0:
            return f"1.0 / {self.text(base**-exponent, ATOM)}", PRODUCT
        if exponent.is_Integer:
            return " * ".join([self.text(base, ATOM)] * int(exponent)), PRODUCT
        if base.is_number:
            return f"tl.exp2({self.text(sympy.log(base, 2) * exponent)})", ATOM
        return f"tl.exp2({self.text(exponent, ATOM)} * tl.log2({self.text(base)}))", ATOM


def _is_free(of: Expr) -> bool:
    """Whether nothing is gained where it is computed once: a number, or a magnitude, which takes no instruction."""
    return bool(of.is_number or (isinstance(of, sympy.Abs) and of.args[0].is_Symbol))


def _is_truth(of: Expr) -> bool:
    return isinstance(of, Boolean) and not of.is_Symbol


def _divides(of: Expr) -> bool:
    """Whether a factor is one by something, for which there is no instruction of its own."""
    return bool(of.is_Pow and of.exp.is_Integer and of.exp < 0)


def _joined(terms: Sequence[tuple[bool, str]]) -> str:
    """A sum that begins with its first term that is added, if there is one."""
    lead = next((i for i, (negative, _) in enumerate(terms) if not negative), 0)
    (first, text), *others = [terms[lead], *terms[:lead], *terms[lead + 1 :]]
    made = f"-{text}" if first else text
    return made + "".join(f" {'-' if negative else '+'} {other}" for negative, other in others)
