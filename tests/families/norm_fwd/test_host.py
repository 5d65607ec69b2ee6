"""The host function: what it refuses, and rows that it takes as they lie. None of it needs a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.sim import Session, load_module  # noqa: E402

ROOT = Path(__file__).parents[3] / "generated" / "hopper_layer_norm"
DEVICE = torch.device("cuda", 0)


def call(shape: tuple[int, ...], *, kind: str = "grid", view: Any = lambda x: x, **options: Any) -> Any:
    """The host function on x of random numbers, of which `view` makes what it is given, on the simulated GPU."""
    loaded = load_module(ROOT / f"hopper_layer_norm_{kind}.py")
    with Session("eager", 0).active():
        x = view(torch.randn(shape, device=DEVICE).to(torch.bfloat16))
        one = torch.ones(x.shape[-1] if x.dim() else 1, dtype=torch.bfloat16, device=DEVICE)
        return x, loaded.hopper_layer_norm(x, one, 0 * one, **options)


@pytest.mark.parametrize(
    ("shape", "options", "error", "words"),
    [
        ((), {}, ValueError, "x: expected a row, or rows"),
        ((4, 70), {"view": lambda x: x.T}, ValueError, "x: stride 70 along the last dimension"),
        ((4, 6, 70), {"view": lambda x: x.transpose(0, 1)}, ValueError, r"x: rows at strides \(70, 420\)"),
        ((4, 70), {"out": torch.zeros(4, 70)}, TypeError, "out: torch.float32"),
        ((4, 70), {"eps": "x"}, TypeError, "eps: str, expected a number"),
        ((4, 70), {"eps": None}, TypeError, "eps: NoneType, expected a number"),
        ((4, 70), {"eps": float("nan")}, ValueError, "eps: nan, expected a finite number"),
        ((4, 70), {"config": 0}, TypeError, "config: int, expected an entry of this module's CONFIGS"),
        ((4, 70), {"mean": [1.0]}, TypeError, "mean: list, expected a tensor"),
        ((1, 262145), {}, ValueError, "x: rows of 262145 elements; the CTAs of this config hold"),
        ((1, 262152), {"kind": "staged"}, ValueError, "x: rows of 262152 elements; the CTAs of this config hold"),
        ((4, 70), {"kind": "staged"}, ValueError, "x: rows of 70 elements; the kernel copies whole chunks of 16 bytes"),
        ((4, 68), {"kind": "staged", "view": lambda x: x[:, :64]}, ValueError, "copies whole chunks of 16 bytes"),
        ((4, 80), {"kind": "staged", "view": lambda x: x[:, 1:65]}, ValueError, "copies whole chunks of 16 bytes"),
    ],
)
def test_an_argument_that_the_kernel_cannot_take_is_named(
    shape: tuple[int, ...], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(shape, **options)


def test_results_have_memory_of_their_own() -> None:
    loaded = load_module(ROOT / "hopper_layer_norm_grid.py")
    with Session("eager", 0).active() as session:
        x, one = (torch.ones(s, dtype=torch.bfloat16, device=DEVICE) for s in ((6, 72), (72,)))
        stats = torch.zeros(9, device=DEVICE)
        with pytest.raises(ValueError, match="out: shares memory with x"):
            loaded.hopper_layer_norm(x, one, one, out=x)
        with pytest.raises(ValueError, match="mean: shares memory with rstd"):
            loaded.hopper_layer_norm(x, one, one, mean=stats[:6], rstd=stats[3:])
    assert session.launches == 0


@pytest.mark.parametrize("kind", ["grid", "staged"])
@pytest.mark.parametrize("shape", [(72,), (3, 72), (2, 3, 72), (2, 1, 3, 72)])
def test_any_leading_dimensions_are_rows(shape: tuple[int, ...], kind: str) -> None:
    x, (y, mean, rstd) = call(shape, kind=kind)
    wanted = torch.nn.functional.layer_norm(x.double().cpu(), shape[-1:])
    assert y.shape == x.shape and mean.shape == rstd.shape == x.shape[:-1]
    assert (y.double().cpu() - wanted).abs().max() < 0.02


def test_rows_with_gaps_are_taken_as_they_lie() -> None:
    x, (y, *_) = call((3, 4, 80), view=lambda x: x[:, :, :70])
    wanted = torch.nn.functional.layer_norm(x.double().cpu(), (70,))
    assert (y.double().cpu() - wanted).abs().max() < 0.02


@pytest.mark.parametrize("kind", ["grid", "staged"])
@pytest.mark.parametrize("far", [1e3, -3e4])
def test_a_row_that_begins_far_from_its_mean_is_right(far: float, kind: str) -> None:
    def begun(x: Any) -> Any:
        x[0, :4096] += far
        x[1, 8] += far  # what its chunk is summed about
        return x

    x, (y, mean, rstd) = call((2, 65536), kind=kind, view=begun)
    wide = x.double().cpu()
    assert torch.allclose(mean.double().cpu(), wide.mean(-1), rtol=1e-5, atol=1e-6)
    assert torch.allclose(rstd.double().cpu(), (wide.var(-1, correction=0) + 1e-5).rsqrt(), rtol=2e-5)
    wanted = torch.nn.functional.layer_norm(wide, (65536,))
    assert ((y.double().cpu() - wanted).abs() <= 0.01 * wanted.abs() + 0.01).all()


@pytest.mark.parametrize("shape", [(0, 70), (3, 0)])
def test_nothing_is_launched_where_there_is_nothing(shape: tuple[int, int]) -> None:
    _, (y, mean, _) = call(shape)
    assert y.shape == shape and mean.shape == shape[:1]


SUMMED = ROOT.parent / "hopper_rms_norm_residual"


@pytest.mark.parametrize("kind", ["grid", "staged"])
def test_rows_of_x_and_residual_are_normalised_as_they_are_stored(kind: str) -> None:
    loaded = load_module(SUMMED / f"hopper_rms_norm_residual_{kind}.py")
    torch.manual_seed(0)
    with Session("eager", 0).active():
        x, residual = (torch.randn(5, 3, 72, device=DEVICE).to(torch.bfloat16) for _ in range(2))
        weight = torch.randn(72, device=DEVICE).to(torch.bfloat16)
        y, added, _ = loaded.hopper_rms_norm_residual(x, residual, weight)
    whole = x.cpu() + residual.cpu()  # which torch rounds, too
    assert torch.equal(added.cpu(), whole)
    wanted = torch.nn.functional.rms_norm(whole.double(), (72,), weight.double().cpu(), 1e-5)
    assert (y.double().cpu() - wanted).abs().max() < 0.02


@pytest.mark.parametrize(
    ("kind", "view", "words"),
    [
        ("grid", lambda r: r[:, :64], r"residual: shape \(4, 64\), expected \(4, 80\)"),
        ("grid", lambda r: r.T.contiguous().T, "residual: stride 4 along the last dimension"),
        ("staged", lambda r: torch.zeros(4, 84, dtype=r.dtype, device=DEVICE)[:, :80], "residual: rows of 80 elements"),
        ("staged", lambda r: torch.zeros(4 * 80 + 1, dtype=r.dtype, device=DEVICE)[1:].view(4, 80), "residual: rows"),
    ],
)
def test_a_residual_that_the_kernel_cannot_take_is_named(kind: str, view: Any, words: str) -> None:
    loaded = load_module(SUMMED / f"hopper_rms_norm_residual_{kind}.py")
    with Session("eager", 0).active():
        x, one = (torch.ones(s, dtype=torch.bfloat16, device=DEVICE) for s in ((4, 80), (80,)))
        loaded.hopper_rms_norm_residual(x, x + 1, one)
        with pytest.raises(ValueError, match=words):
            loaded.hopper_rms_norm_residual(x, view(x + 1), one)
