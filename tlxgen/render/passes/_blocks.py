"""Rewrites lists of statements: removes one, or replaces it by several. Comments and blank lines keep their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from tlxgen.render.passes._tree import Rewriter

Block = cst.BaseSuite
COMPOUND = frozenset({cst.For, cst.If, cst.While, cst.With})  # statements that have blocks and define nothing
PASS = cst.SimpleStatementLine([cst.Pass()])


@dataclass(frozen=True)
class Splice:
    """The replacement of a statement, and the comment lines that follow it."""

    body: Sequence[cst.BaseStatement] = ()
    lines_after: Sequence[cst.EmptyLine] = ()


class Blocks(Rewriter):
    """A rewrite of statement lists. Subclasses define `replace`, which gets a statement whose inside is rewritten."""

    def replace(self, statement: cst.BaseStatement) -> Splice | None:
        """The replacement of `statement`; None keeps it."""
        raise NotImplementedError

    def ends(self, statement: cst.BaseStatement) -> bool:
        """Whether everything after `statement` in its block, including comments, is removed."""
        return False

    def finish(self, body: Sequence[cst.BaseStatement]) -> Sequence[cst.BaseStatement]:
        """The final list of a block's statements; `body` itself when there is nothing to do."""
        return body

    def on_Module(self, node: cst.Module) -> cst.Module:
        body, footer = self._statements(node.body, node.footer)
        return node if body is node.body else node.with_changes(body=body, footer=footer)

    def on_IndentedBlock(self, node: cst.IndentedBlock) -> cst.IndentedBlock:
        body, footer = self._statements(node.body, node.footer)
        return node if body is node.body else node.with_changes(body=body or [PASS], footer=footer)

    def _statements(
        self, old: Sequence[cst.BaseStatement], footer: Sequence[cst.EmptyLine]
    ) -> tuple[Sequence[cst.BaseStatement], Sequence[cst.EmptyLine]]:
        body: list[Any] = []
        waiting: list[cst.EmptyLine] = []  # lines to put above the next statement
        for statement in old:
            if body and self.ends(body[-1]):
                waiting, footer = [], ()
                break
            updated = self.rewrite(statement)
            splice = self.replace(updated) or Splice([updated])
            for new in splice.body:
                body.append(_below(waiting, new) if body or waiting else new)
                waiting = []
            if not splice.body and body and starts_with_blank(updated) and not waiting:
                waiting = [cst.EmptyLine(indent=False)]  # the blank line stays when the statement goes
            waiting += splice.lines_after
        final = self.finish(body)
        if len(final) == len(old) and all(a is b for a, b in zip(final, old, strict=True)):
            return old, footer
        comments = [line for line in waiting if line.comment]
        return final, [*comments, *footer]


def _below(lines: Sequence[cst.EmptyLine], statement: Any) -> Any:
    if not lines or (starts_with_blank(statement) and not any(line.comment for line in lines)):
        return statement
    return statement.with_changes(leading_lines=[*lines, *statement.leading_lines])


def starts_with_blank(statement: Any) -> bool:
    """Whether a blank line stands above the statement and its comments."""
    return bool(statement.leading_lines) and statement.leading_lines[0].comment is None


def small_statements(block: Block) -> Sequence[cst.BaseSmallStatement] | None:
    """The statements of a block that holds nothing but simple ones, else None."""
    if isinstance(block, cst.SimpleStatementSuite):
        return block.body
    found: list[cst.BaseSmallStatement] = []
    for line in block.body:
        if not isinstance(line, cst.SimpleStatementLine):
            return None
        found.extend(line.body)
    return found


def is_empty(block: Block) -> bool:
    """Whether a block does nothing."""
    small = small_statements(block)
    return small is not None and all(isinstance(statement, cst.Pass) for statement in small)


def spliced(block: Block, lines: Sequence[cst.EmptyLine]) -> Splice:
    """The statements of `block` without their header, below `lines` and the comment that the header ended with."""
    if isinstance(block, cst.SimpleStatementSuite):
        line = cst.SimpleStatementLine(block.body, leading_lines=lines, trailing_whitespace=block.trailing_whitespace)
        return Splice([line])
    assert isinstance(block, cst.IndentedBlock)
    above = list(lines)
    if block.header.comment:
        above.append(cst.EmptyLine(comment=block.header.comment))
    first: Any = block.body[0]
    own = first.leading_lines
    if own and starts_with_blank(first):
        own = own[1:]
    return Splice([first.with_changes(leading_lines=[*above, *own]), *block.body[1:]], block.footer)
