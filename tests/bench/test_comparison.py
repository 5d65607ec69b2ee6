"""One problem's rows, with a device that reads times off a table; and the record in its forms."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tlxgen.bench import device
from tlxgen.bench.comparison import Case, Problem, Row, time_problem
from tlxgen.bench.device import describe, parse, slug
from tlxgen.bench.report import Record
from tlxgen.errors import ToolchainError

SHAPE = (1024, 1024, 1024)


class FakeGpu:
    """A run's time is what it returns; memory holds two copies of the inputs."""

    name, device = "Fake", "cpu"

    def sets(self, bytes_moved: float) -> int:
        return 2

    def roughly(self, run: Callable[[], Any]) -> float:
        return float(run())

    def timer(self, runs: Sequence[Callable[[], Any]], us: float) -> Callable[[], float]:
        if float(runs[0]()) == 13:
            raise RuntimeError("CUDA error:\n out of memory")
        assert len(runs) == 2
        return lambda: float(runs[0]())

    def chain(self, runs: Sequence[Callable[[], Any]], us: float) -> Callable[[], float]:
        """What follows takes 2 us, and a launch in a chain half a microsecond more than by itself."""
        return lambda: float(runs[0]()) + 2.5

    def link(self) -> Callable[[], float]:
        return lambda: 2.0

    def host_us(self, run: Callable[[], Any]) -> float:
        return 7.0

    def conditions(self) -> dict[str, float]:
        return {"sm_mhz": 1500.0}


def problem() -> Problem:
    wrong = lambda tensors, out: "error 1e-1" if out < 0 else ""  # noqa: E731
    return Problem(SHAPE, 2.0 * 1024**3, 6.0 * 1024**2, dict, wrong)


def case(name: str, us: float, baseline: bool = False) -> Case:
    return Case(name, lambda tensors: lambda: us, baseline=baseline)


def test_whoever_waits_hears_what_for() -> None:
    steps: list[str] = []
    cases = [case("torch", 20, True), case("bad", -5), case("mine", 10)]
    time_problem(problem(), cases, FakeGpu(), turns=3, on_step=steps.append)
    assert steps == ["1 of 3: torch", "2 of 3: bad", "3 of 3: mine", "timing 2 in turns"]


def rows() -> list[Row]:
    cases = [case("torch", 20, True), case("quack", 30, True), case("mine", 10), case("bad", -5), case("oom", 13)]
    return time_problem(problem(), cases, FakeGpu())


def test_speedup_is_over_the_first_baseline_of_the_run() -> None:
    assert {r.name: r.speedup for r in rows()} == {"torch": 1, "quack": 2 / 3, "mine": 2, "bad": None, "oom": None}


def test_metrics_are_of_the_work_that_the_family_counts() -> None:
    mine = rows()[2]
    assert mine.latency == 0.01
    assert mine.tflops == pytest.approx(2 * 1024**3 / 10e-6 / 1e12)
    assert mine.gbps == pytest.approx(6 * 1024**2 / 10e-6 / 1e9)
    assert mine.host_us == 7.0


def test_wrong_numbers_and_failures_are_rows_with_a_reason_and_no_time() -> None:
    bad, oom = rows()[3:]
    assert (bad.latency, bad.accuracy, bad.error) == (None, False, "wrong numbers: error 1e-1")
    assert (oom.latency, oom.error) == (None, "RuntimeError: CUDA error: out of memory")


def test_the_record_says_the_same_in_every_form(tmp_path: Path) -> None:
    record = Record({"device": "Fake"}, tuple(rows()))
    record.write(json_path=tmp_path / "r.json", csv_path=tmp_path / "r.csv", markdown=tmp_path / "r.md", plot=None)
    as_json = json.loads((tmp_path / "r.json").read_text())
    as_csv = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert [r["name"] for r in as_json["rows"]] == [r["name"] for r in as_csv] == [r.name for r in record.rows]
    assert [float(r["latency"] or 0) for r in as_csv] == [r["latency"] or 0 for r in as_json["rows"]]
    table = [line for line in (tmp_path / "r.md").read_text().splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(record.rows)
    assert {line.count("|") for line in table} == {13}


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ToolchainError, match="matplotlib"):
        Record({}, tuple(rows())).write(json_path=None, csv_path=None, markdown=None, plot=tmp_path / "p.png")


def test_readings_that_nvidia_smi_does_not_have_are_left_out() -> None:
    assert parse("1980, 3201, [N/A], 700.00, 41\n") == {
        "sm_mhz": 1980.0,
        "memory_mhz": 3201.0,
        "power_limit_w": 700.0,
        "temperature_c": 41.0,
    }
    assert describe(parse("1980, 3201, [N/A], 700.00, 41")) == "1980 MHz, 41 C"


def test_gpus_are_found_by_index_or_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "0, GPU-aa11, NVIDIA H200, 580.1\n1, GPU-bb22, NVIDIA H100, 580.1\nno devices were found\n"
    monkeypatch.setattr(device, "listed", lambda: device.parse_list(text))
    assert [device.gpu_name(which) for which in ("1", "GPU-aa", "2", "")] == ["NVIDIA H100", "NVIDIA H200", "", ""]
    assert device.driver() == "580.1"


@pytest.mark.parametrize(
    ("name", "folder"), [("NVIDIA H200", "h200"), ("NVIDIA H100 80GB HBM3", "h100_80gb_hbm3"), ("", "unknown")]
)
def test_a_device_names_a_folder(name: str, folder: str) -> None:
    assert slug(name) == folder
