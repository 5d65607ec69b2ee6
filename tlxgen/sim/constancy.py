"""Static analysis of a kernel's source: which values constants decide, and which loops are over work items.

A name is *fixed* if it is a constexpr parameter, a global, a variable with fixed values only, or a parameter of a
helper to which all calls in its file pass fixed values. A loop is over work items in one of three cases: it starts at
the program id and strides by the number of programs; it ends by a result of cluster launch control or by the program
id; or its trip count is a total divided among the programs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_WORK = {"program_id", "clc_consumer"}
_VARYING = _WORK | {
    "num_programs", "async_task_replica_id", "cluster_cta_rank", "thread_id", "clock64", "load", "local_load", "arange",
}  # fmt: skip
_LANGUAGES = {"tl", "tlx", "triton", "libdevice"}
_CONSTANT_OPERATIONS = {
    "cdiv", "constexpr", "maximum", "minimum", "min", "max", "dtype_of", "size_of", "next_power_of_2", "static_range",
    "range", "cluster_size_1d", "get_fp8_format_name",
}  # fmt: skip
_TYPES = {"dtype", "type", "element_ty", "block_shape", "primitive_bitwidth"}
_PROGRAMS = re.compile(r"sms?\b|sms?_|_sms?|programs|ctas|grid|workers|nprog", re.IGNORECASE)


def op_name(node: ast.AST) -> str:
    """The last name of a call's function: `async_task` of `tlx.async_task(...)`."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


@dataclass(frozen=True)
class _Assigned:
    """A value that is assigned to a name; None if the text does not have it. `settled`: constants decide whether the
    assignment is executed."""

    value: ast.expr | None
    settled: bool


@dataclass(eq=False)
class Constancy:
    """The analysis of one function's text. `given` are the parameters that all calls pass fixed values for."""

    function: ast.FunctionDef
    given: frozenset[str] = frozenset()
    _assigned: dict[str, list[_Assigned]] = field(default_factory=dict)
    _known: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arguments = self.function.args
        for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            annotated = a.annotation is not None and "constexpr" in ast.unparse(a.annotation)
            self._known[a.arg] = annotated or a.arg in self.given
        self._collect(self.function.body, settled=True)
        self._places = self._follow(self._tells)
        self._programs = self._follow(_counts_programs)
        self._shares = self._follow(self._divides)

    def fixed(self, node: ast.expr) -> bool:
        """Whether constants alone decide the value of an expression."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return self._fixed_name(node.id)
        if isinstance(node, ast.Attribute):
            return node.attr in _TYPES or (node.attr != "shape" and self.fixed(node.value))
        if isinstance(node, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            return True  # a pointer that is None is a constant of the launch
        if isinstance(node, ast.Call):
            return self._fixed_call(node)
        return all(self.fixed(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))

    def over_items(self, loop: ast.For | ast.While) -> bool:
        """Whether an iteration of the loop is a work item of the program."""
        if isinstance(loop, ast.While):
            return self._tells(loop.test)
        call = loop.iter
        if not isinstance(call, ast.Call) or op_name(call) != "range" or not call.args:
            return False
        if len(call.args) < 3:
            return self._divides(call.args[-1], self._shares)
        start, _, step = call.args[:3]
        programs = not self.fixed(step) or _PROGRAMS.search(ast.unparse(step)) is not None
        return programs and self._tells(start)

    def _fixed_name(self, name: str) -> bool:
        if name not in self._known:
            if name not in self._assigned:
                return True  # a global, which Triton takes as a constexpr
            self._known[name] = False  # during the analysis: a name that depends on itself varies
            values = self._assigned[name]
            several = len(values) > 1
            self._known[name] = all(
                one.value is not None and (one.settled or not several) and self.fixed(one.value) for one in values
            )
        return self._known[name]

    def _fixed_call(self, node: ast.Call) -> bool:
        name, func = op_name(node), node.func
        if name == "static_range":
            return True  # otherwise it would not compile
        if name in _VARYING or name.startswith("atomic_"):
            return False
        if isinstance(func, ast.Attribute):
            if isinstance(func.value, ast.Name) and func.value.id in _LANGUAGES and name not in _CONSTANT_OPERATIONS:
                return False
            if not self.fixed(func.value):
                return False
        values = [*node.args, *(k.value for k in node.keywords)]
        return (bool(values) or isinstance(func, ast.Attribute)) and all(map(self.fixed, values))

    def _collect(self, body: list[ast.stmt], settled: bool) -> None:
        """Notes the values of each name, and whether they are assigned in a branch or loop that varies."""
        for node in body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._give(target, node.value, settled)
            elif isinstance(node, ast.AnnAssign):
                self._give(node.target, node.value, settled)
            elif isinstance(node, ast.AugAssign):
                self._give(node.target, None, settled)
            elif isinstance(node, ast.For):
                unrolled = op_name(node.iter) == "static_range"
                self._give(node.target, node.iter if unrolled else None, settled)
                self._collect(node.body, settled=False)
            elif isinstance(node, ast.While):
                self._collect(node.body, settled=False)
            elif isinstance(node, ast.If):
                inside = settled and self._is_constant(node.test)
                self._collect(node.body, inside)
                self._collect(node.orelse, inside)
            elif isinstance(node, ast.With):
                self._collect(node.body, settled)

    def _is_constant(self, test: ast.expr) -> bool:
        """Whether a condition has only constexpr parameters and globals."""
        names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
        return all(self._known.get(name, name not in self._assigned) for name in names)

    def _give(self, target: ast.expr, value: ast.expr | None, settled: bool) -> None:
        if isinstance(target, ast.Name):
            self._assigned.setdefault(target.id, []).append(_Assigned(value, settled))
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs: list[ast.expr | None] = [value] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                pairs = list(value.elts)
            for element, part in zip(target.elts, pairs, strict=True):
                self._give(element, part, settled)

    def _follow(self, has: Callable[[ast.expr, set[str]], bool]) -> set[str]:
        """The names that get a value for which `has` is true, directly or through names found so far."""
        found: set[str] = set()
        while True:
            more = {
                name
                for name, values in self._assigned.items()
                if name not in found and any(v.value is not None and has(v.value, found) for v in values)
            }
            if not more:
                return found
            found |= more

    def _divides(self, node: ast.expr, shares: set[str]) -> bool:
        """Whether a value is a program's share, that is, something divided by the number of programs."""
        for n in _computed(node):
            if isinstance(n, ast.Name) and n.id in shares:
                return True
            if (
                isinstance(n, ast.BinOp)
                and isinstance(n.op, ast.FloorDiv)
                and _counts_programs(n.right, self._programs)
            ):
                return True
            if op_name(n) == "cdiv" and _counts_programs(n.args[-1], self._programs):  # type: ignore[attr-defined]
                return True
        return False

    def _tells(self, node: ast.expr, names: set[str] | None = None) -> bool:
        """Whether a value depends on the program id, but not through memory that is read there."""
        names = self._places if names is None else names
        return any(
            (isinstance(n, ast.Name) and n.id in names) or (isinstance(n, ast.Call) and op_name(n) in _WORK)
            for n in _computed(node)
        )


def _counts_programs(node: ast.expr, names: set[str]) -> bool:
    """Whether a value is the number of programs along the first axis of the grid."""
    if isinstance(node, ast.Call) and op_name(node) == "num_programs":
        return all(
            isinstance(a, ast.Constant) and a.value == 0 for a in (*node.args, *(k.value for k in node.keywords))
        )
    return isinstance(node, ast.Name) and node.id in names


def _computed(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression, without those of loads from memory."""
    yield node
    name = op_name(node)
    if not name.endswith("load") and not name.startswith("atomic_"):
        for child in ast.iter_child_nodes(node):
            yield from _computed(child)


@dataclass(eq=False)
class Helpers:
    """The parameters of a file's functions that are fixed, because all calls in the file pass fixed values."""

    module: ast.Module
    _functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    _calls: dict[str, list[tuple[str, ast.Call]]] = field(default_factory=dict)  # callee -> (caller, call)
    _known: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._functions = {node.name: node for node in self.module.body if isinstance(node, ast.FunctionDef)}
        for caller, function in self._functions.items():
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._functions:
                    self._calls.setdefault(node.func.id, []).append((caller, node))

    def given(self, name: str) -> frozenset[str]:
        """The parameters of a function to which all of its calls (at least one) pass fixed values."""
        if name not in self._known:
            self._known[name] = frozenset()  # during the analysis, as it may be recursive
            found = [self._given_by(self._functions[name], *call) for call in self._calls.get(name, ())]
            self._known[name] = frozenset.intersection(*found) if found else frozenset()
        return self._known[name]

    def _given_by(self, function: ast.FunctionDef, caller: str, call: ast.Call) -> frozenset[str]:
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return frozenset()
        constancy = Constancy(self._functions[caller], self.given(caller))
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        values = {**dict(zip(names, call.args, strict=False)), **{k.arg: k.value for k in call.keywords if k.arg}}
        return frozenset(name for name, value in values.items() if constancy.fixed(value))
