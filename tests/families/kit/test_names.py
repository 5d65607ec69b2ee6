"""The names that modules need are read off the templates that make them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tlxgen import families, stamp
from tlxgen.families.kit import names
from tlxgen.spec import load

ROOT = Path(__file__).parents[3]
SPECS = [path for path in sorted((ROOT / "specs").glob("*.yaml")) if "tuned" not in path.name]
GENERATED = ROOT / "generated"
TEXT = """\
{# def never() #}
{% import "lib/other.j2" as other %}
{{ kernel.imports(("math",)) }}
import a.b as c
from x.y import d, e as f
# def nor_this():
def g(x, LINES: tl.constexpr):
    \"\"\"Neither def this, nor WORDS.\"\"\"
    return x.T * LINES

@triton.jit
def {{ module.name }}(M):
"""


def test_names_are_those_of_functions_and_imports_of_all_templates_that_are_used(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "t.py.j2").write_text(TEXT)
    (tmp_path / "lib" / "other.j2").write_text("class Other:\n    SLOTS = 1\n")
    assert names.of_modules(tmp_path, "t.py.j2") == {"math", "c", "d", "f", "g", "Other"}
    assert names.of_constants(tmp_path, "t.py.j2") == {"LINES", "M", "SLOTS"}


@cache
def family_of(spec: Path) -> str:
    return families.of(load(spec, tuned=False)).name


@pytest.mark.parametrize("name", families.names())
def test_what_a_module_defines_is_among_the_names(name: str) -> None:
    """Of modules that ship, which are what the templates make of their specs (tests/build/test_shipped.py)."""
    needed = names.of_modules(stamp.templates(), families.load(name).template)
    own = [path.stem for path in SPECS if family_of(path) == name]
    assert own
    for spec in own:
        module = sorted((GENERATED / spec).glob("[!_]*.py"))[-1]
        body = ast.parse(module.read_text()).body
        bound = {n.name for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        bound |= {a.asname or a.name.split(".")[0] for n in body for a in getattr(n, "names", ())}
        assert len(bound) > 5
        assert {n for n in bound if n != spec and not n.startswith(f"{module.stem}_")} <= needed, module.stem
