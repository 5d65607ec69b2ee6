"""The operator of a generated forward and backward: its gradients, eager and under torch.compile, on the simulator."""

from __future__ import annotations

import functools
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.build import build  # noqa: E402
from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402
from tlxgen.sim.launch import OnCpu  # noqa: E402

DEVICE = torch.device("cuda", 0)
TEXT = "kernel: norm_{way}\nname: {name}\narch: sm90\nproblem: {{{problem}}}\ntile: {{n: 128}}\n"
LAYER, RMS = "bias: true", "norm: rms, dtype: fp16, weight: fp32"


def module(folder: Path, way: str, name: str, problem: str) -> ModuleType:
    """The module of a spec with one variant."""
    (folder / f"{name}.yaml").write_text(TEXT.format(way=way, name=name, problem=problem))
    return load_module(build(folder / f"{name}.yaml", out=folder / "generated").folder / f"{name}.py")


def pair(folder: Path, problem: str) -> tuple[ModuleType, ModuleType]:
    forward = module(folder, "fwd", "some_norm", problem + ", stats: true")
    return forward, module(folder, "bwd", "its_gradients", problem)


def simulated(module: ModuleType, session: Session) -> None:
    """Has a module's launches find the simulated GPU, which torch leaves when it calls a gradient."""
    run = module.run

    @functools.wraps(run)
    def inside(*arguments: Any) -> Any:
        with torch._C._EnableTorchFunction(), OnCpu(session.memory):
            return run(*(x.as_subclass(CudaLike) if isinstance(x, torch.Tensor) else x for x in arguments))

    module.run = inside  # type: ignore[attr-defined]


@pytest.mark.parametrize(("problem", "name"), [(LAYER, "layer_norm"), (RMS, "rms_norm")])
@pytest.mark.parametrize("summed", [False, True], ids=["weighted", "expanded"])
def test_gradients_are_those_of_torchs_norm(problem: str, name: str, summed: bool, tmp_path: Path) -> None:
    modules, session = pair(tmp_path, problem), Session("random", 0)
    for one in modules:
        simulated(one, session)
    norm = modules[1].norm(modules[0].some_norm)
    layer = name == "layer_norm"
    torch.manual_seed(0)
    kinds = (torch.bfloat16,) * 3 if layer else (torch.float16, torch.float32)
    leaves = [torch.randn(s).to(k) for s, k in zip(((3, 5, 72), (72,), (72,)), kinds, strict=False)]
    weights = torch.ones(()) if summed else torch.randn(3, 5, 72).to(kinds[0])
    with session.active():
        given = [x.to(DEVICE).requires_grad_() for x in leaves]
        out = norm(given[0], (72,), *given[1:])
        found = torch.autograd.grad((out * weights.to(DEVICE)).sum() if not summed else out.sum(), given)
    exact = [x.double().requires_grad_() for x in leaves]
    of_torch = getattr(torch.nn.functional, name)
    eps = {} if layer else {"eps": torch.finfo(torch.float16).eps}
    wanted = of_torch(exact[0], (72,), *exact[1:], **eps)
    for a, b in zip(found, torch.autograd.grad((wanted * weights.double()).sum(), exact), strict=True):
        assert float((a.double().cpu() - b).norm()) < 1e-2 * max(float(b.norm()), 1.0)


@pytest.mark.parametrize(("problem", "name"), [(LAYER, "layer_norm"), (RMS, "rms_norm")])
def test_a_call_that_is_known_again_is_still_that_of_its_arguments(problem: str, name: str, tmp_path: Path) -> None:
    forward, backward = pair(tmp_path, problem)
    norm, layer = backward.norm(forward.some_norm), name == "layer_norm"
    kinds, of_torch = (
        (torch.bfloat16,) * 3 if layer else (torch.float16, torch.float32),
        getattr(torch.nn.functional, name),
    )
    torch.manual_seed(0)
    leaves = [torch.randn(s).to(k) for s, k in zip(((5, 72), (72,), (72,)), kinds, strict=False)]

    def wanted(eps: float) -> Any:
        return of_torch(leaves[0].double(), (72,), *(x.double() for x in leaves[1:]), eps=eps)

    def agrees(found: Any, eps: float) -> bool:
        return float((found.detach().double().cpu() - wanted(eps)).norm()) < 1e-2 * float(wanted(eps).norm())

    with Session("random", 0).active():
        given = [x.to(DEVICE).requires_grad_() for x in leaves]
        for _ in range(4):
            assert agrees(norm(given[0], (72,), *given[1:], eps=0.5), 0.5)
        assert norm.operator.calls.latest[1] == ((72,), 0.5)
        shape = [72]
        for eps in (2.0, 0.5, 2.0, 2.0, 2.0):
            assert agrees(norm(given[0], shape, *given[1:], eps=eps), eps)
            assert agrees(norm(given[0], (72,), *given[1:], eps=eps), eps)
        shape[0] = 71
        for wrong in (shape, (71,), (5, 72)):
            with pytest.raises(ValueError, match="normalized_shape"):
                norm(given[0], wrong, *given[1:], eps=2.0)
        with pytest.raises(TypeError, match="weight: NoneType"):
            norm(given[0], (72,), None, *given[2:], eps=2.0)
        assert not norm(given[0].detach(), (72,), *(x.detach() for x in given[1:]), eps=2.0).requires_grad


@pytest.mark.parametrize("used", [(1.0, 0.5), (1.0, None), (None, 0.5)], ids=["both", "norm", "sum"])
@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_gradients_by_a_residual_have_those_of_the_sum(used: tuple[Any, Any], name: str, tmp_path: Path) -> None:
    layer = name == "layer_norm"
    problem = ("bias: true" if layer else "norm: rms") + ", dtype: fp16, weight: fp32, residual: true"
    modules, session = pair(tmp_path, problem), Session("random", 0)
    for one in modules:
        simulated(one, session)
    norm = modules[1].norm(modules[0].some_norm)
    torch.manual_seed(0)
    leaves = [torch.randn(5, 72).half() for _ in range(2)] + [torch.randn(72) for _ in range(1 + layer)]
    factors = [None if of is None else torch.randn(5, 72).half() * of for of in used]

    def weighted(results: Any) -> Any:
        both = [(made, by) for made, by in zip(results, factors, strict=True) if by is not None]
        return sum((made * by.to(made.dtype).to(made.device)).sum() for made, by in both)

    with session.active():
        given = [x.to(DEVICE).requires_grad_() for x in leaves]
        results = norm(given[0], given[1], (72,), *given[2:], eps=1e-5)
        found = torch.autograd.grad(weighted(results), given, allow_unused=True)
    exact = [x.double().requires_grad_() for x in leaves]
    rows = exact[0] + exact[1]
    of_torch = getattr(torch.nn.functional, name)(rows, (72,), *exact[2:], eps=1e-5)
    wanted = torch.autograd.grad(weighted((of_torch, rows)), exact, allow_unused=True)
    assert float((results[1].double().cpu() - rows).detach().norm()) < 1e-2
    for a, b in zip(found, wanted, strict=True):
        b = torch.zeros(()) if b is None else b
        assert float((a.double().cpu() - b).norm()) < 1e-2 * max(float(b.norm()), 1.0)


def test_a_forward_that_computes_something_else_is_refused(tmp_path: Path) -> None:
    forward, backward = pair(tmp_path, LAYER)
    assert backward.norm(forward.some_norm) is backward.norm(forward.some_norm)
    for name, problem, words in (
        ("other_type", "dtype: fp16, bias: true, stats: true", "dtype fp16, here bf16"),
        ("no_stats", "bias: true", "stats False, here True"),
        ("of_rms", "norm: rms, stats: true", "norm rms, here layer"),
        ("of_sums", "bias: true, stats: true, residual: true", "residual True, here False"),
    ):
        other = module(tmp_path, "fwd", name, problem)
        with pytest.raises(ValueError, match=words):
            backward.norm(getattr(other, name))
    with pytest.raises(TypeError, match="expected the host function of a generated module"):
        backward.norm(torch.nn.functional.layer_norm)


def test_what_the_kernels_do_not_know_is_refused(tmp_path: Path) -> None:
    forward, backward = pair(tmp_path, "weight: none")
    norm, x = backward.norm(forward.some_norm), torch.randn(4, 72)
    with pytest.raises(ValueError, match=r"normalized_shape: \(4, 72\)"):
        norm(x, (4, 72))
    with pytest.raises(ValueError, match="weight: expected None"):
        norm(x, (72,), torch.ones(72))


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_sees_one_operator_each_way(dynamic: bool, tmp_path: Path) -> None:
    """Functions of torch stand in for the kernels."""
    forward, backward = pair(tmp_path, LAYER)

    def run_forward(x: Any, weight: Any, bias: Any, eps: float, *_: Any) -> Any:
        return tuple(
            t if i == 0 else t.squeeze(-1) for i, t in enumerate(torch.native_layer_norm(x, (72,), weight, bias, eps))
        )

    def run_backward(dy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *_: Any) -> Any:
        stats = mean[:, None], rstd[:, None]
        return torch.ops.aten.native_layer_norm_backward(dy, x, (72,), *stats, weight, weight, [True] * 3)

    forward.run, backward.run = run_forward, run_backward  # type: ignore[attr-defined]
    norm = torch.compile(backward.norm(forward.some_norm), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    x, weight, bias = (torch.randn(s, requires_grad=True) for s in ((5, 72), (72,), (72,)))
    factors = torch.randn(5, 72)
    found = torch.autograd.grad((norm(x, (72,), weight, bias) * factors).sum(), (x, weight, bias))
    wanted = torch.nn.functional.layer_norm(x, (72,), weight, bias)
    for a, b in zip(found, torch.autograd.grad((wanted * factors).sum(), (x, weight, bias)), strict=True):
        torch.testing.assert_close(a, b)
