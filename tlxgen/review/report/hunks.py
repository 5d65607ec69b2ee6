"""Source differences of many modules. A difference that several modules have is one hunk, which is shown once.

Hunks are compared without the module's name, which is in much of its text, and shown as in the first module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from .modules import GENERATED, INPUTS, Change, Module

SORTS = (*GENERATED, *INPUTS.values())
LONG = 8  # least length of a name that is replaced inside of other words
_HEADER = re.compile(r"^spec +\S+$", re.MULTILINE)
_DEFINED = re.compile(r"^(?:def|class) (\w+)")


@dataclass(frozen=True)
class Hunk:
    """Removed lines and the lines that replace them, with module names masked."""

    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """The position of a hunk in a module: ranges of lines in both texts, from 0 on, with ends excluded."""

    first_a: int
    end_a: int
    first_b: int
    end_b: int


@dataclass
class Group:
    """Modules whose texts differ by the same hunks. The lines are those of the first module, which is shown."""

    hunks: tuple[Hunk, ...]
    places: tuple[Place, ...]
    modules: list[Module] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    def where(self, number: int) -> str:
        """The function of a hunk in the new text, or in the old one for a hunk that only removes lines."""
        place = self.places[number]
        lines, line = (self.new, place.first_b) if place.end_b > place.first_b else (self.old, place.first_a)
        for i in range(min(line, len(lines) - 1), -1, -1):
            if found := _DEFINED.match(lines[i]):
                return found[1]
            if (
                lines[i]
                and not lines[i][0].isspace()
                and i < line
                and not lines[i].startswith((")", "@", "#", "]", "}"))
            ):
                return ""
        return ""

    def is_device(self, number: int) -> bool:
        """Whether a hunk is in a function that Triton compiles."""
        name = self.where(number)
        text = "\n".join(self.new) if name and f"def {name}(" in "\n".join(self.new) else "\n".join(self.old)
        return bool(name and re.search(rf"@triton\.jit[^\n]*\n(?:@[^\n]*\n)*def {name}\(", text))


def groups(change: Change, modules: Sequence[Module]) -> list[Group]:
    """Groups of modules by their differences, those of most modules first, then in the order of paths."""
    found: dict[tuple[object, ...], Group] = {}
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[Place, ...]] = {}
    for module in modules:
        if module.state in ("records", "removed"):
            continue
        old, new = _texts(change, module)
        masked = _masked(old, module, module.like or module.a), _masked(new, module, module.b)
        places = known.get(masked)
        if places is None:
            places = known[masked] = tuple(opcodes(*masked))
        hunks = tuple(Hunk(masked[0][p.first_a : p.end_a], masked[1][p.first_b : p.end_b]) for p in places)
        if hunks:
            key = (module.sort, module.state, bool(module.like), *hunks)
            group = found.setdefault(key, Group(hunks, places, [], old.splitlines(), new.splitlines()))
            group.modules.append(module)
    return sorted(found.values(), key=lambda g: (_rank(g), -len(g.modules), g.modules[0].path))


def _rank(group: Group) -> tuple[int, bool]:
    """The sort key of a group: kernels before other code, specs before the generator, changed before added files."""
    first = group.modules[0]
    return SORTS.index(first.sort), first.state == "added"


def _texts(change: Change, module: Module) -> tuple[str, str]:
    if module.state == "added":
        return change.text("b", module.like), change.text("b", module.b)
    return change.text("a", module.a), change.text("b", module.b)


def _masked(text: str, module: Module, path: str | None) -> tuple[str, ...]:
    """Lines with the names of a generated module and its folder masked."""
    if path is None or module.sort not in GENERATED:
        return tuple(text.splitlines())
    head, quotes, rest = text.partition('\n"""\n')
    text = _HEADER.sub("spec ...", head) + quotes + rest
    names = {PurePosixPath(path).stem, PurePosixPath(path).parent.name} - {""}
    for name in sorted(names, key=len, reverse=True):
        if len(name) >= LONG:
            text = text.replace(name, "NAME")
        else:
            text = re.sub(rf"\b{re.escape(name)}(?![A-Za-z0-9])", "NAME", text)
    return tuple(text.splitlines())


def opcodes(a: Sequence[str], b: Sequence[str]) -> list[Place]:
    """The positions at which two texts differ. Their equal beginnings and ends are skipped for speed."""
    shorter = min(len(a), len(b))
    first = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    last = next((i for i in range(shorter - first) if a[-1 - i] != b[-1 - i]), shorter - first)
    matcher = SequenceMatcher(None, a[first : len(a) - last], b[first : len(b) - last], autojunk=False)
    found = (o for o in matcher.get_opcodes() if o[0] != "equal")
    return [Place(i + first, i_end + first, j + first, j_end + first) for _, i, i_end, j, j_end in found]
