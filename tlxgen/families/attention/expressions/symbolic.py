"""An expression as sympy has it: its derivative by the score, and whether it is affine in it. Imports sympy.

Functions that have corners are functions of our own: sympy's Piecewise, Min and Max rewrite conditions, which takes
long and changes what a person wrote.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.relational import Relational

from .grammar import Number, Parsed

Expr = Any  # sympy has no types

SCORE = sympy.Symbol("score", real=True)  # scaled
SCORES, SCALE_LOG2 = sympy.Symbol("scores", real=True), sympy.Symbol("scale_log2", positive=True)  # as multiplied
Q, K, HEAD, BATCH = sympy.symbols("q k head batch", integer=True, nonnegative=True)
HEADS, N_Q, N_K = sympy.symbols("heads n_q n_k", integer=True, positive=True)
APART = sympy.Symbol("apart", integer=True)  # k - q, which is exact where either alone is rounded by a factor
ALIGNED = sympy.Symbol("aligned", integer=True)  # the same, where the last query is beside the last key
SYMBOLS = {s.name: s for s in (SCORE, Q, K, HEAD, BATCH, HEADS, N_Q, N_K)}
LOG2_E = sympy.Float("1.4426950408889634", 17)


class Where(sympy.Function):  # type: ignore[misc]
    """yes where the condition is true, else no. A condition has no derivative."""

    nargs = 3

    @classmethod
    def eval(cls, condition: Expr, yes: Expr, no: Expr) -> Expr:
        if condition == sympy.true or yes == no:
            return yes
        return no if condition == sympy.false else None

    def _eval_derivative(self, symbol: Expr) -> Expr:
        condition, yes, no = self.args
        return Where(condition, yes.diff(symbol), no.diff(symbol))

    def _eval_is_real(self) -> bool:
        return True


class Choice(sympy.Function):  # type: ignore[misc]
    """A choice by one relation, for device code: its name, both sides, the number where it is true, and the other."""

    nargs = 5


class _OfTwo(sympy.Function):  # type: ignore[misc]
    """The one of two numbers that `first` prefers; at a tie the derivative is the second's."""

    nargs = 2

    @classmethod
    def eval(cls, a: Expr, b: Expr) -> Expr:
        if a == b:
            return a
        return cls.number(a, b) if a.is_Number and b.is_Number else None

    def _eval_derivative(self, symbol: Expr) -> Expr:
        a, b = self.args
        return Where(self.first(a, b), a.diff(symbol), b.diff(symbol))

    def _eval_is_real(self) -> bool:
        return True


class Least(_OfTwo):
    number, first = sympy.Min, sympy.Lt


class Greatest(_OfTwo):
    number, first = sympy.Max, sympy.Gt


@dataclass(frozen=True)
class Symbolic:
    """Of an expression: `value` in units of log2, and `slope`, its derivative by the scaled score.

    An affine one reads `scores` and `scale_log2`; any other `score`, which is scaled.
    """

    value: Expr
    slope: Expr

    @property
    def affine(self) -> bool:
        return not self.value.has(SCORE)


def symbolic(parsed: Parsed) -> Symbolic:
    """The expression, simplified as sympy does by itself, and its derivative."""
    found = _apart(_Converter(parsed).of(parsed.body))
    slope = _affine(found)
    if slope is None:
        return Symbolic(times(LOG2_E, found), found.diff(SCORE))
    return Symbolic(_in_log2(found), slope)


def times(factor: Expr, of: Expr) -> Expr:
    """A constant by an expression, multiplied into its terms and the values of its choices."""
    if of.is_Add:
        return sympy.Add(*[times(factor, term) for term in of.args])
    if isinstance(of, Where):
        return Where(of.args[0], times(factor, of.args[1]), times(factor, of.args[2]))
    return factor * of


def _apart(found: Expr) -> Expr:
    """With k - q, or k - q - (n_k - n_q), as one symbol, if places, or places and lengths, appear in no other way."""
    by_distance = found.subs(K, Q + APART)
    if by_distance.has(Q):
        return found
    aligned = by_distance.subs(APART, ALIGNED + N_K - N_Q)
    return by_distance if aligned.has(N_Q, N_K) else aligned


def _affine(of: Expr) -> Expr | None:
    """The factor of the score, if the expression is a multiple of it and a rest; else None."""
    if not of.has(SCORE):
        return sympy.S.Zero
    if of == SCORE:
        return sympy.S.One
    if of.is_Add:
        factors = [_affine(term) for term in of.args]
        return None if None in factors else sympy.Add(*factors)
    if of.is_Mul:
        others, inside = of.as_independent(SCORE)
        factor = None if inside.is_Mul else _affine(inside)
        return None if factor is None else others * factor
    if isinstance(of, Where) and not of.args[0].has(SCORE):
        yes, no = _affine(of.args[1]), _affine(of.args[2])
        return None if yes is None or no is None else Where(of.args[0], yes, no)
    return None


def _in_log2(of: Expr) -> Expr:
    """An affine expression in units of log2, of which the score as it is multiplied has them by its own factor."""
    if not of.has(SCORE):
        return times(LOG2_E, of)
    if of == SCORE:
        return SCORES * SCALE_LOG2
    if of.is_Mul:
        others, inside = of.as_independent(SCORE)
        return others * _in_log2(inside)
    parts = of.args if of.is_Add else of.args[1:]
    made = [_in_log2(part) for part in parts]
    return sympy.Add(*made) if of.is_Add else Where(of.args[0], *made)


class _Converter:
    """From a checked syntax tree to sympy, with constants as the grammar has evaluated them."""

    def __init__(self, parsed: Parsed) -> None:
        self.constants = parsed.constants

    def of(self, node: ast.expr) -> Expr:
        if node in self.constants:
            return _constant(self.constants[node])
        match node:
            case ast.Name(id=name):
                return SYMBOLS[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.of(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return sympy.Not(self.of(operand))
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return _BINARY[type(op)](self.of(left), self.of(right))
            case ast.BoolOp(op=op, values=values):
                return (sympy.And if isinstance(op, ast.And) else sympy.Or)(*map(self.of, values))
            case ast.Compare(left=left, ops=ops, comparators=sides):
                numbers = [self.of(side) for side in (left, *sides)]
                pairs = zip(ops, numbers, numbers[1:], strict=False)
                return sympy.And(*[_COMPARED[type(op)](a, b) for op, a, b in pairs])
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _FUNCTIONS[name](*map(self.of, arguments))
        raise AssertionError(ast.dump(node))  # the grammar has no other


def _constant(value: Number) -> Expr:
    return sympy.Integer(value) if isinstance(value, int) else sympy.Rational(repr(value))


def _reduced(function: Any) -> Any:
    return lambda *arguments: functools.reduce(function, arguments)


_BINARY: dict[type[ast.operator], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
_COMPARED: dict[type[ast.cmpop], type[Relational]] = {
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
}
_FUNCTIONS: dict[str, Any] = {
    "abs": sympy.Abs,
    "exp": sympy.exp,
    "log": sympy.log,
    "max": _reduced(Greatest),
    "min": _reduced(Least),
    "pow": lambda a, b: a**b,
    "sqrt": sympy.sqrt,
    "tanh": sympy.tanh,
    "where": Where,
}
