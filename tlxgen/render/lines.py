"""Splits Python source into logical lines.

Generated modules have 360,000 lines, of which 15,000 differ. What is a matter of one line is therefore computed once
for each text. This module imports nothing of tlxgen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

KNOWN = 1 << 16  # lines that are remembered
_TOKEN = re.compile(
    r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#.*|[()\[\]{}]|["\']|\\$'
)  # a string of one line, or what opens a longer one; a comment; a bracket; what is none of these
_CLOSED = {quote: re.compile(r"(?:[^\\]|\\.)*?" + quote, re.DOTALL) for quote in ('"""', "'''")}


class UnusualError(Exception):
    """The source has a form that only a whole parser reads: tabs, continued lines, comments in odd columns."""


class Line(NamedTuple):
    """A logical line or the line of a comment, from its `column` on. `blanks` blank lines are above it."""

    text: str
    column: int
    blanks: int
    is_comment: bool


def rows(source: str) -> Iterator[tuple[str, bool]]:
    """The physical lines, and whether each is a whole logical line. Raises UnusualError."""
    depth, quote = 0, ""
    for row in source.split("\n"):
        begins = not depth and not quote
        opened, quote = _effect(row, quote)
        depth += opened
        yield row, begins and not depth and not quote


def split(source: str) -> list[Line]:
    """The logical lines and the lines of comments. Raises UnusualError."""
    if any(character in source for character in "\t\f\r\v"):
        raise UnusualError
    found: list[Line] = []
    parts: list[str] = []  # the physical lines of a logical line that is not complete
    blanks = depth = 0
    quote = ""
    for row in source.split("\n"):
        if not parts:
            text = row.strip()
            if not text or text[0] == "#":
                if text:
                    found.append(Line(text, row.index("#"), blanks, True))
                blanks = 0 if text else blanks + 1
                continue
        opened, quote = _effect(row, quote)
        depth += opened
        parts.append(row)
        if not depth and not quote:
            column = len(parts[0]) - len(parts[0].lstrip())
            found.append(Line("\n".join(parts)[column:].rstrip(), column, blanks, False))
            parts.clear()
            blanks = 0
    if parts:
        raise UnusualError
    return found


@lru_cache(maxsize=KNOWN)
def _effect(row: str, quote: str) -> tuple[int, str]:
    """How many brackets a physical line opens, and the quotes that are open at its end, `quote` at its beginning."""
    opened = place = 0
    while True:
        if quote:
            closed = _CLOSED[quote].match(row, place)
            if closed is None:
                return opened, quote
            place, quote = closed.end(), ""
        token = _TOKEN.search(row, place)
        if token is None or token[0][0] == "#":
            return opened, ""
        place = token.end()
        if token[0] in _CLOSED:
            quote = token[0]
        elif token[0] in "\"'\\":
            raise UnusualError
        elif token[0][0] not in "\"'":
            opened += 1 if token[0] in "([{" else -1
