"""docs/profile.md shows what its commands print: names and counts are held, steps and shares are the scheduler's."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.profiling.conftest import ROOT, twin
from tlxgen.cli import app

PAGE = (ROOT / "docs" / "profile.md").read_text()
COMMAND = re.compile(r"^\$ tlxgen (profile .*)$", re.MULTILINE)


def rows(text: str) -> list[list[str]]:
    """The cells of the second table but for steps and shares, in an order of their own."""
    table = text[text.index("Where the time of a task goes") :].partition("```")[0].splitlines()
    cells = [re.split(r"\s{2,}", line.strip()) for line in table if line.strip().endswith("%")]
    return sorted(row[:-2] for row in cells)


def tracks(events: list[dict[str, Any]]) -> dict[int, list[tuple[str, str]]]:
    """For each thread its operations, in their order; their lines move with whatever stands above the kernel."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["cat"] != "rest":
            found[event["tid"]].append((event["name"], event["args"].get("waits for", "")))
    return found


def test_the_example_is_what_its_command_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = COMMAND.findall(PAGE)
    words = command.replace("timeline.json", str(tmp_path / "t.json")).split()
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert rows(done.stdout) == rows(PAGE)
    shown = json.loads((ROOT / "docs" / "timeline.json").read_text())
    made = json.loads((tmp_path / "t.json").read_text())
    assert tracks(made["traceEvents"]) == tracks(shown["traceEvents"])
    assert len(tracks(shown["traceEvents"])) == 3


def test_the_lines_of_the_difference_are_those_of_the_twin() -> None:
    made = twin("hopper_gemm", "hopper_gemm_cooperative").text
    shown = re.findall(r"^> +(stamp.*)$", PAGE, re.MULTILINE)
    assert len(shown) == 2
    assert all(line in made for line in shown)
