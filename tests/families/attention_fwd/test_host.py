"""The host function's argument checks, which need no GPU."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.sim import Session, load_module  # noqa: E402

ROOT = Path(__file__).parents[3] / "generated"
DEVICE = torch.device("cuda", 0)


def module(name: str) -> ModuleType:
    folder = next(p for p in ROOT.glob("hopper_attention_fwd*/*.py") if p.stem == name)
    return load_module(folder)


def call(name: str, host: str, shapes: tuple[tuple[int, ...], ...], **options: Any) -> Any:
    """The host function on zeros of these shapes, on the simulated GPU."""
    loaded = module(name)
    with Session("eager", 0).active():
        q, k, v = (torch.zeros(s, dtype=torch.bfloat16, device=DEVICE) for s in shapes)
        return getattr(loaded, host)(q, k, v, **options)


BASE = "hopper_attention_fwd"
GOOD = ((1, 4, 70, 128), (1, 2, 90, 128), (1, 2, 90, 128))


@pytest.mark.parametrize(
    ("shapes", "options", "error", "words"),
    [
        (((4, 70, 128), *GOOD[1:]), {}, ValueError, r"q \(4, 70, 128\).*expected \(B, H, N, D\)"),
        (((1, 3, 70, 128), *GOOD[1:]), {}, ValueError, "3 heads of q, 2 of k and v"),
        (((1, 4, 70, 64), *GOOD[1:]), {}, ValueError, r"q: shape \(1, 4, 70, 64\), expected \(1, 4, 70, 128\)"),
        ((*GOOD[:2], (1, 2, 91, 128)), {}, ValueError, r"v: shape \(1, 2, 91, 128\)"),
        (GOOD, {"scale": 0.0}, ValueError, "scale: 0.0, expected a positive number"),
        (GOOD, {"out": torch.zeros(1, 4, 70, 128)}, TypeError, "out: torch.float32"),
    ],
)
def test_an_argument_that_the_kernel_cannot_take_is_named(
    shapes: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(f"{BASE}_none", BASE, shapes, **options)


def test_a_tensor_on_the_cpu_is_refused() -> None:
    tensors = (torch.zeros(s, dtype=torch.bfloat16) for s in GOOD)
    with pytest.raises(ValueError, match="q: on cpu, expected a CUDA device"):
        module(f"{BASE}_none").hopper_attention_fwd(*tensors)


def test_what_tma_cannot_address_is_named_with_tensor_dimension_bytes_and_rule() -> None:
    describe = module(f"{BASE}_none").describe
    odd = torch.zeros(8192, dtype=torch.bfloat16).as_strided((1, 3, 5, 128), (7, 660, 128, 1))
    with pytest.raises(ValueError, match="k: stride of 660 elements along dimension 1 is 1320 bytes"):
        describe(odd, "k", 64)
    with pytest.raises(ValueError, match="k: stride 5 along the head dimension; TMA needs 1"):
        describe(torch.zeros(1, 1, 128, 5, dtype=torch.bfloat16).mT, "k", 64)
    with pytest.raises(ValueError, match="k: stride of 0 elements along dimension 1"):
        describe(torch.zeros(1, 1, 8, 128, dtype=torch.bfloat16).expand(1, 4, 8, 128), "k", 64)


def test_heads_between_rows_are_described_as_they_lie() -> None:
    lying = torch.zeros(2, 50, 3, 136, dtype=torch.bfloat16)[..., :128].transpose(1, 2)
    described = module(f"{BASE}_none").describe(lying, "q", 64)
    assert (described.shape, described.strides) == ([2, 3, 50, 128], [50 * 3 * 136, 136, 3 * 136, 1])
    assert described.block_shape == [1, 1, 64, 128]


def test_fp8_v_with_contiguous_keys_is_read_as_it_is_and_another_is_copied() -> None:
    keys_last = module(f"{BASE}_fp8_head_dim128_none_dense").keys_last
    fits = torch.zeros(2, 3, 128, 48, dtype=torch.float8_e4m3fn).mT
    assert keys_last(fits).data_ptr() == fits.data_ptr() and keys_last(fits).shape == (2, 3, 128, 48)
    for other in (torch.randn(2, 3, 45, 128), torch.randn(2, 3, 128, 45).mT):
        v = other.to(torch.float8_e4m3fn)
        copy = keys_last(v)
        assert copy.stride() == (3 * 128 * 48, 128 * 48, 48, 1)
        assert torch.equal(copy.float(), v.float().mT)


def test_the_output_has_the_order_of_dimensions_of_q() -> None:
    like = module(f"{BASE}_none").like_queries
    assert like(torch.zeros(2, 50, 3, 128).transpose(1, 2), 64).stride() == (50 * 3 * 64, 64, 3 * 64, 1)
    assert like(torch.zeros(2, 3, 50, 128), 64).is_contiguous()


@pytest.mark.parametrize(("sink", "expected"), [(None, float("-inf")), (2.5, 2.5)])
def test_without_keys_o_is_0_and_lse_that_of_the_sink(sink: float | None, expected: float) -> None:
    name = f"{BASE}_softmax_none_no_softcap_{'no_sink' if sink is None else 'sink'}_lse"
    with Session("eager", 0).active():
        options = {} if sink is None else {"sink": torch.full((4,), sink, device=DEVICE)}
    shapes = ((1, 4, 70, 128), (1, 2, 0, 128), (1, 2, 0, 128))
    out, lse = call(name, f"{BASE}_softmax", shapes, **options)
    assert not out.any() and bool((lse == expected).all())


def test_without_queries_nothing_is_launched() -> None:
    out, lse = call(f"{BASE}_none", BASE, ((1, 4, 0, 128), *GOOD[1:]))
    assert (out.shape, lse.shape) == ((1, 4, 0, 128), (1, 4, 0))


def test_the_larger_l2_share_of_short_sequences_lets_more_heads_work_together() -> None:
    together = module(f"{BASE}_causal").heads_together
    assert together(16384, 32, 32) == 4  # of 8 MiB each
    assert together(16384, 32, 8) == 16  # four heads share one K and V
    assert together(10**6, 32, 32) == 1


def test_negative_windows_are_refused_and_none_is_everything() -> None:
    name = f"{BASE}_masks_window_top_left_dense"
    with pytest.raises(ValueError, match="expected no negative extent"):
        call(name, f"{BASE}_masks", GOOD, window=(-1, None))
    out, _ = call(name, f"{BASE}_masks", GOOD, window=(None, None))
    assert not out.any() and out.shape == GOOD[0]
