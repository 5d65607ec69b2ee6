"""Transforms a kernel's source to plain Python with the same file and lines, and the simulator's `tl` and `tlx`.

A `with tlx.async_task(...)` becomes a nested function that is spawned. `x op= y` becomes `x = x op y`, since torch
would change the tensor in place under its other names. Arithmetic uses `arith`. A loop counts its iterations, so that
an endless one ends. Statements, trip counts and predicates are counted for coverage (`marks`). Annotations and
decorators are removed. Helpers that a kernel reaches through its globals are transformed when they are first needed.
"""

from __future__ import annotations

import ast
import builtins
import copy
import linecache
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Protocol

import torch

from tlxgen.coverage import Coverage, Guard, Outline

from . import arith, ops_tl
from .actors import Task
from .arith import maximum, minimum
from .constancy import Helpers, op_name
from .findings import KernelFault
from .libdevice import Libdevice
from .machine import machine
from .marks import COUNTS, OUTCOMES, TRIPS, Marks
from .ops_tl import Language
from .ops_tlx import Extension, Tasks

_LIBDEVICE = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
_LANGUAGE = (
    "triton.language", "triton.language.core", "triton.language.math", "triton.language.standard",
    "triton.language.extra.cuda.gdc",
)  # fmt: skip
_EXTENSION = "triton.language.extra.tlx"
_TL, _TLX, _DEVICE = Language(), Extension(), Libdevice()
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "bitand",
    ast.BitOr: "bitor",
    ast.BitXor: "bitxor",
}
_COMPARISONS: dict[type[ast.AST], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
_ALLOCATIONS = {
    "local_alloc", "alloc_barriers", "alloc_warp_barrier", "storage_alias_spec", "clc_create_context",
    "allocate_tensor_descriptor",
}  # fmt: skip


BUILT = {  # helpers that ask the compiler's builder for what an operation of tlx, or of several, does
    "narrow_dot": "async_dot",
    "whole_dot": "whole_dot",
    "whole_wait": "whole_wait",
}

REMOTE_ARRIVAL = "a remote arrival"
ATOMIC_PTX = "atomic_ of inline PTX"
# Operations for which the compiler adds a cluster sync after the initialisation of barriers. Stores into a peer's
# memory are not among them, though they complete on its barriers. (fbtriton, TritonGPUToLLVM.cpp, getRemoteBarrier;
# and the PTX.)
MEET_AT_START = frozenset({REMOTE_ARRIVAL, "remote_view", "multicast_targets", "two_ctas", "clc_create_context"})


class Runtime:
    """The functions that transformed source calls, under the name `__sim__`."""

    Tasks = Tasks
    to = staticmethod(arith.to)
    ranked = staticmethod(arith.ranked)
    call = staticmethod(ops_tl.call)

    @staticmethod
    def tick() -> None:
        """Counts an iteration of a loop."""
        m = machine()
        if m.hub.steps >= m.hub.max_steps:
            m.here()  # so that a finding names the line of the endless loop
        m.hub.tick()

    @staticmethod
    def enter() -> int:
        """Starts a loop. Returns its trip count so far, 0."""
        machine().worker.loops += 1
        return 0

    @staticmethod
    def leave(trips: list[int], at: int, rounds: int) -> None:
        """Records the trip count of a loop that has ended."""
        machine().worker.loops -= 1
        trips[at + (rounds if rounds < 2 else 2)] += 1

    @staticmethod
    def leave_items(trips: list[int], at: int, rounds: int) -> None:
        """Records the number of items of a loop over work items that has ended."""
        items = machine().worker.items
        items[id(trips), at] = items.get((id(trips), at), 0) + rounds
        Runtime.leave(trips, at, rounds)

    @staticmethod
    def predicate(outcomes: list[int], at: int, value: Any) -> Any:
        """Counts the value of a predicate. None means that there is no predicate."""
        if value is not None:
            outcomes[at + bool(value)] += 1
        return value

    @staticmethod
    def is_block(value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    @staticmethod
    def both(a: torch.Tensor, b: Any) -> torch.Tensor:
        """`a and b` for blocks, where both sides are evaluated."""
        return _truth(a) & _truth(b)

    @staticmethod
    def either(a: torch.Tensor, b: Any) -> torch.Tensor:
        return _truth(a) | _truth(b)

    @staticmethod
    def negated(value: Any) -> Any:
        """`not value`."""
        return ~_truth(value) if isinstance(value, torch.Tensor) else not value

    @staticmethod
    def dtype(value: Any) -> Any:
        """`.type` and `.element_ty` of a value with a type. A type is its own element type."""
        return getattr(value, "dtype", value)


def _truth(value: Any) -> torch.Tensor:
    """A value as a block of int1, or as a scalar."""
    if isinstance(value, torch.Tensor) and value.dtype != torch.bool:
        raise KernelFault(f"and, or or not of a block of {value.dtype}, which is no truth value")
    return torch.as_tensor(value, dtype=torch.bool)


for _operation in (*_OPERATORS.values(), *_COMPARISONS.values()):
    setattr(Runtime, _operation, staticmethod(getattr(arith, _operation)))


def _runtime(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("__sim__", ast.Load()), name, ast.Load())


def _orders_memory(value: Any) -> bool:
    """Whether a value is PTX that accesses memory with an ordering."""
    return isinstance(value, str) and re.search(r"\b(?:ld|st|red|atom)\.(?:relaxed|acq|release)", value) is not None


def _arrives_remotely(call: ast.Call) -> bool:
    """Whether a call is `barrier_arrive(bar, count, remote_cta_rank)`."""
    named = any(k.arg == "remote_cta_rank" for k in call.keywords)
    return op_name(call) == "barrier_arrive" and (named or len(call.args) > 2)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = []
        node.returns = None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        node.body = self._block(node.body)
        return node

    def _block(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        guard: Guard | None = None
        for statement in statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            with self._marks.under(guard):
                made.append(self._marks.statement(statement))
                branch = len(self._marks.branches)
                result = self.visit(statement)
            made += result if isinstance(result, list) else [result]
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return):
                guard = Guard(branch, False) if self._marks.branches[branch].fixed else guard
        return made or [ast.Pass()]

    def visit_If(self, node: ast.If) -> ast.If:
        number, branch = self._marks.open_branch(node)
        node.test = self.visit(node.test)
        body = len(self._marks.statements)
        with self._marks.under(Guard(number, True) if branch.fixed else None):
            node.body = self._block(node.body)
        orelse = len(self._marks.statements) if node.orelse else -1
        with self._marks.under(Guard(number, False) if branch.fixed else None):
            node.orelse = self._block(node.orelse) if node.orelse else []
        self._marks.close_branch(number, body, orelse)
        return node

    def visit_With(self, node: ast.With) -> list[ast.stmt] | ast.With:
        call = node.items[0].context_expr
        if op_name(call) == "async_tasks":
            assert isinstance(call, ast.Call)
            tasks = ast.Call(_runtime("Tasks"), call.args, call.keywords)
            begin = ast.Assign([ast.Name("__tasks__", ast.Store())], tasks)
            join = ast.Attribute(ast.Name("__tasks__", ast.Load()), "join", ast.Load())
            return self._at(node, [begin, *self._block(node.body), ast.Expr(ast.Call(join, [], []))])
        if op_name(call) == "async_task":
            assert isinstance(call, ast.Call)
            return self._at(node, self._task(node, call))
        return node

    def _task(self, node: ast.With, call: ast.Call) -> list[ast.stmt]:
        """The task as a function of the program's variables. Those that it assigns start with the program's values."""
        name = f"__task_{node.lineno}"
        assigned = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and _stored(n)}
        preamble = ast.parse("\n".join(f"if {n!r} in __env: {n} = __env[{n!r}]" for n in sorted(assigned))).body
        empty = ast.parse(f"def {name}(__env): pass").body[0]
        assert isinstance(empty, ast.FunctionDef)
        empty.body = [*preamble, *self._block(node.body)]
        spawn = ast.Attribute(ast.Name("__tasks__", ast.Load()), "spawn", ast.Load())
        variables = ast.Call(ast.Name("locals", ast.Load()), [], [])
        arguments = [ast.Name(name, ast.Load()), variables, *call.args]
        return [empty, ast.Expr(ast.Call(spawn, arguments, call.keywords))]

    @staticmethod
    def _at(node: ast.stmt, made: list[ast.stmt]) -> list[ast.stmt]:
        for statement in made:
            if not hasattr(statement, "lineno") or isinstance(statement, ast.FunctionDef):
                ast.copy_location(statement, node)
            ast.fix_missing_locations(statement)
        return made

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = copy.deepcopy(node.target)
        for part in ast.walk(value):
            if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)):
                part.ctx = ast.Load()
        operation = ast.copy_location(ast.BinOp(value, node.op, node.value), node)
        result: ast.stmt = self.visit(ast.copy_location(ast.Assign([node.target], operation), node))
        return result

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        result: ast.stmt = self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))
        return result

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Call) and op_name(node.value) in _ALLOCATIONS:
            node.value.keywords.append(ast.keyword("_name", ast.Constant(target.id)))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        if name is None:
            return node
        return ast.copy_location(ast.Call(_runtime(name), [node.left, node.right], []), node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self._marks.predicate(node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return ast.copy_location(ast.Call(_runtime("to"), [node.func.value, *node.args], node.keywords), node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ops_tl.METHODS:
            arguments = [ast.Constant(node.func.attr), node.func.value, *node.args]
            return ast.copy_location(ast.Call(_runtime("call"), arguments, node.keywords), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """For blocks `a and b` is elementwise. For anything else it is Python's, which may skip `b`."""
        self.generic_visit(node)
        first, *rest = node.values
        for second in rest:
            name = f"__bool_{node.lineno}_{node.col_offset}__"
            held = ast.NamedExpr(ast.Name(name, ast.Store()), first)
            both = ast.Call(
                _runtime("both" if isinstance(node.op, ast.And) else "either"),
                [ast.Name(name, ast.Load()), copy.deepcopy(second)], [],
            )  # fmt: skip
            plain = ast.BoolOp(node.op, [ast.Name(name, ast.Load()), second])
            first = ast.IfExp(ast.Call(_runtime("is_block"), [held], []), both, plain)
            ast.copy_location(first, node)
        return first

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(ast.Call(_runtime("negated"), [node.operand], []), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        name = _COMPARISONS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if name is None:
            return node
        return ast.copy_location(ast.Call(_runtime(name), [node.left, node.comparators[0]], []), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr not in ("type", "element_ty"):
            return node
        return ast.copy_location(ast.Call(_runtime("dtype"), [node.value], []), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(part, ast.Constant) and part.value is None for part in parts):
            node.value = ast.copy_location(ast.Call(_runtime("ranked"), [node.value], []), node.value)
        return node

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        number, counted = self._marks.loop(node)
        node.iter = self.visit(node.iter)
        return self._loop(node, number, counted)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        number, counted = self._marks.loop(node)
        node.test = self.visit(node.test)
        return self._loop(node, number, counted)

    def _loop(self, node: ast.For | ast.While, number: int, counted: bool) -> list[ast.stmt]:
        """The loop, whose iterations are steps, with calls around it that record a trip count that is not constant."""
        with self._marks.under(None if counted else Guard(loop=number)):
            node.body = self._block(node.body)
        node.body.insert(0, _expression(node, _runtime("tick")))
        if not counted:
            return [node]
        rounds = f"__rounds_{number}"
        more = ast.AugAssign(ast.Name(rounds, ast.Store()), ast.Add(), ast.Constant(1))
        node.body.insert(1, ast.copy_location(more, node))
        begin = ast.Assign([ast.Name(rounds, ast.Store())], ast.Call(_runtime("enter"), [], []))
        leave = "leave_items" if self._marks.loops[number].items else "leave"
        numbers = (ast.Name(TRIPS, ast.Load()), ast.Constant(3 * number), ast.Name(rounds, ast.Load()))
        return [ast.copy_location(begin, node), node, _expression(node, _runtime(leave), *numbers)]


def _expression(at: ast.stmt, function: ast.expr, *arguments: ast.expr) -> ast.stmt:
    """A statement that calls a function of the runtime."""
    return ast.copy_location(ast.Expr(ast.Call(function, list(arguments), [])), at)


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


@cache
def _parsed(path: str, text: str) -> ast.Module:
    return ast.parse(text, path)


@cache
def _helpers(path: str, text: str) -> Helpers:
    return Helpers(_parsed(path, text))


def _definition(path: str, text: str, line: int, name: str) -> ast.FunctionDef:
    """The definition of a function that starts at `line` of a file."""
    for node in ast.walk(_parsed(path, text)):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) if isinstance(node, ast.FunctionDef) else 0
        if first == line and isinstance(node, ast.FunctionDef) and node.name == name:
            return copy.deepcopy(node)
    raise KernelFault(f"no source for {name}")


def _text(path: str) -> str:
    """The present text of a file. Code that host code compiles from text has no file but a name in `<>`; its lines are
    in linecache, where Triton also finds them."""
    return "".join(linecache.getlines(path)) if path.startswith("<") else Path(path).read_text()


def has_source(path: str) -> bool:
    """Whether the lines of a file, or of code with a name in `<>`, can be read."""
    return not path.startswith("<") or bool(linecache.getlines(path))


@dataclass(frozen=True)
class _Source:
    """A function that has been transformed and compiled, the names that it uses, and its attributes and keywords."""

    code: CodeType
    names: frozenset[str]
    operations: frozenset[str]
    outline: Outline


@cache
def _source(path: str, text: str, line: int, name: str) -> _Source:
    """The transformed function, cached for each text of a file. Its globals may change, but its code does not."""
    node = _definition(path, text, line, name)
    parts = list(ast.walk(node))
    names = frozenset(n.id for n in parts if isinstance(n, ast.Name))
    attributes = {n.attr for n in parts if isinstance(n, ast.Attribute)}
    keywords = {n.arg for n in parts if isinstance(n, ast.keyword) and n.arg}
    keywords |= {ATOMIC_PTX for n in parts if isinstance(n, ast.Constant) and _orders_memory(n.value)}
    keywords |= {REMOTE_ARRIVAL for n in parts if isinstance(n, ast.Call) and _arrives_remotely(n)}
    marks = Marks(path, node, _helpers(path, text).given(name))
    tree = ast.Module([_Rewriter(marks).visit(node)], [])
    ast.fix_missing_locations(tree)
    return _Source(compile(tree, path, "exec"), names, frozenset(attributes | keywords), marks.outline)


class Meter(Protocol):
    """Counts operations of a kernel. `names` are the operations of tl and tlx, and Python's operators, to count."""

    names: Collection[str]

    def begin(self, launch: int, kernel: str) -> None:
        """Notes the start of a launch. If it is a restart, earlier counts of the same launch are invalid."""

    def count(self, name: str, task: Task, arguments: tuple[Any, ...], options: Mapping[str, Any], result: Any) -> None:
        """Counts an operation that a task has called, and that returned `result`."""


class _Counted:
    """A namespace of operations, some of which a meter counts."""

    def __init__(self, inner: Any, meter: Meter) -> None:
        self._inner, self._meter = inner, meter

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if value is self._inner:  # `tl.math` is `tl`
            return self
        if name in self._meter.names:
            value = self._counted(name, value)
        setattr(self, name, value)
        return value

    def _counted(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            result = operation(*arguments, **options)
            self._meter.count(name, machine().worker, arguments, options, result)
            return result

        return call


class Program:
    """The transformed kernels of one launch. `unwrap` returns the Python function of a jitted one, or None. `coverage`
    counts which parts of them run, and `meter` counts operations."""

    def __init__(self, unwrap: Callable[[Any], Any], coverage: Coverage, meter: Meter | None = None) -> None:
        self._unwrap = unwrap
        self._coverage = coverage
        spaces = (Runtime, _TL, _TLX, _DEVICE)
        self._spaces = {id(space): _Counted(space, meter) if meter else space for space in spaces}
        self._made: dict[Any, Callable[..., Any]] = {}
        self.operations: set[str] = set()  # the attributes and keywords in its functions

    def function(self, python: Any) -> Callable[..., Any]:
        """The transformed form of the Python function of a kernel or helper."""
        if python not in self._made:
            path, line = place_of(python)
            source = _source(path, _text(path), line, python.__name__)
            self.operations |= source.operations
            seen = self._coverage.function(source.outline)
            scope: dict[str, Any] = {"__sim__": self._spaces[id(Runtime)], "__name__": python.__module__}
            scope |= {COUNTS: seen.counts, TRIPS: seen.trips, OUTCOMES: seen.outcomes}
            self._made[python] = lambda *a, **k: scope[python.__name__](*a, **k)  # for a recursive function
            scope |= {"min": minimum, "max": maximum}
            for name in source.names & python.__globals__.keys():
                scope[name] = self._value(python.__globals__[name])
                if (helper := self._unwrap(python.__globals__[name])) is not None:
                    seen.mentions[name] = place_of(helper)
            # A kernel is a user's own code, as trusted as the module that it was imported from.
            builtins.exec(source.code, scope)
            self._made[python] = scope[python.__name__]
        return self._made[python]

    def _value(self, value: Any) -> Any:
        """A global of a kernel. Triton's modules and operations become the simulator's; jitted ones are transformed."""
        if isinstance(value, ModuleType):
            return self._namespace(value.__name__) or value
        python = self._unwrap(value)
        owner = self._namespace(getattr(value if python is None else python, "__module__", None) or "")
        if owner is not None and callable(value) and hasattr(value, "__name__"):
            return getattr(owner, value.__name__)
        if python is not None:
            return self.function(python)
        if getattr(value, "__triton_builtin__", False):  # a helper that the compiler calls with `_semantic`
            if value.__name__ in BUILT:  # which asks its builder for an operation
                return getattr(self._spaces[id(_TLX)], BUILT[value.__name__])
            return self.function(value.__wrapped__)
        return value.value if type(value).__name__ == "constexpr" else value

    def _namespace(self, module: str) -> Any:
        found = _namespace(module)
        return None if found is None else self._spaces[id(found)]


def place_of(python: Any) -> tuple[str, int]:
    """The file of a function, and its first line."""
    return python.__code__.co_filename, python.__code__.co_firstlineno


def _namespace(module: str) -> Any:
    """The namespace that replaces one of Triton's modules, or the module that a function of Triton comes from."""
    if module in _LIBDEVICE:
        return _DEVICE
    if module in _LANGUAGE:
        return _TL
    return _TLX if module == _EXTENSION else None
