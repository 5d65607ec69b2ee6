"""`tlxgen diff`: specs and generated files, in the working tree and at git revisions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tlxgen import cli, lock
from tlxgen.build import build, folder_of
from tlxgen.errors import ReviewError, SpecErrors, TlxgenError
from tlxgen.review import diff, revision, source
from tlxgen.review.differences import differences, figures, sequences
from tlxgen.review.named import sides
from tlxgen.review.revision import Repository, Snapshot

ROOT = Path(__file__).resolve().parents[2]
BASE = """kernel: gemm
name: demo
arch: sm90
tile: {n: 128}
"""
CHILD = """extends: ../common/base.yaml
variants:
  axes:
    schedule.group_m: [8, 16]
"""
Said = Callable[..., str]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800).stdout


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "state")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a spec in specs/ whose parent is in another folder, committed once; the current folder."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    top = tmp_path / "repo"
    (top / "specs").mkdir(parents=True)
    (top / "common").mkdir()
    (top / "common" / "base.yaml").write_text(BASE)
    (top / "specs" / "demo.yaml").write_text(CHILD)
    git(top, "init", "-q", "-b", "main")
    commit(top)
    monkeypatch.chdir(top)
    return top


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def run(a: object, b: object, **options: bool) -> str:
        diff.run(str(a), str(b), **options)
        return capsys.readouterr().out

    return run


def rows(text: str) -> set[tuple[str, ...]]:
    """The cells of each row of the markdown tables, without the part."""
    lines = (re.split(r"(?<!\\)\|", line) for line in text.splitlines() if line.startswith("| "))
    return {tuple(cell.strip() for cell in cells[2:-1]) for cells in lines}


def test_stages_tile_and_registers_of_a_parent_at_a_revision(repo: Path, said: Said) -> None:
    parent = repo / "common" / "base.yaml"
    parent.write_text(
        BASE.replace("128}", "256}") + "rings: {ab: {stages: 3}}\ntasks: {mma: {registers: 224, order: mbarrier}}\n"
    )
    before = git(repo, "status", "--porcelain")
    text = said("HEAD", "specs/demo.yaml", markdown=True, with_source=False)
    assert text.startswith("### tlxgen diff HEAD:specs/demo.yaml -> specs/demo.yaml\n")
    assert "2 of 2 configs that both have differ" in text
    assert {
        ("ab slots", "4", "3", "-1"),
        ("ab tile b", "64 x 128", "64 x 256", "changed"),
        ("ab bytes", "131072", "147456", "+16384"),
        ("ab_full how many", "4", "3", "-1"),
        ("ab_full bytes", "32768", "49152", "+16384"),
        ("mma registers", "232", "224", "-8"),
        ("load registers", "40", "56", "+16"),
        ("registers granted to mma", "232", "224", "-8"),
        ("BLOCK_N", "128", "256", "+128"),
        ("STAGES", "4", "3", "-1"),
    } <= rows(text)
    assert "ab tile a" not in text and "BLOCK_M" not in text  # only what changed
    assert git(repo, "status", "--porcelain") == before
    assert git(repo, "diff", "--cached") == ""


def test_split_changes_roles_barriers_and_turns(repo: Path, said: Said) -> None:
    other = repo / "specs" / "ping.yaml"
    other.write_text(CHILD + "tasks: {mma: {split: pingpong}}\nname: ping\n")
    text = said("specs/demo.yaml", other, markdown=True)
    assert ("ab_empty count", "2", "1", "-1") in rows(text)
    assert ("ab tile a groups", "2", "1", "-1") in rows(text)
    assert "first id 4, threads 256" in text
    assert "named barriers: mma_turn" in text
    assert "**demo -> ping**" in text
    assert any(
        line.startswith("+") and "tlx.named_barrier_wait(4 + replica, 256)" in line for line in text.splitlines()
    )


def test_variants_added_removed_and_turned_with_the_reason(repo: Path, said: Said) -> None:
    spec = repo / "specs" / "demo.yaml"
    axes = "extends: ../common/base.yaml\nvariants: {axes: {rings.ab.stages: [3, 4, 6], tile.m: [128]}}\n"
    spec.write_text(axes)
    commit(repo)
    spec.write_text(axes.replace("3, 4, 6", "4, 5, 6") + "tile: {n: 256}\n")
    text = said("HEAD", spec, markdown=True, with_source=False)
    found = rows(text)
    assert ("kept", "3", "1", "-2") in found
    assert ("rings.ab.stages=3, tile.m=128", "kept, SMEM 114992 B", "", "removed") in found
    added = next(r for r in found if r[0] == "rings.ab.stages=5, tile.m=128")
    assert added[1:] == ("", "rejected: smem", "added")
    turned = next(r for r in found if r[0] == "rings.ab.stages=6, tile.m=128")
    assert turned[1].startswith("kept") and turned[2].startswith("rejected: smem: needs ") and turned[3] == "rejected"
    assert not any(r[0].startswith("rings.ab.stages=4, ") for r in found)


def test_an_axis_of_one_side_meets_the_other_sides_default(repo: Path, said: Said) -> None:
    spec = repo / "specs" / "demo.yaml"
    spec.write_text("extends: ../common/base.yaml\nvariants: {axes: {tasks.mma.split: [pingpong, cooperative]}}\n")
    found = rows(said("HEAD", spec, markdown=True, with_source=False))
    assert ("", "demo", "demo_cooperative", "compared by axes") in found
    assert ("", "", "demo_pingpong, 1 configs", "added") in found
    assert ("schedule.group_m=16", "kept, SMEM 147776 B", "", "removed") in found
    assert not any(row[0].startswith("schedule.group_m=8") for row in found)  # 8 is the default: on both sides


def test_a_step_that_changes_is_a_row_and_no_row_lacks_its_change(repo: Path, said: Said) -> None:
    (repo / "common" / "base.yaml").write_text(BASE + "tasks: {mma: {in_flight: 0}}\n")
    text = said("HEAD", "specs/demo.yaml", markdown=True, with_source=False)
    steps = [row for row in rows(text) if " step " in row[0]]
    assert steps and all(row[0].startswith("mma step ") and row[3] in ("changed", "added", "removed") for row in steps)
    assert max(len(cell) for row in steps for cell in row) < 100 and ";" not in "".join(map("".join, steps))
    assert all(row[-1] for row in rows(text))


def test_lists_are_compared_item_by_item() -> None:
    assert sequences("s", ["a", "b", "c"], ["a", "x", "c", "d"]) == [
        ("s 2", "b", "x", "changed"),
        ("s 4", "", "d", "added"),
    ]
    assert sequences("s", ["a", "b"], ["b"]) == [("s 1", "a", "", "removed")]


def test_a_tuned_file_is_that_of_the_revision(repo: Path, said: Said) -> None:
    for name in ("hopper_gemm_tuned", "hopper_gemm"):
        shutil.copy(ROOT / "specs" / f"{name}.yaml", repo / "specs")
    tuned = repo / "tuned" / "h200" / "hopper_gemm_tuned.yaml"
    tuned.parent.mkdir(parents=True)
    shutil.copy(ROOT / "tuned" / "h200" / "hopper_gemm_tuned.yaml", tuned)
    commit(repo)
    snapshot = Snapshot.take(Repository(repo), "HEAD", "specs/hopper_gemm_tuned.yaml", repo.parent / "into")
    assert (snapshot.at("tuned/h200/hopper_gemm_tuned.yaml")).read_bytes() == tuned.read_bytes()
    tuned.unlink()
    commit(repo)
    with pytest.raises(TlxgenError, match=r"HEAD:specs/hopper_gemm_tuned\.yaml.*tuned: no file"):
        said("HEAD:specs/hopper_gemm_tuned.yaml", "specs/demo.yaml", with_source=False)


@pytest.mark.parametrize("with_source", [True, False])
def test_specs_that_cannot_be_built_have_the_reasons_of_both(repo: Path, with_source: bool) -> None:
    too_big = BASE.replace("128}", "256}") + "rings: {ab: {stages: 7}}\n"
    for name in ("a", "b"):
        (repo / "specs" / f"{name}.yaml").write_text(too_big)
    with pytest.raises(TlxgenError) as caught:
        diff.run("specs/a.yaml", "specs/b.yaml", with_source=with_source)
    assert all(f"specs/{name}.yaml" in str(caught.value) for name in ("a", "b")) and "smem" in str(caught.value)
    commit(repo)
    with pytest.raises(TlxgenError, match="HEAD:specs/a.yaml") as caught:
        diff.run("HEAD:specs/a.yaml", "specs/demo.yaml", with_source=with_source)


def test_faults_of_both_specs_are_told_at_once(repo: Path) -> None:
    for name in ("a", "b"):
        (repo / "specs" / f"{name}.yaml").write_text("kernel: gemm\nnam: x\n")
    with pytest.raises(SpecErrors, match=r"specs/a\.yaml:(.|\n)*specs/b\.yaml:"):
        diff.run("specs/a.yaml", "specs/b.yaml")


def test_identical_specs_differ_in_nothing(repo: Path, said: Said) -> None:
    copy = repo / "specs" / "copy.yaml"
    copy.write_text("# another text, another digest, the same kernel\n" + CHILD)
    assert said("specs/demo.yaml", copy) == "no difference\n"
    assert said("HEAD", "specs/demo.yaml", with_source=False) == "no difference (source not compared)\n"


def test_source_only_change_shows_in_the_source(repo: Path, said: Said) -> None:
    (repo / "common" / "base.yaml").write_text(BASE + "cache: {a: evict_first}\n")
    text = said("HEAD:specs/demo.yaml", "specs/demo.yaml")
    assert "--- demo.py (HEAD:specs/demo.yaml)\n+++ demo.py (specs/demo.yaml)\n" in text
    assert any(line.startswith("+") and 'eviction_policy="evict_first"' in line for line in text.splitlines())
    assert "sha256" not in text
    assert said("HEAD", "specs/demo.yaml", with_source=False) == "no difference (source not compared)\n"


def test_markdown_folds_the_source_and_escapes_pipes(repo: Path, said: Said) -> None:
    (repo / "common" / "base.yaml").write_text(BASE + "cache: {a: evict_first}\ntasks: {mma: {registers: 224}}\n")
    text = said("main:./specs/demo.yaml", "specs/demo.yaml", markdown=True)
    head, details = text.split("<details>")
    assert "| part | what | A | B | change |" in head
    assert details.startswith("\n<summary>Source: +") and "\n```diff\n--- demo.py" in details
    assert details.rstrip().endswith("```\n\n</details>")
    assert diff.Table("t", ("a",), [("x | y",)]).markdown().count("\\|") == 1
    assert "````diff" in diff._folded(["+```"])


def test_compile_results_of_the_plan_are_compared(repo: Path, said: Said) -> None:
    spec = repo / "specs" / "demo.yaml"

    def record(registers: int, sass: int) -> None:
        folder = build(spec).folder
        entry = lock.read(folder)
        keys = [f"demo_kernel GROUP_M={g}" for g in (8, 16)]
        figures = {"registers": registers, "spill_store_bytes": 0, "sass": {"HGMMA": sass, "total": 9}, "digest": "ab"}
        entry["structures"]["demo"]["compiled"] = {"fbtriton": "x", "kernels": dict.fromkeys(keys, figures)}
        lock.write(folder, entry)

    record(168, 16)
    commit(repo)
    spec.write_text(CHILD + "tasks: {mma: {registers: 224}}\n")
    record(160, 12)
    text = said("HEAD", spec, markdown=True, with_source=False)
    assert ("registers, all 2 kernels", "168", "160", "-8") in rows(text)
    assert ("sass HGMMA, all 2 kernels", "16", "12", "-4") in rows(text)
    assert "spill" not in text and "digest" not in text and "note:" not in text
    spec.write_text(CHILD + "tasks: {mma: {registers: 216}}\n")  # not compiled again
    text = said("HEAD", spec, markdown=True, with_source=False)
    assert "note: " in text and "compile results of demo left out" in text and "sass" not in text


def test_generated_modules_and_folders(repo: Path, said: Said) -> None:
    spec = repo / "specs" / "demo.yaml"
    folder = build(spec).folder
    commit(repo)
    spec.write_text(CHILD.replace("16]", "32]") + "tasks: {mma: {split: pingpong, registers: 224}}\n")
    build(spec)
    for a, b in (("HEAD", "generated/demo/demo.py"), ("HEAD:generated/demo", folder)):
        text = said(a, b, markdown=True)
        assert {
            ("mma registers", "232", "224", "-8"),
            ("a_tiles how many", "STAGES * 2", "STAGES", "changed"),
            ("ab_empty arrive_count", "2", "1", "-1"),
            ("wait on id 4 + replica", "", "threads 256", "added"),
        } <= rows(text)
        assert sum("GROUP_M=32" in row[0] for row in rows(text)) == 1
        assert sum("GROUP_M=16" in row[0] and row[3] == "removed" for row in rows(text)) == 1
        assert "GROUP_M=8" not in text.split("<details>")[0]
        assert "load" not in {row[0].split(" ")[0] for row in rows(text)}
        assert "-" + " " * 8 + "with tlx.async_task(num_warps=4, registers=232, replicate=2):" in text
    assert said(folder, folder) == "no difference\n"


def test_locked_figures_of_generated_modules(repo: Path, said: Said) -> None:
    for name, registers in (("demo", 168), ("other", 128)):
        path = repo / "specs" / f"{name}.yaml"
        path.write_text(CHILD + f"name: {name}\n")
        folder = build(path).folder
        entry = lock.read(folder)
        entry["structures"][name]["compiled"] = {"kernels": {f"{name}_kernel GROUP_M=8": {"registers": registers}}}
        lock.write(folder, entry)
    modules = [folder_of(repo / "specs" / f"{n}.yaml", None) / f"{n}.py" for n in ("demo", "other")]
    text = said(*modules, markdown=True, with_source=False)
    assert rows(text) == {("what", "A", "B", "change"), ("---",) * 4, ("registers", "168", "128", "-40")}
    modules[1].write_text(modules[1].read_text() + "# edited\nx = 1\n")
    text = said(*modules)
    assert "168" not in text and "the lock's figures of other left out" in text


def test_source_summary_names_tasks_guards_and_repeats() -> None:
    text = """
CONFIGS = [triton.Config({"STAGES": 4}, num_warps=4)]
def f_kernel(a, S: tl.constexpr):
    if GUARD:
        bars = tlx.alloc_warp_barrier(S, num_warps=1, num_arrivals=2)
    else:
        bars = tlx.alloc_barriers(S, arrive_count=1)
    with tlx.async_tasks():
        # Load: copies
        # in two lines.
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[i], S * 2)
            tlx.barrier_expect_bytes(full[i], S * 2)
        with tlx.async_task(num_warps=4, replicate=2):
            tlx.barrier_expect_bytes(full[i], S * 4)
def f(a): pass
"""
    found = source.read(text, "x.py")
    assert found.name == "f"
    assert found.configs == ["STAGES=4, num_warps=4"]
    assert found.tasks == {"load": {"default": "'default'"}, "task 1": {"num_warps": 4, "replicate": 2}}
    assert found.barriers["bars"]["if"] == "GUARD" and found.barriers["bars (2)"]["if"] == "not (GUARD)"
    assert found.expected == {"full[i]": {"bytes": "S * 2", "places": 2}, "full[i] (2)": {"bytes": "S * 4"}}
    assert list(found.parts(anonymous=True)["Functions"]) == ["kernel", "host function"]
    with pytest.raises(ReviewError, match=r"x\.py:1:\d+: not Python"):
        source.read("def (", "x.py")


def test_figures_meet_by_constants_then_in_order() -> None:
    a = {"kernels": {"a_kernel N=1": {"registers": 8}, "a_kernel N=2": {"registers": 16}}, "seconds": 1}
    b = {"kernels": {"b_kernel N=2": {"registers": 16}, "b_kernel N=4": {"registers": 24, "spills": 4}}, "seconds": 3}
    assert figures(a, b, "a", "b") == [
        ("registers, kernel N=4", "8", "24", "+16"),
        ("spills, kernel N=4", "", "4", "added"),
        ("seconds", "1", "3", "+2"),
    ]
    assert figures(a, None, "a", "b") == []


def test_differences_tell_numbers_from_text() -> None:
    a, b = {"r": {"": True, "n": 1, "f": 1.5, "t": "x"}}, {"r": {"": False, "n": 3, "f": 1.0, "t": "y"}, "s": {"": 2}}
    expected = [
        ("r", "True", "False", "changed"),
        ("r n", "1", "3", "+2"),
        ("r f", "1.5", "1.0", "-0.5"),
        ("r t", "x", "y", "changed"),
    ]
    assert differences(a, b) == [*expected, ("s", "", "2", "added")]


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("nope.yaml", "specs/demo.yaml", "no file 'nope.yaml'"),
        ("specs/demo.yaml", "nope.yaml", "no spec, generated module or generated folder 'nope.yaml'"),
        ("nope", "specs/demo.yaml", "'nope' is neither"),
        ("--all", "specs/demo.yaml", "'--all' is neither"),
        ("nope:specs/demo.yaml", "specs/demo.yaml", "'nope' is not a commit of "),
        ("HEAD:specs/nope.yaml", "specs/demo.yaml", "HEAD has no specs/nope.yaml"),
        ("HEAD:../x.yaml", "specs/demo.yaml", "is not in the repository"),
        (":specs/demo.yaml", "specs/demo.yaml", "is not REV:path"),
        ("HEAD:empty", "specs/demo.yaml", "HEAD:empty is a folder without specs and generated modules"),
        ("HEAD:common", "specs/demo.yaml", "HEAD:common is a folder of specs, specs/demo.yaml is a spec"),
        ("HEAD", "HEAD:specs/demo.yaml", "a revision needs its path too"),
        ("specs/demo.yaml", "text.txt", "neither a spec"),
        ("specs/demo.yaml", "module.py", "specs/demo.yaml is a spec, module.py is a generated module"),
        ("HEAD:specs/bad.yaml", "specs/demo.yaml", "HEAD:specs/bad.yaml:1:1: "),
        ("HEAD:specs/lost.yaml", "specs/demo.yaml", "cannot extend HEAD:specs/gone.yaml"),
        ("HEAD:specs/out.yaml", "specs/demo.yaml", "outside the repository"),
        ("HEAD:specs/absolute.yaml", "specs/demo.yaml", "outside the repository"),
        ("HEAD:specs/circle.yaml", "specs/demo.yaml", "circle"),
    ],
)
def test_errors(repo: Path, a: str, b: str, message: str) -> None:
    (repo / "text.txt").write_text("")
    (repo / "module.py").write_text("")
    (repo / "empty").mkdir()
    (repo / "empty" / "text.txt").write_text("")
    parents = {
        "lost": "gone.yaml",
        "out": "../../x.yaml",
        "absolute": f"{repo}/common/base.yaml",
        "circle": "circle.yaml",
    }
    for name, parent in parents.items():
        (repo / "specs" / f"{name}.yaml").write_text(f"extends: {parent}\n")
    (repo / "specs" / "bad.yaml").write_text("kernel: gemm\nnam: x\n")
    commit(repo)
    with pytest.raises(ReviewError) as error:
        diff.run(a, b)
    assert message in str(error.value)
    assert "tlxgen-diff-" not in str(error.value)  # no path of the temporary copy


def test_no_repository_and_no_git(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lonely = tmp_path / "lonely.yaml"
    lonely.write_text(BASE)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(ReviewError, match="is not in a git repository"):
        diff.run("HEAD", str(lonely))
    with monkeypatch.context() as patched:
        patched.setattr(revision, "TIMEOUT_S", 0)
        with pytest.raises(ReviewError, match="did not end within 0 s"):
            diff.run("HEAD", "specs/demo.yaml")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReviewError, match="git is not installed"):
        diff.run("HEAD", "specs/demo.yaml")


def test_links_and_odd_names_at_a_revision(repo: Path, said: Said) -> None:
    (repo / "specs" / "link.yaml").symlink_to("demo.yaml")
    odd = repo / "specs" / "a b: ü.yaml"
    odd.write_text(CHILD)
    commit(repo)
    for path in ("specs/link.yaml", odd):
        assert said("HEAD", path, with_source=False) == "no difference (source not compared)\n"


def test_a_folder_without_the_lock_is_known_by_its_modules(repo: Path, said: Said) -> None:
    folder = build(repo / "specs" / "demo.yaml").folder
    commit(repo)
    (folder / lock.NAME).unlink()
    (folder / "helper.py").write_text("x = 1\n")  # not a generated one
    assert said("HEAD", folder) == "no difference\n"


@pytest.mark.parametrize(
    ("a", "options", "status"),
    [("HEAD", [], 0), ("HEAD", ["--exit-code"], 1), ("specs/demo.yaml", ["--exit-code"], 0), ("nope", [], 2)],
)
def test_exit_status(
    repo: Path,
    a: str,
    options: list[str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (repo / "common" / "base.yaml").write_text(BASE + "tasks: {mma: {registers: 224}}\n")
    arguments = ["tlxgen", "diff", a, "specs/demo.yaml", "--format", "markdown", "--no-source", *options]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == status
    out, err = capsys.readouterr()
    assert (out.startswith("### ") and "```" not in out) if status < 2 else err.startswith("error: 'nope' is neither")
    assert json.dumps(out)  # no lone surrogates: it can be posted


def test_folders_of_specs_name_what_changed_came_went_and_was_renamed(repo: Path, said: Said) -> None:
    specs = repo / "specs"
    for name in ("same", "gone", "old"):
        (specs / f"{name}.yaml").write_text(CHILD + f"name: {name}\ncheck: {{rtol: 0.1}}\n")
    (specs / "gone.yaml").write_text("kernel: norm_fwd\nname: gone\narch: sm90\n")
    commit(repo)
    (specs / "demo.yaml").write_text(CHILD.replace("16]", "32]"))
    (specs / "same.yaml").write_text("# a remark\n" + (specs / "same.yaml").read_text())
    (specs / "gone.yaml").unlink()
    (specs / "old.yaml").rename(specs / "new.yaml")
    (specs / "came.yaml").write_text(BASE.replace("demo", "came"))
    text = said("HEAD", "specs", markdown=True, with_source=False)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert {"| demo.yaml | demo.yaml | changed |", "| old.yaml | new.yaml | renamed, 100% alike |",
            "| gone.yaml |  | removed |", "|  | came.yaml | added |"} <= set(lines)  # fmt: skip
    assert "same.yaml" not in text
    assert "### tlxgen diff HEAD:specs/demo.yaml -> specs/demo.yaml" in text and "GROUP_M" in text or "group_m" in text
    commit(repo)
    assert said("HEAD", "specs") == "no difference\n"


def test_folders_of_generated_folders_at_a_revision(repo: Path, said: Said) -> None:
    spec = repo / "specs" / "demo.yaml"
    build(spec)
    commit(repo)
    spec.write_text(CHILD + "tasks: {mma: {registers: 224}}\n")
    build(spec)
    text = said("HEAD", "generated", markdown=True, with_source=False)
    assert "| demo | demo | changed |" in text.splitlines()
    assert ("mma registers", "232", "224", "-8") in rows(text)


def test_a_spec_of_a_folder_that_cannot_be_built_does_not_hide_the_others(repo: Path, said: Said) -> None:
    (repo / "specs" / "bad.yaml").write_text(CHILD)
    commit(repo)
    (repo / "specs" / "bad.yaml").write_text("kernel: gemm\nnam: x\n")
    (repo / "specs" / "demo.yaml").write_text(CHILD.replace("16]", "32]"))
    with pytest.raises(TlxgenError, match="specs/bad.yaml:"):
        said("HEAD", "specs", with_source=False)


def test_a_module_that_was_renamed_meets_what_it_was(repo: Path, said: Said) -> None:
    folder = build(repo / "specs" / "demo.yaml").folder
    other = repo / "other"
    shutil.copytree(folder, other)
    (other / "demo.py").rename(other / "demo_renamed.py")
    for place in (folder, other):
        (place / lock.NAME).unlink()
    text = said(folder, other, markdown=True, with_source=False)
    assert ("", "demo", "demo_renamed", "renamed, 100% alike") in rows(text)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ("HEAD", "specs")),
        (["HEAD~1"], ("HEAD~1", "specs")),
        (["specs/demo.yaml"], ("HEAD", "specs/demo.yaml")),
        (["HEAD~1", "HEAD"], ("HEAD~1:./specs", "HEAD:./specs")),
        (["HEAD~1..HEAD"], ("HEAD~1:./specs", "HEAD:./specs")),
        (["HEAD~1..", "specs/demo.yaml"], ("HEAD~1:./specs/demo.yaml", "HEAD:./specs/demo.yaml")),
        (["a", "b", "--", "specs/demo.yaml"], ("a:./specs/demo.yaml", "b:./specs/demo.yaml")),
        (["HEAD", "specs/demo.yaml"], ("HEAD", "specs/demo.yaml")),
        (["HEAD:specs", "HEAD~1:specs"], ("HEAD:specs", "HEAD~1:specs")),
        (["HEAD", "nope.yaml"], ("HEAD", "nope.yaml")),
    ],
)
def test_what_git_diff_takes_is_understood(repo: Path, given: list[str], expected: tuple[str, str]) -> None:
    assert sides(given) == expected


@pytest.mark.parametrize("given", [["a", "b", "c", "d"], ["a...b"], ["HEAD:specs/demo.yaml"]])
def test_what_cannot_be_understood_is_one_error(repo: Path, given: list[str]) -> None:
    with pytest.raises(ReviewError):
        sides(given)


def test_two_revisions_of_all_specs(repo: Path, said: Said) -> None:
    (repo / "specs" / "demo.yaml").write_text(CHILD.replace("16]", "32]"))
    commit(repo)
    text = said(*sides(["HEAD~1..HEAD"]), markdown=True, with_source=False)
    assert "| demo.yaml | demo.yaml | changed |" in text.splitlines()


def test_json_has_every_row_with_its_part(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "common" / "base.yaml").write_text(BASE + "rings: {ab: {stages: 3}}\n")
    assert diff.run("HEAD", "specs/demo.yaml", as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert (data["differs"], data["a"], data["b"]) == (True, "HEAD:specs/demo.yaml", "specs/demo.yaml")
    (table,) = (t for t in data["tables"] if t["title"] == "demo")
    row = {"part": "Rings", "what": "ab bytes", "A": "131072", "B": "98304", "change": "-32768"}
    assert row in table["rows"] and all(r["part"] for r in table["rows"])
    assert "+++ demo.py" in data["patch"]
    assert diff.run("HEAD", "specs", as_json=True, with_source=False)
    data = json.loads(capsys.readouterr().out)
    assert data["tables"][0]["rows"] == [{"A": "demo.yaml", "B": "demo.yaml", "change": "changed"}]
    assert [m["b"] for m in data["members"]] == ["specs/demo.yaml"]
    assert not diff.run("specs/demo.yaml", "specs/demo.yaml", as_json=True)
    assert json.loads(capsys.readouterr().out)["differs"] is False
