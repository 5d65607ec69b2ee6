"""Where and when: another slot, another ring's index or counter, another barrier, the other phase."""

from __future__ import annotations

import libcst as cst

from ..module import Module, called, keyword
from ..mutant import Edit
from .base import Mutator


class Phases(Mutator):
    """A wait for the other phase, or always for that of parity 0."""

    kind = "phase"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) not in ("barrier_wait", "clc_producer", "clc_consumer"):
            return
        phase = node.args[1].value
        if isinstance(phase, cst.Integer):
            self.replace(phase, str(1 - int(phase.value)))
            return
        self.replace(phase, "0")
        if _is_flipped(phase):
            assert isinstance(phase, cst.BinaryOperation)
            self.replace(phase, self.module.code(phase.left))
        else:
            self.replace(phase, f"({self.module.code(phase)}) ^ 1")


def _is_flipped(phase: cst.BaseExpression) -> bool:
    return (
        isinstance(phase, cst.BinaryOperation)
        and isinstance(phase.operator, cst.BitXor)
        and isinstance(phase.right, cst.Integer)
        and phase.right.value == "1"
    )


class Indices(Mutator):
    """The slot after the right one, or the index that another access of the same task has."""

    kind = "index"

    def __init__(self, module: Module, function: cst.FunctionDef) -> None:
        super().__init__(module, function)
        self._seen: dict[cst.CSTNode, list[str]] = {}

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if not isinstance(node.value, cst.Name) or node.value.value not in self.arrays:
            return
        index, of = node.slice[0], self._access(node, node.value.value)
        if self.arrays[node.value.value].slots == "1":
            return  # there is no other slot
        self.replace(index, f"({self.module.code(index)} + 1) % ({self.arrays[node.value.value].slots})", of)
        for other in self._others(self.task(node)):
            self.replace(index, other, of)

    def _access(self, node: cst.CSTNode, array: str) -> str:
        """The operation, the array, and the operation's condition."""
        call = next((n for n in self.module.ancestors(node) if isinstance(n, cst.Call)), None)
        if call is None:
            return array
        condition = keyword(call, "pred")
        return f"{called(call)} {array}" + (f", {self.module.short(condition)}" if condition else "")

    def _others(self, task: cst.CSTNode) -> list[str]:
        if task not in self._seen:
            uses = _Uses(self.module, set(self.arrays))
            task.visit(uses)
            self._seen[task] = list(uses.indices)
        return self._seen[task]


class Counts(Mutator):
    """A ring's slot is found with another counter of the same task, or with another ring's number of slots."""

    kind = "counter"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) != "ring_slot":
            return
        uses = _Uses(self.module, set())
        self.task(node).visit(uses)
        for other in uses.counters:
            self.replace(node.args[0].value, other)
        for other in dict.fromkeys(a.slots.split(" ")[0] for a in self.arrays.values()):
            self.replace(node.args[1].value, other)


class _Uses(cst.CSTVisitor):
    """The indices of arrays, and the names that are counted up, in a part of a kernel."""

    def __init__(self, module: Module, arrays: set[str]) -> None:
        super().__init__()
        self._module, self._arrays = module, arrays
        self.indices: dict[str, None] = {}
        self.counters: dict[str, None] = {}

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if isinstance(node.value, cst.Name) and node.value.value in self._arrays:
            self.indices[self._module.code(node.slice[0])] = None

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if isinstance(node.operator, cst.AddAssign):
            self.counters[self._module.code(node.target)] = None

    def visit_For(self, node: cst.For) -> None:
        self.counters[self._module.code(node.target)] = None


class NamedIds(Mutator):
    """Another named barrier of the kernel."""

    kind = "named barrier"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) in ("named_barrier_wait", "named_barrier_arrive"):
            for other in _ids(self.module, self.function):
                self.replace(node.args[0].value, other)


def _ids(module: Module, function: cst.FunctionDef) -> list[str]:
    finder = _Ids(module)
    function.visit(finder)
    return list(finder.found)


class _Ids(cst.CSTVisitor):
    def __init__(self, module: Module) -> None:
        super().__init__()
        self._module = module
        self.found: dict[str, None] = {}

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) in ("named_barrier_wait", "named_barrier_arrive"):
            self.found[self._module.code(node.args[0].value)] = None


class Aliases(Mutator):
    """One access goes to another array of the same space, shape and slots, or the whole array is another one."""

    kind = "alias"

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if isinstance(node.value, cst.Name) and node.value.value in self.arrays:
            for other in self._alike(node.value.value):
                self.replace(node.value, other)

    def visit_Assign(self, node: cst.Assign) -> None:
        name = self.module.code(node.targets[0].target)
        if name in self.arrays and self.module.code(node.value) == self.arrays[name].text:
            for other in self._alike(name):
                if list(self.arrays).index(other) < list(self.arrays).index(name):
                    self.emit(node, f"{name} is {other}", Edit(*self.module.span(node.value), other))

    def _alike(self, name: str) -> list[str]:
        mine = self.arrays[name]
        return [a.name for a in self.arrays.values() if a.name != name and a.likeness == mine.likeness]
