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
sys.argv[0] = "tlxgen"
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
found = [name for name in {SLOW} if name in sys.modules]
assert not found, found
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["schema"],
        ["list", "SPEC"],
        ["show", "SPEC"],
        ["build", "SPEC"],
        ["diff", "SPEC", "SPEC"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_torch_and_triton_are_not_imported(shipped: Project, arguments: list[str]) -> None:
    arguments = [a.replace("SPEC", "specs/one.yaml") for a in arguments]
    command = [sys.executable, "-c", WITHOUT, *arguments]
    done = subprocess.run(command, cwd=shipped.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["build", "specs/one.yaml"]], ids=["help", "build"])
def test_what_parses_renders_and_formats_is_not_imported_for_nothing(shipped: Project, arguments: list[str]) -> None:
    if arguments[0] == "build":
        tlxgen(*arguments, cwd=shipped.root)
    parsers = "('ruamel.yaml', 'jinja2', 'libcst', 'black')"
    command = [sys.executable, "-c", WITHOUT.replace(str(SLOW), parsers), *arguments]
    done = subprocess.run(command, cwd=shipped.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
