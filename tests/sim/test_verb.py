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
    assert "hopper_gemm_cooperative: 12 runs" in result.output  # 3 configs, 4 shapes, 1 schedule
    assert "0 findings in 20 runs" in result.output and "not proven" in result.output


def test_every_value_of_a_constant_is_run_on_each_side_of_a_guard() -> None:
    points = [(n, s, g) for n in (128, 256) for s in (1, 2, 3) for g in (True, False)]
    configs = [{"BLOCK_N": n, "STAGES": s, "GUARD": g} for n, s, g in points]
    chosen = [points[i] for i in verb.configs_of(configs)]
    assert chosen == [(128, 1, True), (128, 1, False), (128, 2, True), (128, 2, False), (256, 3, True), (256, 3, False)]
    assert verb.configs_of([{"BLOCK_N": 128}]) == [0]


def test_shapes_have_whole_tiles_in_whole_groups_and_parts_longer_than_the_ring() -> None:
    shapes = list(verb.shapes_of({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "STAGES": 3, "GROUP_M": 4}))
    assert (2 * 4 * 128, 2 * 128, 64) in shapes
    parts = list(verb.shapes_of({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "STAGES": 3, "SPLIT_K": 2}))
    assert max(k for _, _, k in parts) > 2 * 3 * 64


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
