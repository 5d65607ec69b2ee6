"""Whole statements that synchronise: left out, said twice, or said too early or too late."""

from __future__ import annotations

import libcst as cst

from ..module import called
from ..mutant import Edit
from .base import Mutator

ARRIVES = {
    "barrier_arrive",
    "named_barrier_arrive",
    "barrier_expect_bytes",
    "tcgen05_commit",
    "async_load_commit_group",
    "clc_producer",
}
WAITS = {
    "barrier_wait",
    "named_barrier_wait",
    "async_dot_wait",
    "async_descriptor_store_wait",
    "async_load_wait_group",
    "clc_consumer",
}
FENCES = {"fence", "fence_async_shared", "fence_mbarrier_init_cluster", "cluster_barrier"}
COMPUTE = {"ring_slot", "cdiv", "local_view", "local_slice", "local_trans", "local_reinterpret", "subslice"}
SYNCHRONISE = ARRIVES | WAITS | FENCES


class _Statements(Mutator):
    """Visits the simple statements that call one of `calls`."""

    calls = SYNCHRONISE

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        for statement in node.body:
            value = statement.value if isinstance(statement, (cst.Expr, cst.Assign)) else None
            if value is not None and called(value) in self.calls:
                self.mutate(node, statement)

    def mutate(self, line: cst.SimpleStatementLine, statement: cst.BaseSmallStatement) -> None:
        raise NotImplementedError


class Drops(_Statements):
    """Left out."""

    kind = "drop"

    def mutate(self, line: cst.SimpleStatementLine, statement: cst.BaseSmallStatement) -> None:
        what = f"{self.module.short(statement)} dropped"
        self.emit(statement, what, Edit(*self.module.span(statement), "pass"))


class Duplicates(_Statements):
    """Said twice."""

    kind = "duplicate"

    def mutate(self, line: cst.SimpleStatementLine, statement: cst.BaseSmallStatement) -> None:
        end = self.module.span(statement)[1]
        what = f"{self.module.short(statement)} twice"
        self.emit(statement, what, Edit(end, end, f"; {self.module.code(statement)}"))


class Sooner(_Statements):
    """A release or a publication, or the fence before it, comes one statement earlier, with the numbers it needs."""

    kind = "sooner"
    calls = ARRIVES | FENCES

    def mutate(self, line: cst.SimpleStatementLine, statement: cst.BaseSmallStatement) -> None:
        block, index = self.module.siblings(line)
        first = index
        while first and _is_number(block[first - 1]):
            first -= 1
        if first == 0:
            return
        over = block[first - 1]
        moved = [s for line in block[first : index + 1] for s in _small(line)]
        start, indent = self.module.span(over)[0], self.module.indent(over)
        code = "".join(f"{self.module.code(s)}\n{indent}" for s in moved)
        what = f"{self.module.short(statement)} before {_title(self.module.short(over))}"
        gone = [Edit(*self.module.span(s), "pass") for s in moved]
        self.emit(statement, what, Edit(start, start, code), *gone)


class Later(_Statements):
    """A wait comes one statement later, not counting the numbers that are computed in between."""

    kind = "later"
    calls = WAITS

    def mutate(self, line: cst.SimpleStatementLine, statement: cst.BaseSmallStatement) -> None:
        block, index = self.module.siblings(line)
        over = next((s for s in block[index + 1 :] if not _is_number(s)), None)
        if over is None:
            return
        code = self.module.code(statement)
        last = _small(over)[-1] if isinstance(over, cst.SimpleStatementLine) else _last_line(over)
        end = self.module.span(last)[1]
        indent = self.module.indent(block[index])
        text = f"; {code}" if isinstance(over, cst.SimpleStatementLine) else f"\n{indent}{code}"
        what = f"{self.module.short(statement)} after {_title(self.module.short(over))}"
        self.emit(statement, what, Edit(*self.module.span(statement), "pass"), Edit(end, end, text))


def _small(line: cst.CSTNode) -> list[cst.BaseSmallStatement]:
    return list(line.body) if isinstance(line, cst.SimpleStatementLine) else []


def _is_number(statement: cst.CSTNode) -> bool:
    """Whether a statement only computes numbers, or says where something lies: `last = (count + STAGES - 1) % STAGES`,
    `slot, phase = ring_slot(count, STAGES)`, `rows = tlx.local_slice(...)`."""
    values = [s.value for s in _small(statement) if isinstance(s, cst.Assign)]
    return bool(values) and all(_only_computes(v) for v in values)


def _only_computes(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.IfExp):
        return _only_computes(value.body) and _only_computes(value.orelse)
    return called(value) in COMPUTE or isinstance(value, (cst.BinaryOperation, cst.Tuple, cst.Name, cst.Integer))


def _last_line(statement: cst.CSTNode) -> cst.CSTNode:
    """The last simple statement inside of a compound one."""
    while isinstance(statement, (cst.For, cst.While, cst.If, cst.Else, cst.With)):
        inner = statement.orelse if isinstance(statement, cst.If) else None
        statement = inner or statement.body.body[-1]
    return _small(statement)[-1]


def _title(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
