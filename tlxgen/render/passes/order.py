"""The order of a module's definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import libcst as cst

from tlxgen.render.passes._blocks import starts_with_blank
from tlxgen.render.passes._imports import is_import, sort_imports
from tlxgen.render.passes._names import binds, is_docstring, loads
from tlxgen.render.passes._tree import is_jit

DOCSTRING, IMPORT, CONSTANT, JIT, HOST, LATE = range(6)


class OrderDefinitions:
    """Imports, constants, jit functions, host functions; imports sorted, callees before callers, otherwise as written:

        def launch(a): kernel[grid](a)          import torch
        import torch                     ->
        @triton.jit                             @triton.jit
        def kernel(a): ...                      def kernel(a): ...

                                                def launch(a): kernel[grid](a)

    What runs on import comes after what it needs; a statement that uses a function stays at the end. The docstring and
    the header stay on top. A module in the right order comes back as it is.
    """

    def __call__(self, module: cst.Module) -> cst.Module:
        statements = [_Statement(node, _group(index, node)) for index, node in enumerate(module.body)]
        _defer(statements)
        imports = _sorted_imports([s for s in statements if s.group == IMPORT])
        rest = _ordered([s for s in statements if s.group not in (DOCSTRING, IMPORT)])
        new = [*(s for s in statements if s.group == DOCSTRING), *imports, *rest]
        if [s.node for s in new] == list(module.body):
            return module
        return module.with_changes(body=_spaced(new, statements))


@dataclass(eq=False)
class _Statement:
    """A top-level statement. `now` are the names that running it reads, `later` those that calling it reads too."""

    node: Any
    group: int
    section: int = 0  # of an import

    def __post_init__(self) -> None:
        node = self.node
        is_function = isinstance(node, cst.FunctionDef)
        self.binds = frozenset({node.name.value}) if isinstance(node, (cst.FunctionDef, cst.ClassDef)) else binds(node)
        self.later = set(loads(node))
        self.now = set(loads(*node.decorators, node.params)) if is_function else self.later


def _group(index: int, node: cst.CSTNode) -> int:
    if index == 0 and is_docstring(node):
        return DOCSTRING
    if is_import(node):
        return IMPORT
    if isinstance(node, cst.FunctionDef):
        return JIT if is_jit(node) else HOST
    return HOST if isinstance(node, cst.ClassDef) else CONSTANT


def _defer(statements: Sequence[_Statement]) -> None:
    """Moves the statements that use a function or a class, themselves or through another such statement, to the end."""
    late = {name for s in statements if s.group in (JIT, HOST) for name in s.binds}
    settled = False
    while not settled:
        settled = True
        for statement in statements:
            if statement.group == CONSTANT and not statement.now.isdisjoint(late):
                statement.group, settled = LATE, False
                late |= statement.binds


def _sorted_imports(statements: Sequence[_Statement]) -> list[_Statement]:
    old = [statement.node for statement in statements]
    known = {statement.node: statement for statement in statements}
    new: list[_Statement] = []
    for one in sort_imports(old):
        line = one.line()
        statement = known.get(line) or _Statement(line, IMPORT)
        statement.section = one.section
        new.append(statement)
    return new


def _ordered(statements: Sequence[_Statement]) -> list[_Statement]:
    """By group; within that as written, save that what a statement needs comes before it.

    A statement counts for the first group that needs it. Of what is ready, the first in that order goes next, so that
    the result, ordered again, is itself.
    """
    makers: dict[str, list[_Statement]] = {}
    for statement in statements:
        for name in statement.binds:
            makers.setdefault(name, []).append(statement)
    needs = {s: _needs(s, makers, statements) for s in statements}
    reached = {s: _reached(s, needs) for s in statements}
    rank = {s: min(s.group, *(t.group for t in statements if s in reached[t]), LATE) for s in statements}
    waiting = sorted(statements, key=lambda s: rank[s])
    done: dict[_Statement, None] = {}
    while waiting:  # what calls each other does not wait for each other, hence something is always ready
        ready = next(s for s in waiting if all(n in done or s in reached[n] for n in needs[s]))
        waiting.remove(ready)
        done[ready] = None
    return list(done)


def _needs(
    statement: _Statement, makers: dict[str, list[_Statement]], statements: Sequence[_Statement]
) -> list[_Statement]:
    """What has to stand above `statement`: all that its running reads, and of its own group all that it calls."""
    found = {m for n in statement.now for m in makers.get(n, ())}
    found |= {m for n in statement.later for m in makers.get(n, ()) if m.group == statement.group}
    return [s for s in statements if s in found and s is not statement]


def _reached(statement: _Statement, needs: Mapping[_Statement, Sequence[_Statement]]) -> set[_Statement]:
    found: set[_Statement] = set()
    waiting = [statement]
    while waiting:
        new = [s for s in needs[waiting.pop()] if s not in found]
        found.update(new)
        waiting += new
    return found


def _spaced(new: Sequence[_Statement], old: Sequence[_Statement]) -> list[Any]:
    """The nodes, with blank lines put right above those that follow another statement than before."""
    before = {below: above for above, below in pairwise(old)}
    body = []
    for index, statement in enumerate(new):
        previous = new[index - 1] if index else None
        if previous is before.get(statement):
            body.append(statement.node)
        else:
            body.append(_with_blanks(statement.node, _blanks(previous, statement)))
    return body


def _blanks(previous: _Statement | None, statement: _Statement) -> int:
    if previous is None:
        return 0
    if any(isinstance(s.node, (cst.FunctionDef, cst.ClassDef)) for s in (previous, statement)):
        return 2
    apart = (previous.group, previous.section) != (statement.group, statement.section)
    return 1 if apart or starts_with_blank(statement.node) else 0


def _with_blanks(node: Any, count: int) -> Any:
    lines = list(node.leading_lines)
    while lines and lines[0].comment is None:
        del lines[0]
    return node.with_changes(leading_lines=[cst.EmptyLine(indent=False)] * count + lines)
