"""Replaces compile-time parameters by literals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import libcst as cst

from tlxgen.render.passes._expressions import Value, integer, literal
from tlxgen.render.passes._names import STATEMENTS, binds
from tlxgen.render.passes._parameters import DropParameters, argument, constexprs, default, plain_calls, positions
from tlxgen.render.passes._tree import Rewriter, children, dotted, functions, is_jit, without

_CONFIG_CALLS = ("triton.Config", "triton.heuristics")
_LAUNCH_DICTS = ("META", "kwargs", "meta")


class BakeConstants:
    """Replaces the `tl.constexpr` parameters named in `values` by their literals; a resolved guard is a bool here.

    The pass removes the parameters of jit functions, their arguments in every call and launch, and their keys in
    `CONFIGS`. The host reads a literal in place of `kwargs["NAME"]`:

        def _slot(count, SLOTS: tl.constexpr):          def _slot(count):
            return count % SLOTS                            return count % 4
        kernel[grid](a, b, SLOTS=kwargs["SLOTS"])       kernel[grid](a, b)

    A helper that a jit function calls with another value (`_work(tile, 2 * BLOCK_M)`) keeps its parameter. A name that
    a jit function rebinds is not baked at all.
    """

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __call__(self, module: cst.Module) -> cst.Module:
        jits = {name: f for name, f in functions(module).items() if is_jit(f)}
        taken = {name: constexprs(f) & self._values.keys() for name, f in jits.items()}
        rebound = {n for name, names in taken.items() if names for n in names & binds(jits[name].body)}
        values = {name: value for name, value in self._values.items() if name not in rebound}
        if not values:
            return module
        drops = _agreeing(jits, {name: names - rebound for name, names in taken.items()}, values)
        if any(drops.values()):
            module = DropParameters(module, drops).rewrite(module)
        baked: cst.Module = _Substitute(values, drops).rewrite(module)
        return baked


def _agreeing(
    jits: Mapping[str, cst.FunctionDef], drops: dict[str, set[str]], values: Mapping[str, Value]
) -> dict[str, set[str]]:
    """`drops` without the parameters for which a jit function passes another value than the baked one."""
    calls = [(c, *found) for c, function in jits.items() for found in plain_calls(function.body) if found[0] in drops]
    settled = False
    while not settled:  # a parameter that stays is not a literal for its callees either
        settled = True
        for caller, called, call in calls:
            place = positions(jits[called])
            for name in sorted(drops[called]):
                index = argument(call, name, place.get(name))
                passed = default(jits[called], name) if index is None else call.args[index].value
                if not _same(passed, name, values[name], drops[caller]):
                    drops[called].discard(name)
                    settled = False
    return drops


def _same(passed: cst.CSTNode | None, name: str, value: Value, known: set[str]) -> bool:
    """Whether `passed` is the baked value: the same parameter in a caller that bakes it, or an equal literal."""
    if isinstance(passed, cst.Name) and passed.value == name:
        return name in known
    if isinstance(passed, (cst.SimpleString, cst.Float)):
        return bool(passed.evaluated_value == value)
    return passed is not None and integer(passed) == value


class _Substitute(Rewriter):
    """Substitutes literals for removed parameters and subscripts of launch options, and drops keys of configs."""

    def __init__(self, values: Mapping[str, Value], drops: Mapping[str, set[str]]) -> None:
        super().__init__()
        self._values = values
        self._drops = drops
        self._known: set[str] = set()
        self._in_configs = False

    def on_FunctionDef(self, node: cst.FunctionDef) -> cst.FunctionDef:
        known, self._known = self._known, self._known | self._drops.get(node.name.value, set())
        function: cst.FunctionDef = self.descend(node)
        self._known = known
        return function

    def on_IndentedBlock(self, node: cst.IndentedBlock) -> cst.IndentedBlock:
        body = [self._statement(statement) for statement in node.body]
        same = all(a is b for a, b in zip(body, node.body, strict=True))
        return node if same else node.with_changes(body=body)

    def _statement(self, statement: cst.CSTNode) -> Any:
        """A statement of a block rewritten: once for all modules with the same values of what it mentions."""
        names, strings = _mentioned(statement)
        if names is None:
            return self.rewrite(statement)
        known = tuple((n, repr(self._values[n]), self._values[n]) for n in sorted(names & self._known))
        keys = tuple((n, repr(self._values[n]), self._values[n]) for n in sorted(strings & self._values.keys()))
        return _substituted(statement, known, keys) if known or keys else statement

    def on_Name(self, node: cst.Name) -> cst.BaseExpression:
        if node.value not in self._known:
            return node
        return literal(self._values[node.value]).with_changes(lpar=node.lpar, rpar=node.rpar)

    def on_Arg(self, node: cst.Arg) -> cst.Arg:
        value = self.rewrite(node.value)  # the keyword does not read the name
        return node if value is node.value else node.with_changes(value=value)

    def on_Attribute(self, node: cst.Attribute) -> cst.Attribute:
        value = self.rewrite(node.value)
        if value is node.value:
            return node
        return node.with_changes(value=_parenthesised(value))

    def on_BinaryOperation(self, node: cst.BinaryOperation) -> cst.BinaryOperation:
        updated: cst.BinaryOperation = self.descend(node)
        if updated is node or not isinstance(node.operator, cst.Power) or updated.left is node.left:
            return updated
        if isinstance(updated.left, cst.UnaryOperation):  # (-2) ** x
            return updated.with_changes(left=_parenthesised(updated.left))
        return updated

    def on_Subscript(self, node: cst.Subscript) -> cst.BaseExpression:
        key = _string_key(node)
        base = dotted(node.value)
        if key in self._values and (base in _LAUNCH_DICTS or base.endswith(".kwargs")):
            return literal(self._values[key]).with_changes(lpar=node.lpar, rpar=node.rpar)
        updated: cst.BaseExpression = self.descend(node)
        return updated

    def on_AssignTarget(self, node: cst.AssignTarget) -> cst.AssignTarget:
        if isinstance(node.target, cst.Subscript) and _string_key(node.target):
            return node  # `kwargs["NAME"] = ...` is a write
        updated: cst.AssignTarget = self.descend(node)
        return updated

    def on_Assign(self, node: cst.Assign) -> cst.Assign:
        outer, self._in_configs = self._in_configs, self._in_configs or dotted(node.targets[0].target) == "CONFIGS"
        updated: cst.Assign = self.descend(node)
        self._in_configs = outer
        return updated

    def on_Call(self, node: cst.Call) -> cst.Call:
        outer, self._in_configs = self._in_configs, self._in_configs or dotted(node.func) in _CONFIG_CALLS
        updated: cst.Call = self.descend(node)
        self._in_configs = outer
        return updated

    def on_Dict(self, node: cst.Dict) -> cst.Dict:
        updated: cst.Dict = self.descend(node)
        if not self._in_configs:
            return updated
        baked = [
            i for i, e in enumerate(updated.elements) if isinstance(e, cst.DictElement) and _is_key(e, self._values)
        ]
        return updated.with_changes(elements=without(updated.elements, baked)) if baked else updated


@lru_cache(maxsize=STATEMENTS)
def _mentioned(statement: cst.CSTNode) -> tuple[frozenset[str] | None, frozenset[str]]:
    """The names and the strings in a statement. The names are None if it defines a function, with its own constants."""
    names: set[str] = set()
    strings: set[str] = set()
    defines = False
    stack = [statement]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is cst.IndentedBlock:
            for inner, told in map(_mentioned, node.body):  # type: ignore[attr-defined]
                names |= inner or frozenset()
                strings |= told
                defines |= inner is None
        elif kind is cst.Name:
            names.add(node.value)  # type: ignore[attr-defined]
        elif kind is cst.SimpleString:
            strings.add(str(node.evaluated_value))  # type: ignore[attr-defined]
        else:
            defines |= kind is cst.FunctionDef
            stack.extend(children(node))
    return None if defines else frozenset(names), frozenset(strings)


_Values = tuple[tuple[str, str, Value], ...]  # name, text and value: 1 and True are equal, and their texts are not


@lru_cache(maxsize=STATEMENTS)
def _substituted(statement: cst.CSTNode, known: _Values, keys: _Values) -> Any:
    substitute = _Substitute({name: value for name, _, value in (*known, *keys)}, {})
    substitute._known = {name for name, _, _ in known}
    return substitute.rewrite(statement)


def _parenthesised(node: cst.BaseExpression) -> cst.BaseExpression:
    return node if node.lpar else node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _string_key(node: cst.Subscript) -> str:
    index = node.slice[0].slice if len(node.slice) == 1 else None
    if isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString):
        return str(index.value.evaluated_value)
    return ""


def _is_key(element: cst.DictElement, values: Mapping[str, Value]) -> bool:
    return isinstance(element.key, cst.SimpleString) and element.key.evaluated_value in values
