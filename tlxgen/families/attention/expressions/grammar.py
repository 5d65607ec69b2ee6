"""The grammar of expressions: a part of Python's, read by `ast` and checked node by node. Nothing is executed.

An expression is a number for each score. Comparisons and `and`, `or`, `not` are truths, which `where` alone takes.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from tlxgen.spec import ExpressionFault
from tlxgen.spec.nearest import hint

MAX_LENGTH = 500
MAX_DEPTH = 30
MAX_EXPONENT = 16

NAMES: Mapping[str, str] = {
    "score": "scale * q . k, the scaled score",
    "q": "the place of the query in its sequence, from 0",
    "k": "that of the key",
    "head": "the head of Q, from 0",
    "batch": "the batch entry, or sequence, from 0",
    "heads": "how many heads of Q there are",
    "n_q": "how many queries the sequence has",
    "n_k": "how many keys",
}
FUNCTIONS: Mapping[str, tuple[int, int]] = {  # name -> least and most arguments
    "abs": (1, 1),
    "exp": (1, 1),
    "log": (1, 1),
    "max": (2, 8),
    "min": (2, 8),
    "pow": (2, 2),
    "sqrt": (1, 1),
    "tanh": (1, 1),
    "where": (3, 3),
}
LANGUAGE = (
    f"Python's syntax: {', '.join(NAMES)}; numbers; + - * / **; {', '.join(FUNCTIONS)}; in the condition of "
    "where(condition, yes, no) also == != < <= > >= and, or, not."
)
_HIDING = ("inf", "infinity", "nan")
_INTEGER = (ast.Add, ast.Sub, ast.Mult, ast.Pow)  # of integers, these are integers

Number = int | float


@dataclass(frozen=True)
class Parsed:
    """A checked expression: its syntax tree, the names that it uses, and the values of those nodes that are constant.

    Two texts that differ in spaces and brackets alone have the same `canonical` text.
    """

    body: ast.expr
    names: frozenset[str]
    constants: Mapping[ast.expr, Number]

    @property
    def canonical(self) -> str:
        return ast.unparse(self.body)


def parse(text: str) -> Parsed:
    """Reads an expression. Raises ExpressionFault, with the place in the text, for what is not in the grammar."""
    if len(text) > MAX_LENGTH:
        raise ExpressionFault(f"an expression has at most {MAX_LENGTH} characters, this has {len(text)}")
    if not text.strip():
        raise ExpressionFault("the expression is empty")
    lead = len(text) - len(text.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        offset = lead + error.offset - 1 if error.offset else len(text)
        raise ExpressionFault(f"not an expression: {' '.join(error.msg.split())}", offset) from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionFault("not an expression, or nested too deeply") from None
    reader = _Reader(text.strip(), lead)
    reader.number(tree.body, 0)
    if "score" not in reader.names:
        raise ExpressionFault("the expression does not use score: what scores become must depend on them", lead)
    return Parsed(tree.body, frozenset(reader.names), reader.constants)


class _Reader:
    """Walks a syntax tree, refuses what is not in the grammar, and evaluates constants."""

    def __init__(self, text: str, lead: int) -> None:
        self.lines = text.splitlines(keepends=True)
        self.lead = lead
        self.names: set[str] = set()
        self.constants: dict[ast.expr, Number] = {}

    def refuse(self, node: ast.expr, message: str) -> NoReturn:
        line = self.lines[node.lineno - 1]
        column = len(line.encode()[: node.col_offset].decode())  # ast counts bytes
        raise ExpressionFault(message, self.lead + sum(map(len, self.lines[: node.lineno - 1])) + column)

    def number(self, node: ast.expr, depth: int) -> None:
        """Checks a node that is a number."""
        if depth > MAX_DEPTH:
            self.refuse(node, "the expression is nested too deeply")
        match node:
            case ast.Constant():
                self._constant(node)
            case ast.Name():
                self._name(node)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                self._parts(node, [node.operand], depth, lambda x: -x if isinstance(node.op, ast.USub) else x)
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
                self._binary(node, depth)
            case ast.Call():
                self._call(node, depth)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                self.refuse(node, "a truth, not a number: write where(condition, yes, no)")
            case ast.IfExp():
                self.refuse(node, "write where(condition, yes, no) for `yes if condition else no`")
            case ast.BinOp():
                self.refuse(node, "this operator is not part of an expression; those are + - * / **")
            case _:
                self.refuse(node, "this is not part of an expression; docs/specs.md lists what is")

    def truth(self, node: ast.expr, depth: int) -> None:
        """Checks a node that is a condition."""
        if depth > MAX_DEPTH:
            self.refuse(node, "the expression is nested too deeply")
        match node:
            case ast.Compare():
                wrong = [op for op in node.ops if isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot))]
                if wrong:
                    self.refuse(node, "conditions compare by == != < <= > >=")
                for side in (node.left, *node.comparators):
                    self.number(side, depth + 1)
            case ast.BoolOp():
                for value in node.values:
                    self.truth(value, depth + 1)
            case ast.UnaryOp(op=ast.Not()):
                self.truth(node.operand, depth + 1)
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
                self.refuse(node, "write `and` for &, `or` for |")
            case _:
                self.refuse(node, "a condition compares numbers, such as k - q > 5")

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(node, f"{value!r} is not a number")
        self._keep(node, lambda: value)

    def _name(self, node: ast.Name) -> None:
        if node.id not in NAMES:
            if node.id.lower() in _HIDING:
                self.refuse(node, f"{node.id}: an expression is finite; keys are hidden by mask")
            if node.id in FUNCTIONS:
                self.refuse(node, f"{node.id} is a function: {node.id}(...)")
            self.refuse(node, f"unknown name {node.id!r}{hint(node.id, NAMES, noun='names')}")
        self.names.add(node.id)

    def _binary(self, node: ast.BinOp, depth: int) -> None:
        self._parts(node, [node.left, node.right], depth, lambda a, b: _arithmetic(node.op, a, b))
        if isinstance(node.op, ast.Pow):
            self._power(node, node.left, node.right)

    def _call(self, node: ast.Call, depth: int) -> None:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            known = hint(name, FUNCTIONS, noun="functions") if name else f"; functions are {', '.join(FUNCTIONS)}"
            self.refuse(node.func, f"unknown function{f' {name!r}' if name else ''}{known}")
        name, (least, most) = node.func.id, FUNCTIONS[node.func.id]
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.refuse(node, f"{name} takes plain arguments")
        if not least <= len(node.args) <= most:
            many = f"{least}" if least == most else f"{least} to {most}"
            self.refuse(node, f"{name} takes {many} argument{'s' if most > 1 else ''}, not {len(node.args)}")
        if name == "where":
            self.truth(node.args[0], depth + 1)
            for each in node.args[1:]:
                self.number(each, depth + 1)
            return
        self._parts(node, node.args, depth, _CONSTANT[name])
        if name == "pow":
            self._power(node, *node.args)

    def _power(self, node: ast.expr, base: ast.expr, exponent: ast.expr) -> None:
        """A power of a constant needs a positive one; one to a constant whole number is multiplied out."""
        if node in self.constants:
            return
        if base in self.constants and self.constants[base] <= 0:
            self.refuse(base, "the base of a power is positive, unless the exponent is a whole number")
        value = self.constants.get(exponent, 0)
        if abs(value) > MAX_EXPONENT:
            self.refuse(exponent, f"a constant exponent is at most {MAX_EXPONENT}, not {value}")

    def _parts(self, node: ast.expr, parts: list[ast.expr], depth: int, of: Callable[..., Number]) -> None:
        """Checks the parts of a node, which is constant if all of them are."""
        for part in parts:
            self.number(part, depth + 1)
        if all(part in self.constants for part in parts):
            self._keep(node, lambda: of(*(self.constants[part] for part in parts)))

    def _keep(self, node: ast.expr, value: Callable[[], Number]) -> None:
        try:
            found = value()
            float(found)
        except (ArithmeticError, ValueError, TypeError) as error:
            self.refuse(node, f"{ast.unparse(node)} is not a finite number: {error}")
        if not isinstance(found, (int, float)) or not math.isfinite(found):
            self.refuse(node, f"{ast.unparse(node)} is not a finite number")
        self.constants[node] = found


def _arithmetic(op: ast.operator, a: Number, b: Number) -> Number:
    """Of two constants. Integers stay integers while they are small, else they are floats, whose cost is bounded."""
    whole = isinstance(op, _INTEGER) and isinstance(a, int) and isinstance(b, int)
    if isinstance(op, ast.Pow):
        found: Number = math.pow(a, b)
    elif isinstance(op, ast.Div):
        found = float(a) / float(b)
    elif isinstance(op, ast.Mult):
        found = float(a) * float(b)
    else:
        found = float(a) + float(b) if isinstance(op, ast.Add) else float(a) - float(b)
    return int(found) if whole and float(found).is_integer() and abs(found) < 2**53 else found


_CONSTANT: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "max": max,
    "min": min,
    "pow": lambda a, b: _arithmetic(ast.Pow(), a, b),
    "sqrt": math.sqrt,
    "tanh": math.tanh,
}
