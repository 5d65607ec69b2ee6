"""`tlxgen watch`: each save is a round of differences, build and verify; a fault ends nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tlxgen.errors import ToolchainError
from tlxgen.project import real
from tlxgen.verbs import verify, watch

SPEC = "kernel: norm_fwd\nname: k\narch: sm90\ntile: {n: 256}\n"
Edit = Callable[[], object]
Run = Callable[..., int]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    path = tmp_path / "specs" / "k.yaml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], verify.Options]]:
    """What verify was asked for, in place of running it."""
    asked: list[tuple[list[str], verify.Options]] = []
    monkeypatch.setattr(verify, "run", lambda targets, options, record: asked.append((targets, options)) or 0)
    return asked


def edits(spec: Path, *each: Edit) -> watch.Saves:
    """Saves of the spec, one after the other; then an end."""
    left = iter(each)

    def saves(files: frozenset[Path]) -> Iterator[set[Path]]:
        for edit in left:
            edit()
            yield {real(spec)}

    return saves


def test_a_save_prints_what_differs_builds_and_verifies(
    spec: Path, capsys: pytest.CaptureFixture[str], verified: list[tuple[list[str], verify.Options]]
) -> None:
    saves = edits(
        spec, lambda: spec.write_text(SPEC.replace("256", "512")), lambda: spec.write_text(f"{SPEC}# a word\n")
    )
    assert watch.run([spec], watch.Options(), saves) == 0
    first, second, third = capsys.readouterr().out.split(f"--- {spec}\n")
    assert first.startswith(f"watching {spec} and ") and "templates" in first
    assert "Parameters" in second and "256" in second and "512" in second and "\n+" in second
    assert f"{spec}: " in second and " written to " in second and "(1 module, 1 variant, 0 rejected)" in second
    assert "512" in third and "\n-" in third
    made = spec.parents[1] / "generated" / "k" / "k.py"
    assert made.is_file()
    assert [targets for targets, _ in verified] == [[str(spec)]] * 2 and all(o.changed for _, o in verified)


def test_a_save_that_changes_nothing(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch.run([spec], watch.Options(verify=False), edits(spec, lambda: spec.write_text(f"{SPEC}# a word\n")))
    assert "\nno difference\n" in capsys.readouterr().out


def test_a_faulty_save_is_told_and_the_next_one_is_built(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = spec.parents[1] / "generated" / "k" / "k.py"
    there: list[bool] = []
    saves = edits(
        spec,
        lambda: spec.write_text(SPEC + "tile: {n: 1}\n"),
        lambda: (there.append(made.exists()), spec.unlink()),
        lambda: (there.append(made.exists()), spec.write_text(SPEC.replace("256", "512"))),
    )
    assert watch.run([spec], watch.Options(verify=False), saves) == 0
    out, err = capsys.readouterr()
    assert there == [False, False] and made.is_file()
    assert f"{spec}:5:1" in err and "Traceback" not in err
    assert "256" in out and "512" in out  # told from what it was before the faults


def test_a_spec_that_is_faulty_at_first_is_waited_for(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec.write_text("kernel: nothing\n")
    assert watch.run([spec], watch.Options(verify=False), edits(spec, lambda: spec.write_text(SPEC))) == 0
    assert "nothing" in capsys.readouterr().err
    assert (spec.parents[1] / "generated" / "k" / "k.py").is_file()


def test_a_parent_that_comes_is_watched_from_then_on(spec: Path) -> None:
    parent = spec.with_name("parent.yaml")
    asked: list[frozenset[Path]] = []

    def saves(files: frozenset[Path]) -> Iterator[set[Path]]:
        asked.append(files)
        if len(asked) == 1:
            parent.write_text(SPEC)
            spec.write_text("extends: parent.yaml\nname: k\n")
            yield {real(spec)}

    assert watch.run([spec], watch.Options(verify=False), saves) == 0
    assert len(asked) == 2 and real(parent) not in asked[0] and real(parent) in asked[1]
    assert any(path.suffix == ".j2" for path in asked[0])


def test_only_the_spec_that_a_save_concerns_is_built(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = spec.with_name("other.yaml")
    other.write_text(SPEC.replace("name: k", "name: other"))
    watch.run([spec, other], watch.Options(verify=False), edits(other, lambda: None))
    assert f"--- {spec}\n" not in capsys.readouterr().out
    assert sorted(p.name for p in (spec.parents[1] / "generated").iterdir()) == ["other"]


def test_an_edit_of_a_generated_file_is_not_overwritten(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = spec.parents[1] / "generated" / "k" / "k.py"
    saves = edits(spec, lambda: None, lambda: made.write_text("mine = 1\n"))
    watch.run([spec], watch.Options(verify=False), saves)
    assert made.read_text() == "mine = 1\n" and "edited by hand" in capsys.readouterr().err


def test_a_spec_that_is_not_there_is_an_error(spec: Path) -> None:
    with pytest.raises(FileNotFoundError):
        watch.run([spec.with_name("none.yaml")], watch.Options(verify=False), edits(spec))


def test_without_watchfiles_the_command_that_installs_it_is_told(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tlxgen.review.extra.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match=r"pip install 'tlxgen\[review\]'"):
        watch.run([spec], watch.Options(verify=False))


def test_a_save_is_seen_also_where_an_editor_renames(spec: Path) -> None:
    pytest.importorskip("watchfiles", reason="watchfiles is not installed (pip install 'tlxgen[review]')")
    seen = threading.Event()

    def edit() -> None:
        while not seen.wait(0.05):  # again, as the watch may not have begun yet
            new = spec.with_name(".k.yaml.new")
            new.write_text(SPEC)
            os.replace(new, spec)

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        assert next(watch.saved(frozenset({real(spec)}))) == {real(spec)}
    finally:
        seen.set()
        editor.join()
