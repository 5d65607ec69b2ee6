"""Formats source as black formats it, at a fraction of its time.

Black is asked once for each logical line, and once for each form of neighbours between which blank lines may stand. All
else is put together from its answers. Its result for a whole module is the same, as a test asserts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tlxgen.render.lines import KNOWN, Line, UnusualError, split

LINE_LENGTH = 120
INDENT = "    "
_COMMAND = re.compile(r"#\s*(?:fmt|yapf):")  # a comment that is a command for black
_BLOCKS = {"def", "class"}  # the blocks between which black puts blank lines
# What continues another statement -> that statement.
_CONTINUES = {
    "elif": "if x:\n    x\n",
    "else": "if x:\n    x\n",
    "except": "try:\n    x\n",
    "finally": "try:\n    x\n",
}
_ENDS_TRY = ["except x:", f"{INDENT}x"]
_OPENS = ("class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with")
_STARTS = (*_OPENS, "async", "match", "case", "import", "from", "return", "raise", "break", "continue", "pass")


class _Item(NamedTuple):
    """A comment, a decorator or a logical line, as far as the blank lines around it depend on it."""

    kind: str  # the first word of a statement; "#", "@", "doc" for a docstring, and "x" for all others
    depth: int
    blanks: int = 0


class _Place(NamedTuple):
    """A statement after which others follow: the kinds of the blocks around it, and whether it is their first."""

    blocks: tuple[str, ...]
    kind: str
    first: bool


def formatted(text: str) -> str:
    """What black makes of `text`."""
    try:
        return _Layout(split(text)).run()
    except UnusualError:
        return whole(text)


def whole(text: str) -> str:
    """`text` formatted by black as a whole."""
    import black

    return black.format_str(text, mode=black.Mode(line_length=LINE_LENGTH))


def _by_black(text: str) -> list[str]:
    """The lines that black makes of a piece of a module. Commas after `*args` do not depend on the other pieces."""
    import black
    from black.mode import TargetVersion

    versions = {TargetVersion.PY37, TargetVersion.PY38}
    try:
        return black.format_str(text, mode=black.Mode(versions, line_length=LINE_LENGTH)).splitlines()
    except black.parsing.InvalidInput as error:
        raise UnusualError from error


class _Layout:
    """Puts a module together from the formatted lines and the blank lines between them."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._blocks: list[str] = []  # kinds of the open blocks
        self._last: _Place | None = None  # the last statement
        self._waiting: list[tuple[_Item, str]] = []  # the comments and decorators after it
        self._parts: list[str] = []

    def run(self) -> str:
        code = [line for line in self._lines if not line.is_comment]
        following = iter([*code[1:], None])
        for line in self._lines:
            if line.is_comment:
                if _COMMAND.match(line.text):
                    raise UnusualError
                self._waiting.append((_Item("#", _depth(line.column), line.blanks), line.text))
            else:
                self._statement(line, next(following))
        self._put(None, "")
        return "".join(self._parts)

    def _statement(self, line: Line, after: Line | None) -> None:
        depth = _depth(line.column)
        if depth > len(self._blocks):
            raise UnusualError
        left, self._blocks = self._blocks, self._blocks[:depth]
        first = self._last is None or len(self._last.blocks) < depth
        kind = _kind(line.text)
        if kind == "x" and first and line.text[-1] in "\"'" and (not self._blocks or self._blocks[-1] in _BLOCKS):
            kind = "doc" if _is_string(line.text) else "x"
        if kind == "doc" and self._blocks and self._waiting:  # blank lines around a docstring below a comment
            raise UnusualError
        opens = after is not None and after.column > line.column
        if opens is not (kind in _OPENS) or kind in ("async", "match", "case") or line.text.startswith("..."):
            raise UnusualError
        text = _line(line.text, depth, kind)
        if kind == "@":
            self._waiting.append((_Item("@", depth, line.blanks), text))
            return
        self._put(_Item(kind, depth, line.blanks), text, left)
        self._last = _Place(tuple(self._blocks), kind, first)
        if opens:
            self._blocks.append(kind)

    def _put(self, item: _Item | None, text: str, left: Sequence[str] = ()) -> None:
        """Adds what waits and the statement, with the blank lines above them. `left` are the blocks before it."""
        items = [*(each for each, _ in self._waiting), *([item] if item else [])]
        texts = [_comment(text, each.depth) if each.kind == "#" else text for each, text in self._waiting]
        if items:
            last = self._last and self._last._replace(blocks=_told(self._last.blocks, left, item))
            for blanks, each in zip(_blanks(last, tuple(items)), [*texts, text], strict=False):
                self._parts += ["\n" * blanks, each]
        self._waiting = []


def _depth(column: int) -> int:
    if column % len(INDENT):
        raise UnusualError
    return column // len(INDENT)


@lru_cache(maxsize=KNOWN)
def _kind(text: str) -> str:
    if text[0] == "@":
        return "@"
    word = text[: next((i for i, c in enumerate(text) if not c.isidentifier() and not c.isdigit()), len(text))]
    return word if word in _STARTS else "x"


def _is_string(text: str) -> bool:
    """Whether a logical line is nothing but a string."""
    import ast

    body = ast.parse(text).body
    return isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def _told(blocks: Sequence[str], left: Sequence[str], item: _Item | None) -> tuple[str, ...]:
    """The kinds of blocks as far as blank lines depend on them, and that of the one which `item` continues."""
    continued = item.depth if item and item.kind in _CONTINUES else None
    return tuple(kind if kind in _BLOCKS or i == continued else "if" for i, kind in enumerate(blocks))


@lru_cache(maxsize=KNOWN)
def _comment(text: str, depth: int) -> str:
    (line,) = _by_black(text)
    return f"{INDENT * depth}{line}\n"


@lru_cache(maxsize=KNOWN)
def _line(text: str, depth: int, kind: str) -> str:
    """A logical line at a depth of blocks, formatted, with the newline at its end.

    A line that is not too long is the same at every depth, so black is asked once for it.
    """
    if depth and kind != "doc" and depth * len(INDENT) + len(text) <= LINE_LENGTH and "\n" not in text:
        alone = _line(text, 0, kind)
        if alone.count("\n") == 1 and depth * len(INDENT) + len(alone) <= LINE_LENGTH + len("\n"):
            return INDENT * depth + alone
    blocks = ["if x:"] * depth
    above = _CONTINUES.get(kind, "").splitlines()
    if kind == "doc" and depth:
        blocks[-1] = "def x():"
    below = ["def x():", f"{INDENT}x"] if kind == "@" else [f"{INDENT}x"] if kind in _OPENS else []
    below += _ENDS_TRY if kind == "try" else []
    head = [*(INDENT * i + block for i, block in enumerate(blocks)), *(INDENT * depth + row for row in above)]
    tail = [INDENT * depth + row for row in below]
    made = _by_black("\n".join([*head, INDENT * depth + text, *tail]) + "\n")
    end = len(made) - len(tail)
    if made[: len(head)] != head or made[end:] != tail:
        raise UnusualError
    found = "\n".join(made[len(head) : end]).strip("\n") + "\n"
    if len(split(found)) != 1:
        raise UnusualError
    return found


@lru_cache(maxsize=KNOWN)
def _blanks(last: _Place | None, items: tuple[_Item, ...]) -> tuple[int, ...]:
    """How many blank lines black puts above each of some items after a statement: above comments, decorators, and one
    statement at the end. It is asked with a module of the same form."""
    rows = _before(last)
    known = sum(map(bool, rows))
    lowest = items[-1].depth
    deepest = len(last.blocks) + (last.kind in _OPENS) if last else 0
    for number, item in enumerate(items):
        if item.depth not in (lowest, deepest) or (number and item.depth > items[number - 1].depth):
            raise UnusualError
        rows += [""] * min(item.blanks, 3) + [INDENT * item.depth + row for row in _example(item.kind)]
    if last and last.kind == "try":
        rows += [INDENT * len(last.blocks) + row for row in _ENDS_TRY]
    made = _by_black("\n".join(rows) + "\n")
    if [row.strip() for row in made if row] != [row.strip() for row in rows if row]:
        raise UnusualError
    full = [number for number, row in enumerate(made) if row]
    above = [number - before - 1 for before, number in zip([-1, *full], full, strict=False)]
    return tuple(above[known : known + len(items)])


def _before(last: _Place | None) -> list[str]:
    """The rows of a module that end with a statement at such a place."""
    rows: list[str] = []
    for depth, kind in enumerate(last.blocks if last else ()):
        rows += [INDENT * depth + row for row in _opening(kind)]
    if last is not None:
        here = INDENT * len(last.blocks)
        rows += [] if last.first else [f"{here}x"]
        rows += [here + row for row in (_opening(last.kind) if last.kind in _OPENS else _example(last.kind))]
    return rows


def _opening(kind: str) -> list[str]:
    """The rows of a header, and of the statement that it continues."""
    heads = {"class": "class x:", "def": "def x():", "else": "else:", "finally": "finally:", "try": "try:"}
    heads |= {"for": "for x in x:"}
    return [*_CONTINUES.get(kind, "").splitlines(), heads.get(kind, f"{kind} x:")]


def _example(kind: str) -> list[str]:
    """The rows of a statement of a kind; the first is the one that counts."""
    if kind in _OPENS:
        return [_opening(kind)[-1], f"{INDENT}x", *(_ENDS_TRY if kind == "try" else [])]
    words = {"#": "# x", "@": "@x", "doc": '"""x"""', "import": "import x", "from": "from x import x", "x": "x"}
    return [words.get(kind, kind)]
