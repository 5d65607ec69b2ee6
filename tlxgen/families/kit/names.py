"""The names that a family's modules need, read off its templates, so that a spec may not give them a second meaning."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

from tlxgen import stamp

HOST = Path("lib", "_host.py")
TEMPLATE = "{kernel}/module.py.j2"  # of a family, unless it says otherwise

_USED = re.compile(r'{%-?\s*(?:import|from|include|extends)\s+"([^"]+)"')
_PROSE = re.compile(r'{#.*?#}|""".*?"""|#[^\n{]*$', re.DOTALL | re.MULTILINE)
_DEFINED = re.compile(r"^\s*(?:def|class)\s+([A-Za-z_]\w*)", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:import|from\s+[\w.]+\s+import)\s+(.+)$", re.MULTILINE)
_MORE = re.compile(r"\bimports\(([^)]*)\)")  # what a family's template asks of the macro of all
_ASSIGNED = re.compile(r"^([a-z]\w*)(?:, ([a-z]\w*))* =", re.MULTILINE)
_TAG = re.compile(r"{%.*?%}|{{.*?}}")
_CONSTANT = re.compile(r"(?<![.\w])[A-Z][A-Z0-9_]*\b")  # no attribute


def folder(module: str) -> Path:
    """The folder of the templates of a family that is defined in `module`: tlxgen's own, or the one beside its file."""
    if module.startswith("tlxgen."):
        return stamp.templates()
    return Path(str(sys.modules[module].__file__)).resolve().parent / "templates"


@functools.cache
def of_modules(templates: Path, name: str) -> frozenset[str]:
    """What modules made from a template define or import."""
    text = _code(templates, name)
    found = set(_DEFINED.findall(text))
    for line in _IMPORTED.findall(text):
        words = [part.split() for part in _TAG.sub("", line).split(",")]
        found.update(part[-1].split(".")[0] for part in words if part)  # the last word of `a.b as c`
    for given in _MORE.findall(text):
        found.update(re.findall(r'"(\w+)"', given))
    return frozenset(found | _shared() if f"from .{HOST.stem} import" in text else found)


def _shared() -> set[str]:
    """What a folder's modules may import of what they share."""
    text = (stamp.templates() / HOST).read_text(encoding="utf-8")
    return {*_DEFINED.findall(text), *(n for names in _ASSIGNED.findall(text) for n in names if n)}


@functools.cache
def of_constants(templates: Path, name: str) -> frozenset[str]:
    """Every name in capitals in code made from a template: a guard of this name would be two things."""
    return frozenset(_CONSTANT.findall(_code(templates, name)))


@functools.cache
def _code(templates: Path, name: str) -> str:
    """The text of a template and of those that it uses, without comments and docstrings."""
    todo, seen, texts = [name], {name}, []
    while todo:
        used = todo.pop()
        path = next((p for p in (templates / used, stamp.templates() / used) if p.exists()), None)
        text = path.read_text(encoding="utf-8") if path else ""
        texts.append(_PROSE.sub("", text))
        new = set(_USED.findall(text)) - seen
        seen |= new
        todo += sorted(new)
    return "\n".join(texts)
