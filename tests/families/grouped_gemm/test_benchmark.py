"""The script of the measurements and the family's benchmark, as far as a CPU can tell."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.families import kernels_of  # noqa: E402
from tlxgen.families.grouped_gemm import benchmark, problem  # noqa: E402
from tlxgen.families.grouped_gemm.spec import GroupedGemmSpec  # noqa: E402

ROOT = Path(__file__).parents[3]


def script() -> ModuleType:
    found = importlib.util.spec_from_file_location("grouped_gemm_script", ROOT / "benchmarks" / "grouped_gemm.py")
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::tlxgen.errors.SpecWarning")
def test_every_candidate_of_the_script_fits(tmp_path: Path) -> None:
    made = script()
    for section in made.SPECS:
        for spec in made.specs(section, tmp_path):
            (structure,) = kernels_of(spec).structures
            assert structure.variants


def test_every_section_is_measured_by_its_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for what needs a GPU say what they were asked for."""
    made, asked = script(), []
    for name in ("timed", "decode", "numbers", "host"):
        monkeypatch.setattr(made, name, lambda *a, name=name: asked.append((name, *a)) or [])
    found = {
        section: [made.Candidate(Path(f"{section}_{i}.yaml"), Path(), 0) for i in range(len(axes))]
        for section, axes in made.AXES.items()
    }
    for task in made.tasks({"numbers": [], "host": [], **found}, 1):
        task()
    names = {(a[0], a[1]) if a[0] == "timed" else (a[0],) for a in asked}
    timed = {("timed", section) for section in ("forward", "weights", "fp8", "block", "swiglu", "dynamic")}
    assert names == timed | {("decode",), ("numbers",), ("host",)}
    (numbered,) = (a[1] for a in asked if a[0] == "numbers")
    assert {c.spec.stem for c in numbered} == {*made.NUMBERED} >= {*made.CAPTURED}
    drawn = [a for a in asked if a[:2] == ("timed", "dynamic")]
    assert all(skewed and {c.spec.stem[:7] for c in of} == {"dynamic"} for _, _, _, skewed, of, _ in drawn)


def test_gate_and_up_by_torch_give_the_reference() -> None:
    said = {"problem": {"b": {"layout": "col"}}, "epilogue": {"ops": ["swiglu"]}}
    spec = GroupedGemmSpec.model_validate({"kernel": "grouped_gemm", "name": "g", "arch": "sm90", **said})
    torch.manual_seed(0)
    tensors = problem.inputs(spec, (5, 40, 32, 48), torch.device("cpu"))
    made = benchmark.results(spec, tensors, script().gated(tensors)())
    for name, (exact, scale) in problem.reference(spec, tensors).items():
        assert float((made[name].double() - exact).norm()) <= 1e-2 * scale, name


def test_a_summary_counts_the_best_candidate_of_each_problem() -> None:
    rows = [
        {"section": "forward", "sizes": "skewed", "shape": [8, 1, 1, 1], "name": name, "speedup": ratio}
        for name, ratio in (("torch._grouped_mm", 1.0), ("forward_0:0", 1.2), ("forward_1:0", 1.1))
    ]
    rows.append({**rows[1], "shape": [9, 1, 1, 1], "speedup": 0.3})
    (found,) = script().summary(rows)
    assert found["ratios"] == {"8x1x1x1": 1.2, "9x1x1x1": 0.3} and found["geometric_mean"] == pytest.approx(0.6)


@pytest.mark.parametrize(
    "said",
    [
        {"problem": {"b": {"layout": "col"}}},
        {"problem": {"vary": "k", "a": {"layout": "col"}}},
        {"problem": {"vary": "n"}, "epilogue": {"store": "direct"}},
        {"problem": {"vary": "none"}},
        {"problem": {"given": "masked_m"}},
        {"problem": {"given": "psum"}},
        {"problem": {"given": "split_sizes"}},
    ],
)
def test_a_loop_of_products_gives_the_reference(said: dict[str, Any]) -> None:
    spec = GroupedGemmSpec.model_validate({"kernel": "grouped_gemm", "name": "g", "arch": "sm90", **said})
    torch.manual_seed(0)
    tensors = problem.inputs(spec, (5, 40, 24, 48), torch.device("cpu"))
    wanted = problem.reference(spec, tensors)
    made = benchmark.results(spec, tensors, benchmark.baselines(spec)["loop of torch.mm"](tensors)())
    assert made.keys() == wanted.keys()
    for name, (exact, scale) in wanted.items():
        assert float((made[name].double() - exact).norm()) <= 1e-2 * scale, name
