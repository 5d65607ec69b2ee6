"""docs/verify.md: its example runs as it stands, and its table of findings is current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tlxgen.sim import CATALOGUE

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "verify.md").read_text()
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example's three files, as the page prints them."""
    kernel, suite = (text for kind, text in BLOCK.findall(TEXT) if kind == "python")
    (declared,) = (text for kind, text in BLOCK.findall(TEXT) if kind == "yaml")
    for name, text in (("scale.py", kernel), ("test_scale.py", suite), ("scale.verify.yaml", declared)):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200)


def test_the_example_is_clean_on_the_command_line(folder: Path) -> None:
    done = run(folder, "tlxgen", "verify", "scale.py", "scale.py:test_scale")
    assert done.returncode == 0, done.stdout + done.stderr
    heads = [line.split(": ")[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert next(line for line in done.stdout.splitlines() if "not seen" in line) in TEXT
    assert heads[:-1] == ["scale.py:ragged", "scale.py:one_tile", "scale.py:host", "scale.py:test_scale"]


def test_the_examples_suite_passes_and_fails_with_a_broken_kernel(folder: Path) -> None:
    suite = ("pytest", "-q", "-p", "no:cacheprovider", "test_scale.py")
    done = run(folder, *suite)
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout
    kernel = folder / "scale.py"
    kernel.write_text(kernel.read_text().replace("tlx.barrier_wait(full[slot], phase)", "pass"))
    done = run(folder, *suite)
    assert done.returncode == 1 and "4 failed" in done.stdout, done.stdout
    assert "race-read-write" in done.stdout


def test_the_table_of_findings_is_current() -> None:
    table = "".join(f"| `{id}` | {severity} | {fix} |\n" for id, (severity, fix) in CATALOGUE.items())
    shown = "".join(re.findall(r"^\| `[a-z-]+` \| (?:error|warning) \|.*\n", TEXT, re.MULTILINE))
    assert shown == table, f"docs/verify.md should have\n{table}"
