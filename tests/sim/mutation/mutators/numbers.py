"""Off by one: loop bounds, offsets, tiles and counters; and values that are not, or too often, set to their start."""

from __future__ import annotations

from itertools import pairwise

import libcst as cst

from ..module import called
from ..mutant import Edit
from .base import Mutator

RANGES = {"range", "static_range"}
WHOLE = {"cdiv", "min", "num_programs", "program_id"}
ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo)


class Bounds(Mutator):
    """A loop with one round more or less, or with another first one."""

    kind = "bound"

    def visit_For(self, node: cst.For) -> None:
        if called(node.iter) not in RANGES:
            return
        assert isinstance(node.iter, cst.Call)
        for argument in node.iter.args:
            for change in ("- 1", "+ 1"):
                self.replace(argument, f"{self.module.code(argument)} {change}")
        if len(node.iter.args) == 1:
            self.replace(node.iter.args[0], f"1, {self.module.code(node.iter.args[0])}")


class Offsets(Mutator):
    """A copy's offset is an element further, or a variable of it is one more, or a block."""

    kind = "offset"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) not in ("async_descriptor_load", "async_descriptor_store"):
            return
        for argument in node.args:
            if isinstance(argument.value, cst.List) and argument.keyword is None:
                for element in argument.value.elements:
                    self._shift(element.value)

    def _shift(self, offset: cst.BaseExpression) -> None:
        self.replace(offset, f"{self.module.code(offset)} + 1")
        names = _Names()
        offset.visit(names)
        if isinstance(offset, cst.Name):
            self.replace(offset, f"{self.module.code(offset)} + BLOCK_K")
            return
        for name in names.found:
            self.replace(name, f"({name.value} + 1)")


class _Names(cst.CSTVisitor):
    """The variables of an expression; what is in capitals is a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.Name] = []

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return False  # a function of a module

    def visit_Name(self, node: cst.Name) -> None:
        if not node.value.isupper():
            self.found.append(node)


class Assignments(Mutator):
    """A whole number that is one more or less: a tile, a row, a part of K, a number of tiles."""

    kind = "assignment"

    def visit_Assign(self, node: cst.Assign) -> None:
        if isinstance(node.targets[0].target, cst.Name) and self._is_whole(node.value):
            for change in ("- 1", "+ 1"):
                self.replace(node.value, f"{self.module.code(node.value)} {change}")

    def _is_whole(self, value: cst.BaseExpression) -> bool:
        if any(p.name.value == "x" for p in self.function.params.params):
            return False  # a helper of the epilogue: its values are tensors of numbers
        if isinstance(value, cst.BinaryOperation):
            return isinstance(value.operator, ARITHMETIC)
        return isinstance(value, cst.Integer) or called(value) in WHOLE


class Counters(Mutator):
    """A counter that is not counted, or counted once too often."""

    kind = "count"

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if isinstance(node.operator, cst.AddAssign) and "load(" not in self.module.code(node):
            self.replace(node, "pass")
            self.replace(node.value, f"{self.module.code(node.value)} + 1")


class Initialisations(Mutator):
    """A value set once before the loop, instead of in each round, or in each round instead of once."""

    kind = "initialisation"

    def visit_For(self, node: cst.For) -> None:
        assert isinstance(node.body, cst.IndentedBlock)
        start = self.module.span(node)[0]
        for line in node.body.body:
            for statement in _assignments(line):
                if called(statement.value) in ("zeros", "full"):
                    code = self.module.code(statement)
                    moved = Edit(start, start, f"{code}\n{self.module.indent(node)}")
                    what = f"{self.module.short(statement)} once, before the loop"
                    self.emit(statement, what, moved, Edit(*self.module.span(statement), "pass"))

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        block, index = self.module.siblings(node)
        for statement in _assignments(node):
            name = self.module.code(statement.targets[0].target)
            loops = [s for s in block[index + 1 :] if isinstance(s, cst.For) and f" {name} += " in self.module.code(s)]
            if loops and isinstance(loops[0].body, cst.IndentedBlock):
                first = loops[0].body.body[0]
                start, code = self.module.span(first)[0], self.module.code(statement)
                moved = Edit(start, start, f"{code}\n{self.module.indent(first)}")
                self.emit(statement, f"{self.module.short(statement)} in each round", moved)

    def visit_Call(self, node: cst.Call) -> None:
        for argument in node.args:
            if argument.keyword is not None and argument.keyword.value == "use_acc":
                self.replace(argument.value, "True")


def _assignments(line: cst.CSTNode) -> list[cst.Assign]:
    body = line.body if isinstance(line, cst.SimpleStatementLine) else []
    return [s for s in body if isinstance(s, cst.Assign)]


class Operands(Mutator):
    """Two of a kind change places: the offsets of a copy, the operands of a product, what a helper gave."""

    kind = "operands"

    def visit_Call(self, node: cst.Call) -> None:
        if called(node) in ("async_dot", "dot"):
            self._swap(node.args[0].value, node.args[1].value)
        if called(node) == "async_dot_scaled":  # A, B, then accumulator, scale of A, format, scale of B
            self._swap(node.args[0].value, node.args[1].value)
            self._swap(node.args[3].value, node.args[5].value)
        if called(node) in ("async_descriptor_load", "async_descriptor_store"):
            for argument in node.args:
                if isinstance(argument.value, cst.List) and argument.keyword is None:
                    values = [e.value for e in argument.value.elements]
                    for first, second in pairwise(values):
                        self._swap(first, second)

    def visit_Assign(self, node: cst.Assign) -> None:
        target = node.targets[0].target
        if isinstance(target, cst.Tuple):
            for i in range(len(target.elements) - 1):
                self._swap(target.elements[i].value, target.elements[i + 1].value)

    def _swap(self, a: cst.BaseExpression, b: cst.BaseExpression) -> None:
        first, second = self.module.code(a), self.module.code(b)
        if first == second:
            return
        edits = (Edit(*self.module.span(a), second), Edit(*self.module.span(b), first))
        self.emit(a, f"{self.module.short(a)} <-> {self.module.short(b)}", *edits)
