"""Keeps stock Triton from waiting for every wgmma of a loop.

Its software pipeliner puts a wait for all products behind each `async_dot` of a loop that has stages to pipeline. A
loop over `tl.range(..., num_stages=0)` has none; fbtriton makes the same code of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from tlxgen.render.passes._tree import Rewriter, children, dotted

PRODUCTS = ("tlx.async_dot", "tlx.async_dot_scaled", "narrow_dot", "whole_dot")
RANGES = ("range", "tl.range")


class KeepProductsInFlight(Rewriter):
    """`for k in range(n):` with products in its own body -> `for k in tl.range(n, num_stages=0):`."""

    def __call__(self, module: cst.Module) -> cst.Module:
        found: cst.Module = self.rewrite(module)
        return found

    def on_For(self, node: cst.For) -> Any:
        node = self.descend(node)
        call = node.iter
        if not isinstance(call, cst.Call) or dotted(call.func) not in RANGES or not any(_products(node.body)):
            return node
        if any(a.keyword is not None and a.keyword.value == "num_stages" for a in call.args):
            return node
        stages = cst.ensure_type(cst.parse_expression("f(num_stages=0)"), cst.Call).args[0]
        function = cst.parse_expression("tl.range")
        *before, last = call.args
        args = [*before, last.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))), stages]
        return node.with_changes(iter=call.with_changes(func=function, args=args))


def _products(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The calls that issue a product, those in loops within left out."""
    if isinstance(node, cst.Call) and dotted(node.func) in PRODUCTS:
        yield node
    for child in children(node):
        if not isinstance(child, cst.For):
            yield from _products(child)
