"""A generated file that somebody edited is not overwritten; what git brings from elsewhere is no edit."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tlxgen import lock
from tlxgen.cli import app
from tlxgen.errors import EditedError, LockError, TlxgenError
from tlxgen.loading import HOST

from .project import Project

THREE = "rings: {ab: {stages: 3}}\n"
FIVE = "rings: {ab: {stages: 5}}\n"


def edit(path: Path) -> None:
    path.write_text(path.read_text().replace("import torch\n", "import torch  # mine\n", 1))


def without_cache() -> None:
    shutil.rmtree(os.environ["TLXGEN_CACHE_DIR"], ignore_errors=True)


@pytest.mark.parametrize("name", ["k.py", HOST])
@pytest.mark.parametrize("spec", ["", THREE], ids=["same", "changed"])
@pytest.mark.parametrize("cache", [True, False], ids=["cache", "clone"])
def test_an_edit_stops_the_build_and_nothing_is_written(project: Project, name: str, spec: str, cache: bool) -> None:
    project.spec("k", "")
    project.build("k")
    edit(project.folder("k") / name)
    project.spec("k", spec)
    if not cache:
        without_cache()
    before = project.times()
    with pytest.raises(EditedError, match=f"{name} was edited by hand since the last build") as caught:
        project.build("k")
    assert project.times() == before
    line = (project.folder("k") / name).read_text().splitlines().index("import torch  # mine") + 1
    where = caught.value.location
    assert where and where.path == (project.folder("k") / name).as_posix()
    assert where.line == (1 if spec and name == "k.py" else line)  # the line of the edit, where nothing else differs
    assert f"build --force {project.root / 'specs' / 'k.yaml'}" in str(caught.value)


def test_force_overwrites_what_was_edited(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    project.spec("k", "")
    project.build("k")
    right = project.files()
    edit(project.folder("k") / "k.py")
    edit(project.folder("k") / HOST)
    result = CliRunner().invoke(app, ["build", "specs"])
    assert isinstance(result.exception, EditedError) and result.exception.exit_code == 2
    result = CliRunner().invoke(app, ["build", "specs", "--force"])
    assert result.exit_code == 0 and "k.py had been edited by hand" in result.output
    assert project.files() == right


def test_an_edited_module_that_would_be_removed_stops_the_build(project: Project) -> None:
    project.spec("k")
    project.build("k")
    edit(project.folder("k") / "k_in_flight0.py")
    project.spec("k", "")
    with pytest.raises(EditedError, match=r"k_in_flight0\.py was edited"):
        project.build("k")
    assert (project.folder("k") / "k_in_flight0.py").exists()


def test_a_file_that_no_build_made_is_not_overwritten(project: Project) -> None:
    project.spec("k", "")
    project.folder("k").mkdir(parents=True)
    (project.folder("k") / "k.py").write_text("# mine\n")
    with pytest.raises(EditedError, match=r"k\.py was edited"):
        project.build("k")


def test_an_edit_that_is_what_the_spec_gives_now_is_none(project: Project) -> None:
    project.spec("k", THREE)
    project.build("k")
    later = (project.folder("k") / "k.py").read_bytes()
    project.spec("k", "")
    project.build("k")
    without_cache()
    (project.folder("k") / "k.py").write_bytes(later)
    project.spec("k", THREE)
    assert project.build("k").changed == ("lock.json",)


def git(folder: Path, *arguments: str, check: bool = True) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=check, capture_output=True, timeout=1800)


@pytest.fixture
def branches(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Three branches: main, and deep and shallow, each of which has another spec and what it makes; main is there."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(project.root, "init", "-q", "-b", "main")
    for branch, text in (("main", ""), ("deep", FIVE), ("shallow", THREE)):
        if branch != "main":
            git(project.root, "checkout", "-qb", branch, "main")
        project.spec("k", text)
        project.build("k")
        git(project.root, "add", "-A")
        git(project.root, "commit", "-qm", branch)
    git(project.root, "checkout", "-q", "main")
    return project


@pytest.mark.parametrize("cache", [True, False], ids=["cache", "clone"])
def test_another_branch_is_no_edit(branches: Project, cache: bool) -> None:
    for name in ("deep", "shallow", "main"):
        git(branches.root, "checkout", "-q", name)
        if not cache:
            without_cache()
        assert branches.build("k").up_to_date
        branches.spec("k", "rings: {ab: {stages: 2}}\n")
        assert set(branches.build("k").changed) == {"k.py", "lock.json"}
        git(branches.root, "checkout", "-q", ".")


def test_a_lock_that_a_rebase_left_older_than_its_files_has_a_remedy(branches: Project) -> None:
    git(branches.root, "checkout", "-q", "deep", "--", "generated/k/k.py")
    branches.spec("k", THREE)
    before = branches.files()
    cache = Path(os.environ["TLXGEN_CACHE_DIR"])
    cache.rename(cache.with_name("away"))
    with pytest.raises(EditedError, match=r"left lock\.json older than the file:\n +tlxgen build --force"):
        branches.build("k")
    assert branches.files() == before
    shutil.rmtree(cache)
    cache.with_name("away").rename(cache)
    assert "k.py" in branches.build("k").changed  # a build of this machine made it


def compiled(project: Project, name: str) -> None:
    """Puts compile results into the lock, as `tlxgen compile` does."""
    folder = project.folder(name)
    found = lock.read(folder)
    for structure in found["structures"].values():
        structure["compiled"] = lock.sealed(structure, {"fbtriton": "1", "kernels": {"kernel": {"registers": 168}}})
    lock.write(folder, found)


def test_a_merge_conflict_in_the_lock_is_resolved_and_compile_results_are_kept(branches: Project) -> None:
    for branch in ("deep", "shallow"):
        git(branches.root, "checkout", "-q", branch)
        compiled(branches, "k")
        git(branches.root, "commit", "-qam", "compiled")
    without_cache()
    git(branches.root, "merge", "deep", check=False)
    text = (branches.folder("k") / "lock.json").read_text()
    assert "<<<<<<<" in text and "<<<<<<<" in (branches.folder("k") / "k.py").read_text()
    with pytest.raises(LockError, match="merge conflict"):
        lock.read(branches.folder("k"))
    for stages, results in ((THREE, True), (FIVE, True), ("rings: {ab: {stages: 2}}\n", False)):
        (branches.folder("k") / "lock.json").write_text(text)
        branches.spec("k", stages)
        built = branches.build("k")
        assert built.notes == ("lock.json had a merge conflict; results that hold are kept",)
        assert ("compiled" in lock.read(branches.folder("k"))["structures"]["k"]) is results
        assert "<<<<<<<" not in (branches.folder("k") / "k.py").read_text()


def test_compile_results_that_a_merge_mixed_are_dropped(project: Project) -> None:
    project.spec("k", "")
    project.build("k")
    compiled(project, "k")
    path = project.folder("k") / "lock.json"
    path.write_text(path.read_text().replace("168", "160"))
    project.spec("k", "description: other\n")  # the same device code
    project.build("k")
    assert "compiled" not in lock.read(project.folder("k"))["structures"]["k"]


NO_LOCKS: list[tuple[bytes, str]] = [
    (b"", "1:1: .*it is not JSON"),
    (b'{\n "spec": }', "2:10: .*it is not JSON"),
    (b"[]", "it is not a mapping"),
    (b"null", "it is not a mapping"),
    (b"{}", "'spec' is not a mapping"),
    (b'{"spec": {}, "structures": [], "rejected": {}}', "'structures' is not a mapping"),
    (b'{"spec": {}, "structures": {}, "rejected": {"count": "1"}}', "'rejected.count' is not a number"),
    (b'{"spec": {}, "structures": {"k": 5}, "rejected": {"count": 0}}', "'structures.k' is not a mapping"),
    (b'{"spec": {}, "structures": {"k": {}}, "rejected": {"count": 0}}', "'structures.k' has no 'source'"),
    (b"\xff\x00", "it is not UTF-8"),
    (b"[" * 100_000, "nested too deep|not JSON"),
    (b"<<<<<<< a\n{\n=======\n[]\n>>>>>>> b\n", "neither side of it can be read alone"),
]


@pytest.mark.parametrize(("data", "message"), NO_LOCKS, ids=range(len(NO_LOCKS)))
@pytest.mark.parametrize("check", [[], ["--check"]], ids=["build", "check"])
def test_a_lock_of_another_shape_is_one_error_and_stays(
    project: Project, data: bytes, message: str, check: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    project.spec("k", "")
    project.build("k")
    right = project.files()
    (project.folder("k") / "lock.json").write_bytes(data)
    before = project.files()
    result = CliRunner().invoke(app, ["build", "specs", *check])
    assert isinstance(result.exception, LockError)
    with pytest.raises(LockError, match=rf"generated/k/lock\.json:.*{message}"):
        raise result.exception
    assert project.files() == before
    if not check:
        assert CliRunner().invoke(app, ["build", "specs", "--force"]).exit_code == 0
        assert project.files() == right


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
@pytest.mark.parametrize("name", ["k.py", "lock.json"])
def test_what_is_no_file_in_the_place_of_one_is_an_error(
    project: Project, name: str, make: Callable[[Path], None]
) -> None:
    project.spec("k", "")
    project.folder("k").mkdir(parents=True)
    make(project.folder("k") / name)
    with pytest.raises(TlxgenError, match="it is a (pipe|folder)"):
        project.build("k")
