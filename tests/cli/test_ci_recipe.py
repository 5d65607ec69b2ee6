"""The recipe for CI: review.sh in a clone, as a pull request has it; and the action that runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tlxgen.build import build

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "tlxgen-review"
SPEC = "kernel: norm_fwd\nname: k\narch: sm90\ntile: {n: 256}\n"


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A project of one spec whose last commit changes it, with modules as they are built."""
    project = tmp_path / "project"
    (project / "specs").mkdir(parents=True)
    git(project, "init", "-q")
    for text in (SPEC, SPEC.replace("256", "512")):
        (project / "specs" / "k.yaml").write_text(text)
        build(project / "specs" / "k.yaml")
        git(project, "add", "-A")
        git(project, "commit", "-qm", text.splitlines()[-1])
    return project


def run(clone: Path, **more: str) -> tuple[int, str]:
    """review.sh in a clone: its status, and the comment."""
    tool = clone.parent / "bin" / "tlxgen"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tlxgen "$@"\n')
    tool.chmod(0o755)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    out = clone.parent / "out"
    environment = {**os.environ, "PYTHONPATH": path, "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"BASE": "HEAD^", "OUT": str(out), "VERIFY": "false", **more}
    done = subprocess.run(
        ["bash", str(ACTION / "review.sh")], cwd=clone, env=environment, capture_output=True, text=True
    )
    comment = (out / "comment.md").read_text() if (out / "comment.md").exists() else ""
    assert not comment or comment in done.stdout
    return done.returncode, comment


def test_a_change_that_is_built_is_reviewed(clone: Path) -> None:
    summary = clone.parent / "summary.md"
    status, comment = run(clone, GITHUB_STEP_SUMMARY=str(summary))
    assert status == 0
    assert comment.startswith("### Review of generated kernels") and "✅ `tlxgen build --check`" in comment
    assert "`specs/k.yaml` (specs, changed)" in comment and summary.read_text() == comment
    assert "<!DOCTYPE html>" in (clone.parent / "out" / "review.html").read_text()


def test_stale_modules_fail_and_the_comment_says_why(clone: Path) -> None:
    (clone / "specs" / "k.yaml").write_text(SPEC.replace("256", "1024"))
    git(clone, "commit", "-qam", "stale")
    status, comment = run(clone)
    assert status == 1 and "❗ `tlxgen build --check` ended with 1" in comment and "specs/k.yaml: stale" in comment
    assert (clone.parent / "out" / "review.html").exists()


def test_a_base_that_is_not_there_fails(clone: Path) -> None:
    status, comment = run(clone, BASE="nothing")
    assert status == 1 and "✅ `tlxgen build --check`" in comment  # and the other answers are still given


def test_the_action_runs_the_script_and_the_example_uses_the_action() -> None:
    action = YAML(typ="safe").load((ACTION / "action.yml").read_text())
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite" and all("shell" in step for step in steps if "run" in step)
    assert any("$GITHUB_ACTION_PATH/review.sh" in step.get("run", "") for step in steps)
    example = YAML(typ="safe").load((ROOT / "examples" / "ci" / "github.yml").read_text())
    uses = [step.get("uses", "") for step in example["jobs"]["review"]["steps"]]
    assert f"./{ACTION.relative_to(ROOT).as_posix()}" in uses
    assert example["permissions"]["pull-requests"] == "write"
