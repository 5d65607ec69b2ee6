"""Describes what a build does to a spec's folder: files that are written, removed and renamed, and changes of public
functions, which may be gone or compute something else than before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SAME = 0.9  # share of equal lines, of the longer module, from which on a module counts as renamed


@dataclass(frozen=True)
class Changes:
    """Names of files that are written (new or different), removed and renamed."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()  # old name, new name

    def __str__(self) -> str:
        return self.at("")

    def at(self, folder: str) -> str:
        """A text with the numbers of files that are written, renamed and removed, and the folder."""
        counts = (
            (len(self.written), "{} file{} written", "to"),
            (len(self.renamed), "{} renamed", "in"),
            (len(self.removed), "{} removed", "in"),
        )
        parts = [(text.format(n, "s" * (n != 1)), where) for n, text, where in counts if n]
        told = [text for text, _ in parts]
        if parts and folder:
            told[0] += f" {parts[0][1]} {folder}"
        return ", ".join(told)


def between(before: Mapping[str, bytes | None], files: Mapping[str, bytes]) -> Changes:
    """The changes from `before`, which has None for a missing file, to `files`."""
    changed = [name for name, old in before.items() if old != files.get(name)]
    gone = sorted(name for name in changed if name not in files)
    new = sorted(name for name in changed if name in files and before[name] is None)
    renamed: dict[str, str] = {}
    for name in new:
        alike = {old: _alike(before[old], old, files[name], name) for old in gone if old not in renamed}
        best = max(alike, key=lambda old: alike[old], default=None)
        if best is not None and alike[best] >= SAME:
            renamed[best] = name
    written = sorted({n for n in changed if n in files} - {*renamed.values()})
    return Changes(tuple(written), tuple(n for n in gone if n not in renamed), tuple(sorted(renamed.items())))


def _alike(old: bytes | None, old_name: str, new: bytes, new_name: str) -> float:
    """The share of lines that two modules have in common, apart from the modules' own names."""
    if old is None or not new_name.endswith(".py"):
        return 0.0
    names = [re.compile(rb"\b%s(?![a-z0-9])" % name.removesuffix(".py").encode()) for name in (old_name, new_name)]
    lines = [Counter(name.sub(b"", text).splitlines()) for text, name in zip((old, new), names, strict=True)]
    return sum((lines[0] & lines[1]).values()) / max(*(sum(count.values()) for count in lines), 1)


def of_functions(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Notes for users of a package on changes of its functions, from the old and new `functions` of its lock."""
    told = []
    for name, values in before.items():
        if name not in now:
            told.append(f"there is no longer a function {name}")
        else:
            other = [f"{p}={now[name][p]}, was {v}" for p, v in values.items() if now[name].get(p, v) != v]
            told += [f"{name} computes something else now: {'; '.join(other)}"] if other else []
    return told


__all__ = ["Changes", "between", "of_functions"]
