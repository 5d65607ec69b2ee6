"""A spec merged with the specs that it extends. The merged mapping knows which file gave each value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tlxgen.errors import Location, SpecError
from tlxgen.project import root_of
from tlxgen.spec.source import DataPath, Source, holds, read

EXTENDS = "extends"
WHOLE = {"variants"}
_LONG = 100  # characters of a path in a message


@dataclass(frozen=True)
class Document:
    """A spec, merged: `sources` holds its files, child first; `data` is plain, without `extends`.

    `data` must not be changed, since aliases share objects. `tuned` is the file of `tlxgen tune` that the spec names,
    if any. `moved` maps paths of `data` to other paths in the files, for keys that were renamed (`spec.renamed`).
    """

    path: str
    data: dict[str, Any]
    sources: list[Source]
    tuned: Source | None = None
    moved: Mapping[DataPath, DataPath] = field(default_factory=dict)

    @property
    def files(self) -> list[Source]:
        """All files of the spec."""
        return [*self.sources, *([self.tuned] if self.tuned else [])]

    def where(self, path: DataPath, *, key: bool = False) -> Location:
        """The location of the value at `path` (or of its key) in the file that gave it.

        Falls back to the nearest parent that the merged data has. Children override parents, and keys that a child
        removes are not in the merged data, so the nearest child that has the path gave the value.
        """
        depth = _depth(self.data, path)
        given = [path[:depth], *self._written(path[:depth])]
        found = ((source, spelt) for source in self.sources for spelt in given if source.has(spelt))
        supplier, spelt = next(found, (self.sources[0], path[:depth]))
        # If only a part of the path exists, the source falls back to the key of that part.
        return supplier.where(spelt, key=key or depth < len(path))

    def given(self, path: str, axes: Iterable[str] = ()) -> Location | None:
        """The location of the value at a dotted path, or of the one of `axes` that gives it; None if there is none."""
        keys = tuple(path.split("."))
        if axis := next((axis for axis in axes if f"{path}.".startswith(f"{axis}.")), None):
            return self.where(("variants", "axes", axis), key=True)
        return self.where(keys) if _depth(self.data, keys) == len(keys) else None

    def _written(self, path: DataPath) -> Iterator[DataPath]:
        """The paths at which files with old names may have it."""
        for now, then in self.moved.items():
            if path[: len(now)] == now:
                yield (*then, *path[len(now) :])


def load(path: Path, *, root: Path | None = None, tuned: bool = True) -> Document:
    """Loads the spec in the file at `path` and all specs that it extends.

    A child's mappings are merged into its parent's key by key; its lists and scalars replace; a key that it sets to
    null is removed from the parent. `variants` are replaced as a whole, since the axes of one spec do not fit another.
    Messages show paths relative to `root` if they are below it. If `tuned`, the file that the key of that name gives is
    also read; it must exist, and the key is not inherited. Raises SpecError for the first fault of a file, and at the
    `extends` value for a missing parent or one that extends its own child.
    """
    spec = path
    sources = [read(path, shown=_shown(path, root))]
    seen = {os.path.realpath(path)}
    while EXTENDS in sources[-1].data:
        child = sources[-1]
        path = _parent(path, child)
        location = child.where((EXTENDS,))
        try:
            real = os.path.realpath(path)
            exists = path.is_file()
            missing = "is a folder" if path.is_dir() else "no such file"
        except (OSError, ValueError) as error:
            raise SpecError(f"cannot extend {_short(path)}: {_reason(error)}", location=location) from None
        if real in seen:
            raise SpecError(f"extends goes in a circle: {_shown(path, root)} again", location=location)
        if not exists:
            raise SpecError(f"cannot extend {_shown(path, root)}: {missing}", location=location)
        seen.add(real)
        sources.append(read(path, shown=_shown(path, root)))
    data: dict[str, Any] = {}
    for source in reversed(sources):
        data = merge(data, {key: value for key, value in source.data.items() if key != EXTENDS})
    if not sources[0].has(("tuned",)):  # measurements of the parent's variants do not apply to this spec
        data.pop("tuned", None)
    document = Document(sources[0].path, data, sources)
    return replace(document, tuned=_tuned(document, spec, root)) if tuned else document


def _tuned(document: Document, spec: Path, root: Path | None) -> Source | None:
    given = document.data.get("tuned")
    if not isinstance(given, str):  # absent, or validation will find it
        return None
    where, path = document.where(("tuned",)), root_of(spec) / given
    try:
        exists = path.is_file()
    except (OSError, ValueError) as error:
        raise SpecError(f"tuned: cannot read {_short(Path(given))}: {_reason(error)}", location=where) from None
    if not exists:
        remedy = f"run: tlxgen tune {spec.as_posix()}, or take the key out"
        raise SpecError(f"tuned: no file {given}", location=where, remedy=remedy)
    return read(path, shown=_shown(path, root or Path()))


def _short(path: Path) -> str:
    """A path for a message, shortened if it is long."""
    text = path.as_posix()
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


def _reason(error: OSError | ValueError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _parent(path: Path, source: Source) -> Path:
    given = source.data[EXTENDS]
    if not isinstance(given, str) or not given.strip():
        raise SpecError("extends must be the path of one file", location=source.where((EXTENDS,)))
    return Path(os.path.normpath(path.parent / given))


def _shown(path: Path, root: Path | None) -> str:
    if root is None:
        return path.as_posix()
    absolute, base = Path(os.path.abspath(path)), Path(os.path.abspath(root))
    return absolute.relative_to(base).as_posix() if absolute.is_relative_to(base) else path.as_posix()


def merge(parent: dict[str, Any], child: dict[str, Any]) -> dict[str, Any]:
    """`parent` overridden by `child`, as `load` describes."""
    merged = dict(parent)
    for key, value in child.items():
        if value is None and key in parent:
            del merged[key]
        elif isinstance(value, dict) and isinstance(parent.get(key), dict) and key not in WHOLE:
            merged[key] = merge(parent[key], value)
        else:  # a null for a key that no parent has stays, so that a misspelt removal is found as an unknown key
            merged[key] = value
    return merged


def _depth(data: Any, path: DataPath) -> int:
    """How many parts of `path` exist in `data`."""
    for depth, part in enumerate(path):
        if not holds(data, part):
            return depth
        data = data[part]
    return len(path)
