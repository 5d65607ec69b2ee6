"""Reads facts about a kernel from the source of a generated module with `ast`, for modules without their spec.

Values are those of the text, so names of constants stay names. This module knows TLX source, not specs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tlxgen.errors import Location, ReviewError

from .differences import Facts

# Names of the positional parameters of the calls that are read.
_ALLOCATIONS = {"local_alloc": ("shape", "dtype", "how many", "space")}
_BARRIERS = {
    "alloc_barriers": ("how many", "arrive_count"),
    "alloc_warp_barrier": ("how many", "num_warps", "num_arrivals"),
}
_NAMED = {"named_barrier_wait": ("id", "threads"), "named_barrier_arrive": ("id", "threads")}
_Fields = dict[str, object]


@dataclass
class Summary:
    """Facts about one module. `name`, which may be empty, is its host function; its kernels start with that name."""

    name: str = ""
    configs: list[str] = field(default_factory=list)
    tasks: dict[str, _Fields] = field(default_factory=dict)
    allocations: dict[str, _Fields] = field(default_factory=dict)
    barriers: dict[str, _Fields] = field(default_factory=dict)
    expected: dict[str, _Fields] = field(default_factory=dict)
    named: dict[str, _Fields] = field(default_factory=dict)
    functions: dict[str, _Fields] = field(default_factory=dict)

    def parts(self, *, anonymous: bool = False) -> dict[str, Facts]:
        """The facts by part; `anonymous` leaves the module's name out of its functions' names."""
        functions = self.functions
        if anonymous and self.name:
            functions = {self._anonymous(name): fields for name, fields in functions.items()}
        configs: dict[str, _Fields] = {"rows": {"": len(self.configs)}, **{row: {"": "yes"} for row in self.configs}}
        return {
            "Tasks": self.tasks,
            "Tiles": self.allocations,
            "Barriers": self.barriers,
            "Expected bytes": self.expected,
            "Named barriers": self.named,
            "CONFIGS": configs,
            "Functions": functions,
        }

    def _anonymous(self, name: str) -> str:
        if name == self.name:
            return "host function"
        return name.removeprefix(f"{self.name}_")


def read(text: str, shown: str) -> Summary:
    """The facts of a module's text. Raises ReviewError if it is not Python; `shown` is the path in the message."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        where = Location(shown, error.lineno or 1, error.offset or 1, (error.text or "").rstrip("\n"))
        raise ReviewError(f"not Python: {error.msg}", location=where) from None
    except (ValueError, RecursionError) as error:
        raise ReviewError(f"not Python: {error}", location=Location(shown, 1, 1)) from None
    summary = Summary()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            decorators = " ".join(f"@{ast.unparse(d)}" for d in node.decorator_list)
            summary.functions[node.name] = {"": f"({ast.unparse(node.args)}) {decorators}".strip()}
        elif isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["CONFIGS"]:
            summary.configs += _configs(node.value)
    names = summary.functions
    summary.name = next((n for n in names if f"{n}_kernel" in names), "")
    _Reader(summary, text.splitlines()).visit(tree)
    return summary


class _Reader(ast.NodeVisitor):
    """Collects TLX calls with their conditions."""

    def __init__(self, summary: Summary, lines: list[str]) -> None:
        self._summary, self._lines = summary, lines
        self._conditions: list[str] = []

    def visit_If(self, node: ast.If) -> None:
        test = ast.unparse(node.test)
        for condition, body in ((test, node.body), (f"not ({test})", node.orelse)):
            self._conditions.append(condition)
            for statement in body:
                self.visit(statement)
            self._conditions.pop()

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and _called(call) == "async_task":
                name = self._comment(node.lineno) or f"task {len(self._summary.tasks)}"
                fields = self._guarded({k or "default": v for k, v in _arguments(call, ("",))})
                _put(self._summary.tasks, name, fields)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Call) and len(node.targets) == 1:
            name, target = _called(node.value), ast.unparse(node.targets[0])
            if name in _ALLOCATIONS:
                fields = dict(_arguments(node.value, _ALLOCATIONS[name]))
                _put(self._summary.allocations, target, self._guarded(fields))
            elif name in _BARRIERS:
                fields = {"by": name, **dict(_arguments(node.value, _BARRIERS[name]))}
                _put(self._summary.barriers, target, self._guarded(fields))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        if name == "barrier_expect_bytes":
            fields = dict(_arguments(node, ("barrier", "bytes")))
            _put(self._summary.expected, str(fields.pop("barrier", "")), fields)
        elif name in _NAMED:
            fields = dict(_arguments(node, _NAMED[name]))
            _put(self._summary.named, f"{name.removeprefix('named_barrier_')} on id {fields.pop('id', '')}", fields)
        self.generic_visit(node)

    def _guarded(self, fields: _Fields) -> _Fields:
        return {**fields, "if": " and ".join(self._conditions)} if self._conditions else fields

    def _comment(self, line: int) -> str:
        """The name in the comment right above `line`: the words before its first colon, if they are few."""
        first = line - 1  # as an index, the line above is line - 2
        while first > 0 and self._lines[first - 1].lstrip().startswith("#"):
            first -= 1
        name, colon, _ = self._lines[first].lstrip(" #").partition(":")
        return name.lower() if colon and first < line - 1 and len(name.split()) <= 3 else ""


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _arguments(call: ast.Call, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    for i, argument in enumerate(call.args):
        yield (names[i] if i < len(names) else f"argument {i}"), _value(argument)
    for keyword in call.keywords:
        yield keyword.arg or "**", _value(keyword.value)


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else ast.unparse(node)


def _put(facts: dict[str, _Fields], item: str, fields: _Fields) -> None:
    """Adds an item. One with equal fields is counted, and one with other fields gets a number."""
    name, number = item, 1
    while name in facts:
        if {k: v for k, v in facts[name].items() if k != "places"} == fields:
            facts[name]["places"] = int(str(facts[name].get("places", 1))) + 1
            return
        number += 1
        name = f"{item} ({number})"
    facts[name] = dict(fields)


def _configs(table: ast.expr) -> list[str]:
    rows = []
    for row in table.elts if isinstance(table, ast.List) else []:
        if isinstance(row, ast.Call) and row.args and isinstance(row.args[0], ast.Dict):
            entries = zip(row.args[0].keys, row.args[0].values, strict=True)
            words = [f"{_name(k)}={ast.unparse(v)}" for k, v in entries]
            rows.append(", ".join(words + [f"{k.arg}={ast.unparse(k.value)}" for k in row.keywords]))
        else:
            rows.append(ast.unparse(row))
    return rows


def _name(key: ast.expr | None) -> str:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else "**"
