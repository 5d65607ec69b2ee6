"""A bias added to scores: the reference is torch's, the plan has its bytes, and the host takes what TMA can address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.families.attention_fwd import cost, problem  # noqa: E402
from tlxgen.families.attention_fwd.spec import AttentionSpec  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

from .specs import data_of, plan_of  # noqa: E402

FOLDER = Path(__file__).parents[3] / "generated" / "hopper_attention_fwd_bias"
CPU, DEVICE = torch.device("cpu"), torch.device("cuda", 0)
NONE, CAUSAL, WIDE = (f"hopper_attention_fwd_bias_{name}" for name in ("none_like_q", "causal_like_q", "causal_fp32"))


def spec_of(values: dict[str, Any]) -> AttentionSpec:
    return AttentionSpec.model_validate(data_of(values))


def run(name: str, *shapes: tuple[int, ...], mask: Any = None, dtype: Any = torch.bfloat16, **options: Any) -> Any:
    """The host function on random numbers of these shapes, and the mask of theirs, in the simulator."""
    host = load_module(FOLDER / f"{name}.py").hopper_attention_fwd_bias
    with Session("eager", 0).active():
        q, k, v = (torch.randn(s, device=DEVICE).to(torch.bfloat16) for s in shapes[:3])
        given = torch.randn(shapes[3], device=DEVICE).to(dtype) if mask is None else mask.as_subclass(CudaLike)
        return (q, k, v, given), host(q, k, v, given, **options)


def expected(q: Any, k: Any, v: Any, mask: Any, **options: Any) -> Any:
    """torch's own attention, in float64."""
    wide = (x.as_subclass(torch.Tensor).double() for x in (q, k, v, mask))
    with torch._C.DisableTorchFunction():
        q, k, v, mask = wide
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True, **options)


@pytest.mark.parametrize("shape", [(2, 4, 2, 64, 64), (3, 4, 2, 65, 70), (1, 2, 2, 7, 91)])
def test_the_reference_is_torchs_attention_with_a_mask(shape: tuple[int, int, int, int, int]) -> None:
    spec = spec_of({"softmax.bias": "fp32"})
    t = problem.inputs(spec, shape, CPU)
    q, k, v, mask = (t[name].double() for name in ("q", "k", "v", "attn_mask"))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(problem.reference(spec, t)["out"][0], torch.nan_to_num(out))


def test_inputs_hide_some_keys_and_all_of_some_rows_and_repeat_what_is_one_for_many() -> None:
    spec = spec_of({"softmax.bias": "like_q"})
    even, odd = (problem.inputs(spec, (2, 4, 2, n, n), CPU)["attn_mask"] for n in (40, 41))
    assert even.stride(0) == 0 and even.shape[1] == 1 and odd.shape[:2] == (2, 4) and odd.stride(0) > 0
    rows = torch.isneginf(odd).all(3)
    assert bool(rows.any()) and not bool(rows.all()) and bool(torch.isneginf(odd).any(3)[~rows].any())


@pytest.mark.parametrize("lead", [(2, 4), (1, 4), (2, 1), (1, 1)])
def test_a_bias_is_one_for_all_where_it_has_one(lead: tuple[int, int]) -> None:
    tensors, (out, _) = run(NONE, (2, 4, 40, 128), (2, 2, 72, 128), (2, 2, 72, 128), (*lead, 40, 72))
    torch.testing.assert_close(out.as_subclass(torch.Tensor).double(), expected(*tensors), rtol=2e-2, atol=2e-2)


def test_an_expanded_bias_is_read_once() -> None:
    whole = torch.randn(1, 4, 40, 72).to(torch.bfloat16)
    sizes = (2, 4, 40, 128), (2, 2, 72, 128), (2, 2, 72, 128)
    tensors, (out, _) = run(NONE, *sizes, mask=whole.expand(2, 4, 40, 72))
    torch.testing.assert_close(out.as_subclass(torch.Tensor).double(), expected(*tensors), rtol=2e-2, atol=2e-2)
    loaded = load_module(FOLDER / f"{NONE}.py")
    assert loaded.unrepeated(whole.expand(2, 4, 40, 72)).shape == whole.shape
    assert [loaded.differs(whole.expand(2, 4, 40, 72), axis) for axis in (0, 1)] == [0, 1]


def test_a_scale_is_that_of_the_product_alone() -> None:
    shapes = (*[(1, 1, 52, 128)] * 3, (1, 1, 52, 52))
    tensors, (out, lse) = run(WIDE, *shapes, dtype=torch.float32, scale=0.5)
    q, k, v, mask = (x.as_subclass(torch.Tensor).double() for x in tensors)
    scores = (0.5 * q @ k.mT + mask).masked_fill(torch.ones(52, 52).triu(1).bool(), float("-inf"))
    torch.testing.assert_close(lse.as_subclass(torch.Tensor).double(), scores.logsumexp(3), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(out.as_subclass(torch.Tensor).double(), scores.softmax(3) @ v, rtol=2e-2, atol=2e-2)


HALF = torch.zeros(1, 1, 40, 75, dtype=torch.bfloat16)
GOOD = ((1, 4, 40, 128), (1, 2, 72, 128), (1, 2, 72, 128))


@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        (torch.zeros(40, 72), ValueError, r"attn_mask: shape \(40, 72\), expected \(1, 4, 40, 72\)"),
        (torch.zeros(1, 2, 40, 72), ValueError, r"attn_mask: shape \(1, 2, 40, 72\), expected \(1, 4, 40, 72\)"),
        (torch.zeros(1, 1, 1, 72), ValueError, r"attn_mask: shape \(1, 1, 1, 72\), expected \(1, 1, 40, 72\)"),
        (torch.zeros(1, 1, 40, 72), TypeError, "attn_mask: torch.float32, expected torch.bfloat16"),
        (torch.zeros(1, 1, 40, 72, dtype=torch.bool), TypeError, "attn_mask: torch.bool, expected torch.bfloat16"),
        (HALF[:, :, :1].expand(-1, -1, 40, -1)[..., :72], ValueError, "attn_mask: stride of 0 .*multiple of 16"),
        (HALF[..., :72], ValueError, "attn_mask: stride of 75 elements along dimension 2 is 150 bytes"),
    ],
)
def test_a_bias_that_the_kernel_cannot_take_is_named(mask: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        run(NONE, *GOOD, mask=mask)


def test_no_gradient_is_known() -> None:
    mask = torch.zeros(1, 1, 40, 72, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(ValueError, match="attn_mask requires grad, and there is no backward"):
        run(NONE, *GOOD, mask=mask)


@pytest.mark.parametrize(("kind", "width"), [("like_q", 2), ("fp32", 4)])
def test_each_consumer_has_a_bank_of_the_bias(kind: str, width: int) -> None:
    plan = plan_of({"softmax.bias": kind})
    ring = plan.ring("bias")
    assert not plan.reasons and (ring.banks, ring.slots.value) == (2, 1)
    assert ring.full_barrier and ring.full_barrier.bytes and ring.full_barrier.bytes.value == 64 * 128 * width
    assert ring.empty_barrier and ring.empty_barrier.count == 128
    assert "smem" in {reason.rule for reason in plan_of({"softmax.bias": kind, "rings.bias.stages": 4}).reasons}


def test_the_bytes_of_a_bias_are_those_that_are_read_once() -> None:
    with_bias, without = spec_of({"softmax.bias": "fp32"}), spec_of({})
    for shape, matrices in (((2, 4, 2, 40, 40), 1), ((2, 4, 2, 41, 41), 8)):
        extra = cost.bytes_moved(with_bias, shape) - cost.bytes_moved(without, shape)
        assert extra == matrices * shape[3] * shape[4] * 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"softmax.bias": "like_q", "arch": "sm100"}, "a bias is for sm90; remove the key"),
        ({"softmax.bias": "like_q", "problem.lengths": "packed"}, "no matrix of queries by keys"),
        ({"softmax.bias": "fp32", "softmax.softcap": True}, "a soft cap would bend that, too"),
        ({"softmax.bias": "fp32", "problem.dtype": "e4m3"}, "some 14 bits"),
        ({"rings.bias.stages": 2}, "softmax.bias is none; remove the key"),
    ],
)
def test_what_does_not_go_with_a_bias_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values)
