"""The registry of kernel families, which are those of tlxgen and plug-ins.

A plug-in is a package with an entry point in the group `tlxgen.families`. The entry point names a Family. The templates
of a plug-in are in a folder `templates` beside the module of its class; those of tlxgen's families are in the project's
templates. A plug-in that fails to load does not affect other families; only a use of it raises FamilyError.
"""

from __future__ import annotations

import difflib
import importlib
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any

from tlxgen.errors import FamilyError, SpecError
from tlxgen.spec import CommonSpec, Document
from tlxgen.spec import load as read_spec

from .base import Family, Kernels, Structure, Variant
from .functions import Function, functions
from .kit import Axis
from .kit.names import folder

BUILT_IN = {
    "gemm": "tlxgen.families.gemm:Gemm",
    "grouped_gemm": "tlxgen.families.grouped_gemm:GroupedGemm",
    "attention_bwd": "tlxgen.families.attention_bwd:AttentionBwd",
    "attention_bwd_dq": "tlxgen.families.attention_bwd_dq:AttentionBwdDq",
    "attention_decode": "tlxgen.families.attention_decode:AttentionDecode",
    "attention_fwd": "tlxgen.families.attention_fwd:AttentionFwd",
    "gdpa": "tlxgen.families.gdpa:Gdpa",
    "gdpa_bwd": "tlxgen.families.jagged_bwd:GdpaBwd",
    "hstu": "tlxgen.families.hstu:Hstu",
    "hstu_bwd": "tlxgen.families.jagged_bwd:HstuBwd",
    "mx_quantize": "tlxgen.families.mx_quantize:MxQuantize",
    "norm_bwd": "tlxgen.families.norm_bwd:NormBwd",
    "norm_fwd": "tlxgen.families.norm_fwd:NormFwd",
}


def names() -> list[str]:
    """The names of all families, sorted."""
    return sorted({*BUILT_IN, *(e.name for e in _plug_ins())})


def plug_ins() -> list[str]:
    """The names of the families that are plug-ins, sorted."""
    return sorted({e.name for e in _plug_ins()} - set(BUILT_IN))


def load(name: str) -> Family:
    """The family of that name. Raises KeyError when there is none, and FamilyError for a plug-in that fails to load."""
    if name in BUILT_IN:
        return _made(_attribute(BUILT_IN[name]))
    point = next((e for e in _plug_ins() if e.name == name), None)
    if point is None:
        raise KeyError(name)
    try:
        family = _made(point.load())
        _check(family, name)
    except (Exception, SystemExit) as error:  # a package's import may raise anything
        package = f" of {point.dist.name}" if point.dist else ""
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message = f"the kernel family {name!r}{package} does not load: {' '.join(text.split())}"
        raise FamilyError(message, remedy="repair or uninstall that package") from error
    return family


def loaded() -> tuple[dict[str, Family], dict[str, FamilyError]]:
    """The families that load, by name, and the errors of those that do not, by name."""
    good: dict[str, Family] = {}
    broken: dict[str, FamilyError] = {}
    for name in names():
        try:
            good[name] = load(name)
        except FamilyError as error:
            broken[name] = error
    return good, broken


def _plug_ins() -> EntryPoints:
    return entry_points(group="tlxgen.families")


def _attribute(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _made(found: Any) -> Family:
    family: Family = found() if isinstance(found, type) else found
    return family


def _check(family: Any, name: str) -> None:
    """Raises TypeError for an object that an entry point must not name."""
    if not isinstance(family, Family):
        raise TypeError(f"the entry point names {type(family).__name__}, which is not a tlxgen.families.Family")
    model = getattr(family, "model", None)
    if not (isinstance(model, type) and issubclass(model, CommonSpec)):
        raise TypeError(f"{type(family).__name__}.model is not a tlxgen.spec.CommonSpec")
    if not all(isinstance(axis, Axis) for axis in getattr(family, "axes", (None,))):
        raise TypeError(f"{type(family).__name__}.axes is not a tuple of tlxgen.families.kit.Axis")
    if family.name != name:
        raise TypeError(f"{type(family).__name__}.name is {family.name!r}, and the entry point says {name!r}")


def of(document: Document) -> Family:
    """The family that a spec's `kernel` names."""
    name = document.data.get("kernel")
    if name is None:
        raise SpecError("missing key 'kernel'", location=document.where(()), remedy=f"families: {', '.join(names())}")
    if not (isinstance(name, str) and name in BUILT_IN) and name not in names():
        near = difflib.get_close_matches(str(name), names(), n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        where = document.where(("kernel",))
        raise SpecError(f"no kernel family {name!r}{meant}", location=where, remedy=f"families: {', '.join(names())}")
    try:
        return load(name)
    except FamilyError as error:
        raise FamilyError(error.message, location=document.where(("kernel",)), remedy=error.remedy) from error


_planned: dict[object, Kernels] = {}  # the last spec's: a large one takes seconds, and a verb may ask for each module


def kernels_of(spec: Path) -> Kernels:
    """The variants of a spec file. Raises SpecError or SpecErrors."""
    document = read_spec(spec)
    family = of(document)
    key = (type(family), *((file.path, file.text) for file in document.files))
    if key not in _planned:
        planned = family.kernels(document)
        _planned.clear()
        _planned[key] = planned
    return _planned[key]


def templates(family: Family) -> Path:
    """The folder of the family's templates."""
    return folder(type(family).__module__)


__all__ = [
    "Family",
    "Function",
    "Kernels",
    "Structure",
    "Variant",
    "functions",
    "kernels_of",
    "load",
    "loaded",
    "names",
    "of",
    "plug_ins",
    "templates",
]
