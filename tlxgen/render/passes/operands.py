"""Keeps stock Triton from taking operands of products apart that a loop carries.

Its LLVM carries each element of 16 bits around a loop by itself. ptxas then swaps the halves of every register twice a
round. Elements that come out of an instruction on whole registers stay together. fbtriton vectorises them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from tlxgen.render.passes._tree import Rewriter, children, dotted, walk
from tlxgen.render.passes.waits import PRODUCTS

PACKED = '''\
@triton.jit
def packed(x):
    """x, each 32 bits of it in a register: stock Triton takes it apart where a loop carries it."""
    pack: tl.constexpr = 32 // x.dtype.primitive_bitwidth
    return tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=x.dtype, is_pure=True, pack=pack)


'''


class PackOperands(Rewriter):
    """`p = p.to(...)` -> `p = packed(p.to(...))`, of an operand that a product of the next round takes."""

    def __init__(self) -> None:
        super().__init__()
        self._carried: set[str] = set()

    def __call__(self, module: cst.Module) -> cst.Module:
        found: cst.Module = self.rewrite(module)
        if found is module or any(_is_called(node, "packed") for node in module.body):
            return found
        functions = [i for i, node in enumerate(found.body) if isinstance(node, cst.FunctionDef)]
        helper = cst.parse_module(PACKED).body
        leading = found.body[functions[0]].leading_lines
        body = [*found.body[: functions[0]], helper[0].with_changes(leading_lines=leading), *found.body[functions[0] :]]
        return found.with_changes(body=body)

    def on_FunctionDef(self, node: cst.FunctionDef) -> Any:
        before = self._carried
        self._carried = {name for loop in walk(node) if isinstance(loop, cst.For) for name in _carried(loop)}
        try:
            return self.descend(node) if self._carried else node
        finally:
            self._carried = before

    def on_Assign(self, node: cst.Assign) -> Any:
        if _converted(node) not in self._carried:
            return node
        call = cst.Call(cst.Name("packed"), [cst.Arg(node.value)])
        return node.with_changes(value=call)


def _is_called(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.FunctionDef) and node.name.value == name


def _carried(loop: cst.For) -> Iterator[str]:
    """The names that a product in a loop takes before the loop converts them for the next round."""
    taken: set[str] = set()
    for node in _in_order(loop.body):
        if isinstance(node, cst.Call) and dotted(node.func) in PRODUCTS and isinstance(node.args[0].value, cst.Name):
            taken.add(node.args[0].value.value)
        elif isinstance(node, cst.Assign) and (name := _converted(node)) in taken:
            yield name


def _converted(node: cst.Assign) -> str:
    """What `NAME = VALUE.to(...)` assigns to; empty for any other assignment."""
    target, value = node.targets[0].target, node.value
    if not (isinstance(target, cst.Name) and isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute)):
        return ""
    return target.value if value.func.attr.value == "to" else ""


def _in_order(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Calls and assignments in the order of the source."""
    if isinstance(node, (cst.Call, cst.Assign)):
        yield node
    for child in children(node):
        yield from _in_order(child)
