"""Drops, from a spec that extends one for another arch, the values of its parents that are defaults of their arch.

A parent that writes `tasks: {mma: {warps: 4}}`, where 4 is the default of its arch, means no more than without the key.
The child's arch has its own default, and may not even allow the key.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tlxgen.errors import SpecNote
from tlxgen.spec.document import EXTENDS, Document, merge
from tlxgen.spec.model import CommonSpec
from tlxgen.spec.source import Source
from tlxgen.spec.validate import collect

_ARCH = "arch"
_KEPT = ("kernel", "name", _ARCH, "variants", "description", "check", "guards", "bake", "keep")

Keys = tuple[str, ...]


def retargeted(document: Document, model: type[CommonSpec]) -> Document:
    """`document` without values of its parents that are defaults of their arch and matter here. A note names them.

    If the document and its parents have the same arch, it is returned unchanged. A key that the child also gives stays.
    """
    parents = _of_another_arch(document)
    if not parents:
        return document
    theirs: dict[str, Any] = {}
    for source in reversed(parents):
        theirs = merge(theirs, {key: value for key, value in source.data.items() if key != EXTENDS})
    own = document.sources[: -len(parents)]
    inherited = [keys for keys in _leaves(theirs) if not any(_touches(source, keys) for source in own)]
    sound = _sound(theirs, model)
    spelt = [
        keys
        for keys in (inherited if sound else ())
        if sound and _at(sound, keys) == _at(theirs, keys) and _same(_without(sound, keys), sound, model)
    ]
    bare = document.data
    for keys in spelt:
        bare = _without(bare, keys)
    dropped = [keys for keys in spelt if not _same(_with(bare, keys, _at(theirs, keys)), bare, model)]
    if not dropped:
        return document
    data = document.data
    for keys in dropped:
        data = _without(data, keys)
    named = ", ".join(".".join(keys) for keys in dropped)
    text = (
        f"{document.where((_ARCH,))}: {parents[0].path} spells out defaults of {theirs[_ARCH]}; those of "
        f"{document.data[_ARCH]} are taken instead: {named}"
    )
    warnings.warn(text, SpecNote, stacklevel=2)
    return replace(document, data=data)


def _of_another_arch(document: Document) -> list[Source]:
    """The parents of the file that sets the spec's arch, child first; empty if their arch is the same."""
    says = [i for i, source in enumerate(document.sources) if source.data.get(_ARCH) is not None]
    if len(says) < 2 or document.sources[says[1]].data[_ARCH] == document.data.get(_ARCH):
        return []
    return document.sources[says[0] + 1 :]


def _sound(data: dict[str, Any], model: type[CommonSpec]) -> dict[str, Any] | None:
    """The data of a valid spec: without its axes, or with the first or the last value of each; None if none is valid.

    The axes may give a key that is missing otherwise, or one that conflicts with the others.
    """
    variants = data.get("variants")
    given = variants.get("axes") if isinstance(variants, Mapping) else None
    axes = {path: v for path, v in given.items() if isinstance(v, list) and v} if isinstance(given, Mapping) else {}
    bare = {key: value for key, value in data.items() if key != "variants"}
    for points in ({}, {path: values[0] for path, values in axes.items()}, {p: v[-1] for p, v in axes.items()}):
        made = bare
        for path, value in points.items():
            made = _with(made, tuple(path.split(".")), value)
        if collect(made, model)[0] is not None:
            return made
    return None


def _touches(source: Source, keys: Keys) -> bool:
    """Whether a file gives the key, or a value that is not a mapping for a key above it."""
    above = [keys[:depth] for depth in range(1, len(keys)) if source.has(keys[:depth])]
    return source.has(keys) or any(not isinstance(_at(source.data, path), Mapping) for path in above)


def _leaves(data: Mapping[str, Any], above: Keys = ()) -> Iterator[Keys]:
    """The keys with scalar or list values whose defaults may depend on the arch."""
    for key, value in data.items():
        if not above and key in _KEPT:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key)


def _same(a: Mapping[str, Any], b: Mapping[str, Any], model: type[CommonSpec]) -> bool:
    """Whether two spec data are equivalent: they give the same spec, or the same faults."""
    (mine, faults), (other, others) = collect(a, model), collect(b, model)
    if mine is None or other is None:
        return mine is other and [fault.message for fault in faults] == [fault.message for fault in others]
    return mine.model_dump() == other.model_dump()


def _at(data: Mapping[str, Any], keys: Keys) -> Any:
    """The value of a key; None if there is none."""
    found: Any = data
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _with(data: Mapping[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(dict(data))
    node = made
    for key in keys[:-1]:
        inner = node.get(key)
        node[key] = node = inner if isinstance(inner, dict) else {}
    node[keys[-1]] = value
    return made


def _without(data: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    """A copy without the key, and without mappings that it leaves empty."""
    made = {key: value for key, value in data.items() if key != keys[0]}
    inner = data.get(keys[0])
    if len(keys) > 1 and isinstance(inner, Mapping):
        left = _without(inner, keys[1:])
        return {**data, keys[0]: left} if left else made
    return made
