"""What makes whole processes slow, which they must not import. How long they take: benchmarks/builds.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .project import Project

ROOT = Path(__file__).resolve().parents[2]


def tlxgen(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "tlxgen", *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def shipped(project: Project) -> Project:
    (project.root / "specs").mkdir()
    (project.root / "specs" / "one.yaml").write_text("kernel: gemm\nname: one\narch: sm90\n")
    return project


SLOW = ("torch", "triton", "numpy")
WITHOUT = f"""
import sys
from tlxgen.cli import main
for command in sys.argv[1:]:
    sys.argv = ["tlxgen", *command.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
    found = [name for name in {SLOW} if name in sys.modules]
    assert not found, (command, found)
"""
COMMANDS = ("--help", "--version", "schema", "list SPEC", "show SPEC", "build SPEC", "diff SPEC SPEC")


def test_torch_and_triton_are_not_imported(shipped: Project) -> None:
    """By none of these, one after the other in one process."""
    command = [sys.executable, "-c", WITHOUT, *(c.replace("SPEC", "specs/one.yaml") for c in COMMANDS)]
    done = subprocess.run(command, cwd=shipped.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_parses_renders_and_formats_is_not_imported_for_nothing(shipped: Project) -> None:
    """Neither for help nor where all is up to date."""
    tlxgen("build", "specs/one.yaml", cwd=shipped.root)
    parsers = "('ruamel.yaml', 'jinja2', 'libcst', 'black')"
    command = [sys.executable, "-c", WITHOUT.replace(str(SLOW), parsers), "--help", "build specs/one.yaml"]
    done = subprocess.run(command, cwd=shipped.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
