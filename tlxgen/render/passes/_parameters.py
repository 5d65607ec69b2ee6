"""Parameters of the module's functions: their positions, the arguments of calls, and the removal of both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from tlxgen.render.passes._names import STATEMENTS
from tlxgen.render.passes._tree import Rewriter, children, dotted, functions, without

_CONSTEXPR = ("tl.constexpr", "triton.language.constexpr")


@dataclass(frozen=True)
class Callee:
    """The function of a call `name(...)`, or, if `launched`, of `name[grid](...)`."""

    name: str
    launched: bool


def callee(call: cst.Call) -> Callee | None:
    """The plain function or the launched kernel that `call` calls; None for everything else."""
    if isinstance(call.func, cst.Name):
        return Callee(call.func.value, launched=False)
    if isinstance(call.func, cst.Subscript) and isinstance(call.func.value, cst.Name):
        return Callee(call.func.value.value, launched=True)
    return None


def plain_calls(node: cst.CSTNode) -> list[tuple[str, cst.Call]]:
    """The calls `name(...)` below `node` with their names, in no particular order."""
    found: list[tuple[str, cst.Call]] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if type(part) is cst.IndentedBlock:
            for statement in part.body:
                found += _calls_of(statement)
            continue
        called = callee(part) if isinstance(part, cst.Call) else None
        if isinstance(part, cst.Call) and called and not called.launched:
            found.append((called.name, part))
        stack.extend(children(part))
    return found


@lru_cache(maxsize=STATEMENTS)
def _calls_of(statement: cst.CSTNode) -> list[tuple[str, cst.Call]]:
    return plain_calls(statement)


def constexprs(function: cst.FunctionDef) -> set[str]:
    """The names of the parameters annotated `tl.constexpr`."""
    every = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
    return {p.name.value for p in every if p.annotation and dotted(p.annotation.annotation) in _CONSTEXPR}


def positions(function: cst.FunctionDef) -> dict[str, int]:
    """The index of every parameter that can be passed by position."""
    every = (*function.params.posonly_params, *function.params.params)
    return {parameter.name.value: index for index, parameter in enumerate(every)}


def default(function: cst.FunctionDef, name: str) -> cst.BaseExpression | None:
    """The default of the parameter `name`, if it has one."""
    every = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
    return next((p.default for p in every if p.name.value == name), None)


def argument(call: cst.Call, name: str, position: int | None) -> int | None:
    """The index in `call.args` of the parameter's argument, or None. After `*args` no position is known."""
    starred = False
    for index, arg in enumerate(call.args):
        starred = starred or arg.star == "*"
        if arg.keyword is not None:
            if arg.keyword.value == name:
                return index
        elif not starred and not arg.star and index == position:
            return index
    return None


class DropParameters(Rewriter):
    """Removes parameters of the module's functions, and their arguments in every call and launch of the module.

    `_slot(count, STAGES, 2)` with `drops = {"_slot": {"SLOTS"}}` becomes `_slot(count, 2)`.
    """

    def __init__(self, module: cst.Module, drops: Mapping[str, Collection[str]]) -> None:
        super().__init__()
        self._drops = drops
        self._positions = {name: positions(f) for name, f in functions(module).items() if name in drops}

    def on_FunctionDef(self, node: cst.FunctionDef) -> cst.FunctionDef:
        function: cst.FunctionDef = self.descend(node)
        dropped = self._drops.get(function.name.value)
        return function.with_changes(params=_less(function.params, dropped)) if dropped else function

    def on_Call(self, node: cst.Call) -> cst.Call:
        call: cst.Call = self.descend(node)
        called = callee(call)
        if called is None or called.name not in self._positions:
            return call
        place = self._positions[called.name]
        found = [argument(call, name, place.get(name)) for name in self._drops[called.name]]
        indexes = [index for index in found if index is not None]
        return call.with_changes(args=without(call.args, indexes)) if indexes else call


def _less(parameters: cst.Parameters, dropped: Collection[str]) -> cst.Parameters:
    kept = {
        field: without(getattr(parameters, field), _indexes(getattr(parameters, field), dropped))
        for field in ("posonly_params", "params", "kwonly_params")
    }
    changes: dict[str, object] = dict(kept)
    if parameters.kwonly_params and not kept["kwonly_params"] and isinstance(parameters.star_arg, cst.ParamStar):
        changes["star_arg"] = cst.MaybeSentinel.DEFAULT
        if kept["params"] and parameters.star_kwarg is None:
            last = kept["params"][-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            changes["params"] = [*kept["params"][:-1], last]
    if parameters.posonly_params and not kept["posonly_params"]:
        changes["posonly_ind"] = cst.MaybeSentinel.DEFAULT
    return parameters.with_changes(**changes)


def _indexes(parameters: Sequence[cst.Param], dropped: Collection[str]) -> list[int]:
    return [index for index, parameter in enumerate(parameters) if parameter.name.value in dropped]
