"""Lists of blocks: torch's BlockMask is taken as it is, and what no list names is not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from torch.nn.attention.flex_attention import create_block_mask  # noqa: E402

from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.families.attention_fwd import cost, problem, sparse  # noqa: E402
from tlxgen.families.attention_fwd.spec import AttentionSpec  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

from .specs import data_of, plan_of  # noqa: E402

FOLDER = Path(__file__).parents[3] / "generated" / "hopper_attention_fwd_blocks"
NONE, CAUSAL, PARTIAL, WINDOW = (
    f"hopper_attention_fwd_blocks_{name}" for name in ("none_full", "causal_full", "causal_no_full", "window_full")
)
CPU, DEVICE = torch.device("cpu"), torch.device("cuda", 0)
BLOCKS = {"mask.blocks.m": 128, "mask.blocks.n": 128}
LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")


def spec_of(values: dict[str, Any]) -> AttentionSpec:
    return AttentionSpec.model_validate(data_of(BLOCKS | values))


def run(name: str, n: int, m: int, lists: dict[str, Any], heads: int = 2, **options: Any) -> Any:
    """Q, K, V and what the host function makes of them and these lists, in the simulator."""
    host = load_module(FOLDER / f"{name}.py").hopper_attention_fwd_blocks
    with Session("eager", 0).active():
        shapes = (1, heads, n, 128), (1, 1, m, 128), (1, 1, m, 128)
        tensors = [torch.randn(s, device=DEVICE).to(torch.bfloat16) for s in shapes]
        given = {key: x.as_subclass(CudaLike) if isinstance(x, torch.Tensor) else x for key, x in lists.items()}
        out, lse = host(*tensors, **given, **options)
    return [x.as_subclass(torch.Tensor).double() for x in (*tensors, out, lse)]


def lists_of(mask: Any) -> dict[str, Any]:
    return {name: getattr(mask, name) for name in LISTS}


def test_a_block_mask_of_torch_is_taken_as_it_is() -> None:
    made = create_block_mask(lambda b, h, i, j: i >= j, None, None, 400, 400, device="cpu")
    q, k, v, out, _ = run(CAUSAL, 400, 400, lists_of(made))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)
    assert int(made.kv_num_blocks.sum()) > 0 and int(made.full_kv_num_blocks.sum()) > 0


def test_heads_have_lists_of_their_own() -> None:
    def rule(b: Any, h: Any, i: Any, j: Any) -> Any:
        return (i >= j) & (j // 128 % 2 == h)

    made = create_block_mask(rule, None, 2, 300, 300, device="cpu")
    q, k, v, out, lse = run(CAUSAL, 300, 300, lists_of(made))
    at = torch.arange(300)
    seen = torch.stack([rule(0, h, at[:, None], at[None]) for h in range(2)])
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen[None], enable_gqa=True)
    torch.testing.assert_close(out, torch.nan_to_num(expected), rtol=2e-2, atol=2e-2)
    assert torch.isneginf(lse[0, 1, :128]).all() and torch.isfinite(lse[0, 0]).all()


@pytest.mark.parametrize("name", [NONE, CAUSAL, PARTIAL, WINDOW])
def test_rows_without_blocks_are_0_whatever_v_is(name: str) -> None:
    lists = {key: torch.zeros(1, 1, 2, *((3,) if "indices" in key else ()), dtype=torch.int32) for key in LISTS}
    lists = {key: x for key, x in lists.items() if name != PARTIAL or "full" not in key}
    options = {"window": (3, 3)} if name == WINDOW else {}
    *_, out, lse = run(name, 200, 300, lists, **options)
    assert not out.any() and bool(torch.isneginf(lse).all())


def test_the_order_of_blocks_is_the_lists_and_what_follows_is_not_read() -> None:
    """The same blocks in any order give the same, but for rounding; an index that is not counted may be anything."""
    counts = torch.full((1, 1, 1), 2, dtype=torch.int32)
    none = torch.zeros(1, 1, 1, dtype=torch.int32)
    outs = []
    for order in ([0, 2, -7], [2, 0, 2**30]):
        torch.manual_seed(0)
        indices = torch.tensor([[[order]]], dtype=torch.int32)
        lists = dict(zip(LISTS, (none, indices, counts, indices), strict=True))
        q, k, v, out, _ = run(NONE, 100, 380, lists)
        outs.append(out)
    seen = torch.zeros(100, 380, dtype=torch.bool)
    seen[:, :128] = seen[:, 256:] = True
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
    for out in outs:
        torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("kind", ["none", "causal", "window"])
def test_the_reference_hides_what_no_list_names(kind: str) -> None:
    spec = spec_of({"mask.kind": kind})
    shape = (3, 4, 2, 301, 451)
    t = problem.inputs(spec, shape, CPU)
    made = sparse.kinds(spec, shape)
    plain = problem.seen_of(spec.weights, 301, 451, t, CPU)
    total = 0
    for b in range(3):
        for h in range(4):
            blocks = torch.tensor(made[b % len(made)][h % len(made[0])])
            wide = blocks.repeat_interleave(128, 0).repeat_interleave(128, 1)[:301, :451]
            seen = problem.blocks_seen(spec, t, b, h, plain)
            assert torch.equal(seen, (wide == sparse.FULL) | (wide == sparse.PARTIAL) & plain)
            total += int(seen.sum())
    assert cost.flops(spec, shape) == 2 * total * (128 + 128)


LISTED = {
    "kv_num_blocks": torch.zeros(1, 1, 2, dtype=torch.int32),
    "kv_indices": torch.zeros(1, 1, 2, 3, dtype=torch.int32),
}


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"kv_num_blocks": torch.zeros(1, 1, 3, dtype=torch.int32)}, ValueError, r"expected \(1, 1, 2\)"),
        ({"kv_num_blocks": torch.zeros(1, 3, 2, dtype=torch.int32)}, ValueError, r"expected \(1, 2, 2\)"),
        ({"kv_num_blocks": torch.zeros(1, 1, 2)}, TypeError, "kv_num_blocks: torch.float32, expected torch.int32"),
        ({"kv_indices": torch.zeros(1, 1, 3, 3, dtype=torch.int32)}, ValueError, r"kv_indices: .*\(1, 1, 2, 3\)"),
        ({"kv_indices": torch.zeros((), dtype=torch.int32)}, ValueError, r"kv_indices: shape \(\)"),
        ({"kv_indices": torch.zeros(1, 1, 2, 3, dtype=torch.int64)}, TypeError, "kv_indices: torch.int64"),
        ({"kv_indices": torch.zeros(1, 1, 2, 6, dtype=torch.int32)[..., ::2]}, ValueError, "contiguous"),
        ({"kv_indices": None}, TypeError, "kv_indices: NoneType, expected a tensor"),
    ],
)
def test_lists_that_the_kernel_cannot_take_are_named(changed: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        run(PARTIAL, 200, 300, LISTED | changed)


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"mask.blocks.m": 64}, "block-m"),
        ({"mask.blocks.n": 64}, "block-n"),
        ({"mask.blocks.m": 192}, "block-m"),
        ({"mask.blocks.n": 192}, "block-n"),
    ],
)
def test_a_block_is_whole_tiles(values: dict[str, Any], rule: str) -> None:
    found = {reason.rule: reason.text for reason in plan_of(BLOCKS | values).reasons}
    assert "are whole tiles" in found[rule]
    assert not plan_of(BLOCKS | dict.fromkeys(values, 256)).reasons


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"arch": "sm100"}, "lists of blocks are for sm90; remove the key"),
        ({"problem.lengths": "packed"}, "sequences end to end have none"),
    ],
)
def test_what_does_not_go_with_lists_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values)
