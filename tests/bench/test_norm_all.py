"""benchmarks/norm_all.py: one call that ends in time, whatever a step of it does."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tlxgen.loading import load_file

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "norm_all.py"
WAITS = """
import subprocess, sys, time
from pathlib import Path
subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(3); open({str(Path(sys.argv[1]))!r}, 'w')"])
print("begun", flush=True)
time.sleep(60)
"""


@pytest.fixture
def script() -> Any:
    return load_file(SCRIPT)


def test_all_steps_end_in_the_time_of_a_call(script: Any, tmp_path: Path) -> None:
    todo = script.steps(tmp_path, tmp_path)
    assert [step.name for step in todo] == ["host", "check", "speed", "backward"]
    assert sum(step.seconds for step in todo) < 500
    files = [word for step in todo for word in step.command if word.endswith((".py", ".yaml"))]
    assert files and all((script.ROOT / file).is_file() for file in files)


def test_a_step_that_hangs_is_ended_with_its_children_and_the_next_one_runs(script: Any, tmp_path: Path) -> None:
    late = tmp_path / "late"
    hangs = script.Step("hangs", [sys.executable, "-c", WAITS, str(late)], 1.5)
    fails = script.Step("fails", [sys.executable, "-c", "raise SystemExit(3)"], 30)
    works = script.Step("works", [sys.executable, "-c", "import tlxgen; print('right')"], 30)
    assert script.run([hangs, fails, works], tmp_path / "out") == 2
    assert (tmp_path / "out" / "works.log").read_text() == "right\n"
    assert "begun" in (tmp_path / "out" / "hangs.log").read_text()
    time.sleep(3)
    assert not late.exists()
