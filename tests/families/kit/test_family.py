"""A family is a class of attributes; its modules are found by their names, beside it or what it inherits from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tlxgen.errors import TlxgenError
from tlxgen.families import load
from tlxgen.spec import load as read

SPEC = '''
from typing import Literal
from pydantic import Field
from tlxgen.families import kit
from tlxgen.spec import CommonSpec, SpecModel

class Tile(SpecModel):
    m: int = Field(64, description="Rows.")

class TinySpec(CommonSpec):
    """y = x."""
    kernel: Literal["tiny"] = Field(description="The kernel family.")
    tile: Tile = Field(Tile(), description="Extents.")
    def faults(self):
        extents = kit.faults.powers_of_two(self, ("tile.m",), "a tile extent")
        return [*kit.faults.target(self, "sm90"), *kit.faults.name(self), *kit.faults.guards(self), *extents]
'''
FAMILY = """
from tlxgen.families.base import Family
from tlxgen.families.kit import Axis
from .spec import TinySpec

class Tiny(Family):
    name, model = "tiny", TinySpec
    axes = (Axis("tile.m", "BLOCK_M", "rows of a tile", blame=("smem",), default=64),)

class Less(Tiny):
    name = "less"
"""
PLAN = """
from tlxgen.arch import ARCHS
from tlxgen.families import kit
from tlxgen.plan import Holds, Plan, Role, complete
def build(spec, *, guards, baked):
    from . import Tiny
    role = Role("copy", 4, ("load", "store"), default=True, holds=Holds(working=40))
    parameters = tuple(kit.parameters(Tiny.axes, spec, guards=guards, baked=baked))
    return complete(Plan(spec.name, "tiny", ARCHS[spec.arch], (role,), (role,), (), (), parameters, specialized=False))
"""
COST = "def flops(spec, shape): return 7.0\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tiny_family"
    (folder / "templates" / "tiny").mkdir(parents=True)
    for name, text in (
        ("__init__", FAMILY),
        ("spec", SPEC),
        ("plan", PLAN),
        ("cost", "def flops(spec, shape): return 7.0"),
    ):
        (folder / f"{name}.py").write_text(text)
    (folder / "templates" / "tiny" / "module.py.j2").write_text("def helper(x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [n for n in sys.modules if n.split(".")[0] == "tiny_family"]:
        monkeypatch.delitem(sys.modules, name)
    return folder


def document(folder: Path, text: str = "") -> Path:
    path = folder / "k.yaml"
    path.write_text(f"kernel: tiny\nname: k\narch: sm90\n{text}")
    return path


def test_modules_are_found_by_their_names(package: Path, tmp_path: Path) -> None:
    from tiny_family import Less, Tiny  # type: ignore[import-not-found]

    assert (Tiny.template, Less.template) == ("tiny/module.py.j2", "less/module.py.j2")
    for family in (Tiny(), Less()):
        assert (family.flops(None, ()), family.bytes_moved(None, ()), family.cost(None, (), 1)) == (7.0, 0.0, 0.0)
        assert family.part("problem") is None
        with pytest.raises(TlxgenError, match="does not say how its kernels are timed"):
            family.benchmark()
    (structure,) = Tiny().kernels(read(document(tmp_path))).structures
    assert dict(structure.baked) == {"BLOCK_M": 64} and not structure.plan.reasons
    (kept,) = Tiny().kernels(read(document(tmp_path, "keep: [tile.m]\n"))).structures
    assert not kept.baked
    (varied,) = Tiny().kernels(read(document(tmp_path, "variants: {axes: {tile.m: [64, 128]}}\n"))).structures
    assert not varied.baked and len(varied.variants) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tile: {m: 48}\n", "a tile extent is a power of two, not 48"),
        ("name: helper\n", "the module needs the name helper for something else"),
        ("name: print\n", "the module needs the name print for something else"),
        ("arch: sm100\n", "the tiny family does not target sm100 yet; it targets sm90"),
        ("guards: {LATER: keep}\n", "no task is guarded by LATER: no task of this family has a guard"),
    ],
)
def test_faults_that_all_families_share(package: Path, tmp_path: Path, text: str, message: str) -> None:
    from tiny_family import Tiny

    path = document(tmp_path)
    key = text.split(":")[0]
    rest = "".join(line for line in path.read_text().splitlines(True) if not line.startswith(f"{key}:"))
    path.write_text(rest + text)
    with pytest.raises(TlxgenError, match=message):
        Tiny().kernels(read(path))


def test_a_family_that_inherits_uses_the_modules_of_its_parent() -> None:
    gradients, alone = load("attention_bwd"), load("attention_bwd_dq")
    assert alone.part("problem") is gradients.part("problem") and alone.part("benchmark") is gradients.part("benchmark")
    assert alone.part("plan") is not gradients.part("plan")
