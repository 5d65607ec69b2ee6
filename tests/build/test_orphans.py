"""Folders whose spec is gone are named and, with `--prune`, removed; names under which nothing could be imported."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner, Result

from tlxgen.build import build
from tlxgen.cli import app
from tlxgen.errors import EditedError, SpecError
from tlxgen.loading import HOST

from .project import HEAD, Project


@pytest.fixture
def two(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of two specs, both built, one of which has been deleted."""
    monkeypatch.chdir(project.root)
    for name in ("kept", "gone"):
        project.spec(name, "")
        project.build(name)
    (project.root / "specs" / "gone.yaml").unlink()
    return project


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


NAMED = "generated/gone: its spec specs/gone.yaml is gone (tlxgen build --prune removes the folder)"


def test_an_orphan_is_named_and_stale_and_stays(two: Project) -> None:
    before = two.files()
    result = invoke("build", "specs")
    assert result.exit_code == 0 and NAMED in result.output.splitlines()
    result = invoke("build", "--check", "specs")
    assert result.exit_code == 1 and NAMED in result.output.splitlines()
    assert two.files() == before


def test_prune_removes_the_folder_and_no_other(two: Project) -> None:
    (two.folder("gone") / "__pycache__").mkdir()
    (two.root / "generated" / "mine").mkdir()
    (two.root / "generated" / "mine" / "lock.json").write_text("{}")  # no lock of ours
    result = invoke("build", "--prune", "specs")
    assert result.exit_code == 0
    assert "generated/gone: removed, its spec specs/gone.yaml is gone" in result.output.splitlines()
    assert {p.name for p in (two.root / "generated").iterdir()} == {"kept", "mine"}
    assert invoke("build", "--check", "specs").exit_code == 0


def test_prune_works_where_no_spec_is_left(two: Project) -> None:
    (two.root / "specs" / "kept.yaml").unlink()
    assert invoke("build", "--prune", "specs").exit_code == 0
    assert not list((two.root / "generated").iterdir())


def test_prune_leaves_what_no_build_made(two: Project) -> None:
    (two.folder("gone") / "notes.py").write_text("# mine\n")
    assert "left as no build made it: notes.py" in invoke("build", "--prune", "specs").output
    assert [p.name for p in two.folder("gone").iterdir()] == ["notes.py"]


@pytest.mark.parametrize("name", ["gone.py", HOST])
def test_prune_stops_at_what_somebody_edited(two: Project, name: str) -> None:
    path = two.folder("gone") / name
    path.write_text(path.read_text() + "# mine\n")
    before = two.files()
    with pytest.raises(EditedError, match=f"generated/gone/{name}:1:1: {name}: edited by hand"):
        invoke("build", "--prune", "specs")
    assert two.files() == before
    assert invoke("build", "--prune", "--force", "specs").exit_code == 0
    assert not two.folder("gone").exists()


def test_json_has_specs_and_orphans(two: Project) -> None:
    two.spec("kept", "rings: {ab: {stages: 3}}\n")
    result = invoke("build", "--check", "--json", "specs")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    (spec,), (orphan,) = data["specs"], data["orphans"]
    assert (spec["spec"], spec["state"]) == ("specs/kept.yaml", "stale")
    assert spec["changed"] == ["kept.py", "lock.json"] and '+    triton.Config({"BLOCK_M": 128' in spec["diff"]
    assert orphan == {"folder": str(two.folder("gone")), "spec": str(two.root / "specs/gone.yaml"), "state": "found"}
    data = json.loads(invoke("build", "--prune", "--json", "specs").stdout)
    assert data["specs"][0]["state"] == "written" and data["orphans"][0]["state"] == "removed"
    assert json.loads(invoke("build", "--json", "specs").stdout)["orphans"] == []


@pytest.mark.parametrize(
    "options", [["--check", "--prune"], ["--prune", "--out", "x"], ["--verify", "--json"], ["--verify", "--prune"]]
)
def test_options_that_contradict_each_other_are_refused(two: Project, options: list[str]) -> None:
    assert invoke("build", "specs", *options).exit_code == 2


def test_a_renamed_spec_takes_nothing_over_and_its_old_folder_is_an_orphan(two: Project) -> None:
    (two.root / "specs" / "kept.yaml").rename(two.root / "specs" / "other.yaml")
    result = invoke("build", "specs")  # of the same `name`, which is no fault: the other spec is gone
    assert "generated/kept: its spec specs/kept.yaml is gone" in result.output


def test_a_spec_that_moves_keeps_its_folder(project: Project) -> None:
    spec = project.spec("k", "")
    project.build("k")
    moved = shutil.move(spec, project.root / "k.yaml")
    assert build(moved).changed == ("__init__.py", "k.py", "lock.json")  # headers and the lock name the spec


@pytest.mark.parametrize(
    ("stem", "better"),
    [("my-gemm.v2", "my_gemm_v2"), ("a b", "a_b"), ("2nd", "k_2nd"), ("class", "class_"), ("torch", "my_torch"),
     ("types", "my_types")],
)  # fmt: skip
def test_a_file_name_that_cannot_be_imported_is_refused(project: Project, stem: str, better: str) -> None:
    spec = project.spec("k", "")
    spec = spec.rename(spec.with_name(f"{stem}.yaml"))
    with pytest.raises(SpecError, match=rf"yaml:1:1: its modules could not be imported[^\n]*\n.*to {better}\.yaml"):
        build(spec)
    with pytest.raises(SpecError, match="could not be imported"):
        build(spec, check=True)
    assert not (project.root / "generated").exists()


def test_two_specs_of_one_name_are_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    project.spec("one", "")
    (project.root / "specs" / "two.yaml").write_text(HEAD.format(name="one") + "rings: {ab: {stages: 3}}\n")
    with pytest.raises(SpecError, match="specs/two.yaml:2:7: specs/one.yaml has the name 'one', too"):
        invoke("build", "specs")
    assert not project.folder("two").exists()


def test_two_specs_may_exchange_their_names(project: Project) -> None:
    for name in ("one", "two"):
        project.spec(name, "")
        project.build(name)
    for name, other in (("one", "two"), ("two", "one")):
        (project.root / "specs" / f"{name}.yaml").write_text(HEAD.format(name=other))
    assert f"{'two'}.py" in project.build("one").changed
    assert "one.py" in project.build("two").changed
