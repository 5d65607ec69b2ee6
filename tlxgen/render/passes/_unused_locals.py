"""Removes local variables that are not read."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from functools import lru_cache
from typing import Any

import libcst as cst

from tlxgen.render.passes._blocks import COMPOUND, Blocks, Splice
from tlxgen.render.passes._names import STATEMENTS, binds, is_pure, loads, statement_binds, target_names
from tlxgen.render.passes._tree import Rewriter, children, is_jit


class UnusedLocals(Rewriter):
    """Drops assignments of pure values to names that the function never reads; `a, b = ...` becomes `a, _ = ...`.

    `count += 1` reads nothing: in a jit function a counter that only counts goes altogether. (On the host an augmented
    assignment can change a list or a tensor in place.)
    """

    def __init__(self, pure_calls: Collection[str]) -> None:
        super().__init__()
        self._pure_calls = pure_calls

    def on_FunctionDef(self, node: cst.FunctionDef) -> cst.FunctionDef:
        read = loads(node)
        unused = {name for name in binds(node.body) if not read[name]}
        if unused:
            unused -= _accumulated(node, self._pure_calls if is_jit(node) else None)
        return _Drop(unused, self._pure_calls).descend(node) if unused else node


def _accumulated(function: cst.FunctionDef, pure_calls: Collection[str] | None) -> set[str]:
    """The targets of augmented assignments that have to stay, so that their initial assignments stay too."""
    return {
        name.value
        for node in _augmented(function.body)
        if pure_calls is None or not is_pure(node.value, pure_calls)
        for name in target_names(node.target)
    }


def _augmented(node: cst.CSTNode) -> list[cst.AugAssign]:
    """The augmented assignments below `node`, in no particular order."""
    found: list[cst.AugAssign] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, cst.IndentedBlock):
            for statement in part.body:
                found += _augmented_in(statement)
        elif isinstance(part, cst.AugAssign):
            found.append(part)
        elif not isinstance(part, cst.BaseExpression):
            stack.extend(children(part))
    return found


@lru_cache(maxsize=STATEMENTS)
def _augmented_in(statement: cst.CSTNode) -> list[cst.AugAssign]:
    return _augmented(statement)


class _Drop(Blocks):
    def __init__(self, unused: Set[str], pure_calls: Collection[str]) -> None:
        super().__init__()
        self._unused = unused
        self._pure_calls = pure_calls

    def rewrite(self, node: Any) -> Any:
        stays = type(node) in COMPOUND and self._unused.isdisjoint(statement_binds(node))
        return node if stays else super().rewrite(node)

    def replace(self, statement: cst.BaseStatement) -> Splice | None:
        if not isinstance(statement, cst.SimpleStatementLine):
            return None
        kept = self._kept(statement.body)
        if kept is statement.body:
            return None
        return Splice([statement.with_changes(body=kept)] if kept else ())

    def on_SimpleStatementSuite(self, node: cst.SimpleStatementSuite) -> cst.SimpleStatementSuite:
        kept = self._kept(node.body)
        return node if kept is node.body else node.with_changes(body=kept or [cst.Pass()])

    def on_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        return node

    def _kept(self, statements: Sequence[cst.BaseSmallStatement]) -> Sequence[cst.BaseSmallStatement]:
        kept = [new for new in map(self._without_unused, statements) if new is not None]
        if len(kept) == len(statements) and all(a is b for a, b in zip(kept, statements, strict=True)):
            return statements
        if kept:
            kept[-1] = kept[-1].with_changes(semicolon=statements[-1].semicolon)
        return kept

    def _without_unused(self, statement: Any) -> Any:
        """The small statement without unread targets; None when nothing is left of it."""
        if isinstance(statement, cst.Assign):
            return self._assign(statement)
        if isinstance(statement, (cst.AnnAssign, cst.AugAssign)):
            pure = statement.value is None or is_pure(statement.value, self._pure_calls)
            return None if pure and self._is_unused(statement.target) else statement
        return statement

    def _assign(self, statement: cst.Assign) -> cst.Assign | None:
        pure = is_pure(statement.value, self._pure_calls)
        if pure and all(self._is_unused(target.target) for target in statement.targets):
            return None
        if len(statement.targets) == 1:
            target = statement.targets[0]
            renamed = self._renamed(target.target)
            return (
                statement
                if renamed is target.target
                else statement.with_changes(targets=[target.with_changes(target=renamed)])
            )
        targets = [
            target
            for target in statement.targets
            if not isinstance(target.target, cst.Name) or not self._is_unused(target.target)
        ]
        if not targets or len(targets) == len(statement.targets):
            return statement
        return statement.with_changes(targets=targets)

    def _is_unused(self, target: cst.BaseExpression) -> bool:
        if isinstance(target, (cst.Tuple, cst.List)):
            return all(self._is_unused(element.value) for element in target.elements)
        return isinstance(target, cst.Name) and target.value in self._unused

    def _renamed(self, target: cst.BaseExpression) -> cst.BaseExpression:
        """A tuple target with `_` in place of unread names."""
        if not isinstance(target, (cst.Tuple, cst.List)):
            return target
        elements = [self._renamed_element(element) for element in target.elements]
        if all(a is b for a, b in zip(elements, target.elements, strict=True)):
            return target
        return target.with_changes(elements=elements)

    def _renamed_element(self, element: cst.BaseElement) -> cst.BaseElement:
        value = element.value
        if isinstance(value, cst.Name):
            ignored = value.value in self._unused and value.value != "_"
            return element.with_changes(value=value.with_changes(value="_")) if ignored else element
        renamed = self._renamed(value)
        return element if renamed is value else element.with_changes(value=renamed)
