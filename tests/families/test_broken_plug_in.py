"""A family from outside that is broken harms nothing but itself, and is one line wherever it is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tlxgen import families
from tlxgen.errors import FamilyError

ROOT = Path(__file__).parents[2]
MODEL = """
from typing import Literal
from pydantic import Field
from tlxgen.families import Family
from tlxgen.spec import CommonSpec
class Spec(CommonSpec):
    kernel: Literal["broken"] = Field(description="The family.")
class Broken(Family):
    name = "broken"
    model = Spec
    axes = ()
"""
# what the package is -> words of the error
PACKAGES = {
    "import of what is not there": ("import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
    "syntax": ("def", "invalid syntax"),
    "exit": ("raise SystemExit('no licence')", "SystemExit: no licence"),
    "raise": ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
    "no class": ("x = 1", "module 'broken_family' has no attribute 'Broken'"),
    "another class": ("class Broken: pass", "which is not a tlxgen.families.Family"),
    "no model": (MODEL.replace("model = Spec", ""), "Broken.model is not a tlxgen.spec.CommonSpec"),
    "another model": (MODEL.replace("model = Spec", "model = int"), "Broken.model is not a tlxgen.spec.CommonSpec"),
    "no axes": (MODEL.replace("axes = ()", ""), "Broken.axes is not a tuple of tlxgen.families.kit.Axis"),
    "another name": (MODEL.replace('name = "broken"', 'name = "sound"'), "Broken.name is 'sound'"),
    "abstract": (MODEL + "    def __init__(self): raise TypeError('which GPU?')", "TypeError: which GPU?"),
}


def install(site: Path, code: str) -> None:
    info = site / "broken_family-1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: broken-family\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text("[tlxgen.families]\nbroken = broken_family:Broken\n")
    package = site / "broken_family"
    package.mkdir()
    package.joinpath("__init__.py").write_text(code)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_family", raising=False)
    return tmp_path


def tlxgen(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    command = [sys.executable, "-m", "tlxgen", *words]
    return subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", PACKAGES)
def test_it_is_one_error_with_the_package_and_the_reason(site: Path, name: str) -> None:
    code, words = PACKAGES[name]
    install(site, code)
    with pytest.raises(FamilyError) as error:
        families.load("broken")
    assert words in error.value.message and "\n" not in error.value.message
    assert error.value.message.startswith("the kernel family 'broken' of broken-family does not load: ")
    good, broken = families.loaded()
    assert set(families.BUILT_IN) <= set(good) and "broken" not in good
    assert {n: e.message for n, e in broken.items()} == {"broken": error.value.message}
    sys.modules.pop("broken_family", None)


def test_the_schema_has_the_others_and_a_note(site: Path) -> None:
    before = tlxgen(site, "schema")
    install(site, "import nothing_of_this_name")
    done = tlxgen(site, "schema")
    assert (done.returncode, done.stdout) == (0, before.stdout) and json.loads(done.stdout)
    (line,) = done.stderr.splitlines()
    assert line.startswith("note: left out: the kernel family 'broken' of broken-family does not load: ")


def test_the_schema_has_the_others_when_a_model_has_none(site: Path) -> None:
    before = tlxgen(site, "schema")
    field = "    odd: __import__('collections').abc.Callable[[int], int] = Field(print, description='No JSON.')\n"
    install(site, MODEL.replace("class Broken", field + "class Broken"))
    done = tlxgen(site, "schema")
    assert (done.returncode, done.stdout) == (0, before.stdout)
    assert done.stderr.startswith("note: left out: the kernel family 'broken' has no JSON Schema: ")


def test_only_its_own_specs_fail_and_at_their_place(site: Path) -> None:
    install(site, "import nothing_of_this_name")
    (site / "bad.yaml").write_text("name: bad\nkernel: broken\narch: sm90\n")
    (site / "good.yaml").write_text("kernel: gemm\nname: good\narch: sm90\ntile: {n: 128}\n")
    done = tlxgen(site, "build", "bad.yaml", "good.yaml")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.startswith("bad.yaml:2:9: the kernel family 'broken' of broken-family does not load: ")
    assert sorted(p.name for p in (site / "generated").iterdir()) == ["good"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "it has no module plan"),
        ({"plan": "x = 1"}, "its module plan lacks build"),
        ({"plan": "import nothing_of_this_name"}, "the module broken_family.plan of a kernel family does not load"),
    ],
    ids=["none", "incomplete", "broken"],
)
def test_a_module_that_is_missing_or_broken_is_one_error(site: Path, files: dict[str, str], words: str) -> None:
    install(site, MODEL)
    for name, text in files.items():
        (site / "broken_family" / f"{name}.py").write_text(text)
    (site / "bad.yaml").write_text("name: bad\nkernel: broken\narch: sm90\n")
    done = tlxgen(site, "list", "bad.yaml")
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
