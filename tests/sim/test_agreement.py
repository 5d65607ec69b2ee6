"""benchmarks/simulator_agreement.py with the simulator in the place of the GPU: its processes, limits and record."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks import simulator_agreement as script
from tests.sim.mutants import COOP, FULL
from tests.sim.support import ROOT, source

SHAPES = [[129, 136, 96]]


def case(name: str, old: str = "", new: str = "", **more: Any) -> dict[str, Any]:
    text = source(COOP).read_text()
    edits = [[text.index(old), text.index(old) + len(old), new]] if old else []
    made = {"name": name, "at": COOP, "config": 0, "shapes": SHAPES, "edits": edits, "simulator": "clean", "ids": []}
    return {**made, **more}


def test_cases_run_apart_and_a_contradiction_is_said(tmp_path: Path) -> None:
    never_compiles = "import os\nos._exit(3)\n"
    cases = [
        case("unmutated"),
        case("raced", FULL, "pass", simulator="caught", ids=["race-read-write"]),
        case("believed clean", FULL, "pass"),
        case("dies", "import torch\n", never_compiles, simulator="caught"),
        case("raises", "import torch\n", "import nothing_of_that_name\n", simulator="caught"),
    ]
    file, out = tmp_path / "cases.json", tmp_path / "out.json"
    file.write_text(json.dumps({"cases": cases}))
    command = [sys.executable, "benchmarks/simulator_agreement.py", str(file), "--json", str(out), "--dry-run"]
    command += ["--launches", "2", "--workers", "2", "--seconds", "120"]
    first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert first.returncode == 1, first.stderr
    assert "CLEAN IN THE SIMULATOR AND NOT RIGHT HERE: believed clean" in first.stdout
    record = json.loads(out.read_text())
    assert record["contradictions"] == ["believed clean"]
    verdicts = {name: result["plain"]["verdict"] for name, result in record["cases"].items()}
    assert verdicts == {
        "unmutated": "right",
        "raced": "wrong",
        "believed clean": "wrong",
        "dies": "crash",
        "raises": "does not compile",
    }
    assert record["cases"]["unmutated"]["plain"] == {"verdict": "right", "launches": 2, "right": 2}
    assert "| raced | caught race-read-write | wrong | 0/2 |" in out.with_suffix(".md").read_text()
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert "plain " not in again.stdout and again.returncode == 1  # all is known: nothing runs


@pytest.mark.parametrize(
    ("answers", "seconds", "expected"),
    [
        ("import time; time.sleep(60)", (1.0, 60.0), {"verdict": "compile-hang"}),
        ("print('{\"compiled\": true}', flush=True); import time; time.sleep(60)", (60.0, 1.0), {"verdict": "hang"}),
        ("raise SystemExit('device-side assert')", (60.0, 60.0), {"verdict": "crash", "text": "device-side assert"}),
    ],
    ids=["compiling", "launching", "dying"],
)
def test_a_child_without_an_answer(
    answers: str,
    seconds: tuple[float, float],
    expected: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    child = tmp_path / "child.py"
    child.write_text(answers)
    monkeypatch.setattr(script, "__file__", str(child))
    limits = script.Limits(*seconds, wall=60.0, launches=1)
    gpu = threading.Lock()
    assert script.run_one(case("any"), "plain", limits, gpu) == expected
    assert not gpu.locked()


def test_nothing_starts_after_the_wall_limit() -> None:
    done: list[Any] = []
    limits = script.Limits(compile=1.0, launch=1.0, wall=0.0, launches=1)
    script.run_all([case("any")], "plain", limits, 2, lambda *result: done.append(result))
    assert not done
