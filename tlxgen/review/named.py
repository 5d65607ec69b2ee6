"""Parses the arguments of `tlxgen diff`, which are like those of `git diff`: revisions, then a path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tlxgen.errors import ReviewError

SPECS = "specs"  # the default path
USAGE = "tlxgen diff [A [B]] [PATH], A..B [PATH], or SPEC SPEC; A and B are revisions of git"


def sides(given: Sequence[str]) -> tuple[str, str]:
    """The two things to compare, each a path, REV:path, or, as the first, a revision alone.

    Nothing, or a path alone: HEAD and the working tree. A revision alone: it and the working tree. Two revisions, or
    A..B: these. Without a path, the folder specs. Raises ReviewError for more, and where there is no such folder.
    """
    words = [word for word in given if word != "--"]
    if words and ".." in words[0].partition(":")[0] and not _is_path(words[0]) and not words[0].startswith((".", "/")):
        if "..." in words[0]:
            raise ReviewError(
                f"{words[0]}: three dots are not known here", remedy="git merge-base A B names the commit"
            )
        first, _, second = words[0].partition("..")
        words = [first or "HEAD", second or "HEAD", *words[1:]]
        if len(words) == 2:
            words.append(_default())
    paths = [word for word in words if _is_path(word)]
    if len(words) == 3:
        return _at(words[0], words[2]), _at(words[1], words[2])
    if len(words) == 2 and (paths or any(":" in word or _is_file_name(word) for word in words)):
        return words[0], words[1]
    if len(words) == 2:
        return _at(words[0], _default()), _at(words[1], _default())
    if len(words) == 1 and paths:
        return "HEAD", words[0]
    if len(words) == 1 and ":" in words[0]:
        raise ReviewError(f"{words[0]} is one side; the other is missing", remedy=USAGE)
    if len(words) < 2:
        return (words[0] if words else "HEAD"), _default()
    raise ReviewError(f"{len(words)} things cannot be compared", remedy=USAGE)


def _at(revision: str, path: str) -> str:
    """`path`, as seen from the current folder, at a revision."""
    return f"{revision}:./{os.path.relpath(path)}"


def _default() -> str:
    if not Path(SPECS).is_dir():
        raise ReviewError(f"there is no folder {SPECS} here: say what to compare", remedy=USAGE)
    return SPECS


def _is_path(word: str) -> bool:
    return os.path.exists(word)


def _is_file_name(word: str) -> bool:
    """Whether a word that is not a path was meant as one, so that the error says that it is missing."""
    return word.endswith((".yaml", ".yml", ".py")) or word.startswith("-")
