"""Finds a variant by its values (`--set rings.ab.stages=5`): a kept or rejected one, or one that the spec lacks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tlxgen import families
from tlxgen.errors import ReviewError, SpecWarning
from tlxgen.families import Family, Kernels, Structure, Variant
from tlxgen.families.structure import text_of
from tlxgen.spec import Document, Source, load
from tlxgen.spec.model import GUARD_PATTERN, canonical
from tlxgen.spec.source import parse

_SETTING = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*", re.DOTALL)
_NOTHING = object()  # stands for the value at a path that a variant does not have
_NEXT = re.compile(r",\s*(?=[A-Za-z_][\w.]*\s*=)")  # between two settings, as the label of a variant has them
MOST_REJECTED = 200_000  # variants that are looked at one by one; of more, `choose` builds what was asked for


@dataclass(frozen=True)
class Shown:
    """A variant to show. `agree` is the number of variants of its structure (or of rejected ones) that match."""

    variant: Variant
    structure: Structure | None  # None for a rejected one
    agree: int


@dataclass(frozen=True)
class Settings:
    """The settings of the command line: path -> the text of the value."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, given: Sequence[str]) -> Settings:
        """From texts as `tile.m=128` or `tile.m=128, tile.n=64`. Raises ReviewError for one of another form."""
        texts: dict[str, str] = {}
        for part in (part for text in given for part in _NEXT.split(text)):
            found = _SETTING.fullmatch(part)
            if not found:
                remedy = "write PATH=VALUE, such as --set rings.ab.stages=5"
                raise ReviewError(f"--set {part!r} gives no key a value", remedy=remedy)
            if found[1] in texts:
                raise ReviewError(f"--set: {found[1]} is given twice")
            texts[found[1]] = found[2]
        return cls(texts)

    @property
    def source(self) -> Source:
        """The settings as axes of a spec, each with one value. Raises SpecError for a value that is not YAML."""
        axes = "".join(f"    {_path(path)}: [{text or '~'}]\n" for path, text in self.texts.items())
        return parse("--set", f"variants:\n  axes:\n{axes}")

    def agrees(self, document: Document) -> Callable[[Variant], bool]:
        """Whether a variant has all these values."""
        wanted = self.source.data["variants"]["axes"]
        given = [(path, wanted[_path(path)][0], text) for path, text in self.texts.items()]

        def agrees(variant: Variant) -> bool:
            for path, value, text in given:
                found = _value(variant, document, path)
                if found is _NOTHING or (canonical(_plain(found)) != canonical(value) and text != text_of(found)):
                    return False
            return True

        return agrees


def choose(spec: Path, texts: Sequence[str]) -> tuple[Kernels, list[Shown]]:
    """The first kept variant of each structure that agrees with the settings; if there is none, the first rejected.

    If the spec has no such variant, the result is the one that it would have with these values on its axes. The winners
    of a tuned file are ignored. Raises SpecError and ReviewError for settings that no spec can have.
    """
    settings = Settings.of(texts)
    document = load(spec, tuned=False)
    kernels = families.of(document).kernels(document)
    if found := _agreeing(kernels, settings.agrees(kernels.document)):
        return kernels, found
    kernels = _quietly(kernels.family, _with(kernels.document, settings))
    return kernels, _agreeing(kernels, lambda variant: True)


def _agreeing(kernels: Kernels, agrees: Callable[[Variant], bool]) -> list[Shown]:
    found = []
    for structure in kernels.structures:
        if some := [v for v in structure.variants if agrees(v)]:
            found.append(Shown(some[0], structure, len(some)))
    if found:
        return found
    if kernels.rejections > MOST_REJECTED:
        return []
    rejected = [v for v in kernels.rejected if agrees(v)]
    first = next((v for v in rejected if v.plan), next(iter(rejected), None))
    return [Shown(planned(kernels, first), None, len(rejected))] if first else []


def planned(kernels: Kernels, variant: Variant) -> Variant:
    """A rejected variant with its plan, even if a condition rejects it. Contradictory keys have none."""
    if variant.plan:
        return variant
    axes = {path: [value] for path, value in variant.values.items()}
    document = replace(kernels.document, data={**kernels.document.data, "variants": {"axes": axes}}, tuned=None)
    alone = _quietly(kernels.family, document)
    found = next((v for v in (*alone.kept, *alone.rejected) if v.plan), None)
    if not found:
        return variant
    return replace(found, values=variant.values, reasons=(*variant.reasons, *found.reasons))


def _quietly(family: Family, document: Document) -> Kernels:
    """The kernels of a document that was made here, without warnings about its axes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return family.kernels(document)


def _with(document: Document, settings: Settings) -> Document:
    """The document with only these values on their axes, which are added if they are missing."""
    source = settings.source
    variants = document.data.get("variants") or {}
    axes = dict(variants.get("axes") or {})
    for path, values in source.data["variants"]["axes"].items():
        outer = next((axis for axis in axes if path.startswith(f"{axis}.")), None)
        if outer:
            inside = path.removeprefix(f"{outer}.").split(".")
            changed = [_changed(value, inside, values[0]) for value in axes[outer]]
            axes[outer] = list({canonical(value): value for value in changed}.values())
        else:
            axes = {axis: given for axis, given in axes.items() if not axis.startswith(f"{path}.")} | {path: values}
    data = {**document.data, "variants": {**variants, "axes": axes}}
    return replace(document, data=data, sources=[source, *document.sources])


def _changed(value: Any, keys: Sequence[str], inner: Any) -> Any:
    """The value of an axis with one key replaced."""
    if not keys:
        return inner
    value = value if isinstance(value, Mapping) else {}
    return {**value, keys[0]: _changed(value.get(keys[0]), keys[1:], inner)}


def _path(name: str) -> str:
    """The path of a setting. That of a guard is below `guards`."""
    return f"guards.{name}" if re.fullmatch(GUARD_PATTERN, name) else name


def _value(variant: Variant, document: Document, path: str) -> Any:
    """A variant's value at a path: from its axes, its spec, or the document."""
    for name in (path, _path(path)):
        if name in variant.values:
            return variant.values[name]
    for axis, value in variant.values.items():
        if path.startswith(f"{axis}.") and (found := _inside(value, path.removeprefix(f"{axis}."))) is not None:
            return found
    return _inside(variant.spec if variant.spec else document.data, _path(path), _NOTHING)


def _inside(node: Any, path: str, absent: Any = None) -> Any:
    for key in path.split("."):
        node = node.get(key, absent) if isinstance(node, Mapping) else getattr(node, key, absent)
        if node is absent:
            break
    return node


def _plain(value: Any) -> Any:
    """A value in plain YAML types."""
    return value.model_dump() if hasattr(value, "model_dump") else value
