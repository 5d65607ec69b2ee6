"""Moves long comments in generated source. This module imports nothing of tlxgen but `lines`."""

from __future__ import annotations

import io
import tokenize
from functools import lru_cache

from tlxgen.render.lines import KNOWN, UnusualError, rows


def above(text: str, width: int) -> str:
    """`text` with the comment at the end of each line longer than `width` on a line of its own above it:

        tlx.barrier_arrive(..., pred=k > 0)  # release    ->    # release
                                                                tlx.barrier_arrive(..., pred=k > 0)

    Black would wrap the line and leave the comment behind the closing bracket. Comments between brackets stay.
    """
    try:
        return "\n".join(
            _above(row, width) if alone and len(row) > width and "#" in row else row for row, alone in rows(text)
        )
    except UnusualError:
        return _above(text, width)


@lru_cache(maxsize=KNOWN)
def _above(text: str, width: int) -> str:
    lines = text.splitlines(keepends=True)
    depth, first = 0, 1  # number of open brackets, and first row of the statement
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        elif token.type == tokenize.NEWLINE or (token.type == tokenize.NL and not depth):
            first = token.start[0] + 1
        elif token.type == tokenize.COMMENT and not depth:
            row, column = token.start
            line = lines[row - 1]
            code = line[:column].rstrip()
            if code and row == first and token.end[1] > width:
                indent = line[: len(line) - len(line.lstrip())]
                end = "\n" if line.endswith("\n") else ""
                lines[row - 1] = f"{indent}{token.string}\n{code}{end}"
    return "".join(lines)
