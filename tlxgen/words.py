"""Text for output: printable characters, and counts with their nouns. This module imports nothing of tlxgen."""

from __future__ import annotations

import unicodedata

# Escaped in output: control and format characters, which can colour a terminal or reverse text, halves of surrogate
# pairs, which a path that is not UTF-8 has, separators that look like a space, and unassigned characters.
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})


def printable(text: str, *, keep: str = "") -> str:
    """`text` with what is not to be printed, but for the characters of `keep`, written as Python does: \\x1b."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or c == " " or unicodedata.category(c) not in _HIDDEN else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def counted(count: int, noun: str) -> str:
    """'1 module', '2 modules'."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
