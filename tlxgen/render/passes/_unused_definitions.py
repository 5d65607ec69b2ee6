"""Removes unused functions, imports and compile-time parameters of a module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst

from tlxgen.render.passes._blocks import Blocks, Splice
from tlxgen.render.passes._names import binds, is_pure, loads
from tlxgen.render.passes._parameters import DropParameters, argument, constexprs, plain_calls, positions
from tlxgen.render.passes._tree import decorator_names, dotted, functions, is_jit, walk, without


def drop_parameters(module: cst.Module) -> cst.Module:
    """`module` without `tl.constexpr` parameters that a helper does not read, and without their arguments.

    A helper is a jit or private function that the module only calls: it neither launches it nor passes it on.
    """
    defined = functions(module)
    unread = {name: _unread(f) for name, f in defined.items() if is_jit(f) or name.startswith("_")}
    unread = {name: names for name, names in unread.items() if names}
    if not unread:
        return module
    calls = _plain_calls(module, unread)
    mentioned = loads(module)
    drops: dict[str, set[str]] = {}
    for name, names in unread.items():
        if calls[name] and mentioned[name] == len(calls[name]):
            place = positions(defined[name])
            drops[name] = {n for n in names if all(_is_droppable(call, n, place.get(n)) for call in calls[name])}
    drops = {name: names for name, names in drops.items() if names}
    if not drops:
        return module
    less: cst.Module = DropParameters(module, drops).rewrite(module)
    return less


def _unread(function: cst.FunctionDef) -> set[str]:
    candidates = constexprs(function)
    return candidates - loads(function).keys() if candidates else candidates


def _plain_calls(module: cst.Module, names: Iterable[str]) -> dict[str, list[cst.Call]]:
    calls: dict[str, list[cst.Call]] = {name: [] for name in names}
    for name, call in plain_calls(module):
        if name in calls:
            calls[name].append(call)
    return calls


def _is_droppable(call: cst.Call, name: str, position: int | None) -> bool:
    if any(arg.star for arg in call.args):
        return False
    index = argument(call, name, position)
    return index is None or is_pure(call.args[index].value)


def exported(module: cst.Module) -> set[str]:
    """The names in `__all__`."""
    for line in module.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.Assign) and dotted(statement.targets[0].target) == "__all__":
                strings = (node for node in walk(statement.value) if isinstance(node, cst.SimpleString))
                return {str(node.evaluated_value) for node in strings}
    return set()


def drop_functions(module: cst.Module) -> cst.Module:
    """`module` without the private and jit functions that cannot be reached from the roots.

    The roots are `__all__`, public host functions, functions with decorators that may register them and, in a module
    without host functions (a library of kernels), public jit functions.
    """
    defined = functions(module)
    alone = all(is_jit(function) for function in defined.values())
    public = exported(module)
    free = {n for n, f in defined.items() if n not in public and _is_private(f, alone)}
    if not free:
        return module
    reached: set[str] = set()
    waiting: list[cst.CSTNode] = [
        n for n in module.body if not isinstance(n, cst.FunctionDef) or n.name.value not in free
    ]
    while waiting:
        new = {name for name in loads(waiting.pop()) if name in free} - reached
        reached |= new
        waiting += [defined[name] for name in new]
    unused = free - reached
    return _without(module, lambda s: Splice() if isinstance(s, cst.FunctionDef) and s.name.value in unused else None)


def _is_private(function: cst.FunctionDef, alone: bool) -> bool:
    if not all(name.startswith("triton.") for name in decorator_names(function)):
        return False
    return function.name.value.startswith("_") or (is_jit(function) and not alone)


def drop_imports(module: cst.Module) -> cst.Module:
    """`module` without unused top-level imports. Imports with `# noqa` or of the form `import a as a` stay."""
    read = sum(map(_read_of_module, module.body), Counter(exported(module)))

    def replace(line: cst.BaseStatement) -> Splice | None:
        if not isinstance(line, cst.SimpleStatementLine) or "noqa" in _comment(line):
            return None
        kept = [new for new in (_used_import(small, read) for small in line.body) if new is not None]
        if len(kept) == len(line.body) and all(a is b for a, b in zip(kept, line.body, strict=True)):
            return None
        if not kept:
            return Splice()
        kept[-1] = kept[-1].with_changes(semicolon=line.body[-1].semicolon)
        return Splice([line.with_changes(body=kept)])

    return _without(module, replace)


def _read_of_module(statement: cst.BaseStatement | cst.BaseSmallStatement) -> Counter[str]:
    """Names that a statement of a module reads, without the variables of a jit function, which has no inner scopes."""
    read = loads(statement)
    own = binds(statement.body) if isinstance(statement, cst.FunctionDef) and is_jit(statement) else ()
    return Counter({name: count for name, count in read.items() if name not in own})


def _comment(line: cst.SimpleStatementLine) -> str:
    return line.trailing_whitespace.comment.value if line.trailing_whitespace.comment else ""


def _used_import(statement: Any, read: Counter[str]) -> Any:
    """An import with only the names that are read, or None if none is. Other statements are returned unchanged."""
    if not isinstance(statement, (cst.Import, cst.ImportFrom)) or isinstance(statement.names, cst.ImportStar):
        return statement
    if isinstance(statement, cst.ImportFrom) and dotted(statement.module) == "__future__":
        return statement
    unused = [index for index, alias in enumerate(statement.names) if not _is_used(alias, read)]
    if not unused:
        return statement
    if len(unused) == len(statement.names):
        return None
    names = without(statement.names, unused)
    if isinstance(statement, cst.Import) or not statement.lpar:
        names = [*names[:-1], names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
    return statement.with_changes(names=names)


def _is_used(alias: cst.ImportAlias, read: Counter[str]) -> bool:
    name = dotted(alias.name)
    if alias.asname is None:
        return read[name.split(".")[0]] > 0
    bound = dotted(alias.asname.name)
    return bound == name or read[bound] > 0


class _TopLevel(Blocks):
    def __init__(self, replace: Callable[[cst.BaseStatement], Splice | None]) -> None:
        super().__init__()
        self._replace = replace

    def rewrite(self, node: Any) -> Any:
        return self.on_Module(node) if isinstance(node, cst.Module) else node

    def replace(self, statement: cst.BaseStatement) -> Splice | None:
        return self._replace(statement)

    def finish(self, body: Sequence[cst.BaseStatement]) -> Sequence[cst.BaseStatement]:
        return body


def _without(module: cst.Module, replace: Callable[[cst.BaseStatement], Splice | None]) -> cst.Module:
    cleaned: cst.Module = _TopLevel(replace).rewrite(module)
    return cleaned
