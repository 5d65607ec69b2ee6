"""Prints trees. The text of a statement of a block is remembered: modules of a spec share most of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import libcst as cst

from tlxgen.render.passes._names import STATEMENTS

_BLOCK = cst.ensure_type(cst.parse_module("if x:\n    x\n").body[0], cst.If)


@dataclass(frozen=True)
class _Text(cst.BaseStatement):
    """A statement that prints as `text`, with its lines' indentation."""

    text: str

    def _visit_and_replace_children(self, visitor: Any) -> _Text:
        return self

    def _codegen_impl(self, state: Any) -> None:
        state.add_token(self.text)


def code(module: cst.Module) -> str:
    """The code of a module whose functions have blocks indented by four columns, as its `code` is."""
    if module.default_indent != "    " or module.default_newline != "\n":
        return str(module.code)
    return str(module.with_changes(body=[_printed(node) for node in module.body]).code)


def _printed(node: Any) -> Any:
    """A top-level statement with the texts of its statements in their place, if it is a function with a block."""
    if not isinstance(node, cst.FunctionDef) or not isinstance(node.body, cst.IndentedBlock) or node.body.indent:
        return node
    return node.with_changes(body=_texts(node.body, 1))


def _texts(block: cst.IndentedBlock, depth: int) -> cst.IndentedBlock:
    return block.with_changes(body=[_Text(_code(statement, depth)) for statement in block.body])


@lru_cache(maxsize=STATEMENTS)
def _code(statement: Any, depth: int) -> str:
    """The text of a statement in so many blocks, put together from those of the statements of its own block."""
    inner = statement.body if isinstance(statement, (cst.For, cst.If, cst.While, cst.With)) else None
    if isinstance(inner, cst.IndentedBlock) and not inner.indent:
        statement = statement.with_changes(body=_texts(inner, depth + 1))
    for _ in range(depth):
        block = cst.ensure_type(_BLOCK.body, cst.IndentedBlock).with_changes(body=[statement])
        statement = _BLOCK.with_changes(body=block)
    text = str(cst.Module([statement]).code)
    for _ in range(depth):
        head, _, text = text.partition("\n")
        assert head.strip() == "if x:"
    return text
