"""The coverage marks of transformed source, which count statements, trip counts of loops, and predicates.

A statement is preceded by `__counts__[i] += 1`. A loop whose trip count is not constant is followed by a call that
records it, and a predicate is passed through a call. `Marks` makes these marks, and the outline of what they count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from tlxgen.coverage import Branch, Fixed, Guard, Loop, Outline, Predicate, Statement

from .constancy import Constancy, op_name

COUNTS, TRIPS, OUTCOMES = "__counts__", "__trips__", "__outcomes__"
_PREDICATE = {"barrier_wait": 2, "barrier_arrive": 3, "barrier_expect_bytes": 2, "async_descriptor_load": 4}
_SIGNALS = {
    "barrier_wait", "barrier_arrive", "barrier_expect_bytes", "named_barrier_wait", "named_barrier_arrive",
    "tcgen05_commit", "cluster_barrier", "clc_producer", "clc_consumer",
}  # fmt: skip
_TEXT = 100  # characters of a condition or a loop that are kept


class Marks:
    """The statements of one function, numbered in the order of its text. `given`: its parameters that calls fix."""

    def __init__(self, path: str, node: ast.FunctionDef, given: frozenset[str] = frozenset()) -> None:
        self._path, self._name = path, node.name
        self._line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self._constancy = Constancy(node, given)
        self._guard: Guard | None = None
        self._at = -1  # the number of the statement that is being rewritten
        self.statements: list[Statement] = []
        self.branches: list[Branch] = []
        self.loops: list[Loop] = []
        self.predicates: list[Predicate] = []

    @property
    def outline(self) -> Outline:
        """The outline of what is counted."""
        statements, branches = tuple(self.statements), tuple(self.branches)
        loops, predicates = tuple(self.loops), tuple(self.predicates)
        return Outline(self._path, self._name, self._line, statements, branches, loops, predicates)

    def statement(self, node: ast.stmt) -> ast.stmt:
        """The mark that counts a statement, to be placed before it."""
        header = _header(node)
        last = max((part.end_lineno or part.lineno for part in header), default=node.lineno)
        names = frozenset(n.id for part in header for n in ast.walk(part) if isinstance(n, ast.Name))
        self._at = len(self.statements)
        self.statements.append(Statement(node.lineno, last, self._guard, names))
        place = ast.Subscript(ast.Name(COUNTS, ast.Load()), ast.Constant(self._at), ast.Store())
        return ast.copy_location(ast.AugAssign(place, ast.Add(), ast.Constant(1)), node)

    @contextmanager
    def under(self, guard: Guard | None) -> Iterator[None]:
        """A context in which statements are noted as under a guard. None changes nothing."""
        before, self._guard = self._guard, guard or self._guard
        try:
            yield
        finally:
            self._guard = before

    # Branches. `open_branch` comes before their blocks are rewritten, `close_branch` after.

    def open_branch(self, node: ast.If) -> tuple[int, Branch]:
        """Notes an `if`, and marks the constant parts of its condition. Its blocks are not known yet."""
        signals = any(op_name(n) in _SIGNALS for s in (*node.body, *node.orelse) for n in ast.walk(s))
        text = _short(node.test)
        fixed, parts = self._decided(node)
        number = len(self.branches)
        self.branches.append(Branch(self._at, -1, -1, fixed, parts, text, signals))
        return number, self.branches[number]

    def close_branch(self, number: int, body: int, orelse: int) -> None:
        """Notes where the blocks of an `if` start."""
        b = self.branches[number]
        self.branches[number] = Branch(b.statement, body, orelse, b.fixed, b.parts, b.text, b.signals)

    def _decided(self, node: ast.If) -> tuple[Fixed, tuple[int, ...]]:
        test = node.test
        if self._constancy.fixed(test):
            return "yes", ()
        if not isinstance(test, ast.BoolOp):
            return "", ()
        parts = []
        for i, value in enumerate(test.values):
            if self._constancy.fixed(value):
                parts.append(len(self.predicates))
                test.values[i] = self._passed(value, "")
        kind: Fixed = "and" if isinstance(test.op, ast.And) else "or"
        return (kind, tuple(parts)) if parts else ("", ())

    # Loops.

    def loop(self, node: ast.For | ast.While) -> tuple[int, bool]:
        """Notes a loop, whose block comes next. Returns its number, and whether its trip count is recorded."""
        if isinstance(node, ast.For):
            text, source = f"for {ast.unparse(node.target)} in {_short(node.iter)}", node.iter
        else:
            text, source = f"while {_short(node.test)}", node.test
        fixed, items = self._constancy.fixed(source), self._constancy.over_items(node)
        number = len(self.loops)
        last = node.end_lineno or node.lineno
        self.loops.append(Loop(self._at, len(self.statements), node.lineno, last, fixed, items, text))
        return number, not fixed

    # Predicates.

    def predicate(self, node: ast.Call) -> None:
        """Marks the predicate of an operation, unless constants decide it."""
        name = op_name(node)
        for keyword in node.keywords:
            if keyword.arg == "pred" and not self._constancy.fixed(keyword.value):
                keyword.value = self._passed(keyword.value, name)
        at = _PREDICATE.get(name, len(node.args))
        if at < len(node.args) and not self._constancy.fixed(node.args[at]):
            node.args[at] = self._passed(node.args[at], name)

    def _passed(self, value: ast.expr, operation: str) -> ast.expr:
        number = len(self.predicates)
        self.predicates.append(Predicate(self._at, value.lineno, operation, _short(value)))
        function = ast.Attribute(ast.Name("__sim__", ast.Load()), "predicate", ast.Load())
        arguments = [ast.Name(OUTCOMES, ast.Load()), ast.Constant(2 * number), value]
        return ast.copy_location(ast.Call(function, arguments, []), value)


def _header(node: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement, without those of its blocks."""
    if isinstance(node, ast.With):
        return [item.context_expr for item in node.items]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 4]} ..."
