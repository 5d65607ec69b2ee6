"""What `profile` does on a GPU, with the simulator in its place: runs both, times both, reads what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.profiling.conftest import structures
from tlxgen.bench.timing import Figure
from tlxgen.families import kernels_of
from tlxgen.profile import launches
from tlxgen.profile.launches import Cost, on_gpu
from tlxgen.profile.records import Recorded
from tlxgen.profile.times import times_of
from tlxgen.sim import DEVICE, Session, verify
from tlxgen.verbs import profile

SPEC = Path(__file__).parents[2] / "specs" / "hopper_gemm.yaml"
NAME = "hopper_gemm_cooperative"


class Gpu:
    """Stands for the GPU: a run of a twin takes 103 us, one of a plain kernel 100."""

    def __init__(self, index: int = 0) -> None:
        self.made: list[Any] = []

    def roughly(self, run: Callable[[], Any]) -> float:
        run()
        return 100.0

    def timer(self, runs: Sequence[Callable[[], Any]], roughly: float) -> Callable[[], float]:
        runs[0]()
        runs[0]()
        self.made.append(runs)
        us = 97.0 + 3.0 * len(self.made)
        return lambda: us


def test_both_are_run_and_timed_and_the_twin_is_read(
    folder: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launches, "Gpu", Gpu)
    twins, family = folder("hopper_gemm", NAME), kernels_of(SPEC).family
    files = (twins.parent / "plain" / f"{NAME}.py", twins / f"{NAME}.py")
    variant, shape = structures("hopper_gemm")[NAME].variants[0].spec, (250, 264, 200)
    found: list[tuple[Recorded, Cost]] = []

    def program(session: Session) -> None:
        torch.manual_seed(0)
        tensors = family.problem().inputs(variant, shape, DEVICE)
        found.append(on_gpu(files, family.benchmark(), tensors, variant, shape, 1, records=None, turns=3))

    report = verify(program, [("random", 0)])
    assert not report.seen, str(report)
    ((recorded, cost),) = found
    assert recorded.unit == "clock" and recorded.tasks == ("load", "mma 0", "mma 1")
    assert (cost.plain.us, cost.twin.us) == (100.0, 103.0)
    assert cost.more == pytest.approx(0.03)
    assert capsys.readouterr().err == ""  # the results are the same
    times = times_of(recorded)
    assert all(0.98 <= task.told <= 1.02 for task in times)
    told = profile.Profiled(NAME, shape, 1, recorded, times, cost)
    profile._tell(told)
    out = capsys.readouterr().out
    assert "hopper_gemm_cooperative, 250x264x200: clocks of a CTA" in out
    assert "plain 100.0 us, with stamps 103.0 us: +3.0 %" in out
    assert told.to_json()["cost"] == {"plain_us": 100.0, "twin_us": 103.0, "more": pytest.approx(0.03)}


def test_tasks_without_room_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.profiling.test_records import NEVER, area, launch

    stamps = [(10 * i, 1 + i % 3) for i in range(40)]
    recorded = launch(area(stamps), NEVER, area([(0, 1), (5, 0)]))
    cost = Cost(Figure.of([1.0, 1.0]), Figure.of([1.0, 1.0]))
    profile._tell(profile.Profiled("k", (1,), None, recorded, times_of(recorded), cost))
    assert "1 of 2 tasks had room for 32 words only" in capsys.readouterr().out
