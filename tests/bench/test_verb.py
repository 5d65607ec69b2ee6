"""`tlxgen bench` without a GPU: what it refuses, and the operator file for TritonBench."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.arguments import shapes_of  # noqa: E402
from tlxgen.bench.spec import Bench  # noqa: E402
from tlxgen.build import build  # noqa: E402
from tlxgen.errors import DeviceError, TlxgenError  # noqa: E402
from tlxgen.verbs import bench as verb  # noqa: E402

TEXT = (
    "kernel: gemm\nname: g\narch: sm90\ntile: {n: 128}\nepilogue: {ops: [bias]}\n"
    "variants:\n  axes: {tasks.mma.in_flight: [0, 1], rings.ab.stages: [3, 4]}\n"
)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "g.yaml"
    path.write_text(TEXT)
    return path


def bench(spec: Path, **options: Any) -> Bench:
    return Bench(spec, build(spec).folder, **options)


def test_a_case_a_structure_or_a_case_a_config_after_the_baselines(spec: Path) -> None:
    picks = [case.name for case in bench(spec).cases((64, 64, 64))]
    assert picks == ["torch", "g", "g_in_flight0", "g_in_flight1"]  # g: the function that chooses
    every = [case.name for case in bench(spec, every_config=True, baselines=[]).cases((64, 64, 64))]
    assert len(every) == len(set(every)) == 5
    assert every[1] == "g_in_flight0 | tasks.mma.in_flight=0, rings.ab.stages=3"


def test_a_baseline_that_takes_minutes_is_timed_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("kernel: gemm\nname: p\narch: sm90\n")
    assert "tlx_hopper_gemm_ws" not in bench(path).baselines
    assert list(bench(path, baselines=["tlx_hopper_gemm_ws"]).baselines) == ["tlx_hopper_gemm_ws"]


def test_a_baseline_computes_what_the_kernel_is_held_against(spec: Path) -> None:
    made = bench(spec)
    problem = made.problem((64, 72, 40), torch.device("cpu"))
    tensors = problem.inputs()
    out = made.cases((64, 72, 40))[0].make(tensors)()
    assert problem.wrong(tensors, out) == ""
    assert "error" in problem.wrong(tensors, out + 1)
    assert problem.flops == 2 * 64 * 72 * 40


def test_an_unknown_baseline_is_named_with_those_there_are(spec: Path) -> None:
    with pytest.raises(TlxgenError, match="cublas.*\n.*torch"):
        bench(spec, baselines=["cublas"]).cases((1, 1, 8))


def test_without_a_gpu_it_says_so(spec: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError, match="tlxgen bench runs sm90 kernels"):
        verb.run(spec, [(64, 64, 64)], None, False, 5, verb.Outputs())


@pytest.mark.parametrize(("texts", "shapes"), [(["1x2x3,4X5x6"], [(1, 2, 3), (4, 5, 6)]), (None, [])])
def test_shapes_as_they_are_typed(texts: list[str] | None, shapes: list[tuple[int, ...]], spec: Path) -> None:
    assert shapes_of(texts, spec) == shapes


def test_tritonbench_can_load_the_operator_and_call_it(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a stand-in with TritonBench's names: a base class and two decorators."""
    benchmarks: dict[str, bool] = {}

    class BenchmarkOperator:
        device = "cpu"

    def register_benchmark(baseline: bool = False) -> Any:
        def register(method: Any) -> Any:
            benchmarks[method.__name__] = baseline
            return method

        return register

    stand_in: Any = ModuleType("tritonbench.utils.triton_op")
    stand_in.BenchmarkOperator, stand_in.register_benchmark = BenchmarkOperator, register_benchmark
    stand_in.register_metric = lambda: lambda method: method
    for name in ("tritonbench", "tritonbench.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "tritonbench.utils.triton_op", stand_in)
    path = tmp_path / "operator.py"
    outputs = verb.Outputs(tritonbench=path)
    with pytest.raises(TlxgenError, match="is not built"):
        verb.run(spec, [(64, 72, 40)], None, False, 5, outputs)
    build(spec)
    assert verb.run(spec, [(64, 72, 40)], None, False, 5, outputs) == 0
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert benchmarks == {"torch": True, "g": False, "g_in_flight0": False, "g_in_flight1": False}
    operator = scope["Operator"]()
    ((shape, tensors),) = operator.get_input_iter()
    assert operator.flops("torch", (shape, tensors), None) == 2 * 64 * 72 * 40
    assert operator.torch(shape, tensors)().shape == (64, 72)
