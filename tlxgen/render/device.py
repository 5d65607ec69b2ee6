"""The digest of the device side of a generated module, that is, of what the GPU's compiler sees."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tlxgen import digest

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
    meaning = _Meaning({name: f"kernel{place}" for place, name in enumerate(kernels)})
    tree = ast.parse(source)
    jitted = [meaning.visit(node) for node in tree.body if isinstance(node, ast.FunctionDef) and _is_jit(node)]
    read = {name.id for function in jitted for name in ast.walk(function) if isinstance(name, ast.Name)}
    constants = [node for node in tree.body if isinstance(node, ast.Assign) and read & set(_targets(node))]
    return digest.of_text("\n".join([launches, *sorted(ast.dump(node) for node in (*jitted, *constants))]))


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
