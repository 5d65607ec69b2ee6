"""What estimates of the model of time are corrected by: learned of measurements, and no more than these say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random

import pytest
import torch

from benchmarks import learn_gemm
from benchmarks.learn_gemm import Group
from tlxgen.families.gemm import cost
from tlxgen.families.gemm.model import LIKELY, MOST_OFF, Correction

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
RECORD = json.loads(cost.CORRECTION_FILE.read_text())


def drawn_groups(count: int, seed: int) -> list[Group]:
    """Kernels whose time is off by a tenth, up or down, as their third input says; of one group by more, all alike."""
    random, found = Random(seed), []
    for i in range(count):
        inputs = [[random.gauss(0, 1) for _ in range(4)] for _ in range(6)]
        estimates = [random.uniform(0, 0.15) for _ in inputs]
        alike = random.uniform(-1, 1)
        times = [e + alike + math.copysign(0.1, x[2]) for e, x in zip(estimates, inputs, strict=True)]
        found.append(Group((i, 1, 1), True, inputs, estimates, times))
    return found


def test_picks_of_what_was_measured_lose_what_is_recorded() -> None:
    groups = [g for name in RECORD["learned_of"] if learn_gemm.DRAWN in name for g in learn_gemm.read(RESULTS / name)]
    found = learn_gemm.summary(learn_gemm.losses(groups, cost.CORRECTION))
    assert found == {key: pytest.approx(value, abs=3e-3) for key, value in RECORD["error"].items()}
    left_out = RECORD["error_on_shapes_left_out"]
    assert left_out["with"]["groups"] == found["groups"]
    assert found["loss_mean"] <= left_out["with"]["loss_mean"] < left_out["without"]["loss_mean"] - 0.005
    assert left_out["with"]["loss_95th"] < left_out["without"]["loss_95th"] - 0.02


def test_a_network_learns_what_estimates_are_off_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn_gemm, "TEACHERS", 2)
    measured = drawn_groups(150, 0)
    unmeasured = [group._replace(estimates=[], times=[]) for group in drawn_groups(100, 2)]
    network = learn_gemm.correction(*learn_gemm.taught(measured, unmeasured, learn_gemm.teachers(measured)))
    others = drawn_groups(100, 1)
    before, after = (learn_gemm.summary(learn_gemm.losses(others, x)) for x in (None, network))
    assert before["loss_mean"] > 1.04 and after["loss_mean"] < 1.01


def test_what_is_said_is_hardly_ever_cut_off() -> None:
    """A network that learns differences may add anything to all; by 0.25 or more, all kernels would be alike."""
    said = []
    for group in learn_gemm.read(RESULTS / "gemm_drawn_shipped_h200.json")[::8]:
        likely = min(group.estimates) + math.log(LIKELY)
        said += [cost.CORRECTION(x) for x, y in zip(group.inputs, group.estimates, strict=True) if y <= likely]
    assert sum(abs(x) == MOST_OFF for x in said) <= len(said) / 100


def test_doubt_is_what_teachers_say_that_the_pick_of_all_loses() -> None:
    """Of two kernels of one estimate the first is the pick: by one teacher it is the best, by the other 0.2 behind."""

    class Says(torch.nn.Module):
        def __init__(self, second: float) -> None:
            super().__init__()
            self.second = second

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return inputs * self.second

    by = learn_gemm.Teachers([Says(0.3), Says(-0.2)], (torch.zeros(1), torch.ones(1)))  # type: ignore[list-item]
    group = Group((1, 1, 1), True, [[0.0], [1.0]], [0.0, 0.0])
    assert learn_gemm.doubt(group, by) == pytest.approx(0.1)
    assert learn_gemm.doubt(group._replace(estimates=[0.0, 1.0]), by) == 0  # the second is no candidate


def test_what_is_written_says_what_the_network_said() -> None:
    groups = drawn_groups(2, 3)
    every = torch.tensor([x for group in groups for x in group.inputs])
    scale = every.mean(0), every.std(0)
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)
    )
    made = learn_gemm.correction(network, scale)
    said = network((every - scale[0]) / scale[1])[:, 0].clamp(-MOST_OFF, MOST_OFF)
    read = [made(x) for x in every.tolist()]
    assert read == pytest.approx(said.tolist(), abs=1e-3)


def test_no_estimate_is_corrected_by_more_than_there_is_reason_to() -> None:
    assert [Correction((1, 1), (0.0, 1.0))([x]) for x in (-9.0, 0.1, 9.0)] == [-MOST_OFF, 0.1, MOST_OFF]
