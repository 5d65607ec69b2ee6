"""The words of tlxgen and of the field, out of words.md: a heading for each, and its text below."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).with_name("words.md")
_ENTRY = re.compile(r"^### (?P<names>.+)\n\n(?P<text>(?:(?!#).*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Word:
    """A word with the other names that it goes by. The first is shown."""

    names: tuple[str, ...]
    text: str


@functools.cache
def words() -> tuple[Word, ...]:
    """All words, in the order of the page."""
    page = PAGE.read_text(encoding="utf-8")
    return tuple(Word(tuple(found["names"].split(", ")), found["text"].strip()) for found in _ENTRY.finditer(page))
