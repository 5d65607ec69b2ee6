"""docs/plugins.md, the protocols of families.interface, the families that ship and the example: all say the same."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tlxgen import families
from tlxgen.families import Family, base, interface

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text()
PROTOCOLS: dict[str, tuple[type, type | None]] = {
    "plan": (interface.PlanModule, None),
    "problem": (interface.ProblemModule, interface.OptionalProblemModule),
    "cost": (interface.CostModule, interface.ModelCostModule),
    "benchmark": (interface.BenchmarkModule, interface.FullBenchmarkModule),
}


def functions(protocol: type) -> dict[str, list[str]]:
    """The functions of a protocol, inherited ones too, with the names of their arguments."""
    found = inspect.getmembers(protocol, inspect.isfunction)
    return {n: list(inspect.signature(f).parameters)[1:] for n, f in found if not n.startswith("_")}


def rows(heading: str) -> dict[str, list[str]]:
    """The functions of a section of the page, with the names of their arguments."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)\((.*?)\)` \|", section, re.MULTILINE)
    return {name: re.findall(r"\w+", arguments) for name, arguments in found}


@pytest.mark.parametrize("module", PROTOCOLS)
def test_the_page_has_the_functions_of_the_protocol(module: str) -> None:
    required, more = PROTOCOLS[module]
    assert rows(module) == functions(more or required)
    optional = functions(more).keys() - functions(required).keys() if more else set()
    for name in optional:
        assert re.search(rf"^\| `{name}\(.*\)` \| optional", PAGE, re.MULTILINE)
    assert set(base.NEEDED.get(module, ())) <= functions(required).keys()


@pytest.mark.parametrize("name", [*families.BUILT_IN, "scale_add"])
@pytest.mark.parametrize("module", PROTOCOLS)
def test_families_have_what_the_protocol_says(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if module in ("problem", "benchmark"):
        pytest.importorskip("torch")
    required, more = PROTOCOLS[module]
    found = _family(name, monkeypatch).part(module)
    if found is None:
        assert module in ("cost", "benchmark")
        return
    for function, arguments in functions(more or required).items():
        made = getattr(found, function, None)
        if made is None:
            assert module == "cost" or function not in functions(required)
            continue
        taken = list(inspect.signature(made).parameters)
        whole = [a for a in arguments if a != "common"]  # keyword arguments of the family's own
        assert taken[: len(whole)] == whole or _renamed(taken, whole), (name, function, taken)


def _renamed(taken: list[str], arguments: list[str]) -> bool:
    """Whether positional arguments are there under names of the family's own, such as t for tensors."""
    return len(taken) == len(arguments) and {*taken} - {*arguments} <= {"t"}


def _family(name: str, monkeypatch: pytest.MonkeyPatch) -> Family:
    if name in families.BUILT_IN:
        return families.load(name)
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "first_family"))
    for known in [n for n in sys.modules if n.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, known)
    base._where.cache_clear()
    found: Any = __import__(name).ScaleAdd()
    assert isinstance(found, Family)
    return found


def test_the_page_has_the_attributes_and_methods_of_the_class() -> None:
    section = PAGE.partition("\n## The class\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert named == {name for name in get_type_hints(Family) if not name.startswith("_")}
    methods = re.findall(r"^\| `(\w+)\((\w+)\)` \|", section, re.MULTILINE)
    assert [(n, list(inspect.signature(getattr(Family, n)).parameters)[1:]) for n, _ in methods] == [
        (n, [a]) for n, a in methods
    ]


def test_what_the_code_asks_of_a_problem_is_in_the_protocol() -> None:
    """The attributes that the verbs read of a family's problem."""
    asked: set[str] = set()
    for path in (ROOT / "tlxgen").rglob("*.py"):
        if "families" not in path.parts:
            asked |= set(re.findall(r"\bproblem\(?\)?\.(\w+)\(", path.read_text()))
    assert {"inputs", "reference", "launch", "tolerance"} <= asked
    known = functions(interface.OptionalProblemModule).keys()
    assert asked - known <= {
        "inputs",
        "wrong",
        "splitlines",
        "get",
        "items",
    }  # the last two, of what a variant computes
