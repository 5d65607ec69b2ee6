"""Renames keys and values that had other names in earlier versions, so that old specs still load, with a note.

A family lists them (`Family.renamed`). Old names are replaced in a spec's keys, axes, conditions, `bake` and `keep`,
and in the values of a tuned file's winners.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tlxgen.errors import RenamedWarning, SpecError
from tlxgen.spec.document import Document
from tlxgen.spec.source import DataPath

_LISTS = ("bake", "keep")
_CONDITIONS = ("require", "exclude")


@dataclass(frozen=True)
class Renamed:
    """The key `old` is now `new` (dotted paths). Alternatively, `values` (old -> new) of a key were renamed."""

    old: str
    new: str = ""
    values: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The present name of the key."""
        return self.new or self.old

    def key(self, path: str) -> str:
        """The present name of a dotted path."""
        inside = path == self.old or path.startswith(f"{self.old}.")
        return self.path + path[len(self.old) :] if inside else path

    def value(self, value: Any) -> Any:
        """The present name of a value of the key."""
        return self.values.get(value, value) if isinstance(value, (str, int)) else value

    def text(self, text: str) -> str:
        """An expression with the key's present name and, if it names the key, the values' present names."""
        found = re.sub(rf"(?<![\w.]){re.escape(self.old)}(?![\w])", self.path, text)
        if not re.search(rf"(?<![\w.]){re.escape(self.path)}(?![\w])", found):
            return text
        for old, new in self.values.items():
            found = re.sub(rf"(['\"]){re.escape(str(old))}\1", rf"\g<1>{new}\g<1>", found)
        return found


def current(document: Document, table: Sequence[Renamed]) -> Document:
    """`document` with present names. Each old name gives a RenamedWarning.

    Raises SpecError if a file gives both names of a key.
    """
    if not table:
        return document
    data, moved = copy.deepcopy(document.data), dict(document.moved)
    for each in table:
        moved |= _keys(document, data, each)
        variants = data.get("variants")
        if isinstance(variants, dict):
            axes = variants.get("axes")
            if isinstance(axes, dict):
                variants["axes"] = _axes(axes, each, lists=True)
                moved |= {
                    ("variants", "axes", each.key(path)): ("variants", "axes", path)
                    for path in axes
                    if each.key(path) != path
                }
            for kind in _CONDITIONS:
                if isinstance(variants.get(kind), list):
                    variants[kind] = [each.text(t) if isinstance(t, str) else t for t in variants[kind]]
        for kind in _LISTS:
            if isinstance(data.get(kind), list):
                data[kind] = [each.key(p) if isinstance(p, str) else p for p in data[kind]]
    made = replace(document, data=data, moved=moved)
    for text in dict.fromkeys(_notes(document, table)):
        warnings.warn(text, RenamedWarning, stacklevel=2)
    return made


def values(given: Mapping[str, Any], table: Sequence[Renamed]) -> dict[str, Any]:
    """The values of a variant's axes by path, with present names."""
    found = dict(given)
    for each in table:
        found = _axes(found, each, lists=False)
    return found


def _axes(axes: Mapping[str, Any], each: Renamed, *, lists: bool) -> dict[str, Any]:
    """Renames in values (or lists of values) by path: the path, the value, and keys in a value that is a mapping."""

    def one(path: str, value: Any) -> Any:
        if path == each.path:
            return each.value(value)
        if isinstance(value, Mapping) and f"{each.old}.".startswith(f"{path}."):
            inner = {f"{path}.{key}": v for key, v in value.items()}
            prefix = len(path) + 1
            return {each.key(key)[prefix:]: one(each.key(key), v) for key, v in inner.items()}
        return value

    made = {}
    for path, value in axes.items():
        now = each.key(path)
        made[now] = [one(now, v) for v in value] if lists and isinstance(value, list) else one(now, value)
    return made


def _keys(document: Document, data: dict[str, Any], each: Renamed) -> dict[DataPath, DataPath]:
    """Moves and renames keys in `data`, a spec. Returns present path -> path in the files."""
    old, new = tuple(each.old.split(".")), tuple(each.path.split("."))
    moved: dict[DataPath, DataPath] = {}
    parent = _mapping(data, old[:-1])
    if old != new and parent is not None and old[-1] in parent:
        for source in document.sources:
            if source.has(old) and source.has(new):
                text = f"{each.old} is the old name of {each.new}, which is also given"
                raise SpecError(text, location=source.where(old, key=True))
        value, target = parent.pop(old[-1]), data
        for key in new[:-1]:
            target = target.setdefault(key, {})
        nearest = next(s for s in document.sources if s.has(old) or s.has(new))  # children override
        if new[-1] not in target or nearest.has(old):
            target[new[-1]] = value
        moved[new] = old
    inside = _mapping(data, new[:-1])
    if inside is not None and new[-1] in inside:
        inside[new[-1]] = each.value(inside[new[-1]])
    return moved


def _mapping(data: Any, path: Sequence[str | int]) -> dict[str, Any] | None:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else None


def _notes(document: Document, table: Sequence[Renamed]) -> Iterator[str]:
    """Notes on the old names in the files of a document, one for each name and file."""
    for source in document.files:
        for each in table:
            path = tuple(each.old.split("."))
            if each.new and (source.has(path) or _names(source.text, each.old)):
                place = source.where(path, key=True) if source.has(path) else source.path
                yield f"{place}: {each.old} is now {each.new}"
            for old, new in each.values.items():
                given = _mapping(source.data, path[:-1])
                if given is not None and given.get(path[-1]) == old:
                    yield f"{source.where(path)}: {each.path}: {old} is now {new}"
                elif re.search(rf"{re.escape(each.old)}\b[^\n]*\b{re.escape(str(old))}\b", source.text):
                    yield f"{source.path}: {each.path}: {old} is now {new}"


def _names(text: str, path: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(path)}(?![\w])", text))
