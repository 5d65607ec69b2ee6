"""A GEMM's host function under torch.compile and autograd, torch.mm in the place of its launches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from tlxgen.loading import load_file  # noqa: E402

GENERATED = Path(__file__).resolve().parents[3] / "generated"


@pytest.fixture
def module() -> Iterator[ModuleType]:
    made = load_file(GENERATED / "hopper_gemm" / "hopper_gemm_cooperative.py")
    made.ran = []  # type: ignore[attr-defined]

    def run(a: Any, b: Any, out: Any, config: Any) -> Any:
        made.ran.append(config)
        return made.outputs(a, b).copy_(torch.mm(a, b)) if out is None else torch.mm(a, b, out=out)

    made.run = run  # type: ignore[attr-defined]
    yield made


def operands(m: int, n: int = 24, k: int = 16, grad: bool = False) -> tuple[Any, Any]:
    torch.manual_seed(m)
    a, b = torch.randn(m, k).bfloat16(), torch.randn(k, n).bfloat16()
    return a.requires_grad_(grad), b.requires_grad_(grad)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("n", [24, 29], ids=["whole rows", "padded rows"])
def test_compiled_it_is_one_node_and_dynamic_one_graph_for_all_sizes(module: ModuleType, dynamic: bool, n: int) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    call = torch.compile(
        lambda a, b: module.hopper_gemm(a * 2, b) + 1, backend=counter, fullgraph=True, dynamic=dynamic
    )
    for m in (5, 6, 7):
        a, b = operands(m, n)
        found = call(a, b)
        assert torch.equal(found, torch.mm(a * 2, b) + 1)
    assert counter.frame_count == (1 if dynamic else 3)
    assert sum(node.target == module.OPERATOR.node for graph in counter.graphs for node in graph.graph.nodes) > 0
    assert module.ran == [None] * 3


def test_a_config_of_ones_own_reaches_the_launch(module: ModuleType) -> None:
    a, b = operands(5)
    module.hopper_gemm(a, b, config=module.CONFIGS[2])
    call = torch.compile(
        lambda a, b: module.hopper_gemm(a, b, config=module.CONFIGS[1]), backend="aot_eager", fullgraph=True
    )
    assert torch.equal(call(a, b), torch.mm(a, b))
    assert module.ran == [module.CONFIGS[i] for i in (2, 1)]


def test_it_keeps_what_it_promises_to_torch(module: ModuleType) -> None:
    for n in (24, 29):
        torch.library.opcheck(module.OPERATOR.node, (*operands(5, n), -1))


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_operands_that_require_grad_are_refused_at_once(module: ModuleType, which: str, compiled: bool) -> None:
    """There is no backward: a result without a gradient would train nothing, and nobody would be told."""
    call = torch.compile(module.hopper_gemm, backend="aot_eager", fullgraph=True) if compiled else module.hopper_gemm
    given = dict(zip("ab", operands(5), strict=True))
    given[which] = given[which].clone().requires_grad_()
    with pytest.raises(Exception, match=f"hopper_gemm_cooperative: {which} requires grad, and there is no backward"):
        call(**given)
    assert module.ran == []
    with torch.no_grad():
        assert not call(**given).requires_grad
    assert torch.equal(call(**{name: x.detach() for name, x in given.items()}), torch.mm(given["a"], given["b"]))


def test_out_is_refused_where_torch_allocates(module: ModuleType) -> None:
    a, b = operands(5, grad=True)
    out = torch.empty(5, 24, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="out: not under torch.compile or autograd"):
        module.hopper_gemm(a, b, out=out)
    with pytest.raises(Exception, match="out: not under torch.compile or autograd"):
        torch.compile(module.hopper_gemm, backend="aot_eager", fullgraph=True)(a.detach(), b.detach(), out=out)


def test_what_is_no_tensor_is_named(module: ModuleType) -> None:
    a, b = operands(5)
    for given, words in (
        (([[1.0]], b), "a: list, expected a tensor"),
        ((a, None), "b: NoneType, expected a tensor"),
        ((a, b.float().numpy()), "b: ndarray, expected a tensor"),
    ):
        with pytest.raises(TypeError, match=words):
            module.hopper_gemm(*given)
    with pytest.raises(TypeError, match="out: float, expected a tensor"):
        module.hopper_gemm(a, b, out=1.0)


@pytest.mark.parametrize("config", [0, 1, False, "fast", {}])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_what_is_no_config_is_named(module: ModuleType, config: Any, compiled: bool) -> None:
    """0 is no config, nor is it none."""
    call = lambda a, b: module.hopper_gemm(a, b, config=config)  # noqa: E731
    call = torch.compile(call, backend="aot_eager", fullgraph=True) if compiled else call
    module.run = lambda a, b, out, config: module.config_of(config, module.CONFIGS)  # type: ignore[attr-defined]
    with pytest.raises(Exception, match=r"config: \w+, expected an entry of this module's CONFIGS itself, or None"):
        call(*operands(5))


def test_a_result_may_not_require_grad(module: ModuleType) -> None:
    a, b = operands(5)
    out = torch.empty(5, 24, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(ValueError, match="out: not under torch.compile or autograd.*nor may it require grad"):
        module.hopper_gemm(a, b, out=out)
    with torch.no_grad():
        assert module.hopper_gemm(a, b, out=out) is out
