"""A forward with its backward, as eager autograd calls it: which call it finds, what that allocates, what is kept."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from .gpu import DEVICE, Gpu, Kernel  # noqa: E402

SCHEMA = "(Tensor x, Tensor w, float eps) -> (Tensor, Tensor, Tensor)"


@pytest.fixture
def gpu(host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    return Gpu(host, monkeypatch)


class Pair:
    """A forward whose kernel writes y like x, and two numbers of each row; and what its backward was given."""

    def __init__(self, host: ModuleType, seen: int = 1, joined: int = 2) -> None:
        self.host, self.given, self.prepared = host, list[Any](), 0
        operator = host.Operator("some", SCHEMA, self.run, self.fake, prepare=self.prepare)
        options = {"saved": ("x", 1, 2), "seen": seen, "joined": joined}
        backward = host.Operator("back", "(Tensor x) -> Tensor", lambda x: x.clone(), torch.empty_like)
        self.operator = host.paired(operator, backward, self.gradients, **options)

    def run(self, x: Any, w: Any, eps: float) -> Any:
        return x * w + eps, x.sum(-1), x.sum(-1) * 2

    def fake(self, x: Any, w: Any, eps: float) -> Any:
        return torch.empty_like(x), x.new_empty(x.shape[:-1]), x.new_empty(x.shape[:-1])

    def prepare(self, x: Any, w: Any, eps: float) -> Any:
        self.prepared += 1
        made = dict(zip("yab", self.fake(x, w, eps), strict=True))
        launch = self.host.Launch(Kernel(), (1, 1, 1), [], ["x", "w", "y", "a", "b"], (eps,), {})
        return self.host.Call(DEVICE, ("x", "w", "y", "a", "b"), ("y", "a", "b"), made, [launch])

    def gradients(self, how: str, needed: Any, *given: Any) -> Any:
        self.given = [how, needed, *given]
        x, dy = given[0], given[6]
        return dy * 2, (dy * x).sum(0), None


def leaves(rows: int = 3) -> tuple[Any, Any]:
    return torch.randn(rows, 8, requires_grad=True), torch.randn(8, requires_grad=True)


def test_what_only_the_backward_reads_is_one_tensor(host: ModuleType, gpu: Gpu) -> None:
    pair, (x, w) = Pair(host), leaves()
    for _ in range(3):
        y = pair.operator(x, w, 0.5)
    assert gpu.made[-2:] == [((3, 8), (8, 1), torch.float32), ((2, 3), (4, 1), torch.float32)]
    *pointers, at_y, at_a, at_b, eps = gpu.told[-1][-1]
    assert pointers == [x.data_ptr(), w.data_ptr()] and eps == 0.5
    assert at_y == y.data_ptr() and at_b - at_a == 16  # as aligned as a tensor of its own
    assert [tuple(kept.shape) for kept in y.grad_fn.saved_tensors] == [(3, 8), (2, 3)]
    found = torch.autograd.grad(y.sum(), (x, w))
    torch.testing.assert_close(found, (torch.full_like(x, 2.0), x.sum(0)))
    how, needed, _, *absent, a, b, _, _, _ = pair.given
    assert (how, needed, absent) == ("run", (True, True), [None, None, None])
    assert [(t.shape, t.data_ptr(), t.is_contiguous()) for t in (a, b)] == [((3,), at_a, True), ((3,), at_b, True)]


def test_a_single_one_stays_as_it_is_and_two_results_come_as_two(host: ModuleType, gpu: Gpu) -> None:
    pair, (x, w) = Pair(host, seen=2, joined=0), leaves()
    for _ in range(2):
        y, a = pair.operator(x, w, 0.5)
    assert [made[0] for made in gpu.made[-3:]] == [(3, 8), (3,), (3,)]
    y.sum().backward()
    assert pair.given[-2] is None and x.grad is not None  # no gradient by a


def test_a_call_is_prepared_once_a_layout_and_known_again_by_what_was_asked(host: ModuleType, gpu: Gpu) -> None:
    pair, (x, w) = Pair(host), leaves()
    for _ in range(3):
        pair.operator.call(x, w, 0.5, asked="this")
    alike, asked, known = pair.operator.calls.latest
    assert pair.prepared == 1 and asked == "this" and alike(x, w)
    assert pair.operator.apply(known, x, w).grad_fn is not None
    assert not alike(x[:2], w) and not alike(x, x) and not alike(x, None) and not alike(x.detach(), w)
    pair.operator(x, w, 0.25)  # another number is another call
    assert pair.prepared == 2 and gpu.told[-1][-1][-1] == 0.5
    pair.operator(x, w, 0.25)
    assert gpu.told[-1][-1][-1] == 0.25
    with torch.no_grad():
        assert pair.operator(x, w, 0.25).grad_fn is None
    assert pair.prepared == 2


def test_inputs_aligned_otherwise_have_a_call_of_their_own(host: ModuleType, gpu: Gpu) -> None:
    pair, whole, w = Pair(host), torch.zeros(25), torch.zeros(8)
    for offset in (0, 1, 0, 1):
        x = whole[offset : offset + 24].view(3, 8).requires_grad_()
        y = pair.operator(x, w, 0.5)
        pair.operator(x, w, 0.5)
        *_, at_y, at_a, at_b, _ = gpu.told[-1][-1]
        assert at_b - at_a == 16 and gpu.told[-1][-1][0] == x.data_ptr()
        assert tuple(y.grad_fn.saved_tensors[1].shape) == (2, 3)
    assert pair.prepared == 2


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_and_transformed(host: ModuleType, gpu: Gpu, dynamic: bool) -> None:
    pair, (x, w) = Pair(host), leaves()
    call = torch.compile(lambda x, w: pair.operator(x, w, 0.5), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    torch.testing.assert_close(call(x, w), x * w + 0.5)
    torch.autograd.grad(call(x, w).sum(), (x, w))
    assert pair.given[0] == "node" and not pair.prepared
    torch.library.opcheck(pair.operator.node, (x.detach(), w.detach(), 0.5))
    with pytest.raises(RuntimeError, match="setup_context|vmap"):
        torch.func.vmap(lambda x: pair.operator(x, w, 0.5))(torch.zeros(4, 3, 8))


def test_something_that_is_no_tensor_is_refused_by_what_prepares(host: ModuleType, gpu: Gpu) -> None:
    pair = Pair(host)
    pair.operator.prepare = lambda x, w, eps: host.tensor_of(w, "w")
    with pytest.raises(TypeError, match="w: NoneType, expected a tensor"):
        pair.operator(torch.zeros(3, 8), None, 0.5)
