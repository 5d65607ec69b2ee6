"""The suite of docs/own-kernel.md runs as it stands, and the table of findings of docs/verify.md is current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.walkthrough import DOCS, ROOT, write_files
from tlxgen.sim import CATALOGUE

TEXT = (DOCS / "verify.md").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of docs/own-kernel.md."""
    written = write_files((DOCS / "own-kernel.md").read_text(), tmp_path)
    assert written == ["scale.py", "scale.verify.yaml", "test_scale.py"]
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)


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
