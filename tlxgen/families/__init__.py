"""The kernel families. One from outside is a package with an entry point in the group `tlxgen.families`.

The entry point names a Family; its templates lie in a folder `templates` beside the module of its class, or, for the
families here, in the project's templates.
"""

from __future__ import annotations

import difflib
import importlib
from importlib.metadata import entry_points
from pathlib import Path

from tlxgen.errors import SpecError
from tlxgen.spec import Document
from tlxgen.spec import load as read_spec

from .base import Family, Kernels, Structure, Variant
from .functions import Function, functions
from .kit.names import folder

BUILT_IN = {
    "gemm": "tlxgen.families.gemm:Gemm",
    "attention_bwd": "tlxgen.families.attention_bwd:AttentionBwd",
    "attention_bwd_dq": "tlxgen.families.attention_bwd_dq:AttentionBwdDq",
    "attention_fwd": "tlxgen.families.attention_fwd:AttentionFwd",
    "norm_fwd": "tlxgen.families.norm_fwd:NormFwd",
}


def names() -> list[str]:
    """The names of all families, sorted."""
    return sorted({*BUILT_IN, *(e.name for e in entry_points(group="tlxgen.families"))})


def load(name: str) -> Family:
    """The family of that name. Raises KeyError when there is none."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        found = getattr(importlib.import_module(module), attribute)
    else:
        found = next(e for e in entry_points(group="tlxgen.families", name=name)).load()
    family: Family = found() if isinstance(found, type) else found
    return family


def of(document: Document) -> Family:
    """The family that a spec's `kernel` names."""
    name = document.data.get("kernel")
    if name is None:
        raise SpecError("missing key 'kernel'", location=document.where(()), remedy=f"families: {', '.join(names())}")
    if name not in names():
        near = difflib.get_close_matches(str(name), names(), n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        where = document.where(("kernel",))
        raise SpecError(f"no kernel family {name!r}{meant}", location=where, remedy=f"families: {', '.join(names())}")
    return load(name)


def kernels_of(spec: Path) -> Kernels:
    """The variants of a spec file. Raises SpecError or SpecErrors."""
    document = read_spec(spec)
    return of(document).kernels(document)


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
    "names",
    "of",
    "templates",
]
