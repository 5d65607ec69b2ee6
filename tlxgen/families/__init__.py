"""The kernel families. One from outside is a package with an entry point in the group `tlxgen.families`.

The entry point names a Family; its templates lie in a folder `templates` beside the module of its class, or, for the
families here, in the project's templates.
"""

from __future__ import annotations

import difflib
import importlib
from importlib.metadata import entry_points
from pathlib import Path

from tlxgen import stamp
from tlxgen.errors import SpecError
from tlxgen.spec import Document

from .base import Family, Kernels, Structure, Variant

BUILT_IN = {
    "gemm": "tlxgen.families.gemm:Gemm",
    "attention_bwd": "tlxgen.families.attention_bwd:AttentionBwd",
    "attention_bwd_dq": "tlxgen.families.attention_bwd_dq:AttentionBwdDq",
    "attention_fwd": "tlxgen.families.attention_fwd:AttentionFwd",
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


def templates(family: Family) -> Path:
    """The folder of the family's templates."""
    if type(family).__module__.startswith("tlxgen."):
        return stamp.templates()
    module = importlib.import_module(type(family).__module__)
    return Path(str(module.__file__)).resolve().parent / "templates"


__all__ = ["Family", "Kernels", "Structure", "Variant", "load", "names", "of", "templates"]
