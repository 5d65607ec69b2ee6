"""A case with two outputs, run as on a GPU, on the simulator's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.support import kernels, source, written  # noqa: E402
from tlxgen.check import on_gpu  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

AT = "hopper_attention_fwd/hopper_attention_fwd_causal"
SHAPE = (1, 2, 1, 70, 90)


def run(
    monkeypatch: pytest.MonkeyPatch, path: Path, after: Any = None, peers: Any = None, **other: Any
) -> dict[str, Any]:
    """The case, twice; `after` is called with the outputs of each launch and its number; `other` replaces functions."""
    found = kernels("hopper_attention_fwd")
    variant = next(s for s in found.structures if s.name == AT.split("/")[1]).variants[0]
    module, problem = load_module(path), found.family.problem()
    count = iter(range(2))

    def launch(*arguments: Any) -> Any:
        outputs, strays = problem.launch(*arguments)
        if after:
            after(outputs, next(count))
        return outputs, strays

    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    watched = SimpleNamespace(**{**vars(problem), "launch": launch, **other})
    with Session("eager", 0).active():
        return on_gpu.run(watched, module, variant.spec, SHAPE, module.CONFIGS[0], 2, 0, peers)
    raise AssertionError("the simulator ended the run")


def test_both_outputs_are_right_and_the_larger_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, source(AT))
    assert result["passed"] and 1e-4 < result["error"] < 5e-3 and result["text"].startswith("out: ")


def test_a_wrong_log_sum_exp_fails_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = source(AT).read_text().replace("(m + tl.log2(l)) * 0.693", "(m + tl.log2(l)) * 0.694")
    result = run(monkeypatch, written(AT, broken, tmp_path))
    assert not result["passed"] and result["text"].startswith("lse: error ")


def test_a_repeat_that_differs_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def disturb(outputs: dict[str, torch.Tensor], number: int) -> None:
        if number == 1:
            outputs["lse"][0, 0, 3] += 1e-3

    result = run(monkeypatch, source(AT), disturb)
    assert not result["passed"] and result["text"].startswith("lse: repeat 1 differs from the first")


@pytest.mark.parametrize(("off", "passed"), [(1e-6, True), (1e-1, False)])
def test_an_output_of_no_fixed_order_may_differ_but_must_be_right(
    monkeypatch: pytest.MonkeyPatch, off: float, passed: bool
) -> None:
    def disturb(outputs: dict[str, torch.Tensor], number: int) -> None:
        if number == 1:
            outputs["lse"] += off

    result = run(monkeypatch, source(AT), disturb, reproducible=lambda spec, output: output != "lse")
    assert result["passed"] == passed


def test_a_case_without_outputs_is_right_with_an_error_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, source(AT), lambda outputs, number: outputs.clear())
    assert (result["passed"], result["error"], result["text"]) == (True, 0.0, "nothing to compare")


def peer(off: float, name: str = "out") -> Any:
    """A kernel of somebody's, whose output is off by so much."""

    def peers(spec: Any, shape: Any, tensors: Any) -> Any:
        exact = kernels("hopper_attention_fwd").family.problem().reference(spec, tensors)[name][0]
        return {"theirs": lambda: {name: exact + off}, "refuses": refuse}

    return peers


def refuse() -> Any:
    raise RuntimeError("no kernel for this")


@pytest.mark.parametrize("off", [1e-9, 1e-3])
def test_errors_stand_beside_those_of_another_kernel(monkeypatch: pytest.MonkeyPatch, off: float) -> None:
    """Not less than that of the reference rounded, however exact the other is."""
    result = run(monkeypatch, source(AT), peers=peer(off))
    errors = result["peers"]["out"]
    assert result["passed"] and set(errors) == {"theirs", "ours", "ratio"}
    assert errors["ours"] == pytest.approx(result["error"]) and 0.5 < errors["ratio"] < 2
    assert (errors["ratio"] == pytest.approx(errors["ours"] / errors["theirs"])) == (off == 1e-3)


def test_an_error_of_twice_the_other_kernel_s_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def disturb(outputs: dict[str, torch.Tensor], number: int) -> None:
        outputs["lse"] += 4e-6  # right, by `tolerance`

    result = run(monkeypatch, source(AT), disturb, peers=peer(1e-6, "lse"))
    assert (
        not result["passed"] and result["text"].startswith("lse: error ") and "times that of torch's" in result["text"]
    )
