"""The small expression language of `require` and `exclude`: Python syntax, no side effects, bounded cost."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tlxgen.spec.model import SpecModel
from tlxgen.spec.nearest import hint, nearest
from tlxgen.spec.paths import matches, texts

MAX_LENGTH = 500
MAX_DEPTH = 40
_MAX_BITS = 256  # limit of every intermediate integer

_WORDS = {"true": "True", "false": "False", "null": "None"}  # YAML's -> Python's
_OTHER_LANGUAGES = {r"&&": "and", r"\|\|": "or", r"!(?!=)": "not", r"(?<![=!<>])=(?!=)": "=="}

Read = Callable[[str], Any]  # dotted name -> value
Evaluator = Callable[[Read], Any]
FAULTS = (ArithmeticError, TypeError, ValueError)  # what an evaluation raises


class ExpressionFault(ValueError):
    """An expression that cannot be compiled or evaluated. `offset` is the place in its text, from 0."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True)
class Compared:
    """A dotted path, and the constant or name that it is compared with, whose position is `offset`."""

    path: str
    value: Any
    is_name: bool
    offset: int


@dataclass(frozen=True)
class Expression:
    """A compiled expression. `names`: dotted name -> the offset of its first use, in the order of first use.

    `compared` lists the two sides of its comparisons.
    """

    text: str
    names: dict[str, int]
    compared: tuple[Compared, ...]
    run: Evaluator = field(repr=False, compare=False)  # its value, of which it reads no more names than it needs

    def evaluate(self, spec: Any) -> Any:
        """The value at one spec; a name below an absent (null) key is None. Raises ExpressionFault with the values."""
        try:
            return self.run(functools.partial(lookup, spec))
        except FAULTS as error:
            values = self.values(spec)
            raise ExpressionFault(f"{self.text}: {error}" + (f" ({values})" if values else "")) from None

    def read(self, spec: Any) -> tuple[Any, ...]:
        """The values of the names at one spec, on which alone the expression's value depends."""
        return tuple(lookup(spec, name) for name in self.names)

    def values(self, spec: Any) -> str:
        """The names with their values at one spec: 'tile.m = 256, tile.n = 128'."""
        return ", ".join(f"{n} = {_shown(value)}" for n, value in zip(self.names, self.read(spec), strict=True))

    def check_names(self, valid: dict[str, Any]) -> None:
        """Raises ExpressionFault at the first name that is not among the dotted paths `valid`, path -> annotation.

        Also raises it at the first text that is compared with a path that never has this value.
        """
        for name, offset in self.names.items():
            if not matches(name, valid):
                meant = self._quoted(name, offset, valid) or hint(name, valid, noun="names")
                raise ExpressionFault(f"unknown name {name!r}{meant}", offset)
        for each in self.compared:
            if isinstance(each.value, str) and not each.is_name and each.path in valid:
                self._check_text(each, valid[each.path])

    def _quoted(self, name: str, offset: int, valid: dict[str, Any]) -> str:
        """A hint for a name that was meant as text, or as true, false or null; empty for other names."""
        if name in _WORDS:
            return f"; write {_WORDS[name]}: {self._with({offset: (name, _WORDS[name])})}"
        meant = {each.offset: (str(each.value), _text_for(each, valid)) for each in self.compared if each.is_name}
        if offset not in meant:
            anywhere = any(name in (texts(annotation) or ()) for annotation in valid.values())
            meant[offset] = (name, name if anywhere else None)
        if meant[offset][1] is None:
            beside = [each.path for each in self.compared if each.offset == offset and each.path in valid]
            known = [repr(text) for path in beside for text in texts(valid[path]) or ()]
            return f"; text needs quotes, and {beside[0]} is {' or '.join(known)}" if known else ""
        quoted = {at: (old, repr(new)) for at, (old, new) in meant.items() if new is not None}
        return f"; text needs quotes: {self._with(quoted)}"

    def _with(self, changes: dict[int, tuple[str, str]]) -> str:
        """The expression's text with replaced words; `changes` maps an offset to the old and the new word."""
        text = self.text
        for offset, (old, new) in sorted(changes.items(), reverse=True):
            text = f"{text[:offset]}{new}{text[offset + len(old) :]}"
        return text.strip()

    def _check_text(self, each: Compared, annotation: Any) -> None:
        known = texts(annotation)
        if known is None or each.value in known:
            return
        if known:
            fault = f"{each.path} is never {each.value!r}{hint(each.value, known, noun='values')}"
        else:
            fault = f"{each.path} is never text: take the quotes off {each.value!r}"
        raise ExpressionFault(fault, each.offset)


def _text_for(each: Compared, valid: dict[str, Any]) -> str | None:
    """The text that a name beside a path was meant as: a value of the path, or the nearest; None if it is a path."""
    known = texts(valid[each.path]) if each.path in valid else None
    if not known or matches(str(each.value), valid):
        return None
    return nearest(str(each.value), known)


def compile_expression(text: str) -> Expression:
    """Compiles `text`. Raises ExpressionFault at the first construct that is not in the language.

    `model.LANGUAGE` is the language's definition, and docs/conditions.md describes it.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionFault(f"an expression has at most {MAX_LENGTH} characters, this has {len(text)}")
    if not text.strip():
        raise ExpressionFault("the expression is empty")
    lead = len(text) - len(text.lstrip())
    try:
        with warnings.catch_warnings():  # "1if x else y" is valid, and a warning would not name the file
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        offset = lead + error.offset - 1 if error.offset else len(text)  # CPython says 0 for the end of the text
        raise ExpressionFault(f"not an expression: {' '.join(error.msg.split())}{_meant(text)}", offset) from None
    except (ValueError, MemoryError, RecursionError):  # for NUL, huge numbers and deep nesting
        raise ExpressionFault("not an expression, or nested too deeply") from None
    compiler = _Compiler(text.strip(), lead)
    run = compiler.evaluator(tree.body)
    return Expression(text, compiler.names, tuple(compiler.compared), run)


def _meant(text: str) -> str:
    """A hint on what a text that is not an expression was likely meant as."""
    for sign, word in _OTHER_LANGUAGES.items():
        if found := re.search(sign, text):
            return f"; write {word!r} for {found[0]!r}"
    if any(text.count(a) != text.count(b) for a, b in ("()", "[]")):
        return "; in a list of YAML in brackets a comma ends an item: put the expression in quotes"
    return ""


class _Compiler:
    """Turns a syntax tree into a function from a reader of names to a value.

    It builds a second tree, in which every name is a call of the reader and every operand of arithmetic is checked.
    """

    def __init__(self, text: str, lead: int) -> None:
        self.lines = text.splitlines(keepends=True)
        self.lead = lead
        self.names: dict[str, int] = {}
        self.compared: list[Compared] = []
        self._known: dict[str, Any] = {"__builtins__": {}, **_CHECKS, **_FUNCTIONS}

    def evaluator(self, node: ast.expr) -> Evaluator:
        reader = ast.arguments([], [ast.arg("read")], None, [], [], None, [])
        tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(reader, self.compile(node, 0))))
        run: Evaluator = eval(compile(tree, "<expression>", "eval"), self._known)  # of nothing but the language
        return run

    def compile(self, node: ast.expr, depth: int) -> ast.expr:
        """What gives the value of `node`. Raises ExpressionFault for what is not in the language."""
        if depth > MAX_DEPTH:
            raise ExpressionFault("the expression is nested too deeply", self._offset(node))
        name = _dotted_name(node)
        if name:
            self.names.setdefault(name, self._offset(node))
            return _call("read", ast.Constant(name))
        build = getattr(self, f"_{type(node).__name__.lower()}", None)
        if build is None:
            self._refuse(node, f"{_words(node)} is not part of an expression")
        made: ast.expr = build(node, depth + 1)
        return made

    def _offset(self, node: ast.expr) -> int:
        line = self.lines[node.lineno - 1]
        column = len(line.encode()[: node.col_offset].decode())  # ast counts bytes
        return self.lead + sum(len(before) for before in self.lines[: node.lineno - 1]) + column

    def _refuse(self, node: ast.expr, message: str) -> NoReturn:
        raise ExpressionFault(message, self._offset(node))

    def _all(self, nodes: list[ast.expr], depth: int) -> list[ast.expr]:
        return [self.compile(node, depth) for node in nodes]

    def _constant(self, node: ast.Constant, depth: int) -> ast.expr:
        value = node.value
        if not (value is None or isinstance(value, (bool, int, float, str))):
            self._refuse(node, f"{_words(node)} is not part of an expression")
        return ast.Constant(value)

    def _tuple(self, node: ast.Tuple | ast.List, depth: int) -> ast.expr:
        return ast.Tuple(self._all(node.elts, depth), ast.Load())

    _list = _tuple  # a list too, so that it equals the tuples that specs hold

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> ast.expr:
        operand = self.compile(node.operand, depth)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, operand)
        if isinstance(node.op, ast.Invert):
            self._refuse(node, "~ is not part of an expression")
        return ast.UnaryOp(node.op, _checked(operand))

    def _binop(self, node: ast.BinOp, depth: int) -> ast.expr:
        if not isinstance(node.op, _ARITHMETIC):
            self._refuse(node, "this operator is not part of an expression")
        left, right = (_checked(side) for side in self._all([node.left, node.right], depth))
        if isinstance(node.op, ast.Pow):
            return _call("bounded", _call("power", left, right))
        return _call("bounded", ast.BinOp(left, node.op, right))

    def _boolop(self, node: ast.BoolOp, depth: int) -> ast.expr:
        test = ast.BoolOp(node.op, self._all(node.values, depth))
        return ast.IfExp(test, ast.Constant(True), ast.Constant(False))  # and not the value that decides

    def _compare(self, node: ast.Compare, depth: int) -> ast.expr:
        first, rest = self.compile(node.left, depth), self._all(node.comparators, depth)
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            self._refuse(node, "`is` is not part of an expression; use == or !=")
        sides = [node.left, *node.comparators]
        for left, right in itertools.pairwise(sides):
            self._note(left, right)
            self._note(right, left)
        if len(rest) == 1 and isinstance(node.ops[0], (ast.In, ast.Eq)):
            among = sides[1] if isinstance(node.ops[0], ast.In) else ast.List([sides[1]])  # equal to the only row
            if (rows := _rows(sides[0], among)) is not None:
                member = f"member{len(self._known)}"
                self._known[member] = _member([_dotted_name(name) or "" for name in node.left.elts], rows)  # type: ignore[attr-defined]
                return _call(member, ast.Name("read", ast.Load()))
        return ast.Compare(first, node.ops, rest)

    def _note(self, side: ast.expr, other: ast.expr) -> None:
        """Records what a dotted name is compared with; for a list, each of its items."""
        path = _dotted_name(side)
        for item in other.elts if isinstance(other, (ast.Tuple, ast.List)) else [other]:
            name = _dotted_name(item)
            if path and (name or isinstance(item, ast.Constant)):
                value = name if name or not isinstance(item, ast.Constant) else item.value
                self.compared.append(Compared(path, value, bool(name), self._offset(item)))

    def _ifexp(self, node: ast.IfExp, depth: int) -> ast.expr:
        return ast.IfExp(*self._all([node.test, node.body, node.orelse], depth))

    def _call(self, node: ast.Call, depth: int) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _FUNCTIONS or node.keywords or any(isinstance(given, ast.Starred) for given in node.args):
            self._refuse(node, f"the only calls are {', '.join(_FUNCTIONS)}, with plain arguments")
        return _call(name, *self._all(node.args, depth))


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), [*arguments], [])


def _checked(node: ast.expr) -> ast.expr:
    """An operand of arithmetic, which has to be a number."""
    known = isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
    return node if known else _call("number", node)


def _dotted_name(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _rows(left: ast.expr, right: ast.expr) -> list[tuple[Any, ...]] | None:
    """The constant tuples of `right`, if `left` is a tuple of names and `right` has only tuples of its length."""
    if not isinstance(left, (ast.Tuple, ast.List)) or not isinstance(right, (ast.Tuple, ast.List)):
        return None
    rows = [e.elts for e in right.elts if isinstance(e, (ast.Tuple, ast.List)) and len(e.elts) == len(left.elts)]
    plain = all(isinstance(item, ast.Constant) for row in rows for item in row)
    if len(rows) < len(right.elts) or not plain or not all(map(_dotted_name, left.elts)):
        return None
    return [tuple(item.value for item in row if isinstance(item, ast.Constant)) for row in rows]


def _member(names: list[str], rows: list[tuple[Any, ...]]) -> Evaluator:
    """Whether the values of `names` are one of the `rows`. Names are read until no row is left."""

    def run(read: Read) -> bool:
        left = rows
        for place, name in enumerate(names):
            value = read(name)
            left = [row for row in left if row[place] == value]
            if not left:
                return False
        return True

    return run


def lookup(spec: Any, name: str) -> Any:
    """The value of a dotted name at a spec, or at mappings with its names. Below an absent key it is None."""
    value = spec
    for part in name.split(".") if name else ():
        if isinstance(value, SpecModel):
            value = getattr(value, part, None)  # None: another member of a union has this key
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return f"a {type(node.value).__name__} literal"
    kind = type(node).__name__
    return _KINDS.get(kind, "a comprehension" if kind.endswith(("Comp", "Exp")) else kind)


_KINDS = {
    "Attribute": "an attribute of a value",
    "Await": "await",
    "Dict": "a dict",
    "JoinedStr": "an f-string",
    "Lambda": "lambda",
    "NamedExpr": ":=",
    "Set": "a set",
    "Starred": "*",
    "Subscript": "indexing",
    "Yield": "yield",
    "YieldFrom": "yield",
}


def _number(value: Any) -> int | float:
    if isinstance(value, (int, float)):
        return value
    raise TypeError(f"{_shown(value)} is not a number")


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise OverflowError("a number grows too large")
    return value


def _power(base: int | float, exponent: int | float) -> Any:
    if abs(exponent) > _MAX_BITS:
        raise OverflowError("the exponent is too large")
    if isinstance(base, (int, float)) and base < 0 and not float(exponent).is_integer():
        raise ValueError("a negative number to a fractional power")
    return base**exponent


def _cdiv(dividend: int, divisor: int) -> int:
    return -(-_integer(dividend) // _integer(divisor))


def _is_pow2(value: int) -> bool:
    return _integer(value) > 0 and value & (value - 1) == 0


def _integer(value: Any) -> int:
    if isinstance(value, int):
        return value
    raise TypeError(f"{_shown(value)} is not an integer")


_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "len": len,
    "cdiv": _cdiv,
    "is_pow2": _is_pow2,
}
_CHECKS: dict[str, Callable[..., Any]] = {"number": _number, "bounded": _bounded, "power": _power}
