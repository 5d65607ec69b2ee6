"""What all mutators share."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from ..module import Module, called
from ..mutant import Edit, Mutant


class Mutator(cst.CSTVisitor):
    """Visits one function of a module; `made` are the mutants. `kind` is in their names and in the tables."""

    kind: ClassVar[str]

    def __init__(self, module: Module, function: cst.FunctionDef) -> None:
        super().__init__()
        self.module, self.function = module, function
        self.arrays = module.arrays(function)
        self.made: list[Mutant] = []

    def emit(self, node: cst.CSTNode, what: str, *edits: Edit) -> None:
        """A mutant of the statement that `node` is in."""
        statement = self.module.statement(node)
        where = self.module.line(statement), self.function.name.value
        around = self.module.loop(statement), self.module.role(self.task(node)), self.module.header(statement)
        self.made.append(Mutant(self.module.at, self.kind, *where, what, edits, *around))

    def replace(self, node: cst.CSTNode, text: str, of: str = "") -> None:
        """A mutant that has `text` in the place of `node`, which belongs to `of`."""
        if text != self.module.code(node):
            where = of or self.module.short(self.module.statement(node)).split("(")[0]
            self.emit(node, f"{where}: {self.module.short(node)} -> {text}", Edit(*self.module.span(node), text))

    def remove_argument(self, call: cst.Call, argument: cst.Arg) -> None:
        """A mutant whose call does without one of its arguments."""
        index = next(i for i, a in enumerate(call.args) if a is argument)
        start, end = self.module.span(argument)
        if index:
            start = self.module.span(call.args[index - 1])[1]
        elif len(call.args) > 1:
            end = self.module.span(call.args[1])[0]
        what = f"{self.module.short(call.func)}: {self.module.short(argument)} dropped"
        self.emit(call, what, Edit(start, end, ""))

    def task(self, node: cst.CSTNode) -> cst.CSTNode:
        """The task that a node belongs to, or the whole function."""
        for found in self.module.ancestors(node):
            if isinstance(found, cst.With) and called(found.items[0].item) == "async_task":
                return found
        return self.function
