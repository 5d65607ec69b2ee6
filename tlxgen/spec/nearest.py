"""The nearest valid spelling of a word."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LIST_AT_MOST = 12  # choices that fit on one line


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice closest to `word`, or None when nothing is close."""
    found = difflib.get_close_matches(word[:100], list(choices), n=1, cutoff=0.6)
    return found[0] if found else None


def hint(word: str, choices: Iterable[str], *, noun: str) -> str:
    """'; did you mean X?', or '; valid <noun>: ...' if there are few choices, or the empty string."""
    valid = list(choices)
    near = nearest(word, valid)
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; valid {noun}: {', '.join(valid)}" if 0 < len(valid) <= _LIST_AT_MOST else ""
