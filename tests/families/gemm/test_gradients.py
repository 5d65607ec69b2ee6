"""A GEMM that knows its gradients: those of torch in float64, by generated kernels on the simulator."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from tests.families.norm_bwd.test_autograd import simulated  # noqa: E402
from tlxgen.build import build  # noqa: E402
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402

Package = dict[str, ModuleType]
TEXT = """kernel: gemm
name: layer
arch: sm90
problem: {{a: {{dtype: {0}}}, b: {{dtype: {0}, layout: {2}}}, c: {{dtype: {0}}}}}
tile: {{m: 64, n: 64}}
tasks: {{mma: {{replicate: 1}}}}
rings: {{ab: {{stages: 2}}}}
variants:
  axes:
{1}"""
LAYOUTS = "    problem.a.layout: [row, col]\n    problem.b.layout: [row, col]\n"
OPS: dict[str, tuple[str, ...]] = {
    "": (),
    "_bias": ("bias",),
    "_bias_relu": ("bias", "relu"),
    "_bias_gelu": ("bias", "gelu"),
    "_residual_silu_bias": ("residual", "silu", "bias"),
    "_relu_residual": ("relu", "residual"),
    "_scale_bias": ("scale", "bias"),
    "_scale_rowwise_gelu_scale": ("scale_rowwise", "gelu", "scale"),
}
M, N, K = 72, 40, 80
EXACT: dict[str, Callable[..., Any]] = {
    "bias": lambda x, t: x + t["bias"],
    "relu": lambda x, t: torch.relu(x),
    "gelu": lambda x, t: torch.nn.functional.gelu(x),
    "silu": lambda x, t: torch.nn.functional.silu(x),
    "residual": lambda x, t: x + t["residual"],
    "scale": lambda x, t: x * t["scale"],
    "scale_rowwise": lambda x, t: x * t["scale_a"][:, None] * t["scale_b"],
}
TENSORS: dict[str, Callable[[], dict[str, Any]]] = {
    "bias": lambda: {"bias": torch.randn(N)},
    "residual": lambda: {"residual": torch.randn(M, N).to(torch.float16)},
    "scale": lambda: {"scale": torch.tensor([0.5])},
    "scale_rowwise": lambda: {"scale_a": torch.rand(M) + 0.5, "scale_b": torch.rand(N) + 0.5},
}
CONSTANT = {"scale", "scale_a", "scale_b"}


def package(folder: Path, text: str) -> Package:
    """The modules of a spec's functions, by the suffix of each function's name."""
    (folder / "layer.yaml").write_text(text)
    made = load_module(build(folder / "layer.yaml", out=folder / "generated").folder / "__init__.py")
    first = {at[0]: name for name, at in reversed(made.FUNCTIONS.items()) if at}  # of a function's names
    return {
        name.removeprefix("layer"): importlib.import_module(f".{module}", made.__name__)
        for module, name in first.items()
    }


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A function for each order of the operands; one of them chooses among structures."""
    return package(
        tmp_path_factory.mktemp("layouts"), TEXT.format("fp16", LAYOUTS + "    schedule.pdl: [false, true]\n", "row")
    )


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A linear layer, what may follow it, and the products that its gradients are made of."""
    ops = "".join(f"      - [{', '.join(ops)}]\n" for ops in OPS.values())
    text = TEXT.format(
        "bf16", f"    problem.a.layout: [row, col]\n    problem.b.layout: [col, row]\n    epilogue.ops:\n{ops}", "col"
    )
    only = " and ".join(f"'{op}' not in epilogue.ops" for op in ("bias", "residual", "scale"))
    more = f"""  require:
    - problem.a.layout == 'row' or problem.b.layout == 'row'
    - problem.b.layout == 'col' or ({only} and 'gelu' not in epilogue.ops)
"""
    return package(tmp_path_factory.mktemp("layer"), text + more)


def operands(kind: Any, a: str, b: str, ops: tuple[str, ...] = ()) -> dict[str, Any]:
    """Leaves, and what is made of them: column-major operands are transposed views, as a layer's weight is."""
    torch.manual_seed(0)
    given = {"a": torch.randn((M, K) if a == "row" else (K, M)), "b": torch.randn((K, N) if b == "row" else (N, K))}
    given = {name: x.to(kind) for name, x in given.items()}
    for op in ops:
        given |= TENSORS[op]() if op in TENSORS else {}
    return given


def product(given: dict[str, Any], a: str, b: str, ops: tuple[str, ...]) -> Any:
    t = {name: x.double() for name, x in given.items()}
    x = (t["a"] if a == "row" else t["a"].T) @ (t["b"] if b == "row" else t["b"].T)
    for op in ops:
        x = EXACT[op](x, t)
    return x


def by_kernels(package: Package, suffix: str, given: dict[str, Any], a: str, b: str, factors: Any) -> tuple[Any, ...]:
    session = Session("random", 0)
    for module in package.values():
        simulated(module, session)
    with session.active():
        on = {n: x.to(DEVICE).requires_grad_(n not in CONSTANT) for n, x in given.items()}
        called = {**on, "a": on["a"] if a == "row" else on["a"].T, "b": on["b"] if b == "row" else on["b"].T}
        out = package[suffix].layer(**called)
        loss = out.sum() if factors is None else (out * factors.to(out.dtype).to(DEVICE)).sum()
        leaves = [x for x in on.values() if x.requires_grad]
        return (out.double().cpu(), *(g.cpu() for g in torch.autograd.grad(loss, leaves)))


def assert_exact(package: Package, suffix: str, given: dict[str, Any], a: str, b: str, ops: Any, summed: bool) -> None:
    factors = None if summed else torch.randn(M, N)
    found = by_kernels(package, suffix, given, a, b, factors)
    leaves = {n: x.double().requires_grad_(n not in CONSTANT) for n, x in given.items()}
    out = product(leaves, a, b, ops)
    rounded = torch.ones(M, N) if factors is None else factors.to(given["a"].dtype)
    wanted = torch.autograd.grad((out * rounded.double()).sum(), [x for x in leaves.values() if x.requires_grad])
    for name, one, other in zip(["out", *leaves], [x.detach() for x in found], (out.detach(), *wanted), strict=False):
        assert float((one.double() - other).norm()) < 1e-2 * float(other.norm()), name
    for x, g in zip((x for n, x in given.items() if n not in CONSTANT), found[1:], strict=True):
        assert g.dtype == x.dtype and g.shape == x.shape


@pytest.mark.parametrize("a", ["row", "col"])
@pytest.mark.parametrize("b", ["row", "col"])
@pytest.mark.parametrize("summed", [False, True], ids=["weighted", "expanded"])
def test_gradients_of_every_order_of_the_operands(layouts: Package, a: str, b: str, summed: bool) -> None:
    suffix = ("_a_col" if a == "col" else "") + ("_b_col" if b == "col" else "")
    assert_exact(layouts, suffix, operands(torch.float16, a, b), a, b, (), summed)


@pytest.mark.parametrize("a", ["row", "col"])
@pytest.mark.parametrize("b", ["row", "col"])
def test_the_function_of_all_layouts_knows_its_gradients(layouts: Package, a: str, b: str) -> None:
    """That which has the spec's name asks itself: of operands that lie otherwise, others."""
    assert {of: module for of, (module, _) in layouts[""].PRODUCTS.items()} == {"plain": "_layer"}
    assert_exact(layouts, "", operands(torch.float16, a, b), a, b, (), False)


@pytest.mark.parametrize("suffix", OPS)
def test_gradients_go_back_through_every_operation(layer: Package, suffix: str) -> None:
    ops = OPS[suffix]
    assert_exact(layer, suffix, operands(torch.bfloat16, "row", "col", ops), "row", "col", ops, False)


@pytest.fixture
def stood_in(layer: Package, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Functions of torch stand in for the kernels; what is asked of which function, in order."""
    torch._dynamo.reset()
    asked: list[tuple[str, bool]] = []

    def of(suffix: str) -> Callable[..., Any]:
        def run(a: Any, b: Any, *rest: Any) -> Any:
            for x, turned in ((a, "_a_col" in suffix), (b, "_b_row" not in suffix)):
                assert (x.mT if turned else x).stride(1) == 1, "another order"
            asked.append((suffix, b.requires_grad))
            x = a.float() @ b.float()
            tensors = [op for op in OPS.get(suffix, ()) if op in TENSORS]
            t = dict(zip(tensors, rest, strict=False))
            for op in OPS.get(suffix, ()):
                x = EXACT[op](x, t)
            return layer[suffix].outputs(a, b, *rest[: len(t)]).copy_(x)

        return run

    for suffix, module in layer.items():
        monkeypatch.setattr(module, "run", of(suffix))
    return asked


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("suffix", ["", "_bias", "_bias_relu", "_bias_gelu", "_relu_residual"])
@pytest.mark.parametrize("n", [40, 41], ids=["whole rows", "padded rows"])
def test_compiled_it_is_one_graph_with_its_gradients(
    layer: Package, stood_in: list[tuple[str, bool]], suffix: str, dynamic: bool, n: int
) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    call = layer[suffix].layer
    compiled = torch.compile(lambda **t: call(**t) * 2, backend=counter, fullgraph=True, dynamic=dynamic)
    for m in (24, 32):
        torch.manual_seed(m)
        given = {"a": torch.randn(m, K).bfloat16(), "b": torch.randn(n, K).bfloat16()}
        given |= {"bias": torch.randn(n)} if "bias" in suffix else {}
        given |= {"residual": torch.randn(m, n)} if "residual" in suffix else {}
        found, wanted = [], []
        for function, results in ((compiled, found), (lambda **t: call(**t) * 2, wanted)):
            leaves = {name: x.clone().requires_grad_() for name, x in given.items()}
            out = function(**{**leaves, "b": leaves["b"].mT})
            results += [out, *torch.autograd.grad(out.square().sum(), [*leaves.values()])]
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other)
    assert counter.frame_count == (1 if dynamic else 2)


@pytest.mark.parametrize("needed", [("a",), ("b",), ("a", "b")], ids="+".join)
def test_what_nobody_asks_for_is_not_multiplied(layer: Package, stood_in: list[tuple[str, bool]], needed: Any) -> None:
    given = {name: x.requires_grad_(name in needed) for name, x in operands(torch.bfloat16, "row", "col").items()}
    layer[""].layer(given["a"], given["b"].mT).sum().backward()
    products = {"a": "_b_row", "b": "_a_col_b_row"}
    assert [suffix for suffix, _ in stood_in] == ["", *(products[name] for name in needed)]


def test_without_gradients_nothing_is_kept_and_the_operator_is_not_asked(
    layer: Package, stood_in: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = operands(torch.bfloat16, "row", "col")
    monkeypatch.setattr(layer[""], "OPERATOR", None)
    assert layer[""].layer(given["a"], given["b"].mT).grad_fn is None
    with torch.no_grad():
        assert not layer[""].layer(given["a"].requires_grad_(), given["b"].mT).requires_grad


def test_a_result_that_no_gradient_looks_at_is_not_kept(layer: Package, stood_in: list[tuple[str, bool]]) -> None:
    """A relu's derivative is read from C; else C may go, as a linear layer of torch lets it go."""
    given = operands(torch.bfloat16, "row", "col", ("bias",))
    for suffix, kept in (("_bias", False), ("_bias_relu", True)):
        made = layer[suffix].layer(given["a"].requires_grad_(), given["b"].mT, bias=given["bias"])
        saved = [t for t in made.grad_fn.saved_tensors if t is not None]
        assert any(t.shape == made.shape for t in saved) == kept


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_tensor_without_a_gradient_is_named(layer: Package, stood_in: list[tuple[str, bool]], compiled: bool) -> None:
    given = operands(torch.bfloat16, "row", "col", ("scale", "bias"))
    call = layer["_scale_bias"].layer
    call = torch.compile(call, backend="aot_eager", fullgraph=True) if compiled else call
    with pytest.raises(Exception, match="scale requires grad, and no gradient by it is known: detach it"):
        call(given["a"], given["b"].mT, scale=given["scale"].requires_grad_(), bias=given["bias"])
    assert not stood_in


LACKING = """kernel: gemm
name: layer
arch: sm90
problem: {b: {layout: col}}
tile: {n: 128}
variants:
  axes: {problem.a.layout: [row, col], problem.b.layout: [col, row], epilogue.ops: [[silu], []]}
  require:
    - problem.a.layout == 'row' or problem.b.layout == 'row'
    - ('silu' in epilogue.ops) == (problem.b.layout == 'col')
"""


def test_sums_that_cannot_be_multiplied_again_are_named(tmp_path: Path) -> None:
    made = package(tmp_path, LACKING)["_silu"]
    a, b = torch.zeros(8, 8).bfloat16().requires_grad_(), torch.zeros(8, 8).bfloat16()
    words = (
        "layer_row_col_silu: a requires grad, and silu asks for sums that the plain product of operands in layouts row"
    )
    with pytest.raises(ValueError, match=words):
        made.layer(a, b.mT)


@pytest.mark.parametrize(
    "problem", ["a: {dtype: e4m3}, b: {dtype: e4m3, layout: col}", "c: {dtype: fp32}"], ids=["fp8", "C in fp32"]
)
def test_other_types_have_no_gradients(problem: str, tmp_path: Path) -> None:
    made = package(tmp_path, f"kernel: gemm\nname: layer\narch: sm90\nproblem: {{{problem}}}\ntile: {{n: 128}}\n")
    assert made[""].OPERATOR.backward is None


def test_an_operation_without_a_derivative_is_named(tmp_path: Path) -> None:
    axes = (
        "variants: {axes: {problem.a.layout: [row, col], problem.b.layout: [row, col], epilogue.ops: [[swiglu], []]}}"
    )
    made = package(tmp_path, f"kernel: gemm\nname: layer\narch: sm90\ntile: {{n: 128}}\n{axes}\n")["_swiglu"]
    a, b = torch.zeros(8, 8).bfloat16().requires_grad_(), torch.zeros(8, 8).bfloat16()
    with pytest.raises(ValueError, match="a requires grad, and no derivative of swiglu is known here"):
        made.layer(a, b)
