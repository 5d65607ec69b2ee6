"""Parses rendered modules. A statement that has been parsed before at the same depth of blocks keeps its tree.

Most statements of a spec's modules are the same text: not those that have a whole kernel in them, but those of their
blocks. Their trees are the same objects, so what a pass knows of one it knows of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import libcst as cst

from tlxgen.render.lines import KNOWN, Line, UnusualError, split

_CONTINUES = ("elif", "else", "except", "finally")
_INDENT = "    "
_BLOCKS = ("body", "handlers", "orelse", "finalbody")  # fields of a statement that have blocks, as in the source


def parsed(source: str) -> cst.Module:
    """The tree of a module. Blanks at the ends of lines may be lost. Raises cst.ParserSyntaxError."""
    try:
        return _assembled(split(source))
    except (UnusualError, cst.ParserSyntaxError):
        return cst.parse_module(source)  # in an error, lines count from the beginning


def _assembled(lines: Sequence[Line]) -> cst.Module:
    """The tree of the module, put together from those of its statements. What is above the first is its header, too."""
    statements = [*_statements(lines, 0)]
    module = cst.parse_module(_text(statements[0]))
    if len(module.body) != 1 or module.footer or module.default_indent != _INDENT:
        raise UnusualError
    body: list[Any] = [_statement(some, 0) for some in statements]
    body[0] = body[0].with_changes(leading_lines=cst.ensure_type(module.body[0], type(body[0])).leading_lines)
    return module.with_changes(body=body)


def _text(lines: Sequence[Line]) -> str:
    return "".join(map(_row, lines))


def _row(line: Line) -> str:
    return "\n" * line.blanks + " " * line.column + line.text + "\n"


def _statements(lines: Sequence[Line], depth: int) -> Iterator[tuple[Line, ...]]:
    """The lines of the statements of a block, with the comments and decorators above them."""
    column = depth * len(_INDENT)
    rows: list[Line] = []
    whole = False  # whether the rows have the beginning of a statement
    for line in lines:
        if line.column < column:
            raise UnusualError
        if line.column == column and whole and not line.text.startswith(_CONTINUES):
            yield tuple(rows)
            rows, whole = [], False
        rows.append(line)
        whole = whole or not (line.is_comment or line.text.startswith("@"))
    yield tuple(rows)


@lru_cache(maxsize=KNOWN)
def _statement(lines: tuple[Line, ...], depth: int) -> cst.BaseStatement:
    """The tree of a statement in so many blocks. The statements of its own blocks are shared with others."""
    try:
        return _of_parts(lines, depth)
    except UnusualError:
        return _whole(_text(lines), depth)


def _of_parts(lines: Sequence[Line], depth: int) -> cst.BaseStatement:
    """The tree of a statement with `pass` in each of its blocks, in which their statements are put then."""
    blocks: list[list[cst.BaseStatement]] = []
    outside: list[str] = []
    start = 0
    while start < len(lines):
        line, start = lines[start], start + 1
        outside.append(_row(line))
        end = start
        while not line.is_comment and end < len(lines) and lines[end].column > line.column:
            end += 1
        if end > start:
            blocks.append([_statement(some, depth + 1) for some in _statements(lines[start:end], depth + 1)])
            outside.append(f"{_INDENT * (depth + 1)}pass\n")
            start = end
    waiting = iter(blocks)
    statement: cst.BaseStatement = _with_blocks(_whole("".join(outside), depth), waiting)
    if next(waiting, None) is not None:
        raise UnusualError
    return statement


@lru_cache(maxsize=KNOWN)
def _whole(text: str, depth: int) -> cst.BaseStatement:
    """The tree of the text of a statement. Blank lines above it belong to it, as there is a statement before it."""
    opened = "".join(f"{_INDENT * place}if x:\n" for place in range(depth))
    node: Any = cst.parse_module(f"{opened}{_INDENT * depth}x\n{text}")
    if node.default_indent != _INDENT:
        raise UnusualError
    for _ in range(depth):
        if len(node.body) > 1 or node.footer:
            raise UnusualError
        node = cst.ensure_type(cst.ensure_type(node.body[0], cst.If).body, cst.IndentedBlock)
    if len(node.body) != 2 or node.footer:
        raise UnusualError
    statement: cst.BaseStatement = node.body[1]
    return statement


def _with_blocks(node: Any, waiting: Iterator[list[cst.BaseStatement]]) -> Any:
    """A statement, or a part of it that has a header, with the next statements that wait in its blocks."""
    changes: dict[str, Any] = {}
    for name in _BLOCKS:
        part = getattr(node, name, None)
        if isinstance(part, cst.IndentedBlock):
            statements = next(waiting, None)
            if statements is None:
                raise UnusualError
            changes[name] = part.with_changes(body=statements)
        elif name == "handlers" and part:
            changes[name] = [_with_blocks(handler, waiting) for handler in part]
        elif name != "body" and isinstance(part, cst.CSTNode):
            changes[name] = _with_blocks(part, waiting)
    return node.with_changes(**changes) if changes else node
