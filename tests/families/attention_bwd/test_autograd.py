"""The operator: what autograd and torch.compile make of it, and what it refuses.

On the CPU functions of torch stand in for the kernels; in the simulator the kernels themselves run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402
from tlxgen.sim.launch import OnCpu  # noqa: E402

GENERATED = Path(__file__).parents[3] / "generated"
DEVICE = torch.device("cuda", 0)
FORWARD_SCHEMA = "(Tensor q, Tensor k, Tensor v, float? scale, int config) -> (Tensor, Tensor)"
Tensor = Any


def path_of(name: str) -> Path:
    return next(p for p in GENERATED.glob("*/*.py") if p.stem == name)


def forward(q: Tensor, k: Tensor, v: Tensor, *, scale: float) -> tuple[Tensor, Tensor]:
    """A causal forward as the generated ones are, by torch alone, without autograd."""
    x = scores(q, k, scale)
    return heads_between_rows(torch.softmax(x, -1) @ heads_of(v, q)), torch.logsumexp(x, -1)


def heads_between_rows(x: Tensor) -> Tensor:
    """As the operands of `operands` lie, and so what the kernels' host functions make of them."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def scores(q: Tensor, k: Tensor, scale: float) -> Tensor:
    x = q @ heads_of(k, q).transpose(-1, -2) * scale
    seen = torch.arange(x.shape[-1])[None, :] <= torch.arange(x.shape[-2])[:, None]
    return x.masked_fill(~seen, float("-inf"))


def heads_of(k: Tensor, q: Tensor) -> Tensor:
    return k.repeat_interleave(q.shape[1] // k.shape[1], 1)


def backward(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, dout: Tensor, *, scale: float
) -> tuple[Tensor, ...]:
    """Its gradients, from what the generated backward is given."""
    p = torch.exp(scores(q, k, scale) - lse[..., None])
    ds = p * (dout @ heads_of(v, q).transpose(-1, -2) - (dout * out).sum(-1, keepdim=True)) * scale
    dk, dv = ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ dout
    shared = (k.shape[0], k.shape[1], -1, *k.shape[2:])
    found = ds @ heads_of(k, q), dk.reshape(shared).sum(2), dv.reshape(shared).sum(2)
    return tuple(heads_between_rows(x) for x in found)


@pytest.fixture(scope="module")
def module() -> Iterator[ModuleType]:
    """The generated causal backward, its launches replaced by `backward`."""
    made = load_file(path_of("hopper_attention_bwd_causal_together"))

    def run(q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, dout: Tensor, scale: Any, *_: Any) -> Any:
        return backward(q, k, v, out, lse, dout, scale=q.shape[-1] ** -0.5 if scale is None else scale)

    made.run = run  # type: ignore[attr-defined]
    yield made


@pytest.fixture(scope="module")
def host(module: ModuleType) -> Callable[..., Any]:
    """What stands for a generated forward's host function: all that is taken of it is its operator."""

    def stand_in() -> None: ...

    def run(q: Tensor, k: Tensor, v: Tensor, scale: float | None, config: int) -> Any:
        return forward(q, k, v, scale=q.shape[-1] ** -0.5 if scale is None else scale)

    def fake(q: Tensor, k: Tensor, v: Tensor, scale: float | None, config: int) -> Any:
        return heads_between_rows(torch.empty_like(q)), q.new_empty(q.shape[:3])

    about = module.OPERATOR.about
    stand_in.operator = module.Operator("stand_in", FORWARD_SCHEMA, run, fake, about=about)  # type: ignore[attr-defined]
    return stand_in


def operands(dtype: Any = torch.float32) -> tuple[Tensor, ...]:
    """q, k, v of 4 and 2 heads, the heads between the rows."""
    torch.manual_seed(0)
    shapes = ((2, 40, 4, 128), (2, 56, 2, 128), (2, 56, 2, 128))
    return tuple(torch.randn(s).to(dtype).transpose(1, 2).requires_grad_() for s in shapes)


def gradients(attention: Callable[..., Tensor], weights: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
    """O, and the gradients of its weighted sum; of the sum itself, whose dO is expanded, without weights."""
    q, k, v = operands()
    out = attention(q, k, v, is_causal=True, enable_gqa=True)
    loss = out.sum() if weights is None else (out * weights).sum()
    return out, torch.autograd.grad(loss, (q, k, v))


WEIGHTS = torch.randn(2, 4, 40, 128)


@pytest.mark.parametrize("weights", [WEIGHTS, None], ids=["weighted", "expanded"])
@pytest.mark.parametrize("compiled", [None, False, True], ids=["eager", "static", "dynamic"])
def test_gradients_are_those_of_torchs_attention(
    module: ModuleType, host: Any, weights: Tensor | None, compiled: bool | None
) -> None:
    attention = module.attention(host)
    if compiled is not None:
        attention = torch.compile(attention, backend="aot_eager", fullgraph=True, dynamic=compiled)
    found, expected = (gradients(f, weights) for f in (attention, torch.nn.functional.scaled_dot_product_attention))
    torch.testing.assert_close(found[0], expected[0])
    for a, b in zip(found[1], expected[1], strict=True):
        torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)


def test_the_operators_keep_what_they_promise_to_torch(module: ModuleType, host: Any) -> None:
    q, k, v = operands()
    torch.library.opcheck(module.attention(host).operator.node, (q, k, v, 0.1))
    q, k, v = (x.detach() for x in (q, k, v))
    out, lse = forward(q, k, v, scale=0.1)
    torch.library.opcheck(module.OPERATOR.node, (q, k, v, out, lse, torch.randn_like(out), 0.1, -1))


def test_one_operator_for_one_forward(module: ModuleType, host: Any) -> None:
    assert module.attention(host) is module.attention(host)


def test_a_host_function_without_a_backward_says_so(module: ModuleType, host: Any) -> None:
    with pytest.raises(ValueError, match="stand_in: q requires grad, and there is no backward"):
        host.operator(*operands(), None, -1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"mask": "none"}, "mask none, here causal"),
        ({"mask": "window"}, "mask window, here causal"),
        ({"align": "bottom_right"}, "align bottom_right, here top_left"),
        ({"dtype": "fp16"}, "dtype fp16, here bf16"),
        ({"head_dim": 64}, "head_dim 64, here 128"),
        ({"head_dim_v": 64}, "head_dim_v 64, here 128"),
        ({"lengths": "packed"}, "lengths packed, here dense"),
        ({"softcap": True}, "softcap True, here False"),
        ({"sink": True}, "sink True, here False"),
        ({"lse": False}, "lse False, here True"),
        ({"mask": None, "align": None}, "mask None, here causal; align None, here top_left"),
    ],
)
def test_a_forward_that_computes_something_else_is_refused(
    module: ModuleType, host: Any, changed: dict[str, Any], words: str
) -> None:
    def other() -> None: ...

    given = host.operator
    other.operator = module.Operator(  # type: ignore[attr-defined]
        "other", FORWARD_SCHEMA, given.run, given.fake, about={**given.about, **changed}
    )
    with pytest.raises(ValueError, match=words):
        module.attention(other)
    with pytest.raises(TypeError, match="expected the host function of a generated module"):
        module.attention(torch.nn.functional.scaled_dot_product_attention)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attn_mask": torch.ones(40, 56)}, "attn_mask: expected None; these kernels have the causal mask alone"),
        ({"dropout_p": 0.1}, "dropout_p: 0.1"),
        ({"is_causal": False}, "is_causal: False; these kernels are causal"),
        ({"enable_gqa": False}, "4 heads of query, 2 of key: that needs enable_gqa=True"),
    ],
)
def test_what_the_kernels_do_not_know_is_refused(
    module: ModuleType, host: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        module.attention(host)(*operands(), **{"enable_gqa": True, "is_causal": True, **options})


def test_a_causal_operator_does_not_pass_for_one_without_a_mask(module: ModuleType, host: Any) -> None:
    """torch's is_causal is False unless it is given, and so is this one."""
    attention = module.attention(host)
    assert inspect.signature(attention).parameters["is_causal"].default is False
    with pytest.raises(ValueError, match="is_causal: False; these kernels are causal: say is_causal=True"):
        attention(*operands(), enable_gqa=True)


def simulated(module: ModuleType, session: Session) -> None:
    """Has a module's launches find the simulated GPU, which torch leaves when it calls a gradient."""
    run = module.run

    @functools.wraps(run)
    def inside(*arguments: Any) -> Any:
        with torch._C._EnableTorchFunction(), OnCpu(session.memory):
            return run(*(x.as_subclass(CudaLike) if isinstance(x, torch.Tensor) else x for x in arguments))

    module.run = inside  # type: ignore[attr-defined]


def test_gradients_of_a_forward_with_a_window() -> None:
    """Aligned at the bottom right: the last query stands at the last key. is_causal: the right extent is 0."""
    at = {"fwd": "masks_window_bottom_right_dense", "bwd": "features_head_dim128_window_bottom_right_no_softcap"}
    modules = {kind: load_module(path_of(f"hopper_attention_{kind}_{name}")) for kind, name in at.items()}
    session = Session("random", 0)
    for module in modules.values():
        simulated(module, session)
    attention = modules["bwd"].attention(modules["fwd"].hopper_attention_fwd_masks)
    with session.active():
        leaves = [x.detach().to(torch.bfloat16) for x in operands()]
        q, k, v = (x.to(DEVICE).requires_grad_() for x in leaves)
        out = attention(q, k, v, is_causal=True, enable_gqa=True, window=(9, None))
        found = torch.autograd.grad(out.sum(), (q, k, v))
    exact = [x.double().requires_grad_() for x in leaves]
    away = torch.arange(40)[:, None] + 56 - 40 - torch.arange(56)[None, :]
    mask = (away >= 0) & (away <= 9)
    expected = torch.nn.functional.scaled_dot_product_attention(*exact, attn_mask=mask, enable_gqa=True)
    for a, b in zip(found, torch.autograd.grad(expected.sum(), exact), strict=True):
        assert float((a.double() - b).norm() / b.norm()) < 1e-2


@pytest.mark.parametrize(
    ("backward", "more"),
    [
        ("hopper_attention_bwd_causal_together", ()),
        ("hopper_attention_bwd_kv_causal_head_dim128", ("hopper_attention_bwd_dq_causal_head_dim128",)),
    ],
    ids=["dq added up", "deterministic"],
)
def test_generated_forward_and_backward_together(backward: str, more: tuple[str, ...]) -> None:
    modules = {name: load_module(path_of(name)) for name in (backward, "hopper_attention_fwd_causal", *more)}
    session = Session("random", 0)
    for module in modules.values():
        simulated(module, session)
    hosts = [getattr(module, name.rpartition("_causal")[0]) for name, module in modules.items()]
    attention = modules[backward].attention(*hosts[1:])
    with session.active():
        leaves = [x.detach().to(torch.bfloat16) for x in operands()]
        q, k, v = (x.to(DEVICE).requires_grad_() for x in leaves)
        out = attention(q, k, v, is_causal=True, enable_gqa=True)
        found = torch.autograd.grad(out.sum(), (q, k, v))
    exact = [x.double().requires_grad_() for x in leaves]
    expected = torch.nn.functional.scaled_dot_product_attention(*exact, is_causal=True, enable_gqa=True)
    for a, b in zip(found, torch.autograd.grad(expected.sum(), exact), strict=True):
        assert float((a.double() - b).norm() / b.norm()) < 1e-2
