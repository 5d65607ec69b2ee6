"""An operator: one node for autograd and for torch.compile, static and dynamic, with functions of torch for kernels."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

SCHEMA = "(Tensor x, Tensor? y, float? scale, SymInt[] extents) -> (Tensor, Tensor)"


def scaled(x: Any, y: Any, scale: float | None, extents: Any) -> tuple[Any, Any]:
    """x times its scale, plus y; and the sums of its rows."""
    more = 0 if y is None else y
    return x * (2.0 if scale is None else scale) + more, x.sum(1) * sum(extents)


def like_them(x: Any, y: Any, scale: float | None, extents: Any) -> tuple[Any, Any]:
    return torch.empty_like(x), x.new_empty(x.shape[0])


def gradients(
    how: str, needed: Any, x: Any, y: Any, scale: float | None, extents: Any, first: Any, second: Any, *by: Any
) -> Any:
    """Either gradient is None where nothing came of a result."""
    assert first.shape == x.shape and second.shape == x.shape[:1]
    by_x = torch.zeros_like(x) if by[0] is None else by[0] * (2.0 if scale is None else scale)
    by_x = by_x if by[1] is None else by_x + by[1][:, None] * sum(extents)
    return by_x, None if y is None else torch.zeros_like(y) if by[0] is None else by[0].clone(), None, None


@pytest.fixture
def operator(host: ModuleType) -> Any:
    return host.Operator("scaled", SCHEMA, scaled, like_them, gradients)


def inputs(rows: int = 5, grad: bool = True) -> tuple[Any, Any]:
    torch.manual_seed(rows)
    x, y = torch.randn(rows, 8), torch.randn(rows, 8)
    return x.requires_grad_(grad), y.requires_grad_(grad)


def used(operator: Any) -> Any:
    def function(x: Any, y: Any) -> Any:
        first, second = operator(x + 1, y, 3.0, [1, 2])
        return (first * 2).cos() + second.sin()[:, None]

    return function


def expected(x: Any, y: Any) -> Any:
    return (((x + 1) * 3.0 + y) * 2).cos() + ((x + 1).sum(1) * 3).sin()[:, None]


def test_eager_results_and_gradients(operator: Any) -> None:
    x, y = inputs()
    torch.testing.assert_close(used(operator)(x, y), expected(x, y))
    found, wanted = (torch.autograd.grad(f(x, y).sum(), (x, y)) for f in (used(operator), expected))
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("grad", [False, True], ids=["inference", "gradients"])
def test_compiled_it_is_one_graph_and_dynamic_one_for_all_sizes(operator: Any, dynamic: bool, grad: bool) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(used(operator), backend=counter, fullgraph=True, dynamic=dynamic)
    for rows in (5, 7, 9):
        x, y = inputs(rows, grad)
        torch.testing.assert_close(compiled(x, y), expected(x, y))
        if grad:
            found, wanted = (torch.autograd.grad(f(x, y).sum(), (x, y)) for f in (compiled, expected))
            torch.testing.assert_close(found, wanted)
    assert counter.frame_count == (1 if dynamic else 3)
    nodes = [node for graph in counter.graphs for node in graph.graph.nodes if node.target == operator.node]
    assert len(nodes) == counter.frame_count


def test_it_keeps_what_it_promises_to_torch(operator: Any) -> None:
    x, y = inputs()
    for given in ((x, y, None, [1]), (x, None, 2.0, []), (x.detach(), y.detach(), None, [3, 4])):
        torch.library.opcheck(operator.node, given)


def test_a_promise_that_is_broken_is_noticed(host: ModuleType) -> None:
    """opcheck above would not pass for any function."""
    wrong = host.Operator("wrong", "(Tensor x) -> Tensor", lambda x: x.T.clone(), torch.empty_like)
    with pytest.raises(Exception, match="failed with"):
        torch.library.opcheck(wrong.node, (torch.randn(3, 5),))


def test_arguments_that_need_no_gradient_get_none(operator: Any) -> None:
    x, y = inputs()
    out, _ = operator(x, y.detach(), None, [])
    out.sum().backward()
    assert y.grad is None and torch.equal(x.grad, torch.full_like(x, 2.0))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_without_a_backward_it_says_so_at_once(host: ModuleType, compiled: bool) -> None:
    """Not when a gradient is on its way back, and not by a result that does not require grad."""
    host_function = host.Operator("plain", "(Tensor x) -> Tensor", lambda x: x * 2, torch.empty_like)
    call = torch.compile(host_function, backend="aot_eager", fullgraph=True) if compiled else host_function
    x = torch.randn(3)
    torch.testing.assert_close(call(x), 2 * x)
    with pytest.raises(Exception, match="plain: x requires grad, and there is no backward: call it under"):
        call(x.clone().requires_grad_())
    weight = torch.randn(3, requires_grad=True)
    inside = torch.compile(lambda x: host_function(x * weight), backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match="plain: x requires grad"):
        inside(x)  # of what the graph computes
    with torch.no_grad():
        torch.testing.assert_close(call(x.clone().requires_grad_()), 2 * x)
    torch.testing.assert_close(call(x.clone().requires_grad_().detach()), 2 * x)


def test_without_a_backward_its_node_says_so_too(host: ModuleType) -> None:
    """torch.ops.tlxgen.plain, which a graph may hold and anyone may call."""
    node = host.Operator("plain", "(Tensor x) -> Tensor", lambda x: x * 2, torch.empty_like).node
    with pytest.raises(ValueError, match="plain: x requires grad"):
        node(torch.randn(3, requires_grad=True))
    with torch.no_grad():
        assert not node(torch.randn(3, requires_grad=True)).requires_grad


def test_gradients_of_gradients_are_refused(operator: Any) -> None:
    """A kernel has none, and what flows past it would be a part of them."""
    x, y = inputs()
    (by_x,) = torch.autograd.grad(operator(x, y, None, [])[0].pow(2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        by_x.sum().backward()


def test_saved_tensors_are_freed_with_the_graph(operator: Any) -> None:
    x, y = inputs()
    out = operator(x, y, None, [])[0].sum()
    out.backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


def test_a_tensor_that_is_written_between_is_noticed(operator: Any) -> None:
    x, y = inputs()
    shifted = x + 1
    out = operator(shifted, y, None, [])[0].sum()
    shifted.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_a_second_copy_of_a_module_has_an_operator_of_its_own(host: ModuleType) -> None:
    one, two = (host.Operator("twice", "(Tensor x) -> Tensor", lambda x, n=n: x + n, torch.empty_like) for n in (1, 2))
    assert one.node is not two.node
    assert [torch.equal(f.node(torch.zeros(1)), torch.tensor([n])) for f, n in ((one, 1.0), (two, 2.0))] == [True, True]
