"""Conditions: of a branch, of an operation, of the elements of a load or store; and which CTAs an operation reaches."""

from __future__ import annotations

import libcst as cst

from ..module import called, keyword
from ..mutant import Edit
from .base import Mutator


class Conditions(Mutator):
    """A branch is always or never taken; an operation's condition is dropped or inverted."""

    kind = "condition"

    def visit_If(self, node: cst.If) -> None:
        for text in ("True", "False"):
            self.replace(node.test, text)

    def visit_Call(self, node: cst.Call) -> None:
        argument = keyword(node, "pred")
        if argument is not None:
            self.remove_argument(node, argument)
            self.replace(argument.value, f"(({self.module.code(argument.value)}) == 0)")


class Masks(Mutator):
    """A mask, one of its conditions, or the value for what it leaves out is dropped."""

    kind = "mask"

    def visit_Call(self, node: cst.Call) -> None:
        for name in ("mask", "other"):
            argument = keyword(node, name)
            if argument is not None:
                self.remove_argument(node, argument)

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        if isinstance(node.operator, cst.BitAnd) and _is_comparison(node.left) and _is_comparison(node.right):
            for left, kept in ((node.left, node.right), (node.right, node.left)):
                # What is dropped must still give the shape: a comparison that always holds.
                always, other = f"(({self.module.code(left)}) | True)", f"({self.module.code(kept)})"
                pair = (always, other) if left is node.left else (other, always)
                self.replace(node, " & ".join(pair))


def _is_comparison(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Comparison)


class Remotes(Mutator):
    """An arrival for the peer CTA stays at home, or one for both goes to the peer alone."""

    kind = "remote"

    def visit_Call(self, node: cst.Call) -> None:
        argument = keyword(node, "remote_cta_rank")
        if argument is not None:
            self.remove_argument(node, argument)
        elif called(node) == "barrier_arrive" and "remote_cta_rank=cta" in self.module.code(self.function):
            end = self.module.span(node.args[0])[1]
            what = f"{self.module.short(node)} goes to the peer"
            self.emit(node, what, Edit(end, end, ", remote_cta_rank=cta ^ 1"))


class Completions(Mutator):
    """An operation ends and tells none of its barriers, or only its own CTA."""

    kind = "completion"

    def visit_Call(self, node: cst.Call) -> None:
        for name in ("mBarriers", "two_ctas", "multi_ctas"):
            argument = keyword(node, name)
            if argument is not None:
                self.remove_argument(node, argument)


class Multicasts(Mutator):
    """A copy for several CTAs is for one of them."""

    kind = "multicast"

    def visit_Call(self, node: cst.Call) -> None:
        argument = keyword(node, "multicast_targets")
        if argument is None or not isinstance(argument.value, cst.List):
            return
        self.remove_argument(node, argument)
        for element in argument.value.elements:
            self.replace(argument.value, f"[{self.module.code(element.value)}]")
