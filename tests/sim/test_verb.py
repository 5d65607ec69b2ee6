"""`tlxgen verify` and `build --verify`: what they print and record, and their exit status; workers change nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.sim.mutants import COOP, RELEASE
from tests.sim.support import ROOT, kernels, source
from tlxgen import sim, verify
from tlxgen.cli import app
from tlxgen.families.gemm.problem import simulated_shapes
from tlxgen.families.gemm.spec import GemmSpec
from tlxgen.verify.structures import configs_of

SPEC = str(ROOT / "specs" / "hopper_gemm.yaml")
LINES = """
import torch, triton, triton.language as tl
import triton.language.extra.tlx as tlx

@triton.jit
def warns(out):
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    tl.store(out, tl.max(tl.max(tlx.local_load(tile[0]), 0), 0) * 0 + 1)

@triton.jit
def fails(out):
    bars = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_wait(bars[0], 0)

def warning():
    warns[(1,)](torch.empty(1, device="cuda"))

def error():
    fails[(1,)](torch.empty(1, device="cuda"))
"""


TWO = """
kernel: gemm
name: two
arch: sm90
tile: {k: 16}
epilogue: {subtiles: 1}
variants:
  axes:
    tasks.mma.split: [cooperative, pingpong]
    tile.n: [32, 64]
"""
ROWS = "kernel: norm_fwd\nname: rows\narch: sm90\ntile: {n: 256}\n"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def timeless(record: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(record.read_text())
    for target in data["targets"]:
        del target["seconds"]
    return data


@pytest.fixture
def hand_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lines.py"
    path.write_text(LINES)
    return path


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds render a cooperative module whose consumers release nothing."""
    from tlxgen.build import _Job

    render = _Job.render
    monkeypatch.setattr(_Job, "render", lambda job: render(job).replace(RELEASE, "pass"))


@pytest.fixture
def two(tmp_path: Path) -> str:
    """A spec of two structures with two configs each, whose tiles are small."""
    (tmp_path / "two.yaml").write_text(TWO)
    return str(tmp_path / "two.yaml")


def test_a_clean_spec_exits_with_0_and_workers_change_nothing(two: str, tmp_path: Path) -> None:
    result = invoke("verify", two, "--schedule", "lazy", "--workers", "1", "--json", str(tmp_path / "1.json"))
    assert result.exit_code == 0, result.output
    assert "two_cooperative: 8 runs" in result.output  # 2 configs, 4 shapes, 1 schedule
    assert "0 findings in 16 runs" in result.output and "not proven" in result.output
    result = invoke("verify", two, "--schedule", "lazy", "--workers", "2", "--json", str(tmp_path / "2.json"))
    assert result.exit_code == 0
    first, second = timeless(tmp_path / "1.json"), timeless(tmp_path / "2.json")
    assert first == second
    assert list(first) == ["version", "tlxgen", "runs", "targets"] and first["version"] == 1
    assert [(t["target"], t["status"], t["runs"]) for t in first["targets"]] == [
        ("two_cooperative", "clean", 8),
        ("two_pingpong", "clean", 8),
    ]


def test_one_config_of_a_spec(two: str) -> None:
    result = invoke("verify", two, "--schedule", "lazy", "--config", "1")
    assert result.exit_code == 0 and "two_cooperative: 4 runs" in result.output, result.output
    result = invoke("verify", two, "--schedule", "lazy", "--config", "999")
    assert result.exit_code == 2 and "no config 999: two_cooperative has" in result.output


def test_findings_of_a_structure_have_what_the_record_promises(tmp_path: Path) -> None:
    folder = tmp_path / "generated" / "hopper_gemm"
    shutil.copytree(source(COOP).parent, folder)
    (tmp_path / "specs").mkdir()
    spec = shutil.copy(SPEC, tmp_path / "specs")
    assert invoke("build", spec).exit_code == 0
    module = folder / "hopper_gemm_cooperative.py"
    faulty = module.read_text().replace(RELEASE, "pass")
    job = verify.StructureJob(Path(spec), "hopper_gemm_cooperative", module)
    module.write_text(faulty)
    (result,) = verify.verify_all([job], [("eager", 0)], verify.Limits())
    assert result.status == "findings" and result.faulty
    assert {f["id"] for f in result.findings} == {"deadlock"}
    (finding,) = result.findings
    assert list(finding) == [
        "id",
        "severity",
        "message",
        "places",
        "schedule",
        "seed",
        "sms",
        "fix",
        "replay",
        "witness",
    ]
    assert "nobody ever arrives there" in finding["witness"]
    assert "ab_empty" in finding["message"] and finding["schedule"] == "eager" and finding["severity"] == "error"
    lines = faulty.splitlines()
    assert any("barrier_wait(ab_empty" in lines[p["line"] - 1] for p in finding["places"])


def test_a_warning_alone_exits_with_0_an_error_with_1_both_recorded(hand_written: Path) -> None:
    result = invoke("verify", "lines.py:warning", "--json", "record.json")
    assert result.exit_code == 0 and "warning uninitialised" in result.output, result.output
    (target,) = timeless(hand_written.parent / "record.json")["targets"]
    assert target["status"] == "findings" and target["findings"][0]["places"] == [{"path": "lines.py", "line": 8}]
    result = invoke("verify", "lines.py:warning", "lines.py:error", "--schedule", "lazy")
    assert result.exit_code == 1 and "error deadlock" in result.output, result.output


def test_what_cannot_be_run_exits_with_2_and_the_rest_is_run(hand_written: Path) -> None:
    result = invoke("verify", "lines.py", "lines.py:error", "--schedule", "lazy")
    assert result.exit_code == 2, result.output
    assert "lines.py:1:1: say what to run" in result.output
    assert "lines.py:warning, error" in result.output and "kernels: warns, fails" in result.output
    assert "error deadlock" in result.output and "1 of 2 targets could not be run to the end" in result.output


def test_faults_of_all_targets_come_before_anything_is_run(hand_written: Path) -> None:
    (hand_written.parent / "lines.verify.yaml").write_text("kernal: warns\n")
    result = subprocess.run(
        [sys.executable, "-m", "tlxgen", "verify", "lines.py", "line.py", "lines.py:error"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert result.returncode == 2 and not result.stdout
    assert "lines.verify.yaml:1:1: unknown key 'kernal'; did you mean 'kernel'?" in result.stderr
    assert "line.py:1:1: no such file; did you mean 'lines.py'?" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_case_that_does_not_fit_its_kernel_is_every_fault_at_once(hand_written: Path) -> None:
    declared = "kernel: warns\ngrid: [1]\nargs: {outt: {output: [1]}, n: 3}\n"
    (hand_written.parent / "lines.verify.yaml").write_text(declared)
    result = invoke("verify", "lines.py", "--json", "record.json")
    assert result.exit_code == 2 and "error:" not in result.output
    assert "lines.verify.yaml:1:9: missing argument of warns: out" in result.output
    assert "lines.verify.yaml:3:8: warns has no argument 'outt'; did you mean 'out'?" in result.output
    (target,) = timeless(hand_written.parent / "record.json")["targets"]
    assert [fault["line"] for fault in target["error"]["faults"]] == [1, 3, 3]


def test_a_kernel_without_a_case_gets_one_to_start_from(hand_written: Path) -> None:
    result = invoke("verify", "lines.py:warns")
    assert result.exit_code == 2
    assert "kernel: warns\n" in result.output and "grid: [1]" in result.output and "out: " in result.output


def test_a_declared_config_is_counted_after_pruning(hand_written: Path) -> None:
    shutil.copy(ROOT / "tests" / "cases" / "kernels.py", "tuned.py")
    declared = "kernel: tuned_kernel\ngrid: ['cdiv(n, BLOCK)']\n"
    declared += "args: {x_ptr: {tensor: [n]}, y_ptr: {output: [n]}, n: 64}\nreference: x * 0 + 32\n"
    (hand_written.parent / "tuned.verify.yaml").write_text(declared)
    assert invoke("verify", "tuned.py", "--schedule", "lazy", "--config", "1").exit_code == 0
    assert invoke("verify", "tuned.py", "--schedule", "lazy").exit_code == 1
    result = invoke("verify", "tuned.py", "--schedule", "lazy", "--config", "3")
    assert result.exit_code == 2 and "no config 3: tuned_kernel has 3 configs (0 to 2)" in result.output


def test_build_verify_writes_what_is_clean(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    spec = str(tmp_path / "specs" / "rows.yaml")
    Path(spec).write_text(ROWS)
    result = invoke("build", spec, "--verify")
    assert result.exit_code == 0, result.output
    assert "0 findings in" in result.output and "4 files written" in result.output
    assert "up to date" in invoke("build", spec).output


@pytest.mark.usefixtures("broken")
def test_build_verify_writes_nothing_faulty(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    clean, faulty = (tmp_path / "specs" / name for name in ("rows.yaml", "one.yaml"))
    clean.write_text(ROWS)
    faulty.write_text(TWO.replace("two", "one").replace(", pingpong", "").replace("[32, 64]", "[32]"))
    result = invoke("build", str(clean), str(faulty), "--verify")
    assert result.exit_code == 1, result.output
    assert "error deadlock" in result.output and "nothing is written" in result.output
    assert not (tmp_path / "generated").exists()


def test_all_orders_are_searched(hand_written: Path, two: str) -> None:
    result = invoke("verify", "lines.py:error", two, "--config", "0", "--exhaustive", "--json", "record.json")
    assert result.exit_code == 1, result.output
    assert "lines.py:error: 1 runs, 1 states, search complete" in result.output
    assert "search complete, " in result.output.splitlines()[-1] and "(other shapes) is not proven" in result.output
    data = timeless(hand_written.parent / "record.json")
    assert data["runs"] == [{"exhaustive": 1_000_000}]
    assert all(target["complete"] for target in data["targets"])
    assert data["targets"][0]["findings"][0]["schedule"] == "replay"


def test_a_finding_is_told_and_can_be_replayed(hand_written: Path) -> None:
    result = invoke("verify", "lines.py:warning", "lines.py:error", "--schedule", "random")
    lines = [line.strip() for line in result.output.splitlines()]
    assert any(line.startswith("witness of deadlock: ") for line in lines)
    (replay,) = [line.removeprefix("replay: --replay ") for line in lines if "lines.py:error=" in line]
    again = invoke("verify", "lines.py:warning", "lines.py:error", "--replay", replay)
    assert again.exit_code == 1 and "lines.py:error: 1 runs" in again.output, again.output
    assert "error deadlock" in again.output and "lines.py:warning" not in again.output


@pytest.mark.parametrize(
    ("replay", "message"),
    [("0:", "--replay is of one target, TARGET=LIST; there are lines.py:warning, lines.py:error"),
     ("lines.py:error=x", "'x': a list of decisions is SEED:LIST")],
)  # fmt: skip
def test_a_replay_that_is_none_is_refused(hand_written: Path, replay: str, message: str) -> None:
    result = invoke("verify", "lines.py:warning", "lines.py:error", "--replay", replay)
    assert result.exit_code and message in result.output + str(result.exception), result.output


def test_a_replay_of_a_structure_is_of_one_of_its_cases(two: str) -> None:
    result = invoke("verify", two, "--replay", "two_cooperative=2@0:")
    assert result.exit_code == 0 and "two_cooperative: 1 runs" in result.output, result.output
    assert "pingpong" not in result.output


def test_each_target_has_a_trace_of_its_own(hand_written: Path) -> None:
    assert invoke("verify", "lines.py:error", "--schedule", "lazy", "--trace", "one.json").exit_code == 1
    events = json.loads((hand_written.parent / "one.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "i"] == ["deadlock"]
    invoke("verify", "lines.py:error", "lines.py:warning", "--schedule", "lazy", "--trace", "some.json")
    found = sorted(path.name for path in hand_written.parent.glob("some*"))
    assert found == ["some.lines_py_error.json", "some.lines_py_warning.json"]


def test_ctrl_c_leaves_no_child_behind(hand_written: Path) -> None:
    (hand_written.parent / "slow.py").write_text("def main():\n    import time\n    time.sleep(2983)\n")
    command = [sys.executable, "-m", "tlxgen", "verify", "slow.py:main", "--timeout", "3000"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background is deaf to it
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": listens}
    with subprocess.Popen(command, env=environment, **pipes) as parent:
        until = time.monotonic() + 600
        while not (children := _children(parent.pid)) and time.monotonic() < until:
            time.sleep(0.1)
        try:
            while parent.poll() is None:
                parent.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):  # Python drops one that comes in a weak reference's callback
                    parent.communicate(timeout=60)
        finally:
            parent.kill()
    assert children and parent.returncode == 130
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


def test_the_command_line_knows_the_simulators_schedules() -> None:
    assert (*sim.SCHEDULES, "delays") == verify.SCHEDULES


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        found += [int(path.parent.name)] * (parent == pid)
    return found


def test_every_value_of_a_constant_is_run_on_each_side_of_a_guard() -> None:
    points = [(n, s, g) for n in (128, 256) for s in (1, 2, 3) for g in (True, False)]
    configs = [{"BLOCK_N": n, "STAGES": s, "GUARD": g} for n, s, g in points]
    chosen = [points[i] for i in configs_of(configs)]
    assert chosen == [(128, 1, True), (128, 1, False), (128, 2, True), (128, 2, False), (256, 3, True), (256, 3, False)]
    assert configs_of([{"BLOCK_N": 128}]) == [0]


def test_shapes_have_whole_tiles_in_whole_groups_and_parts_longer_than_the_ring() -> None:
    spec = kernels("hopper_gemm").kept[0].spec
    assert isinstance(spec, GemmSpec)
    shapes = list(simulated_shapes(spec, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "STAGES": 3, "GROUP_M": 4}, 4))
    assert (2 * 4 * 128, 2 * 128, 64) in shapes
    parts = list(simulated_shapes(spec, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "STAGES": 3, "SPLIT_K": 2}, 4))
    assert max(k for _, _, k in parts) > 2 * 3 * 64


def test_shapes_with_mx_scales_have_whole_blocks_of_them_along_k() -> None:
    spec = kernels("blackwell_mx_gemm").kept[0].spec
    assert isinstance(spec, GemmSpec)
    constants = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128, "STAGES": 3}
    assert all(k % 32 == 0 for _, _, k in simulated_shapes(spec, constants, 4))
