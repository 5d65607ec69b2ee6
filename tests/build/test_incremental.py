"""A build writes what differs and nothing else; what it cannot vouch for, it makes again."""

from __future__ import annotations

import ast
import os
import shutil
import sys
from pathlib import Path

import pytest

from tlxgen import build as build_module
from tlxgen import families, lock, stamp
from tlxgen.build import PACKAGE, build, prepare
from tlxgen.errors import OvertakenError, SpecError, SpecErrors, TlxgenError
from tlxgen.loading import HOST, MODEL, MODEL_C

from .project import EIGHT, Project


def test_a_first_build_writes_the_modules_and_the_lock(project: Project) -> None:
    project.spec("k")
    built = project.build("k")
    assert built.modules == ("k_in_flight0.py", "k_in_flight1.py")
    made = {*built.modules, HOST, MODEL, MODEL_C, PACKAGE, "_k.py", "lock.json"}
    assert set(built.changed) == made == {p.name for p in project.folder("k").iterdir()}
    assert (built.variants, built.rejected) == (2, 0)


def test_a_second_build_writes_nothing(project: Project) -> None:
    project.spec("k", "")
    first = project.build("k")
    before = project.times()
    second = project.build("k")
    assert second.up_to_date
    assert project.times() == before
    assert (second.modules, second.variants, second.rejected) == (first.modules, first.variants, first.rejected)


def test_a_second_build_reads_no_spec_and_no_template(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.spec("k", "")
    project.build("k")
    monkeypatch.setattr(build_module, "make", None)
    assert project.build("k").up_to_date


def test_a_spec_that_is_touched_or_saved_again_unchanged_is_up_to_date(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = project.spec("k", "")
    project.build("k")
    os.utime(spec, ns=(1, 1))
    monkeypatch.setattr(build_module, "make", None)
    assert project.build("k").up_to_date
    project.spec("k", "")
    assert project.build("k").up_to_date


def test_a_changed_spec_leaves_the_files_of_others_alone(project: Project) -> None:
    project.spec("one", "")
    project.spec("two", "")
    project.build("one")
    project.build("two")
    before = project.times()
    project.spec("one", "rings: {ab: {stages: 3}}\n")
    assert len(project.build("one").changed) == 2
    assert project.build("two").up_to_date
    changed = {name for name, time in project.times().items() if time != before[name]}
    assert changed == {"one/lock.json", "one/one.py"}


def test_a_changed_parent_makes_its_child_stale(project: Project) -> None:
    project.spec("parent", "")
    child = project.root / "specs" / "child.yaml"
    child.write_text("extends: parent.yaml\nname: child\n")
    project.build("child")
    project.spec("parent", "rings: {ab: {stages: 3}}\n")
    assert "child.py" in project.build("child").changed
    assert '"STAGES": 3' in (project.folder("child") / "child.py").read_text()


@pytest.mark.parametrize("name", ["k.py", "lock.json", HOST])
def test_a_deleted_file_is_restored_and_only_that_one_is_written(project: Project, name: str) -> None:
    project.spec("k", "")
    project.build("k")
    right, before = project.files(), project.times()
    (project.folder("k") / name).unlink()
    assert project.build("k").changed == (name,)
    assert project.files() == right
    after = project.times()
    assert {n for n in after if after[n] != before[n]} == {f"k/{name}"}


BROKEN = [b"", b"[]", b"{}", b"\xff\x00", b"null", b'{"generator": 1, "inputs": [], "outputs": []}']


def test_a_broken_stamp_is_ignored_and_replaced(project: Project) -> None:
    spec = project.spec("k", "")
    project.build("k")
    (path,) = (stamp.cache_folder() / "stamps").glob("*.json")
    for text in BROKEN:
        path.write_bytes(text)
        assert not stamp.is_current(spec, project.folder("k"), stamp.templates())
    assert project.build("k").up_to_date  # nothing differs: nothing is written, but the stamp is there again
    assert stamp.is_current(spec, project.folder("k"), stamp.templates())


def test_another_generator_makes_everything_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = project.spec("k", "")
    project.build("k")
    monkeypatch.setattr(stamp, "generator", lambda: "another")
    assert not stamp.is_current(spec, project.folder("k"), stamp.templates())


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.root / "file").touch()
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(project.root / "file" / "cache"))
    project.spec("k", "")
    assert not project.build("k").up_to_date
    assert project.build("k").up_to_date


def test_a_spec_that_changes_during_its_build_writes_nothing(project: Project) -> None:
    spec = project.spec("k", "")
    project.build("k")
    before = project.files()

    def edit(done: int, total: int) -> None:
        if done == total:
            project.spec("k", "rings: {ab: {stages: 3}}\n")

    project.spec("k", "rings: {ab: {stages: 5}}\n")
    with pytest.raises(OvertakenError, match=r"specs/k\.yaml:1:1: this file has changed since it was read"):
        build(spec, on_step=edit)
    assert {n: b for n, b in project.files().items() if n != "specs/k.yaml"} == {
        n: b for n, b in before.items() if n != "specs/k.yaml"
    }
    project.build("k")
    assert '"STAGES": 3' in (project.folder("k") / "k.py").read_text()


def test_of_two_builds_that_overlap_the_one_that_read_the_spec_last_wins(project: Project) -> None:
    older = prepare(project.spec("k", ""))
    newer = prepare(project.spec("k", "rings: {ab: {stages: 3}}\n"))
    newer.write()
    after = project.files()
    with pytest.raises(OvertakenError):
        older.write()
    assert project.files() == after


def test_a_spec_that_begins_with_a_byte_order_mark_has_not_changed(project: Project) -> None:
    spec = project.spec("k", "")
    spec.write_bytes(b"\xef\xbb\xbf" + spec.read_bytes())
    assert not project.build("k").up_to_date


def test_modules_of_structures_that_are_gone_are_removed_and_foreign_files_stay(project: Project) -> None:
    project.spec("k")
    project.build("k")
    (project.folder("k") / "notes.py").write_text("# mine\n")
    project.spec("k", "")
    changed = {"k.py", "k_in_flight0.py", "k_in_flight1.py", "_k.py", PACKAGE, "lock.json"}
    assert set(project.build("k").changed) == changed
    there = {p.name for p in project.folder("k").iterdir()}
    assert there == {"k.py", HOST, MODEL, MODEL_C, PACKAGE, "lock.json", "notes.py"}


def test_another_text_of_what_modules_share_makes_every_folder_stale(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(stamp.templates(), tmp_path / "templates"))
    monkeypatch.setattr(stamp, "templates", lambda: copy)
    project.spec("k", "")
    project.build("k")
    assert project.build("k").up_to_date
    with (copy / "lib" / HOST).open("a") as file:
        file.write("# more\n")
    assert HOST in project.build("k").changed
    assert (project.folder("k") / HOST).read_text().endswith("# more\n")


@pytest.mark.parametrize("folder", ["spec", "plan", "families", "render"])
def test_no_file_that_a_build_can_read_is_left_out_of_the_generators_digest(folder: str) -> None:
    there = {p for p in (stamp.PACKAGE / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert there and not there - {p for pattern in stamp.GENERATOR for p in stamp.PACKAGE.glob(pattern)}


def test_a_folder_that_belongs_to_another_spec_is_refused(project: Project) -> None:
    spec = project.spec("k", "")
    project.build("k")
    other = project.root / "k.yaml"
    other.write_text(spec.read_text().replace("n: 128", "n: 64"))
    before = project.files()
    with pytest.raises(SpecError, match="holds what specs/k.yaml makes; k.yaml has the same file name"):
        build(other, out=project.root / "generated")
    assert project.files() == before


def test_an_error_leaves_what_was_built_as_it_was(project: Project) -> None:
    project.spec("k", "")
    project.build("k")
    for text in ("tile: {n: 100}\n", "rings: {ab: {stages: 60}}\n", "variants: 3\n", "\t"):
        spec = project.spec("k", text)
        before = project.files()
        for check in (False, True):
            with pytest.raises(TlxgenError):
                build(spec, check=check)
        assert project.files() == before


def test_a_folder_that_cannot_be_made_is_an_error_of_the_user(project: Project) -> None:
    spec = project.spec("k", "")
    (project.root / "file").write_text("mine")
    with pytest.raises(TlxgenError, match="cannot .*/file/k"):
        build(spec, out=project.root / "file")
    assert (project.root / "file").read_text() == "mine"


def test_structures_are_rendered_in_parallel_to_the_same_bytes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = project.spec("k")
    serial = build_module.make(spec, project.folder("k")).files
    monkeypatch.setattr(build_module, "parent_process", lambda: None)
    monkeypatch.setattr(build_module, "PARALLEL_FROM", 2)
    monkeypatch.setattr(build_module, "CHUNK", 1)
    steps: list[tuple[int, int]] = []
    parallel = build_module.make(spec, project.folder("k"), lambda done, total: steps.append((done, total))).files
    assert parallel == serial
    assert steps == [(0, 2), (1, 2), (2, 2)]


def test_eight_structures_are_reason_enough_for_workers(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int | None] = []

    class Pool:
        def __init__(self, workers: int | None, **options: object) -> None:
            sizes.append(workers)

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *error: object) -> None: ...

        def map(self, function: object, jobs: list[object], chunksize: int) -> list[str]:
            return ["" for _ in jobs]

    monkeypatch.setattr(build_module, "parent_process", lambda: None)
    monkeypatch.setattr(build_module, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(build_module.os, "cpu_count", lambda: 64)
    made = build_module.make(project.spec("k", EIGHT), project.folder("k"))
    assert len(made.files) == 8 + len((HOST, MODEL, MODEL_C, PACKAGE, "_k.py", "lock.json"))
    assert sizes == [2]  # no more than there are chunks to hand out


def test_the_lock_keeps_compile_results_while_the_source_stands(project: Project) -> None:
    project.spec("k", "")
    project.build("k")
    folder = project.folder("k")
    compiled = {"kernels": {"k": {"registers": 168}}}
    entry = lock.read(folder)
    for structure in entry["structures"].values():
        structure["compiled"] = lock.sealed(structure, compiled)
    lock.write(folder, entry)
    (folder / "k.py").unlink()  # so that there is something to build
    assert project.build("k").changed == ("k.py",)
    assert lock.read(folder)["structures"]["k"]["compiled"]["kernels"] == compiled["kernels"]
    project.spec("k", "rings: {ab: {stages: 3}}\n")
    project.build("k")
    assert "compiled" not in lock.read(folder)["structures"]["k"]


OUTSIDE = """
from tlxgen.families.gemm import Gemm


class Other(Gemm):
    name = "gemm"
    template = "other.py.j2"
"""


def test_a_template_of_a_family_from_outside_counts_as_an_input(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "other_family"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").write_text(OUTSIDE)
    template = package / "templates" / "other.py.j2"
    template.write_text('{% include "gemm/module.py.j2" %}\n\n\nA = 1\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(families.BUILT_IN, "gemm", "other_family:Other")
    monkeypatch.delitem(sys.modules, "other_family", raising=False)
    project.spec("k", "")
    project.build("k")
    assert project.build("k").up_to_date
    template.write_text(template.read_text().replace("A = 1", "A = 2"))
    assert "k.py" in project.build("k").changed
    assert "A = 2" in (project.folder("k") / "k.py").read_text()


def test_every_fault_of_a_spec_is_raised_at_once(project: Project) -> None:
    project.spec("k", "rings: {ab: {stages: 0}}\nschedule: {group_m: 0}\n")
    with pytest.raises(SpecErrors) as caught:
        project.build("k")
    assert len(caught.value.errors) == 2


@pytest.mark.parametrize(
    ("description", "first"),
    [
        ("'  '", "k: gemm, for sm90."),
        ('\'a """ in it\'', "k: a ''' in it, for sm90."),
        ("'\\N and \\'", "k: \\N and \\, for sm90."),
        ('"two\\nlines."', "k: two, for sm90."),
    ],
)
def test_a_description_is_text_whatever_is_in_it(project: Project, description: str, first: str) -> None:
    project.spec("k", f"description: {description}\n")
    project.build("k")
    header = ast.get_docstring(ast.parse((project.folder("k") / "k.py").read_text()))
    assert header and header.splitlines()[0] == first


def test_a_long_description_and_many_axes_are_wrapped(project: Project) -> None:
    axes = "epilogue.store: [tma], tasks.mma.in_flight: [1], rings.ab.full: [shared], rings.ab.empty: [leader]"
    project.spec("k", f"description: {'long ' * 60}\nvariants: {{axes: {{schedule.kind: [persistent], {axes}}}}}\n")
    project.build("k")
    lines = (project.folder("k") / "k.py").read_text().splitlines()
    header = lines[: lines.index('"""')]
    assert max(map(len, header)) <= 120
    assert sum("long long" in line for line in header) == 3
    assert any(line.startswith("          ") and "rings.ab.empty=leader" in line for line in header)
