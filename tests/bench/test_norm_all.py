"""benchmarks/norm_all.py: one call that ends in time, whatever a step of it does."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tlxgen.loading import load_file

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "norm_all.py"
WAITS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print("begun", child.pid, flush=True)
time.sleep(1000)
"""
HANGS_S = 1.5


class Impatient(subprocess.Popen[bytes]):
    """Takes a step of HANGS_S for one that hangs as soon as it has begun, on whatever machine."""

    log: Path

    def wait(self, timeout: float | None = None) -> int:
        if timeout != HANGS_S:
            return super().wait(timeout)
        while "begun" not in self.log.read_text():
            time.sleep(0.01)
        raise subprocess.TimeoutExpired(self.args, timeout)


@pytest.fixture
def script() -> Any:
    return load_file(SCRIPT)


def test_all_steps_end_in_the_time_of_a_call(script: Any, tmp_path: Path) -> None:
    todo = script.steps(tmp_path)
    assert [step.name for step in todo] == ["host", "check", "forward", "backward"]
    assert sum(step.seconds for step in todo) < 500
    files = [word for step in todo for word in step.command if word.endswith((".py", ".yaml"))]
    assert files and all((script.ROOT / file).is_file() for file in files)


def ended(pid: int) -> bool:
    """Waits for a process that was killed."""
    for _ in range(10_000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_a_step_that_hangs_is_ended_with_its_children_and_the_next_one_runs(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "out" / "hangs.log"
    monkeypatch.setattr(Impatient, "log", log, raising=False)
    monkeypatch.setattr(script.subprocess, "Popen", Impatient)
    hangs = script.Step("hangs", [sys.executable, "-c", WAITS], HANGS_S)
    fails = script.Step("fails", [sys.executable, "-c", "raise SystemExit(3)"], 1000)
    works = script.Step("works", [sys.executable, "-c", "import tlxgen; print('right')"], 1000)
    assert script.run([hangs, fails, works], tmp_path / "out") == 2
    assert (tmp_path / "out" / "works.log").read_text() == "right\n"
    assert ended(int(log.read_text().split()[1]))
