"""The digest of the device side of a generated module, that is, of what the GPU's compiler sees."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tlxgen import digest
from tlxgen.render.lines import UnusualError
from tlxgen.render.statements import MODULES, statements

_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def device_digest(source: str, kernels: Sequence[str], launches: str) -> str:
    """Digest of a module's jit functions, of the module's names that they read, and of how they are launched.

    It leaves out what does not change the PTX: comments, docstrings, line breaks (kernels are compiled without line
    information), host functions, the order of definitions, static asserts, the form of constants (`2 * 64` or 128), and
    the names of `kernels`, which are replaced by their position. `launches` is a text in which different launches
    differ (types, constants, warps).
    """
    names = {name: f"kernel{place}" for place, name in enumerate(kernels)}
    try:
        parts = [part for text in statements(source) for part in _parts(text, _defined(text, names))]
    except (UnusualError, SyntaxError):
        parts = [_part(node, names) for node in ast.parse(source).body]
    jitted = [part.dump for part in parts if part.dump]
    read = {name for part in parts for name in part.reads}
    constants = [ast.dump(node) for part in parts if (node := part.constant) and read & set(_targets(node))]
    return digest.of_text("\n".join([launches, *sorted([*jitted, *constants])]))


@dataclass(frozen=True)
class _Part:
    """A statement of a module: a jit function as the digest reads it, and the names that it reads, or an assignment."""

    dump: str = ""
    reads: frozenset[str] = frozenset()
    constant: ast.Assign | None = None


def _defined(text: str, names: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Those of `names` that a statement may define."""
    return tuple((name, other) for name, other in names.items() if f"def {name}(" in text)


@lru_cache(maxsize=MODULES)
def _parts(text: str, names: tuple[tuple[str, str], ...]) -> list[_Part]:
    return [_part(node, dict(names)) for node in ast.parse(text).body]


def _part(node: ast.stmt, names: Mapping[str, str]) -> _Part:
    if isinstance(node, ast.Assign):
        return _Part(constant=node)
    if not isinstance(node, ast.FunctionDef) or not _is_jit(node):
        return _Part()
    function = _Meaning(names).visit(node)
    return _Part(ast.dump(function), frozenset(n.id for n in ast.walk(function) if isinstance(n, ast.Name)))


class _Meaning(ast.NodeTransformer):
    """Rewrites a jit function to the form that the digest reads, without parts that do not change its PTX."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        node.name = self._names.get(node.name, node.name)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        asserts = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "tl.static_assert"
        return None if asserts else self._visited(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp | ast.Constant:
        node = self._visited(node)
        compute, left, right = _ARITHMETIC.get(type(node.op)), _natural(node.left), _natural(node.right)
        if compute is None or left is None or right is None:
            return node
        return ast.Constant(compute(left, right))

    def _visited(self, node: Any) -> Any:
        self.generic_visit(node)
        return node


def _is_jit(function: ast.FunctionDef) -> bool:
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any("triton.jit" in text or "triton.constexpr_function" in text for text in decorators)


def _targets(node: ast.Assign) -> Iterator[str]:
    return (target.id for target in node.targets if isinstance(target, ast.Name))


def _natural(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
