"""The host function: what it refuses, rows that it takes as they lie, and which config takes them. No GPU is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

ROOT = Path(__file__).parents[3] / "generated" / "hopper_layer_norm_bwd"
DEVICE = torch.device("cuda", 0)


def given(shape: tuple[int, ...], view: Any = lambda x: x) -> dict[str, Any]:
    """Arguments of random numbers, on the simulated GPU; `view` makes x and dy of larger tensors."""
    x, dy = (view(torch.randn(shape, device=DEVICE).to(torch.bfloat16)) for _ in range(2))
    weight = torch.randn(x.shape[-1] if x.dim() else 1, device=DEVICE).to(torch.bfloat16)
    mean = x.double().mean(-1, keepdim=True) if x.dim() else x
    rstd = ((x - mean).square().mean(-1) + 1e-5).rsqrt() if x.dim() else x
    return {"dy": dy, "x": x, "weight": weight, "mean": mean.squeeze(-1).float(), "rstd": rstd.float()}


def call(shape: tuple[int, ...], view: Any = lambda x: x, config: int | None = None, **options: Any) -> Any:
    """The arguments, and what the host function makes of them."""
    loaded = load_module(ROOT / "hopper_layer_norm_bwd.py")
    with Session("eager", 0).active():
        made = given(shape, view) | options
        return made, loaded.hopper_layer_norm_bwd(**made, config=None if config is None else loaded.CONFIGS[config])


def expected(t: dict[str, Any]) -> list[Any]:
    x, dy, weight, mean, rstd = (t[name].double().cpu() for name in ("x", "dy", "weight", "mean", "rstd"))
    x, dy, mean, rstd = x.reshape(-1, x.shape[-1]), dy.reshape(-1, x.shape[-1]), mean.flatten(), rstd.flatten()
    xhat = (x - mean[:, None]) * rstd[:, None]
    wdy = dy * weight
    dx = wdy - xhat * (wdy * xhat).mean(-1, keepdim=True) - wdy.mean(-1, keepdim=True)
    return [(dx * rstd[:, None]).view(t["x"].shape), (dy * xhat).sum(0), dy.sum(0)]


@pytest.mark.parametrize(
    ("shape", "options", "error", "words"),
    [
        ((), {}, ValueError, "x: expected a row, or rows"),
        ((4, 70), {"view": lambda x: x.T}, ValueError, "dy: stride 70 along the last dimension"),
        ((4, 6, 72), {"view": lambda x: x.transpose(0, 1)}, ValueError, r"x: rows at strides \(72, 432\)"),
        ((4, 70), {"dx": torch.zeros(4, 70)}, TypeError, "dx: torch.float32"),
        ((4, 70), {"rstd": torch.zeros(5)}, ValueError, r"rstd: shape \(5,\), expected \(4,\)"),
        ((4, 70), {"dy": torch.zeros(3, 70)}, ValueError, r"dy: shape \(3, 70\), expected \(4, 70\)"),
        ((1, 262145), {}, ValueError, "x: rows of 262145 elements.*too many"),
        ((4, 70), {"config": 1}, ValueError, "x: rows of 70 elements, 140 bytes apart.*no multiple of 16 bytes"),
    ],
)
def test_an_argument_that_the_kernel_cannot_take_is_named(
    shape: tuple[int, ...], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(shape, **options)


@pytest.mark.parametrize(
    ("shape", "view"),
    [
        ((72,), lambda x: x),
        ((2, 1, 3, 72), lambda x: x),
        ((3, 4, 80), lambda x: x[:, :, :72]),  # rows with gaps
        ((5, 83), lambda x: x[:, :72]),  # whole chunks of 16 bytes, not at multiples of them: no copies
        ((5, 80), lambda x: x[:, 3:75]),
        ((5, 71), lambda x: x),
    ],
)
def test_rows_are_taken_as_they_lie(shape: tuple[int, ...], view: Any) -> None:
    made, found = call(shape, view)
    for one, wanted in zip(found, expected(made), strict=True):
        assert one.shape == wanted.shape and float((one.double().cpu() - wanted).norm() / wanted.norm()) < 4e-3


@pytest.mark.parametrize("shape", [(0, 72), (3, 0)])
def test_sums_over_nothing_are_zero(shape: tuple[int, int]) -> None:
    _, (dx, dweight, dbias) = call(shape)
    assert dx.shape == shape and dweight.shape == dbias.shape == shape[1:]
    assert not dweight.any() and not dbias.any()


def test_each_shape_has_a_config() -> None:
    loaded = load_module(ROOT / "hopper_layer_norm_bwd.py")
    for n in (1, 8, 63, 512, 1000, 5000, 8192, 8193, 40000, 65536, 65537, 131072, 200000, 262144):
        for m in (1, 300, 70000):
            config = loaded.pick_config(m, n, Gpu("", 132))
            assert loaded.clocks(config, m, n, 132) < float("inf"), (m, n)
            assert config.kwargs["STAGES"] or n % 8 or n <= 64 or n > 131072, (m, n)
