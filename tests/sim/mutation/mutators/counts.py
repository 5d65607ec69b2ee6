"""Numbers that hand-offs are made of: arrivals, bytes, operations left pending, threads, slots."""

from __future__ import annotations

import libcst as cst

from ..module import ALLOCATIONS, called, keyword
from .base import Mutator

PENDINGS = {"async_dot_wait", "async_descriptor_store_wait", "async_load_wait_group"}
WARP_GROUP = 128  # threads of the smallest task that shares a named barrier


class ArriveCounts(Mutator):
    """A barrier expects one arrival more or less, or one arrival counts as two."""

    kind = "arrive count"

    def visit_Call(self, node: cst.Call) -> None:
        name = called(node)
        if name in ("alloc_barriers", "alloc_warp_barrier"):
            for argument in (keyword(node, n) for n in ("arrive_count", "num_warps", "num_arrivals")):
                if argument is not None:
                    _one_off(self, argument.value, 1)
        elif name == "clc_create_context":
            _one_off(self, node.args[0].value, 1)
        elif name == "barrier_arrive" and len(node.args) == 1:
            self.replace(node.args[0], f"{self.module.code(node.args[0])}, 2")


class Pendings(Mutator):
    """A wait lets one operation more run, or one less."""

    kind = "pendings"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) in PENDINGS:
            _one_off(self, node.args[0].value, 0)


def _one_off(mutator: Mutator, value: cst.BaseExpression, least: int) -> None:
    if isinstance(value, cst.Integer):
        for other in (int(value.value) - 1, int(value.value) + 1):
            if other >= least:
                mutator.replace(value, str(other))
    else:
        for change in ("- 1", "+ 1"):
            mutator.replace(value, f"{mutator.module.code(value)} {change}")


class ExpectedBytes(Mutator):
    """One of the copies on a barrier is counted not at all, half or twice."""

    kind = "bytes"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) != "barrier_expect_bytes":
            return
        whole = node.args[1].value
        terms = _terms(whole)
        code = [self.module.code(t) for t in terms]
        for i in range(len(terms)):
            for changed in ([f"({code[i]}) // 2"], [f"({code[i]}) * 2"], []):
                rest = code[:i] + changed + code[i + 1 :]
                if rest:
                    self.replace(whole, " + ".join(rest))


def _terms(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        return [*_terms(value.left), *_terms(value.right)]
    return [value]


class Threads(Mutator):
    """A named barrier is for a warp group more or less than come."""

    kind = "threads"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) in ("named_barrier_wait", "named_barrier_arrive"):
            threads = self.module.code(node.args[1])
            for change in (f"{threads} - {WARP_GROUP}", f"{threads} + {WARP_GROUP}"):
                self.replace(node.args[1], change)


class Slots(Mutator):
    """A ring has a slot less than the code counts, or the code counts one less or more than the ring has."""

    kind = "slots"

    def visit_Call(self, node: cst.Call) -> None:
        name = called(node)
        if name in ALLOCATIONS:
            slots = node.args[2 if name == "local_alloc" else 0]
            self.replace(slots.value, f"{self.module.code(slots.value)} - 1")
        elif name == "ring_slot":
            for change in ("- 1", "+ 1"):
                self.replace(node.args[1].value, f"{self.module.code(node.args[1].value)} {change}")

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        if isinstance(node.operator, cst.Modulo) and isinstance(node.right, (cst.Name, cst.Integer)):
            for change in ("- 1", "+ 1"):
                self.replace(node.right, f"({self.module.code(node.right)} {change})")
