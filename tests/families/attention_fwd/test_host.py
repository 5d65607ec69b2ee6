"""The host function's argument checks, which need no GPU."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.cudalike import CudaLike  # noqa: E402
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
        (GOOD, {"scale": float("nan")}, ValueError, "scale: nan, expected a positive number"),
        (GOOD, {"scale": "x"}, TypeError, "scale: str, expected a number"),
        (GOOD, {"scale": torch.tensor(0.1)}, TypeError, "scale: Tensor, expected a number"),
        (GOOD, {"scale": [0.1]}, TypeError, "scale: list, expected a number"),
        (GOOD, {"config": 0}, TypeError, "config: int, expected an entry of this module's CONFIGS"),
        (GOOD, {"lse": 1.0}, TypeError, "lse: float, expected a tensor"),
        (GOOD, {"out": torch.zeros(1, 4, 70, 128)}, TypeError, "out: torch.float32"),
    ],
)
def test_an_argument_that_the_kernel_cannot_take_is_named(
    shapes: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(f"{BASE}_none", BASE, shapes, **options)


@pytest.mark.parametrize(
    ("window", "error", "words"),
    [
        (5, TypeError, "window: 5, expected two extents, each an integer or None"),
        ((1, 2, 3), TypeError, r"window: \(1, 2, 3\), expected two extents"),
        ("ab", TypeError, "window: 'ab', expected two extents"),
        ((1.5, None), TypeError, "window: float, expected an integer"),
        ([1, -2], ValueError, "window: -2, expected 0 to "),
        ([1, [2]], TypeError, "window: list, expected an integer"),
    ],
)
def test_a_window_is_two_extents(window: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(f"{BASE}_masks_window_top_left_dense", f"{BASE}_masks", GOOD, window=window)


@pytest.mark.parametrize("value", ["x", None, [1.0], 0.0, float("nan")], ids=repr)
def test_a_softcap_is_a_positive_number(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"softcap: .*, expected a (\w+ )?number"):
        call(f"{BASE}_softmax_none_softcap_no_sink_lse", f"{BASE}_softmax", GOOD, softcap=value)


def test_a_tensor_on_the_cpu_is_refused() -> None:
    tensors = (torch.zeros(s, dtype=torch.bfloat16) for s in GOOD)
    with pytest.raises(ValueError, match="q: on cpu, expected a CUDA device"):
        module(f"{BASE}_none").hopper_attention_fwd(*tensors)


def test_what_tma_cannot_address_is_named_with_tensor_dimension_bytes_and_rule() -> None:
    describe = module(f"{BASE}_none").describe
    odd = torch.zeros(8192, dtype=torch.bfloat16).as_strided((1, 3, 5, 128), (7, 660, 128, 1))
    with pytest.raises(ValueError, match="k: stride of 660 elements along dimension 1 is 1320 bytes"):
        describe(odd, "k", [1, 1, 64, 128])
    with pytest.raises(ValueError, match=r"k: stride 5 where TMA needs 1; k.contiguous\(\) has it$"):
        describe(torch.zeros(1, 1, 128, 5, dtype=torch.bfloat16).mT, "k", [1, 1, 64, 128])
    with pytest.raises(ValueError, match="k: stride of 0 elements along dimension 1"):
        describe(torch.zeros(1, 1, 8, 128, dtype=torch.bfloat16).expand(1, 4, 8, 128), "k", [1, 1, 64, 128])


def descriptors(name: str, host: str, *tensors: Any, **options: Any) -> dict[str, Any]:
    """What TMA is told of each tensor of a call, by its name."""
    loaded = module(name)
    with Session("eager", 0).active():
        made = [x.as_subclass(CudaLike) for x in tensors]
        getattr(loaded, host)(*made, **options)
        (call,) = loaded.CALLS.values()
        given = dict(zip(call.tensors, made, strict=False))
        return {name: view(given[name]) for name, view in call.launches[0].described if name in given}


def test_heads_between_rows_are_described_as_they_lie() -> None:
    q = torch.zeros(2, 10, 3, 136, dtype=torch.bfloat16)[..., :128].transpose(1, 2)
    described = descriptors(f"{BASE}_none", BASE, q, q, q)["q"]
    assert (described.shape, described.strides) == ([2, 3, 10, 128], [10 * 3 * 136, 136, 3 * 136, 1])
    assert described.block_shape == [1, 1, 64, 128]


def test_packed_heads_are_described_by_rows_that_end_where_a_sequence_does() -> None:
    """TMA sees the rows of a tensor as long as no copy crosses their end, so it must see an end of each sequence."""
    describe = module(f"{BASE}_masks_none_top_left_packed").describe_ragged
    described = describe(torch.zeros(50, 3, 136, dtype=torch.bfloat16)[..., :128], "q", [1, 1, 1, 64, 128])
    assert described.strides[-3:] == [136, 3 * 136, 1] and described.block_shape == [1, 1, 1, 64, 128]
    odd = torch.zeros(50 * 400, dtype=torch.bfloat16).as_strided((50, 3, 128), (400, 131, 1))
    with pytest.raises(ValueError, match="q: stride of 131 elements along dimension 1 is 262 bytes"):
        describe(odd, "q", [1, 1, 1, 64, 128])


def test_fp8_v_with_contiguous_keys_is_read_as_it_is_and_another_is_refused() -> None:
    name, host = f"{BASE}_fp8_head_dim128_none_dense", f"{BASE}_fp8"
    q, k = (torch.zeros(1, 2, n, 128, dtype=torch.float8_e4m3fn) for n in (8, 48))
    fits = torch.zeros(1, 2, 128, 48, dtype=torch.float8_e4m3fn).mT
    described = descriptors(name, host, q, k, fits)["v"]
    assert (described.shape, described.base.data_ptr()) == ([1, 2, 128, 48], fits.data_ptr())
    mends = r"stride 128 where TMA needs 1; this kernel takes v with contiguous keys: v\.mT\.contiguous\(\)\.mT has"
    with pytest.raises(ValueError, match=f"v: {mends}"):
        descriptors(name, host, q, k, fits.contiguous())
    odd = torch.zeros(1, 2, 45, 128, dtype=torch.float8_e4m3fn)
    with pytest.raises(ValueError, match="v: stride of 45 elements along dimension 2 is 45 bytes"):
        descriptors(name, host, q, odd, odd.mT.contiguous().mT)


def test_the_output_has_the_order_of_dimensions_of_q() -> None:
    loaded = module(f"{BASE}_none")
    for q in (torch.zeros(2, 50, 3, 128).transpose(1, 2), torch.zeros(2, 3, 50, 128)):
        out, lse = loaded.outputs(q, q, q, None)
        assert (out.shape, out.stride(), out.dtype) == (q.shape, q.stride(), torch.bfloat16)
        assert lse.shape == (2, 3, 50) and lse.is_contiguous() and lse.dtype == torch.float32


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


def longest_share(together: int, heads: int, tiles: int, programs: int) -> int:
    """Steps of the CTA that has the most, by walking all items; a tile has a step more than the one before."""
    steps = [0] * programs
    ends = [min(first + together, heads) for first in range(0, heads, together)]
    order = [t for end in ends for t in range(tiles, 0, -1) for _ in range(end - (end - 1) // together * together)]
    for index, tile in enumerate(order):
        steps[index % programs] += tile + 1
    return max(steps)


@pytest.mark.parametrize(("most", "heads", "found"), [(12, 64, 6), (21, 128, 12), (16, 128, 12), (4, 64, 2)])
def test_so_many_heads_work_together_that_ctas_have_equal_shares(most: int, heads: int, found: int) -> None:
    """With the first numbers, those of D 192 and V of 128, one CTA has 17% more to do than the average, then 4%."""
    together = module(f"{BASE}_causal").equal_shares(most, heads, 1, 4096, 4096, 0, 128, 128, 132)
    assert together == found
    assert longest_share(together, heads, 32, 132) <= longest_share(most, heads, 32, 132)


def test_heads_that_share_k_and_v_stay_together_and_long_problems_are_not_searched() -> None:
    shares = module(f"{BASE}_causal").equal_shares
    assert shares(32, 32, 4, 8192, 8192, 0, 128, 128, 132) % 4 == 0
    assert shares(4, 64, 1, 10**6, 10**6, 0, 128, 128, 132) == 4
    assert shares(100, 2, 1, 5, 5, 0, 128, 128, 2) == 2


def test_negative_windows_are_refused_and_none_is_everything() -> None:
    name = f"{BASE}_masks_window_top_left_dense"
    with pytest.raises(ValueError, match="window: -1, expected 0 to inf"):
        call(name, f"{BASE}_masks", GOOD, window=(-1, None))
    for window in ((None, None), (2**70, None)):
        out, _ = call(name, f"{BASE}_masks", GOOD, window=window)
    assert not out.any() and out.shape == GOOD[0]
