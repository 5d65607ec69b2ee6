"""The names that code reads and binds, and whether an expression can be dropped without an effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache, lru_cache

import libcst as cst

from tlxgen.render.passes._tree import child_fields, children, dotted, functions, is_jit, walk

# Statements of blocks of which something is remembered: modules of a spec share most of them. What is known of one that
# has blocks itself is put together from what is known of theirs.
STATEMENTS = 1 << 16
# The field of a node that names something without reading it.
_NAMING: dict[type[cst.CSTNode], str] = {
    cst.AnnAssign: "target",
    cst.Arg: "keyword",
    cst.AsName: "name",
    cst.AssignTarget: "target",
    cst.Attribute: "attr",
    cst.AugAssign: "target",
    cst.ClassDef: "name",
    cst.CompFor: "target",
    cst.For: "target",
    cst.FunctionDef: "name",
    cst.NamedExpr: "target",
    cst.Param: "name",
}
_BINDING = {kind: field for kind, field in _NAMING.items() if kind not in (cst.Arg, cst.Attribute)}

PURE_CALLS = frozenset(
    {
        *("abs", "cdiv", "int", "len", "max", "min", "range", "tl.arange", "tl.cdiv", "tl.num_programs"),
        *("tl.program_id", "tl.range", "tl.static_range", "tlx.async_task_replica_id", "tlx.cluster_cta_rank"),
    }
)
_PURE_NODES = (
    cst.Arg,
    cst.Attribute,
    cst.BaseNumber,
    cst.BaseSlice,
    cst.BaseString,
    cst.BinaryOperation,
    cst.BooleanOperation,
    cst.Call,
    cst.Comparison,
    cst.ComparisonTarget,
    cst.Dict,
    cst.DictElement,
    cst.Element,
    cst.Ellipsis,
    cst.FormattedStringExpression,
    cst.FormattedStringText,
    cst.IfExp,
    cst.List,
    cst.Name,
    cst.Subscript,
    cst.SubscriptElement,
    cst.Tuple,
    cst.UnaryOperation,
)


def loads(*nodes: cst.CSTNode) -> Counter[str]:
    """How often each name is read below `nodes`; `x += 1`, keywords, attributes and imports do not read a name.

    Nested scopes are not distinguished, so a name may count as read although it is not.
    """
    found: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, cst.Module):
            found.update(loads(*node.body))
        else:
            found.update(_function_loads(node) if isinstance(node, cst.FunctionDef) else _loads(node))
    return found


@lru_cache(maxsize=256)  # asked again and again for functions that no pass changes any more
def _function_loads(function: cst.FunctionDef) -> Counter[str]:
    return _loads(function)


@lru_cache(maxsize=STATEMENTS)
def _statement_loads(statement: cst.CSTNode) -> Counter[str]:
    return _loads(statement)


def _loads(root: cst.CSTNode) -> Counter[str]:
    found: Counter[str] = Counter()
    stack: list[cst.CSTNode] = [root]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is cst.IndentedBlock:
            for statement in node.body:  # type: ignore[attr-defined]
                found.update(_statement_loads(statement))
        elif kind is cst.Name:
            found[node.value] += 1  # type: ignore[attr-defined]
        elif kind is not cst.Import and kind is not cst.ImportFrom:
            stack.extend(_read_children(node, kind))
    return found


def loose_reads(function: cst.FunctionDef) -> set[str]:
    """The names that `function` reads outside the body of a `for` that binds them, that is, after the loop."""
    found: set[str] = set()
    stack: list[tuple[cst.CSTNode, frozenset[str]]] = [(function.body, frozenset())]
    while stack:
        node, bound = stack.pop()
        if isinstance(node, cst.Name):
            found.update({node.value} - bound)
            continue
        inner = bound
        if isinstance(node, cst.For):
            inner = bound.union(name.value for name in target_names(node.target))
        for child in _read_children(node, type(node)):
            stack.append((child, inner if isinstance(child, cst.IndentedBlock) else bound))
    return found


def _read_children(node: cst.CSTNode, kind: type) -> Iterator[cst.CSTNode]:
    naming = _NAMING.get(kind)
    if naming is None:
        yield from children(node)
        return
    yield from _target_reads(getattr(node, naming))
    for name in _other_fields(kind, naming):
        value = getattr(node, name)
        if isinstance(value, (list, tuple)):
            yield from value
        elif isinstance(value, cst.CSTNode):
            yield value


@cache
def _other_fields(kind: type, naming: str) -> tuple[str, ...]:
    return tuple(name for name in child_fields(kind) if name != naming)


def _target_reads(target: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """What assigning to `target` reads: `tiles` and `i` for `tiles[i]`, nothing for names and tuples of names."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _target_reads(element.value)
    elif target is not None and not isinstance(target, cst.Name):
        yield target


def target_names(target: cst.CSTNode | None) -> list[cst.Name]:
    """The names that assigning to `target` binds."""
    if isinstance(target, cst.Name):
        return [target]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in target_names(element.value)]
    return []


@lru_cache(maxsize=256)
def binds(node: cst.CSTNode) -> frozenset[str]:
    """Every name bound below `node`, nested scopes included."""
    return _binds(node)


@lru_cache(maxsize=STATEMENTS)
def statement_binds(statement: cst.CSTNode) -> frozenset[str]:
    """The same of a statement of a block."""
    return _binds(statement)


def _binds(node: cst.CSTNode) -> frozenset[str]:
    found: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is cst.IndentedBlock:
            found.update(*map(statement_binds, part.body))  # type: ignore[attr-defined]
            continue
        field = _BINDING.get(kind)
        if field:
            found.update(name.value for name in target_names(getattr(part, field)))
        stack.extend(children(part))
    return frozenset(found)


def is_pure(node: cst.CSTNode, pure_calls: Collection[str] = PURE_CALLS) -> bool:
    """Whether evaluating `node` only yields a value. A call is pure when its dotted name is in `pure_calls`."""
    for part in walk(node):
        if not isinstance(part, _PURE_NODES):
            return False
        if isinstance(part, cst.Call) and dotted(part.func) not in pure_calls:
            return False
    return True


def pure_helpers(module: cst.Module) -> frozenset[str]:
    """`PURE_CALLS` and the module's jit helpers that only assign and return pure expressions."""
    pure = set(PURE_CALLS)
    waiting = {name: f for name, f in functions(module).items() if is_jit(f)}
    while found := [name for name, function in waiting.items() if _only_computes(function, pure)]:
        pure.update(found)
        for name in found:
            del waiting[name]
    return frozenset(pure)


def _only_computes(function: cst.FunctionDef, pure: Collection[str]) -> bool:
    for line in function.body.body:
        if not isinstance(line, cst.SimpleStatementLine):
            return False
        for statement in line.body:
            if isinstance(statement, (cst.Assign, cst.AnnAssign)):
                targets = (
                    [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
                )
                if not all(isinstance(target, (cst.Name, cst.Tuple)) for target in targets):
                    return False
            elif not isinstance(statement, cst.Return) and not is_docstring(statement):
                return False
            value = statement.value  # type: ignore[attr-defined]
            if value is not None and not is_pure(value, pure):
                return False
    return True


def is_docstring(statement: cst.CSTNode) -> bool:
    """Whether a statement, or a line of one statement, is nothing but a string."""
    if isinstance(statement, cst.SimpleStatementLine):
        return len(statement.body) == 1 and is_docstring(statement.body[0])
    return isinstance(statement, cst.Expr) and isinstance(statement.value, (cst.SimpleString, cst.ConcatenatedString))
