"""Compares folders of specs or of generated folders: members that differ, were added, removed or renamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tlxgen import lock
from tlxgen.errors import TlxgenError
from tlxgen.spec import load

ALIKE = 0.5  # share of equal lines from which on a removed and an added file count as renamed, as in git


class Member(NamedTuple):
    """A member of both folders, by name, or None on one side. `alike` is the similarity of a renamed one, up to 1."""

    a: str | None
    b: str | None
    alike: float = 1.0


def pairs(a: Mapping[str, str], b: Mapping[str, str]) -> list[Member]:
    """Members with equal names, then the most similar pairs of the others, then the rest, in the order of names.

    The mappings are name -> text of a member.
    """
    came, went = [n for n in b if n not in a], [n for n in a if n not in b]
    candidates = sorted(((alike(a[x], b[y]), x, y) for x in went for y in came), key=lambda c: (-c[0], c[1], c[2]))
    renamed: dict[str, Member] = {}
    taken: set[str] = set()
    for ratio, x, y in candidates:
        if ratio >= ALIKE and x not in renamed and y not in taken:
            renamed[x] = Member(x, y, ratio)
            taken.add(y)
    members = [Member(n, n) for n in a if n in b] + list(renamed.values())
    members += [Member(x, None) for x in went if x not in renamed] + [Member(None, y) for y in came if y not in taken]
    return sorted(members, key=lambda m: m.a or m.b or "")


def alike(a: str, b: str) -> float:
    """The share of lines that two texts have in common, in any order."""
    lines_a, lines_b = (Counter(filter(None, map(str.strip, text.splitlines()))) for text in (a, b))
    total = lines_a.total() + lines_b.total()
    return 2 * (lines_a & lines_b).total() / total if total else 1.0


def specs(folder: Path) -> list[Path]:
    """The specs in a folder."""
    return sorted(p for p in folder.glob("*.yaml") if p.is_file() and not p.name.endswith(".verify.yaml"))


def text_of_spec(path: Path) -> str:
    """The text of a spec with all that it extends and its tuned file. Equal texts give equal kernels."""
    try:
        return "\n".join(source.text for source in load(path).files)
    except TlxgenError:  # reported when its kernels are needed
        return path.read_text(encoding="utf-8", errors="replace")


def text_of_folder(modules: Callable[[Path], list[Path]]) -> Callable[[Path], str]:
    """A function that returns the text of a generated folder, that is, of its modules and its lock."""

    def text(folder: Path) -> str:
        paths = [*modules(folder), *(p for p in (folder / lock.NAME,) if p.is_file())]
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)

    return text
