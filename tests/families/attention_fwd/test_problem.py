"""The reference against torch's own attention, and what the checks feed a kernel with."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tlxgen.families.attention_fwd import cost, problem  # noqa: E402
from tlxgen.families.attention_fwd.spec import AttentionSpec  # noqa: E402

from .specs import data_of  # noqa: E402

CPU = torch.device("cpu")
SHAPE = (2, 6, 3, 70, 90)


def spec_of(values: dict[str, Any]) -> AttentionSpec:
    return AttentionSpec.model_validate(data_of(values))


@pytest.mark.parametrize("causal", [False, True])
def test_the_reference_is_torchs_attention(causal: bool) -> None:
    spec = spec_of({"mask.kind": "causal" if causal else "none", "problem.head_dim_v": 64})
    t = problem.inputs(spec, SHAPE, CPU)
    q, k, v = (t[x].double() for x in "qkv")
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
    out, scale = problem.reference(spec, t)["out"]
    torch.testing.assert_close(out, expected)
    assert scale == pytest.approx(float(expected.norm()))


def test_the_reference_of_packed_sequences_is_that_of_each_alone() -> None:
    packed, dense = spec_of({"problem.lengths": "packed", "mask.kind": "causal"}), spec_of({"mask.kind": "causal"})
    t = problem.inputs(packed, (3, 4, 2, 50, 70), CPU)
    out, lse = (problem.reference(packed, t)[name][0] for name in ("out", "lse"))
    a, b = t["cu_seqlens_q"][2:].tolist()
    c, d = t["cu_seqlens_k"][2:].tolist()
    rows = {"q": t["q"][a:b], "k": t["k"][c:d], "v": t["v"][c:d]}
    alone = problem.reference(dense, {name: x.transpose(0, 1)[None] for name, x in rows.items()})
    torch.testing.assert_close(out[a:b].transpose(0, 1)[None], alone["out"][0])
    torch.testing.assert_close(lse[None, :, a:b], alone["lse"][0])


def test_a_query_that_sees_no_key_has_0_and_minus_infinity() -> None:
    spec = spec_of({"mask.kind": "causal", "mask.align": "bottom_right"})
    made = problem.reference(spec, problem.inputs(spec, (1, 1, 1, 8, 3), CPU))
    assert not made["out"][0][0, 0, :5].any() and bool(made["out"][0][0, 0, 5:].any())
    assert bool(torch.isneginf(made["lse"][0][0, 0, :5]).all()) and bool(torch.isfinite(made["lse"][0][0, 0, 5:]).all())


def test_a_sink_is_a_key_without_a_value() -> None:
    plain, sunk = spec_of({}), spec_of({"softmax.sink": True})
    t = problem.inputs(sunk, SHAPE, CPU)
    without = problem.reference(plain, {x: t[x] for x in "qkv"})
    with_sink = problem.reference(sunk, t)
    share = torch.exp(without["lse"][0] - with_sink["lse"][0])
    torch.testing.assert_close(with_sink["out"][0], without["out"][0] * share[..., None])
    expected = torch.logaddexp(without["lse"][0], t["sink"].double()[None, :, None])
    torch.testing.assert_close(with_sink["lse"][0], expected)


def test_inputs_lie_apart_with_nan_between_their_rows() -> None:
    q = problem.inputs(spec_of({}), SHAPE, CPU)["q"]
    whole = q.as_strided((2, 70, 6, 136), (70 * 6 * 136, 6 * 136, 136, 1))
    assert q.stride() == (70 * 6 * 136, 136, 6 * 136, 1)
    assert bool(torch.isnan(whole[..., 128:]).all()) and not bool(torch.isnan(whole[..., :128]).any())


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        ({}, 70 * 90),
        ({"mask.kind": "causal"}, 70 * 71 // 2),
        ({"mask.kind": "causal", "mask.align": "bottom_right"}, 70 * 71 // 2 + 70 * 20),
    ],
)
def test_operations_are_counted_over_the_pairs_that_are_seen(values: dict[str, Any], pairs: int) -> None:
    assert cost.flops(spec_of(values), SHAPE) == 2 * 2 * 6 * pairs * (128 + 128)


def test_every_shape_to_check_has_the_heads_that_the_family_asks_for() -> None:
    spec = spec_of({"check.shapes": [[1, 8, 2, 300, 300]]})
    shapes = problem.shapes(spec)
    assert shapes[0] == (1, 8, 2, 300, 300) and len(set(shapes)) == len(shapes)
    assert all(h % kv == 0 for _, h, kv, _, _ in shapes)
