"""Moves long comments in generated source. This module imports nothing of tlxgen."""

from __future__ import annotations

import io
import tokenize


def above(text: str, width: int) -> str:
    """`text` with the comment at the end of each line longer than `width` on a line of its own above it:

        tlx.barrier_arrive(..., pred=k > 0)  # release    ->    # release
                                                                tlx.barrier_arrive(..., pred=k > 0)

    Black would wrap the line and leave the comment behind the closing bracket. Comments between brackets stay.
    """
    lines = text.splitlines(keepends=True)
    if not any(len(line) > width and "#" in line for line in lines):
        return text
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
                lines[row - 1] = f"{indent}{token.string}\n{code}\n"
    return "".join(lines)
