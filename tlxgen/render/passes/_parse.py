"""Parses rendered modules. A statement of a function that has been parsed before keeps its tree.

Most statements of a spec's modules are the same text. Their trees are the same objects, so what a pass knows of one it
knows of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import libcst as cst

from tlxgen.render.lines import KNOWN, Line, UnusualError, split

_CONTINUES = ("elif", "else", "except", "finally")
_INSIDE = "if x:\n    x\n"  # a block, and a statement in it, so that blank lines belong to the next one


def parsed(source: str) -> cst.Module:
    """The tree of a module. Blanks at the ends of lines may be lost. Raises cst.ParserSyntaxError."""
    try:
        return _assembled(split(source))
    except (UnusualError, cst.ParserSyntaxError):
        return cst.parse_module(source)  # in an error, lines count from the beginning


def _assembled(lines: Sequence[Line]) -> cst.Module:
    """The tree of the module with `pass` as the body of each function, in which the bodies are put then."""
    bodies: list[list[cst.BaseStatement]] = []
    outside: list[str] = []
    start = 0
    while start < len(lines):
        line, start = lines[start], start + 1
        outside.append(_row(line))
        if line.column == 0 and line.text.startswith("def "):
            end = _end(lines, start)
            if end > start:
                bodies.append([_statement(text) for text in _statements(lines[start:end])])
                outside.append("    pass\n")
                start = end
    module = cst.parse_module("".join(outside))
    waiting = iter(bodies)
    body = [_with_body(node, waiting) if isinstance(node, cst.FunctionDef) else node for node in module.body]
    if next(waiting, None) is not None:
        raise UnusualError
    return module.with_changes(body=body)


def _row(line: Line) -> str:
    return "\n" * line.blanks + " " * line.column + line.text + "\n"


def _end(lines: Sequence[Line], start: int) -> int:
    """The end of the body of a function that starts at `start`. Comments below it are not a part of it."""
    end = start
    while end < len(lines) and (lines[end].column or lines[end].is_comment):
        end += 1
    while end > start and lines[end - 1].is_comment:
        if lines[end - 1].column:
            raise UnusualError
        end -= 1
    return end


def _statements(lines: Sequence[Line]) -> Iterator[str]:
    """The texts of the statements of a function's body, with the comments and blank lines above them."""
    rows: list[str] = []
    whole = False  # whether the rows have the beginning of a statement
    for line in lines:
        if line.column < 4:
            raise UnusualError
        if line.column == 4 and whole and not line.text.startswith(_CONTINUES):
            yield "".join(rows)
            rows, whole = [], False
        rows.append(_row(line))
        whole = whole or not line.is_comment
    yield "".join(rows)


@lru_cache(maxsize=KNOWN)
def _statement(text: str) -> cst.BaseStatement:
    module = cst.parse_module(_INSIDE + text)
    block = cst.ensure_type(cst.ensure_type(module.body[0], cst.If).body, cst.IndentedBlock)
    if len(module.body) > 1 or module.footer or len(block.body) != 2 or block.footer:
        raise UnusualError
    return block.body[1]


def _with_body(function: cst.FunctionDef, waiting: Iterator[list[cst.BaseStatement]]) -> cst.FunctionDef:
    block = function.body
    if not isinstance(block, cst.IndentedBlock):
        return function
    return function.with_changes(body=block.with_changes(body=next(waiting)))
