"""Removes code that can never run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import libcst as cst

from tlxgen.render.passes._blocks import COMPOUND, PASS, Block, Blocks, Splice, is_empty, spliced
from tlxgen.render.passes._expressions import integer
from tlxgen.render.passes._names import STATEMENTS, is_pure, loose_reads, target_names
from tlxgen.render.passes._tree import dotted

_RANGES = ("range", "tl.range", "tl.static_range")
_TASKS = ("tlx.async_task", "tlx.async_tasks")
_JUMPS = (cst.Break, cst.Continue, cst.Raise, cst.Return)


class RemoveDeadCode:
    """Removes branches and loops whose test is a literal, statements after a jump, and blocks that do nothing:

        # Drain.                      # Drain.
        if True:                      store(c)
            store(c)           ->     return
            return
        else:
            load(a)
        count = 0

    Comments above an `if` and in the branch that stays are kept; those of a dropped branch go with it. A block that
    does nothing is an `if` with a pure test, a `for` over a pure iterable whose target is not read, or an async task.
    The default task stays, with `pass`, since every `tlx.async_tasks` must have one. A `tl.static_assert` of a true
    literal is also removed.
    """

    def __call__(self, module: cst.Module) -> cst.Module:
        cleaned: cst.Module = _DeadCode().rewrite(module)
        return cleaned


class _DeadCode(Blocks):
    def __init__(self, read: Collection[str] | None = None) -> None:
        super().__init__()
        # The names read outside the loops that bind them; None while dead code that may read them is still there.
        self._read = read
        self._idle_loops = False

    def rewrite(self, node: Any) -> Any:
        """`node` rewritten. Compound statements of functions are known again, while loops are not judged."""
        if self._read is not None or type(node) not in COMPOUND:
            return super().rewrite(node)
        cleaned, idle_loops = _cleaned(node)
        self._idle_loops |= idle_loops
        return cleaned

    def on_FunctionDef(self, node: cst.FunctionDef) -> cst.FunctionDef:
        """Cleans the function. Loops without a body are judged after all other dead code has been removed."""
        function: cst.FunctionDef = self.descend(node)
        while self._idle_loops and self._read is None:
            self._idle_loops = False
            before, function = function, _DeadCode(loose_reads(function)).descend(function)
            self._idle_loops = function is not before
        return function

    def on_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        return node

    def replace(self, statement: cst.BaseStatement) -> Splice | None:
        if isinstance(statement, cst.If):
            return _resolved(statement)
        if isinstance(statement, cst.SimpleStatementLine):
            return Splice() if _asserts_the_truth(statement) else None
        if isinstance(statement, cst.While):
            return _never_entered(statement) if integer(statement.test) == 0 else None
        if isinstance(statement, cst.For):
            return _never_entered(statement) if _is_empty_range(statement.iter) else self._idle_loop(statement)
        if isinstance(statement, cst.With) and is_empty(statement.body):
            return Splice() if _is_optional_task(statement) else None
        return None

    def _idle_loop(self, loop: cst.For) -> Splice | None:
        if not is_empty(loop.body) or loop.orelse or not is_pure(loop.iter):
            return None
        self._idle_loops = True
        if self._read is None or any(name.value in self._read for name in target_names(loop.target)):
            return None
        return Splice()

    def ends(self, statement: cst.BaseStatement) -> bool:
        return isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], _JUMPS)

    def finish(self, body: Sequence[cst.BaseStatement]) -> Sequence[cst.BaseStatement]:
        useful = [statement for statement in body if not _is_stray_pass(statement)]
        if len(useful) == len(body) or (not useful and len(body) == 1):
            return body
        return useful or [PASS]


@lru_cache(maxsize=STATEMENTS)
def _cleaned(statement: cst.CSTNode) -> tuple[Any, bool]:
    """A statement whose inside has been rewritten, and whether there are loops to judge in it."""
    rewriter = _DeadCode()
    return rewriter.descend(statement), rewriter._idle_loops


def _is_stray_pass(statement: cst.BaseStatement) -> bool:
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and all(isinstance(small, cst.Pass) for small in statement.body)
        and statement.trailing_whitespace.comment is None
        and not any(line.comment for line in statement.leading_lines)
    )


def _asserts_the_truth(line: cst.SimpleStatementLine) -> bool:
    call = line.body[0].value if len(line.body) == 1 and isinstance(line.body[0], cst.Expr) else None
    if not isinstance(call, cst.Call) or dotted(call.func) != "tl.static_assert":
        return False
    return bool(call.args and integer(call.args[0].value))


def _is_optional_task(statement: cst.With) -> bool:
    call = statement.items[0].item
    if len(statement.items) > 1 or not isinstance(call, cst.Call) or dotted(call.func) not in _TASKS:
        return False
    return not any(
        isinstance(arg.value, cst.SimpleString) and arg.value.evaluated_value == "default" for arg in call.args
    )


def _is_empty_range(iterable: cst.BaseExpression) -> bool:
    if not isinstance(iterable, cst.Call) or dotted(iterable.func) not in _RANGES:
        return False
    bounds = [integer(arg.value) for arg in iterable.args if arg.keyword is None and not arg.star]
    if len(bounds) == 1:
        bounds = [0, *bounds]
    if len(bounds) != 2 or bounds[0] is None or bounds[1] is None:
        return False
    return bounds[0] >= bounds[1]


def _never_entered(loop: cst.For | cst.While) -> Splice:
    if loop.orelse is None:
        return Splice()
    return spliced(loop.orelse.body, [*loop.leading_lines, *loop.orelse.leading_lines])


@dataclass(frozen=True)
class _Branch:
    """One arm of an if-chain; `node` is its If or Else, `test` None for an else."""

    node: Any
    test: cst.BaseExpression | None

    @property
    def body(self) -> Block:
        body: Block = self.node.body
        return body


def _branches(statement: cst.If) -> list[_Branch]:
    found: list[_Branch] = []
    node: cst.If | cst.Else | None = statement
    while isinstance(node, cst.If):
        found.append(_Branch(node, node.test))
        node = node.orelse
    return [*found, _Branch(node, None)] if node else found


def _resolved(statement: cst.If) -> Splice | None:
    """The chain without the arms that are never taken or do nothing; None when all of them stay."""
    branches = _branches(statement)
    kept = _live(branches)
    while kept and is_empty(kept[-1].body) and (kept[-1].test is None or is_pure(kept[-1].test)):
        kept.pop()
    if [(b.node, b.test) for b in kept] == [(b.node, b.test) for b in branches]:
        return None
    if not kept:
        return Splice()
    head = kept[0]
    lines = list(statement.leading_lines)
    if head.node is not statement:
        lines += head.node.leading_lines
    return spliced(head.body, lines) if head.test is None else Splice([_chained(kept, lines)])


def _live(branches: Sequence[_Branch]) -> list[_Branch]:
    kept: list[_Branch] = []
    for branch in branches:
        truth = None if branch.test is None else integer(branch.test)
        if truth is None:
            kept.append(branch)
        elif truth:
            return [*kept, _Branch(branch.node, None)]
    return kept


def _chained(branches: Sequence[_Branch], lines: Sequence[cst.EmptyLine]) -> cst.If:
    chain: cst.If | cst.Else | None = None
    for branch in reversed(branches):
        node = branch.node
        if branch.test is not None:
            chain = node.with_changes(orelse=chain)
        elif isinstance(node, cst.If):
            chain = cst.Else(node.body, leading_lines=node.leading_lines)
        else:
            chain = node
    assert isinstance(chain, cst.If)
    return chain.with_changes(leading_lines=lines)
