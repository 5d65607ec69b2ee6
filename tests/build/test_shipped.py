"""What the repository ships fits together: specs, schema, and generated/ as this version makes it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from tests.sim import support
from tlxgen import build, families, lock
from tlxgen.build import PACKAGE
from tlxgen.loading import HOST
from tlxgen.spec import json_schema

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
SHARE = 8


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json_schema({name: families.load(name).model for name in families.names()})


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_generated_is_up_to_date(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tlxgen build --check` says, where only the modules of `to_render` are rendered anew, and others are as found.

    All else is made anew for each spec: its variants, their plans, the package and the lock, which has digests of spec,
    templates and plans, and of the modules as they are. So a spec, a template or a plan without its build is found in
    each spec, and an edit in each file. A change of the renderer alone is found in the modules that are rendered, some
    of each spec; and .ci/verify builds all of them.
    """
    drawn = to_render(spec.stem)
    monkeypatch.setattr(build, "_render_all", lambda jobs, _: [rendered(job, spec.stem, drawn) for job in jobs])
    checked = build.build(spec, check=True)
    assert checked.up_to_date, checked.diff[:4000]


def rendered(job: Any, name: str, drawn: Collection[str], folder: Path = ROOT / "generated") -> str:
    module = job.structure.name
    return str(job.render()) if module in drawn else (folder / name / f"{module}.py").read_text(encoding="utf-8")


def to_render(name: str) -> set[str]:
    """Of a spec's modules those that differ from the commit before, and of the others one of each SHARE, at least one.

    The commit's hash decides on them, so that nobody chooses. Outside of a repository they are all.
    """
    now, (head, before) = lock.read(ROOT / "generated" / name)["structures"], locks_before()
    if not head:
        return {*now}
    was = before.get(name, {})
    others = [s for s, entry in now.items() if entry["source"] != was.get(s, {}).get("source")]
    return {*others, *Random(head + name).sample([*now], -(-len(now) // SHARE))}


@cache
def locks_before() -> tuple[str, dict[str, dict[str, Any]]]:
    """The commit's hash, and the structures of all locks at the commit before; nothing outside of a repository."""
    head, *parents = (support.git("log", "-1", "--format=%H %P").split() or [""])[:2]
    return head, support.locks_at(parents[0], [spec.stem for spec in SPECS]) if parents else {}


def test_continuous_integration_renders_all() -> None:
    assert "tlxgen build --check specs\n" in (ROOT / ".ci" / "verify").read_text()


def test_what_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "hopper_attention_bwd_packed"
    entries = lock.read(ROOT / "generated" / name)["structures"]

    def drawn(head: str, **others: str) -> set[str]:
        before = {s: entry | {"source": others.get(s, entry["source"])} for s, entry in entries.items()}
        monkeypatch.setattr(sys.modules[__name__], "locks_before", lambda: (head, {name: before} if head else {}))
        return to_render(name)

    assert drawn("") == {*entries}  # no repository
    some = drawn("one")
    assert len(some) == -(-len(entries) // SHARE) < len(entries) and {*some} <= {*entries}
    assert drawn("one") == some and len({frozenset(drawn(str(n))) for n in range(9)}) > 1
    left = next(s for s in entries if s not in some)
    assert drawn("one", **{left: "another"}) == {*some, left}


def test_an_edit_is_seen_in_a_module_that_is_not_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "hopper_gemm"
    spec = ROOT / "specs" / f"{name}.yaml"
    shutil.copytree(ROOT / "generated" / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(build, "_render_all", lambda jobs, _: [rendered(job, name, (), tmp_path) for job in jobs])
    assert build.build(spec, out=tmp_path, check=True).up_to_date
    with (tmp_path / name / f"{name}_pingpong.py").open("a") as module:
        module.write("# mine\n")
    assert build.build(spec, out=tmp_path, check=True).changed == (lock.NAME,)


def test_every_folder_of_generated_has_its_spec() -> None:
    assert {p.name for p in (ROOT / "generated").iterdir()} == {p.stem for p in SPECS}


def test_the_schema_is_a_schema(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


def test_the_schema_that_editors_use_is_that_of_the_code(schema: dict[str, Any]) -> None:
    """`tlxgen schema > docs/spec.schema.json` writes it."""
    shipped = json.loads((ROOT / "docs" / "spec.schema.json").read_text(encoding="utf-8"))
    assert shipped == json.loads(json.dumps(schema))


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_valid_by_the_schema_that_editors_use(spec: Path, schema: dict[str, Any]) -> None:
    data = YAML(typ="safe", pure=True).load(spec.read_text())
    assert [f"{e.json_path}: {e.message}" for e in Draft202012Validator(schema).iter_errors(data)] == []
    assert list(Draft202012Validator(schema).iter_errors(data | {"tiles": 1}))  # it does look


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_names_the_schema_file(spec: Path) -> None:
    first = spec.read_text().splitlines()[0]
    prefix = "# yaml-language-server: $schema="
    assert first.startswith(prefix)
    assert (spec.parent / first.removeprefix(prefix)).is_file()


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_shipped_lock_names_the_modules_that_are_there(spec: Path) -> None:
    folder = ROOT / "generated" / spec.stem
    entry = lock.read(folder)
    expected = {"lock.json", HOST, PACKAGE, *(f"{n}.py" for n in entry["structures"]), *entry["package"]}
    assert {p.name for p in folder.iterdir()} - {"__pycache__"} == expected  # other tests import modules
