"""The training examples: torch's runs on the CPU, what they write, and a step by our kernels in the simulator."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.sim import Session, load_module  # noqa: E402

ROOT = Path(__file__).parents[2]
NAMES = ("transformer", "recommender")
# Launches of a step. Forward: each linear layer, norm and attention is one. Backward: a linear layer is two, and one
# more where gelu's input is computed again; a norm two (with its sums of columns); each attention three.
LAUNCHES = {
    "transformer": (5 + 3 + 1) + (5 * 2 + 1 + 3 * 2 + 3),
    "recommender": (3 + 4 + 2) + (3 * 2 + 4 * 2 + 2 * 3),
}


@pytest.fixture(params=NAMES)
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A script as it finds itself when it is run: beside `common`."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "training"))
    yield importlib.import_module(request.param)
    for name in (*NAMES, "common"):
        sys.modules.pop(name, None)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_torch_trains_on_the_cpu_and_leaves_a_record(example: ModuleType, tmp_path: Path) -> None:
    path, picture = tmp_path / "new" / "record.json", tmp_path / "plot.svg"
    options = ["--torch-only", "--small", "--steps", "3", "--json", str(path), "--plot", str(picture)]
    assert example.main(options) == 0
    record = json.loads(path.read_text())
    assert (record["example"], record["steps"], record["seed"]) == (example.__name__, 3, 0)
    assert [*record["runs"]] == ["torch bf16", "torch fp32"]
    for run in record["runs"].values():
        assert len(run["losses"]) == 3 and run["most_off_fp32"] < 0.05
    assert record["runs"]["torch fp32"]["most_off_fp32"] == 0
    assert record["plot"] == ("plot.svg" if picture.exists() else "matplotlib is not installed")


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_it_says_so(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main([]) == 2
    assert "no Hopper GPU here" in capsys.readouterr().err
    with pytest.raises(SystemExit) as raised:
        example.main(["--steps", "0"])
    assert raised.value.code == 2


def test_the_loss_falls(example: ModuleType) -> None:
    """On the same batch again, in fp32."""
    loss_of, leaves = example.model("torch", torch.float32, torch.device("cpu"), 0, True)
    losses = example.common.train(lambda step: loss_of(0), leaves, 3, 1e-3)["losses"]
    assert losses[2] < losses[1] < losses[0]


def test_a_step_by_our_kernels_is_one_by_torch(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss and every gradient, by generated kernels in the simulator, beside torch in fp32."""
    session = Session("random", 0)

    @functools.cache
    def package(name: str) -> ModuleType:
        return load_module(ROOT / "generated" / name / "__init__.py")

    def generated(name: str, function: str, module: str = "") -> Any:
        home = package(name)
        return home.module(module, function) if module else getattr(home, function)

    monkeypatch.setattr(example.common, "generated", generated)
    with session.active():
        loss_of, leaves = example.model("tlxgen", torch.bfloat16, torch.device("cuda", 0), 0, True)
        loss = loss_of(0)
        found = [loss.detach(), *torch.autograd.grad(loss, leaves)]
    loss_of, leaves = example.model("torch", torch.float32, torch.device("cpu"), 0, True)
    loss = loss_of(0)
    expected = [loss.detach(), *torch.autograd.grad(loss, leaves)]
    for a, b in zip(found, expected, strict=True):
        assert float((a.double().cpu() - b.double()).norm()) < 5e-2 * float(b.double().norm())
    assert session.launches == LAUNCHES[example.__name__]  # no operator of ours is left out
    assert not session.findings.all
