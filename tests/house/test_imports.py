"""No module of tlxgen reaches itself by imports, those of functions and those for types alone included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import tlxgen

ROOT = Path(tlxgen.__file__).parent

Graph = Mapping[str, set[str]]


def modules(root: Path) -> dict[str, Path]:
    """The modules of a package by their full names; a package is named as its `__init__`."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(root: Path) -> Graph:
    """What each module of a package imports of it. That `a.b` also runs `a/__init__.py` does not count."""
    known = modules(root)
    return {name: set(_imported(name, path, known)) - {name} for name, path in known.items()}


def _imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield from (each for each in (inner if inner in known else source,) if each in known)


def circles(graph: Graph) -> list[list[str]]:
    """The groups of two and more modules in which each reaches every other."""
    reached = {name: _reached(name, graph) for name in graph}
    groups = {tuple(sorted(m for m in reached[n] if n in reached[m])) for n in graph if n in reached[n]}
    return [list(group) for group in sorted(groups)]


def _reached(start: str, graph: Graph) -> set[str]:
    found: set[str] = set()
    new = {start}
    while new:
        new = {inner for name in new for inner in graph[name]} - found
        found |= new
    return found


def test_tlxgen_has_no_import_circle() -> None:
    graph = imports(ROOT)
    assert "tlxgen.plan.model" in graph["tlxgen.plan.barriers"]  # that imports are seen at all
    assert not circles(graph)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("import pack.b", "import pack.a"),
        ("from . import b", "from .a import thing"),
        ("from pack.b import thing", "def f():\n    from . import a"),
        ("from . import b", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack import a"),
    ],
)
def test_a_circle_is_found(tmp_path: Path, a: str, b: str) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    for name, text in (("__init__", ""), ("a", a), ("b", b), ("c", "from . import a")):
        (package / f"{name}.py").write_text(text)
    assert circles(imports(package)) == [["pack.a", "pack.b"]]


def test_importing_from_the_own_package_is_a_circle_where_that_imports_back(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("from .a import thing")
    (package / "a.py").write_text("from . import other")
    assert circles(imports(package)) == [["pack", "pack.a"]]
