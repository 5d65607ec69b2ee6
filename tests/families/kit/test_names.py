"""The names that modules need are read off the templates that make them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tlxgen import families, stamp
from tlxgen.families.kit import names
from tlxgen.render.module import render
from tlxgen.spec import load

SPECS = Path(__file__).parents[3] / "specs"
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


@pytest.mark.parametrize("name", families.names())
def test_what_a_module_defines_is_among_the_names(name: str) -> None:
    family = families.load(name)
    needed = names.of_modules(stamp.templates(), family.template)
    documents = [load(path) for path in sorted(SPECS.glob("*.yaml")) if "tuned" not in path.name]
    own = [document for document in documents if families.of(document).name == name]
    assert own
    for document in own[:: 1 + len(own) // 5]:
        structure = family.kernels(document).structures[-1]
        folder = stamp.templates()
        text = render(structure, title="", provenance={}, templates=folder, template=family.template, for_people=False)
        body = ast.parse(text).body
        bound = {n.name for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        bound |= {a.asname or a.name.split(".")[0] for n in body for a in getattr(n, "names", ())}
        spec = structure.plan.name
        assert len(bound) > 5
        assert {n for n in bound if n != spec and not n.startswith(f"{structure.name}_")} <= needed, structure.name
