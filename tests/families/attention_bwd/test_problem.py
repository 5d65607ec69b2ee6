"""The reference against torch's own gradients, and what the checks feed a kernel with."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tlxgen.families.attention_bwd import cost, problem  # noqa: E402
from tlxgen.families.attention_fwd import problem as forward  # noqa: E402

from .specs import spec_of  # noqa: E402

CPU = torch.device("cpu")
SHAPE = (2, 6, 3, 70, 90)


@pytest.mark.parametrize("causal", [False, True])
def test_the_reference_is_autograds_of_torchs_attention(causal: bool) -> None:
    spec = spec_of({"mask.kind": "causal" if causal else "none"})
    t = problem.inputs(spec, SHAPE, CPU)
    q, k, v = (t[x].double().requires_grad_() for x in "qkv")
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
    expected = dict(zip(("dq", "dk", "dv"), torch.autograd.grad(out, (q, k, v), t["dout"].double()), strict=True))
    found = problem.reference(spec, t)
    assert list(found) == ["dq", "dk", "dv"]
    for name, (gradient, scale) in found.items():
        torch.testing.assert_close(gradient, expected[name])
        assert scale == pytest.approx(float(gradient.norm()))
    torch.testing.assert_close(t["out"].double(), out, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("window", [False, True])
def test_the_reference_under_window_and_cap_is_autograds_of_the_forwards_reference(window: bool) -> None:
    features = {"softmax.softcap": True, "mask.kind": "window" if window else "none"}
    t = problem.inputs(spec_of(features), SHAPE, CPU)
    leaves = {x: t[x].double().requires_grad_() for x in "qkv"}
    (out, _), _ = forward.reference(spec_of(features, "attention_fwd"), t | leaves).values()
    expected = torch.autograd.grad(out, [*leaves.values()], t["dout"].double())
    for (found, _), gradient in zip(problem.reference(spec_of(features), t).values(), expected, strict=True):
        torch.testing.assert_close(found, gradient)


def test_a_query_that_sees_no_key_has_no_gradient() -> None:
    spec = spec_of({"mask.kind": "causal", "mask.align": "bottom_right"})
    t = problem.inputs(spec, (1, 1, 1, 8, 3), CPU)
    assert bool(torch.isneginf(t["lse"][0, 0, :5]).all()) and not t["out"][0, 0, :5].any()
    dq = problem.reference(spec, t)["dq"][0]
    assert not dq[0, 0, :5].any() and bool(dq[0, 0, 6:].any())


def test_gradients_that_cancel_out_are_held_against_what_cancelled() -> None:
    """Of a single key the probability is 1 whatever the score: dQ and dK are zero but for rounding."""
    found = problem.reference(spec_of({}), problem.inputs(spec_of({}), (2, 2, 2, 40, 1), CPU))
    assert float(found["dq"][0].norm()) < 1e-10 and found["dq"][1] > 1e-2 and found["dk"][1] > 1e-2


def test_inputs_lie_apart_with_nan_between_their_rows() -> None:
    t = problem.inputs(spec_of({}), SHAPE, CPU)
    for name in ("q", "out", "dout"):
        whole = t[name].as_strided((2, 70, 6, 136), (70 * 6 * 136, 6 * 136, 136, 1))
        assert bool(torch.isnan(whole[..., 128:]).all()) and not bool(torch.isnan(whole[..., :128]).any())


@pytest.mark.parametrize(
    ("kernel", "values", "products"),
    [
        ("attention_bwd", {}, 5),
        ("attention_bwd", {"problem.gradients": "kv"}, 4),
        ("attention_bwd_dq", {}, 3),
    ],
)
def test_operations_and_order_are_those_of_the_gradients_that_are_made(
    kernel: str, values: dict[str, Any], products: int
) -> None:
    spec = spec_of(values, kernel)
    assert cost.flops(spec, SHAPE) == products * 2 * 2 * 6 * 70 * 90 * 128
    assert [problem.reproducible(spec, name) for name in spec.gradients].count(False) == (products == 5)


def test_every_shape_to_check_has_the_heads_that_the_family_asks_for() -> None:
    shapes = problem.shapes(spec_of({"check.shapes": [[1, 8, 2, 300, 300]]}))
    assert shapes[0] == (1, 8, 2, 300, 300) and len(set(shapes)) == len(shapes)
    assert all(h % kv == 0 for _, h, kv, _, _ in shapes)
