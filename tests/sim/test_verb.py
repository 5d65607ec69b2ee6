"""`tlxgen verify`: what it prints and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from tests.sim.mutants import COOP, RELEASE
from tests.sim.support import ROOT, source
from tlxgen.cli import app
from tlxgen.sim import load_module
from tlxgen.verbs import verify as verb

SPEC = str(ROOT / "specs" / "hopper_gemm.yaml")


def test_a_clean_spec_exits_with_0_and_says_what_was_run() -> None:
    result = CliRunner().invoke(app, ["verify", SPEC, "--schedule", "lazy"])
    assert result.exit_code == 0, result.output
    assert "hopper_gemm_cooperative: 6 runs" in result.output  # 2 configs, 3 shapes, 1 schedule
    assert "0 findings in 12 runs" in result.output and "not proven" in result.output


def test_findings_are_printed_written_and_exit_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "hopper_gemm_cooperative.py"
    broken.write_text(source(COOP).read_text().replace(RELEASE, "pass"))

    def load(path: Path) -> ModuleType:
        return load_module(broken if path.name == broken.name else path)

    monkeypatch.setattr(verb, "load_module", load)
    record = tmp_path / "found.json"
    result = CliRunner().invoke(app, ["verify", SPEC, "--schedule", "eager", "--json", str(record)])
    assert result.exit_code == 1, result.output
    assert "error deadlock" in result.output and "ab_empty" in result.output
    first, second = json.loads(record.read_text())["structures"]
    assert {f["id"] for f in first["findings"]} == {"deadlock"}
    assert first["findings"][0]["severity"] == "error" and first["findings"][0]["schedule"] == "eager"
    assert not second["findings"]
