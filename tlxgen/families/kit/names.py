"""The names that a family's modules use, found in its templates. A spec must not use them for anything else."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

from tlxgen import stamp

HOST = Path("lib", "_host.py")
TEMPLATE = "{kernel}/module.py.j2"  # default of a family

_USED = re.compile(r'{%-?\s*(?:import|from|include|extends)\s+"([^"]+)"')
_PROSE = re.compile(r'{#.*?#}|""".*?"""|#[^\n{]*$', re.DOTALL | re.MULTILINE)
_DEFINED = re.compile(r"^\s*(?:def|class)\s+([A-Za-z_]\w*)", re.MULTILINE)
_OUTERMOST = re.compile(r"^(?:def|class)\s+([A-Za-z_]\w*)", re.MULTILINE)  # in code that no template indents
_IMPORTED = re.compile(r"^(?:import|from\s+[\w.]+\s+import)\s+(.+)$", re.MULTILINE)
_MORE = re.compile(r"\bimports\(([^)]*)\)")  # arguments of the macro that prints imports
_TABLE = re.compile(r"\bset defined = \{([^}]*)\}")  # names of functions that a template makes of a table, and what for
_ASSIGNED = re.compile(r"^([a-z]\w*)(?:, ([a-z]\w*))* =", re.MULTILINE)
_TAG = re.compile(r"{%.*?%}|{{.*?}}")
_CONSTANT = re.compile(r"(?<![.\w])[A-Z][A-Z0-9_]*\b")  # not an attribute


def folder(module: str) -> Path:
    """The templates' folder of a family defined in `module`: tlxgen's own, or the one beside the module's file."""
    if module.startswith("tlxgen."):
        return stamp.templates()
    return Path(str(sys.modules[module].__file__)).resolve().parent / "templates"


@functools.cache
def of_modules(templates: Path, name: str) -> frozenset[str]:
    """The names that modules made from a template define or import."""
    text = _code(templates, name)
    found = set(_DEFINED.findall(text))
    for line in _IMPORTED.findall(text):
        words = [part.split() for part in _TAG.sub("", line).split(",")]
        found.update(part[-1].split(".")[0] for part in words if part)  # the name that `a.b as c` binds
    for given in (*_MORE.findall(text), *_TABLE.findall(text)):
        found.update(re.findall(r'"(\w+)"', given))
    return frozenset(found | _shared() if f"from .{HOST.stem} import" in text else found)


def _shared() -> set[str]:
    """The names that modules may import from files that a generated folder shares."""
    text = (stamp.templates() / HOST).read_text(encoding="utf-8")
    return {*_OUTERMOST.findall(text), *(n for names in _ASSIGNED.findall(text) for n in names if n)}


@functools.cache
def of_constants(templates: Path, name: str) -> frozenset[str]:
    """Every name in capitals in code made from a template. A guard must not have such a name."""
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
