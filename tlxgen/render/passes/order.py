"""The order of a module's definitions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import libcst as cst

from tlxgen.render.passes._blocks import starts_with_blank
from tlxgen.render.passes._imports import is_import, sort_imports
from tlxgen.render.passes._names import STATEMENTS, binds, is_docstring, loads
from tlxgen.render.passes._tree import children, is_jit

DOCSTRING, IMPORT, CONSTANT, JIT, HOST, LATE = range(6)


class OrderDefinitions:
    """Orders a module: imports, constants, jit functions, host functions. Helpers come right before their users:

        import triton                                import triton
        CONFIGS = [...]                              CONFIGS = [...]
        def gemm(a):                                 @triton.jit
            return CACHE.get(a) or run(a)            def helper(a): ...
        CACHE = {}                                   @triton.jit
        def run(a): kernel[grid](a)          ->      def kernel(a): helper(a)
        @triton.jit                                  def run(a): kernel[grid](a)
        def kernel(a): helper(a)                     CACHE = {}
        @triton.jit                                  def gemm(a):
        def helper(a): ...                               return CACHE.get(a) or run(a)

    A function or class comes right after the helpers that it is the first to use, in the order in which it names them.
    Definitions without users keep their order. Constants above the first definition stay there, and any other constant
    comes right above its first user. A statement that runs on import comes after everything that it needs; one that
    uses a function stays at the end. The docstring and the header stay on top. The pass is idempotent.
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
    """A top-level statement. `names` are the names that it reads, in order, and `now` those that it reads on import."""

    node: Any
    group: int
    section: int = 0  # the section of an import

    def __post_init__(self) -> None:
        node = self.node
        is_definition = isinstance(node, (cst.FunctionDef, cst.ClassDef))
        self.binds = frozenset({node.name.value}) if is_definition else binds(node)
        self.now = set(loads(*_run_on_import(node)))
        later = {name for function in _functions(node) for name in set(loads(function)) - binds(function)}
        self.names = [name for name in _in_order(node) if name in self.now or name in later]


def _run_on_import(node: Any) -> list[cst.CSTNode]:
    """The parts of a top-level statement that run when the module is imported."""
    if isinstance(node, cst.FunctionDef):
        return [*node.decorators, node.params]
    if isinstance(node, cst.ClassDef):
        return [*node.decorators, *node.bases, *(part for inner in node.body.body for part in _run_on_import(inner))]
    return [node]


def _functions(node: Any) -> list[cst.FunctionDef]:
    """The function that a statement defines, or the methods of its class."""
    if isinstance(node, cst.ClassDef):
        return [function for inner in node.body.body for function in _functions(inner)]
    return [node] if isinstance(node, cst.FunctionDef) else []


def _in_order(node: cst.CSTNode) -> list[str]:
    """The names below `node`, each once, in the order of the source."""
    found: dict[str, None] = {}
    stack = [node]
    while stack:
        part = stack.pop()
        if type(part) is cst.Name:
            found[part.value] = None
        if type(part) is cst.IndentedBlock:
            found.update(dict.fromkeys(itertools.chain.from_iterable(map(_names_of, part.body))))
        else:
            stack.extend(reversed(children(part)))
    return list(found)


@lru_cache(maxsize=STATEMENTS)
def _names_of(statement: cst.CSTNode) -> list[str]:
    return _in_order(statement)


def _group(index: int, node: cst.CSTNode) -> int:
    if index == 0 and is_docstring(node):
        return DOCSTRING
    if is_import(node):
        return IMPORT
    if isinstance(node, cst.FunctionDef):
        return JIT if is_jit(node) else HOST
    return HOST if isinstance(node, cst.ClassDef) else CONSTANT


def _defer(statements: Sequence[_Statement]) -> None:
    """Moves statements to the end that use a function or a class, directly or through another such statement."""
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
    """The module's constants, then each unused function or class after its helpers, then deferred statements.

    The result does not depend on where helpers were, so ordering it again changes nothing.
    """
    needs = _needs(statements)
    reached = {s: _reached(s, needs) for s in statements}
    used = {need for s in statements if s.group != LATE for need in reached[s] if s not in reached[need]}
    defined = next((i for i, s in enumerate(statements) if s.group in (JIT, HOST)), len(statements))
    done: dict[_Statement, None] = {}

    def place(statement: _Statement) -> None:
        together = [s for s in statements if s in reached[statement] and statement in reached[s]] or [statement]
        for need in (n for s in together for n in needs[s] if n not in done and n not in together):
            if need not in done:
                place(need)
        done.update(dict.fromkeys(together))

    for index, statement in enumerate(statements):
        if statement.group == CONSTANT and (index < defined or statement not in used):
            place(statement)
    for group in (JIT, HOST, LATE):
        for statement in statements:
            if statement.group == group and statement not in used and statement not in done:
                place(statement)
    return list(done)


def _needs(statements: Sequence[_Statement]) -> dict[_Statement, list[_Statement]]:
    """Statement -> the statements that must be above it.

    These are all that it reads on import, all functions of its own group that it calls, and its constants. Functions
    come first, and each kind is in the order in which the statement names them.
    """
    makers: dict[str, list[_Statement]] = {}
    for statement in statements:
        for name in statement.binds:
            makers.setdefault(name, []).append(statement)
    reads = {s: list(dict.fromkeys(m for n in s.names for m in makers.get(n, ()) if m is not s)) for s in statements}
    needs = {s: [m for m in reads[s] if m.group == s.group or m.binds & s.now] for s in statements}
    reached = {s: _reached(s, needs) for s in statements}
    for statement in statements:
        tables = [m for m in reads[statement] if m.group in (CONSTANT, LATE) and statement not in reached[m]]
        needs[statement] = [m for m in needs[statement] if m not in tables] + tables
    return needs


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
