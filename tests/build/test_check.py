"""`tlxgen build --check`: says what is stale, by exit status and a diff, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from tlxgen.cli import app

from .project import Project

Check = Callable[[], Result]


@pytest.fixture
def check(project: Project, monkeypatch: pytest.MonkeyPatch) -> Check:
    monkeypatch.chdir(project.root)
    return lambda: CliRunner().invoke(app, ["build", "--check", "specs"])


def test_nothing_stale_is_exit_0_and_no_diff(project: Project, check: Check) -> None:
    project.spec("k", "")
    project.build("k")
    result = check()
    unproven = "  unproven: k (tlxgen verify --changed specs/k.yaml)\n"
    expected = f"specs/k.yaml: up to date (1 module, 1 variant, 0 rejected)\n{unproven}"
    assert (result.exit_code, result.output) == (0, expected)


def test_nothing_built_is_exit_1_and_all_of_it_is_the_diff(project: Project, check: Check) -> None:
    project.spec("k", "")
    before = project.files()
    result = check()
    assert result.exit_code == 1
    assert "specs/k.yaml: stale" in result.output
    added = [line for line in result.output.splitlines() if line.startswith("+")]
    assert "+import triton" in added and "+def ring_slot(count, SLOTS: tl.constexpr):" in added
    assert project.files() == before


def test_an_edited_module_is_exit_1_with_a_unified_diff_back_to_what_is_built(project: Project, check: Check) -> None:
    project.spec("k", "")
    project.build("k")
    path = project.folder("k") / "k.py"
    path.write_text(path.read_text().replace("import torch\n", "import torch  # mine\n"))
    before = project.files()
    result = check()
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[1] == "  k.py had been edited by hand since the build before"
    place = lines.index("-import torch  # mine")
    assert lines[place + 1] == "+import torch"
    assert lines[2].startswith("  unproven: k")
    assert lines[3].startswith("--- ") and lines[3].endswith("generated/k/k.py (on disk)")
    assert lines[4].startswith("+++ ") and lines[4].endswith("generated/k/k.py (as built)")
    assert lines[5].startswith("@@ -")
    assert project.files() == before


def test_a_changed_spec_is_exit_1_and_its_modules_stay(project: Project, check: Check) -> None:
    project.spec("k", "")
    project.build("k")
    project.spec("k", "rings: {ab: {stages: 3}}\n")
    before = project.files()
    result = check()
    assert result.exit_code == 1
    assert any(line.startswith("+") and '"STAGES": 3' in line for line in result.output.splitlines())
    assert project.files() == before


def test_a_module_that_would_be_removed_is_stale(project: Project, check: Check) -> None:
    project.spec("k")
    project.build("k")
    project.spec("k", "")
    result = check()
    assert result.exit_code == 1
    assert "generated/k/k_in_flight0.py (on disk)" in result.output


def test_one_stale_spec_among_several_is_exit_1(project: Project, check: Check) -> None:
    for name in ("a", "b"):
        project.spec(name, "")
        project.build(name)
    (project.folder("b") / "b.py").unlink()
    result = check()
    assert result.exit_code == 1
    assert "specs/a.yaml: up to date" in result.output and "specs/b.yaml: stale" in result.output
