"""The source of a kernel module as its mutators see it: a syntax tree with positions, and what was allocated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

LOOPS = (cst.For, cst.While)
ALLOCATIONS = {"local_alloc": "tiles", "alloc_barriers": "barriers", "alloc_warp_barrier": "barriers"}


@dataclass(frozen=True)
class Array:
    """An allocation: its text, and what another one must share to be taken for it (space, shape, slots)."""

    name: str
    text: str
    likeness: tuple[str, ...]
    slots: str


class Module:
    """`at` is SPEC/MODULE, `text` its source. Positions are characters of the text."""

    def __init__(self, at: str, text: str) -> None:
        self.at, self.text = at, text
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        self._positions = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._starts = [0]
        self._lines = text.splitlines()
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.functions = [f for f in wrapper.module.body if isinstance(f, cst.FunctionDef) and _is_jit(f)]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """First character and end of a node."""
        where = self._positions[node]
        start, end = (self._starts[p.line - 1] + p.column for p in (where.start, where.end))
        return start, end

    def code(self, node: cst.CSTNode) -> str:
        """The node's own text."""
        start, end = self.span(node)
        return self.text[start:end]

    def short(self, node: cst.CSTNode) -> str:
        """The node's text on one line."""
        return " ".join(self.code(node).split())

    def line(self, node: cst.CSTNode) -> int:
        return int(self._positions[node].start.line)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        while node in self._parents:
            node = self._parents[node]
            yield node

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The innermost statement around a node: a simple one, or a compound one whose header holds it."""
        for found in (node, *self.ancestors(node)):
            if isinstance(found, (cst.BaseSmallStatement, cst.For, cst.If, cst.While, cst.With, cst.FunctionDef)):
                return found
        raise LookupError("not inside of a statement")

    def loop(self, node: cst.CSTNode) -> str:
        """The header of the innermost loop around a node, on one line; outside of any "after" that of the loop before
        it, or nothing."""
        found = next((a for a in self.ancestors(node) if isinstance(a, LOOPS)), None)
        if found is not None:
            return self.header(found)
        for inner, outer in itertools.pairwise((node, *self.ancestors(node))):
            if isinstance(outer, (cst.FunctionDef, cst.With)):
                break
            if isinstance(outer, cst.IndentedBlock):
                before = outer.body[: next(i for i, s in enumerate(outer.body) if s is inner)]
                if loops := [s for s in before if isinstance(s, LOOPS)]:
                    return f"after {self.header(loops[-1])}"
        return ""

    def header(self, statement: cst.CSTNode) -> str:
        """A statement on one line, without the block that it has."""
        body = getattr(statement, "body", None)
        end = self.span(body)[0] if isinstance(body, cst.BaseSuite) else self.span(statement)[1]
        return " ".join(self.text[self.span(statement)[0] : end].split()).rstrip(": ")

    def role(self, task: cst.CSTNode) -> str:
        """The header of a task, after the comment before it; empty outside of any."""
        if not isinstance(task, cst.With):
            return ""
        header = self.line(task) - 1
        lines = self._lines[max(0, header - 1) : header + 1]
        return " ".join(line.strip() for line in lines if line.lstrip().startswith("#") or line is lines[-1])

    def siblings(self, line: cst.SimpleStatementLine) -> tuple[Sequence[cst.CSTNode], int]:
        """The block that a line is in, and its place there."""
        block = self._parents[line]
        assert isinstance(block, (cst.IndentedBlock, cst.Module))
        return block.body, next(i for i, s in enumerate(block.body) if s is line)

    def indent(self, node: cst.CSTNode) -> str:
        """What stands before a statement on its line."""
        start, _ = self.span(node)
        first = self.text.rfind("\n", 0, start) + 1
        return self.text[first:start]

    def arrays(self, function: cst.FunctionDef) -> dict[str, Array]:
        """What a kernel allocates, by name."""
        finder = _Arrays(self)
        function.visit(finder)
        return finder.found


class _Arrays(cst.CSTVisitor):
    def __init__(self, module: Module) -> None:
        super().__init__()
        self._module = module
        self.found: dict[str, Array] = {}

    def visit_Assign(self, node: cst.Assign) -> None:
        target, value = node.targets[0].target, node.value
        name = called(value)
        if not isinstance(target, cst.Name) or not isinstance(value, cst.Call) or name not in ALLOCATIONS:
            return
        texts = [self._module.code(a.value) for a in value.args]
        shape, slots = (texts[0], texts[2]) if name == "local_alloc" else ("", texts[0])
        space = ALLOCATIONS[name] + "".join(t for t in texts if t.endswith(".tmem"))
        self.found[target.value] = Array(target.value, self._module.code(value), (space, shape, slots), slots)


def called(node: cst.CSTNode) -> str:
    """The last name of what a call calls: `barrier_wait` of `tlx.barrier_wait(...)`; empty when it is no call."""
    func = node.func if isinstance(node, cst.Call) else None
    if isinstance(func, cst.Attribute):
        return func.attr.value
    return func.value if isinstance(func, cst.Name) else ""


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """The argument that a call passes by that name."""
    return next((a for a in call.args if a.keyword is not None and a.keyword.value == name), None)


def _is_jit(function: cst.FunctionDef) -> bool:
    named = (d.decorator.func if isinstance(d.decorator, cst.Call) else d.decorator for d in function.decorators)
    return any(isinstance(name, cst.Attribute) and name.attr.value == "jit" for name in named)
