"""`tlxgen tune --dry-run`: an order for each shape, by an estimate that is shown; and bars, on a terminal."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("triton.language.extra.tlx")

from tests.tune.conftest import MODULE, Project
from tlxgen.compile import Job, Outcome, Resources
from tlxgen.families.gemm import cost
from tlxgen.review import progress
from tlxgen.tune import dry
from tlxgen.verbs import tune as verb

SQUARE, LONG = (4096, 4096, 4096), (128, 128, 8192)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """What is compiled; every kernel takes 168 registers and 100 bytes of SMEM."""
    seen: list[Job] = []

    def compile_all(jobs: Sequence[Job], *, on_done: Callable[[Outcome], None], **more: Any) -> list[Outcome]:
        seen.extend(jobs)
        found = [Outcome(job.id, resources()) for job in jobs]
        for outcome in found:
            on_done(outcome)
        return found

    monkeypatch.setattr(dry, "compile_all", compile_all)
    return seen


def resources() -> Resources:
    from dataclasses import MISSING, fields

    none: dict[str, Any] = {
        f.name: 0 for f in fields(Resources) if f.default is MISSING and f.default_factory is MISSING
    }
    return Resources(**{**none, "registers": 168, "smem_bytes": 100})


def run(project: Project, **options: Any) -> int:
    return verb.dry_run(project.spec, verb.Options(shapes=(SQUARE, LONG), candidates=3, workers=1, **options))


def test_each_shape_has_its_own_order_with_the_estimates(
    project: Project, compiled: list[Job], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, as_json=True) == 0
    record = json.loads(capsys.readouterr().out)
    assert [tuple(each["shape"]) for each in record["shapes"]] == [SQUARE, LONG] and record["fit"] == 40
    by_label = {c.label: c for c in project.space.candidates}
    for shape, each in zip((SQUARE, LONG), record["shapes"], strict=True):
        clocks = [row["clocks_estimated"] for row in each["ranked"]]
        assert [row["order"] for row in each["ranked"]] == [1, 2, 3] and clocks == sorted(clocks) and clocks[0] > 0
        best = project.space.ranked([shape], verb.H200_SMS)[:3]
        assert [by_label[row["variant"]] for row in each["ranked"]] == best
        assert clocks == [round(cost.clocks(c.plan, shape, verb.H200_SMS)) for c in best]
    assert len(compiled) == len({job.id for job in compiled}), "what two shapes want is compiled once"


def test_no_column_is_empty(project: Project, compiled: list[Job], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project) == 0
    out = capsys.readouterr().out
    assert "M x N x K = 4096x4096x4096" in out and "M x N x K = 128x128x8192" in out
    headings = [line for line in out.splitlines() if line.split()[:1] == ["order"]]
    assert len(headings) == 2 and all("clocks, estimated" in h and "error" not in h for h in headings)
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines() if re.match(r"\s+[123]\s", line)]
    assert len(rows) == 6 and all(len(row) == len(re.split(r"\s{2,}", headings[0].strip())) for row in rows)


def test_what_does_not_compile_says_why(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        dry, "compile_all", lambda jobs, **more: [Outcome(job.id, None, "no such thing") for job in jobs]
    )
    assert run(project) == 1
    out = capsys.readouterr().out
    assert "error" in out and "no such thing" in out


def test_a_family_without_an_estimate_shows_none(
    project: Project, compiled: list[Job], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost, "estimate", lambda plan, sms: lambda shape: 0.0)
    assert run(project) == 0
    out = capsys.readouterr().out
    assert "for which this family has no estimate" in out and "estimated" not in out


@pytest.mark.usefixtures("compiled")
def test_a_bar_is_drawn_on_a_terminal_only(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(project)
    assert not capsys.readouterr().err
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    run(project)
    assert "compiling" in terminal.getvalue() and "M x N x K" in capsys.readouterr().out


def test_lines_are_printed_beside_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output may be a pipe while the bar is on a terminal: nothing of it goes there."""
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress.bar(2, "verifying") as shown:
        for i in range(2):
            with shown.away():
                print(f"result {i}")
            shown.advance(f"target {i}")
    assert capsys.readouterr().out == "result 0\nresult 1\n"
    assert "target 1" in terminal.getvalue() and "result" not in terminal.getvalue()


def test_a_run_prints_its_winners_as_json(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    options = verb.Options(shapes=(SQUARE,), module=MODULE, timeout_s=60.0, as_json=True)
    assert verb.run(project.spec, options) == 0
    record = json.loads(capsys.readouterr().out)
    (winner,) = record["winners"]
    assert winner["m_x_n_x_k"] == "4096x4096x4096" and winner["variant"] and record["wrote"].endswith("g.yaml")
    assert (record["missing"], record["kept"]) == (0, [])
