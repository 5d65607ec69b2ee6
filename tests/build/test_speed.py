"""How long whole processes take, and what they must not import. Twice the bar is allowed: CI shares its CPUs."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .project import Project

ROOT = Path(__file__).resolve().parents[2]
SLACK = 2
RUNS = 3


def tlxgen(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "tlxgen", *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def median(run: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Seconds that `run` takes, each time after `before`."""
    times = []
    for _ in range(RUNS):
        before()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@pytest.fixture
def shipped(project: Project) -> Project:
    (project.root / "specs").mkdir()
    shutil.copy(ROOT / "specs" / "hopper_gemm.yaml", project.root / "specs")
    return project


def clear(project: Project) -> None:
    """Neither a generated file nor a cache is left."""
    shutil.rmtree(project.root / "generated", ignore_errors=True)
    shutil.rmtree(os.environ["TLXGEN_CACHE_DIR"], ignore_errors=True)


def test_help_takes_a_third_of_a_second() -> None:
    assert median(lambda: tlxgen("--help")) <= 0.3 * SLACK


def test_a_build_with_nothing_to_do_takes_half_a_second(shipped: Project) -> None:
    def build() -> None:
        tlxgen("build", "specs/hopper_gemm.yaml", cwd=shipped.root)

    build()
    assert median(build) <= 0.5 * SLACK


def test_a_build_from_nothing_takes_a_second_and_a_half(shipped: Project) -> None:
    def build() -> None:
        assert "files written" in tlxgen("build", "specs/hopper_gemm.yaml", cwd=shipped.root).stdout

    assert median(build, before=lambda: clear(shipped)) <= 1.5 * SLACK


def test_a_thousand_configs_of_one_structure_take_three_seconds(project: Project) -> None:
    groups = ", ".join(map(str, range(1, 251)))
    project.spec("k", f"variants:\n  axes:\n    rings.ab.stages: [2, 3, 4, 5]\n    schedule.group_m: [{groups}]\n")

    def build() -> None:
        assert "(1 module, 1000 variants, 0 rejected)" in tlxgen("build", "specs", cwd=project.root).stdout

    assert median(build, before=lambda: clear(project)) <= 3 * SLACK


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
    arguments = [a.replace("SPEC", "specs/hopper_gemm.yaml") for a in arguments]
    command = [sys.executable, "-c", WITHOUT, *arguments]
    done = subprocess.run(command, cwd=shipped.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["build", "specs/hopper_gemm.yaml"]], ids=["help", "build"])
def test_what_parses_renders_and_formats_is_not_imported_for_nothing(shipped: Project, arguments: list[str]) -> None:
    tlxgen("build", "specs/hopper_gemm.yaml", cwd=shipped.root)
    parsers = "('ruamel.yaml', 'jinja2', 'libcst', 'black')"
    command = [sys.executable, "-c", WITHOUT.replace(str(SLOW), parsers), *arguments]
    done = subprocess.run(command, cwd=shipped.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
