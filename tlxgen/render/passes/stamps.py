"""Inserts stamps of clock64 between the statements of a kernel's tasks.

A stamp is placed before and after each operation; adjacent operations share one. Consecutive stamps write to
consecutive places of the buffer, and the position is advanced after the last of them. The pass only inserts whole
lines, so the module without them is the original one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from tlxgen.render.passes._tree import dotted, functions, walk

MOST_IN_A_ROW = 64
IMPORT = "from ._stamps import stamp, stamped, stamps_begin, stamps_finish, stamps_next\n"
PARAMETERS = ("stamps_ptr", "stamps_last")


@dataclass(frozen=True)
class Area:
    """A task's areas in the buffer: the number of the first, and the number of replicas, each of which has one."""

    first: int
    replicas: int
    of: int  # number of areas of all tasks
    threads: int  # which divides the number of the first thread of each replica, and that of no other


@dataclass(frozen=True)
class Operation:
    """The operation that a statement is. One that `leads` has its stamps with the operation after it, and the name of
    that one, which must be none that `waits`. One that `takes` has no stamp between it and what is computed before
    it: the compiler computes that while the operation is under way."""

    what: str
    leads: bool = False
    waits: bool = False
    takes: bool = False


# Describes the operation of a task's statement; None for a statement without one.
Tell = Callable[[str], Operation | None]


@dataclass(eq=False)
class StampTasks:
    """Inserts stamps into the tasks of `kernel`, or into the whole kernel if it has no tasks.

    `tells` and `areas` have one entry a task. `opened` receives, for each stamp, the number of the task and the
    description of the operation that starts there, which is empty between operations. The stamps of a task are numbered
    from 1 in the source. `rows` receives, for each row, the number of the task, of its first stamp and of its stamps.
    """

    kernel: str
    tells: Sequence[Tell]
    areas: Sequence[Area]
    specialized: bool = True
    opened: list[tuple[int, str]] = field(default_factory=list)
    rows: list[tuple[int, int, int]] = field(default_factory=list)

    def __call__(self, module: cst.Module) -> cst.Module:
        function = functions(module)[self.kernel]
        stamped = self._signature(self._tasks(function))
        body = [stamped if node is function else node for node in module.body]
        last = max(i for i, node in enumerate(body) if _is_import(node))
        body.insert(last + 1, _statement(IMPORT))
        return module.with_changes(body=body)

    def _signature(self, function: cst.FunctionDef) -> cst.FunctionDef:
        parameters = list(function.params.params)
        at = next((i for i, p in enumerate(parameters) if _is_constant(p)), len(parameters))
        like = parameters[at - 1]
        if not isinstance(like.comma, cst.Comma):  # the last argument has no comma to copy
            like = like.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
            parameters[at - 1] = like
        plain = like.with_changes(annotation=None, default=None)
        parameters[at:at] = [plain.with_changes(name=cst.Name(name)) for name in PARAMETERS]
        decorator = cst.Decorator(cst.parse_expression("stamped(__file__)"))
        params = function.params.with_changes(params=parameters)
        return function.with_changes(params=params, decorators=[decorator, *function.decorators])

    def _tasks(self, function: cst.FunctionDef) -> cst.FunctionDef:
        if not self.specialized:
            head = 1 if function.get_docstring() is not None else 0
            return function.with_changes(body=self._task(function.body, 0, head))
        found = iter(range(len(self.tells)))

        def visit(node: Any) -> Any:
            if isinstance(node, cst.With) and is_task(node):
                return node.with_changes(body=self._task(node.body, next(found), 0))
            body = getattr(node, "body", None)
            changes: dict[str, Any] = {}
            if isinstance(body, cst.IndentedBlock):
                changes["body"] = body.with_changes(body=[visit(s) for s in body.body])
            if isinstance(node, cst.If) and node.orelse is not None:
                changes["orelse"] = visit(node.orelse)
            return node.with_changes(**changes) if changes else node

        stamped: cst.FunctionDef = visit(function)
        return stamped

    def _task(self, block: Any, number: int, head: int) -> Any:
        area = self.areas[number]
        task = f"{area.first} + tlx.async_task_replica_id()" if area.replicas > 1 else str(area.first)
        begin = f"stamps_at, stamps_lane, stamps_row = stamps_begin(stamps_ptr, stamps_last, {task}, {area.of})\n"
        writer = _Writer(self, number)
        inside = writer.block(list(block.body[head:]), whole=True)
        finish = "stamps_finish(stamps_ptr, stamps_at)\n"
        return block.with_changes(body=[*block.body[:head], _statement(begin), *inside, _statement(finish)])


class _Writer:
    """Writes the stamps of one task."""

    def __init__(self, owner: StampTasks, task: int) -> None:
        self._owner, self._task = owner, task
        self._tell = owner.tells[task]

    def block(self, statements: list[Any], whole: bool = False) -> list[Any]:
        """The statements of a block with stamps among them and, if `whole`, at its beginning and end."""
        row = _Row(self._owner.opened, self._owner.rows, self._task)
        if whole:
            row.stamp("")
        for i, statement in enumerate(statements):
            told = self._told(statement)
            if told is not None:
                row.begins(told.what, told.takes)
                row.keep(statement)
                if not self._continues(told, statements[i + 1 :], row):
                    row.stamp("")
            elif self._stamped_within(statement):
                row.end()
                row.keep(self._inside(statement))
            else:
                row.keep(statement)
        if whole:
            row.stamp("")
        row.end()
        return row.body

    def _continues(self, told: Operation, rest: list[Any], row: _Row) -> bool:
        """Whether no stamp is needed after an operation: the next one begins where this one ends, or is one with it."""
        after = next((s for s in rest if not is_index(s)), None)
        found = self._told(after)
        if found is not None and told.leads and not found.waits and after is rest[0]:
            row.joined = True
        return found is not None

    def _told(self, statement: Any) -> Operation | None:
        if not isinstance(statement, cst.SimpleStatementLine):
            return None
        return self._tell(cst.Module([statement.with_changes(leading_lines=[])]).code)

    def _stamped_within(self, statement: Any) -> bool:
        return any(self._told(node) is not None for node in walk(statement))

    def _inside(self, node: Any) -> Any:
        changes: dict[str, Any] = {}
        if isinstance(node.body, cst.IndentedBlock):
            changes["body"] = node.body.with_changes(body=self.block(list(node.body.body)))
        if getattr(node, "orelse", None) is not None:
            changes["orelse"] = self._inside(node.orelse)
        return node.with_changes(**changes)


class _Row:
    """Statements of a block, and the stamps among them since the position in the buffer was last advanced."""

    def __init__(self, opened: list[tuple[int, str]], rows: list[tuple[int, int, int]], task: int) -> None:
        self._opened, self._rows, self._task = opened, rows, task
        self.body: list[Any] = []
        self._count = 0
        self._last = -1  # index in the body of the last stamp
        self.joined = False  # the next operation is one with that of the last stamp

    def keep(self, statement: Any) -> None:
        self.body.append(statement)

    def begins(self, told: str, takes: bool) -> None:
        """Starts an operation. It shares the stamp right before it, if there is one."""
        computed = takes and self._count > 0 and not self._opened[-1][1]
        if computed or self.joined or (self._last >= 0 and self._last == len(self.body) - 1):
            self.joined = False
            self._opened[-1] = (self._task, told)
            self.body[self._last] = self._written(self._count - 1, told)
        else:
            self.stamp(told)

    def stamp(self, told: str) -> None:
        if self._last >= 0 and self._last == len(self.body) - 1 and not told:
            return  # there is no statement between the two stamps
        if self._count == MOST_IN_A_ROW:
            self.end()
        self._opened.append((self._task, told))
        self._last = len(self.body)
        self.body.append(self._written(self._count, told))
        self._count += 1

    def _number(self) -> int:
        """The number of the stamp that was opened last."""
        return sum(task == self._task for task, _ in self._opened)

    def _written(self, offset: int, told: str) -> Any:
        """The stamp that was opened last."""
        text = f"stamps_row = stamp(stamps_lane, stamps_row, {offset}, {self._number()})"
        return _statement(text + (f"  # {told}" if told else "") + "\n")

    def end(self) -> None:
        if self._count:
            given = f"stamps_ptr, stamps_last, stamps_at, stamps_lane, stamps_row, {self._count}"
            text = f"stamps_at = stamps_next({given})\n"
            self.body.insert(self._last + 1, _statement(text))
            self._rows.append((self._task, self._number() - self._count + 1, self._count))
        self._count, self._last = 0, -1


def is_index(statement: Any) -> bool:
    """Whether a statement computes a slot of a ring or counts: a few clocks, which the operation before it gets."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    match statement.body[0]:
        case cst.AugAssign(value=cst.Integer()):
            return True
        case cst.Assign(value=cst.Call() as call):
            return dotted(call.func) == "ring_slot"
    return False


def is_task(node: cst.With) -> bool:
    """Whether a `with` is a task."""
    item = node.items[0].item
    return isinstance(item, cst.Call) and dotted(item.func) == "tlx.async_task"


def _is_import(node: Any) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], (cst.Import, cst.ImportFrom))


def _is_constant(parameter: cst.Param) -> bool:
    return parameter.annotation is not None and dotted(parameter.annotation.annotation) == "tl.constexpr"


def _statement(text: str) -> Any:
    return cst.parse_statement(text)
