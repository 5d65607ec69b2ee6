"""Compares an output with its reference: the error, the worst block, and elements that were not written."""

from __future__ import annotations

from dataclasses import dataclass

import torch

TILE = 64  # rows and columns of the blocks of which the worst is reported
WORST_FACTOR = 8.0  # factor on the tolerance for a block, since few elements average less


@dataclass(frozen=True)
class Verdict:
    """`error` is ||out - ref|| / scale, and `worst` is the block with the largest error. `worst_error` is its error
    relative to the norm of an average block."""

    passed: bool
    error: float
    worst: tuple[int, int]
    worst_error: float
    text: str


def compare(out: torch.Tensor, ref: torch.Tensor, scale: float, tolerance: float) -> Verdict:
    """Compares `out` (..., N) with `ref` (..., N), which is float64. Errors are relative to `scale`.

    NaN never passes. An infinity passes only where the reference has the same one. Positions are in rows of N elements.
    """
    if bool(torch.isnan(ref).any()):
        raise ValueError("the reference has NaN: the inputs are at fault")
    out, ref = (x.double().reshape(-1, ref.shape[-1]) for x in (out, ref))
    infinite = torch.isinf(ref)
    wrong = int(((~torch.isfinite(out) | infinite) & (out != ref)).sum())
    error = torch.where(infinite & (out == ref), 0.0, out.nan_to_num(nan=float("inf")) - ref)
    scale = scale or 1.0
    norm = float(error.norm()) / scale
    blocks = _block_norms(error)
    average = scale / (blocks.numel() ** 0.5)
    at = int(blocks.argmax())
    row, column = divmod(at, blocks.shape[1])
    worst = float(blocks[row, column]) / average
    passed = wrong == 0 and norm <= tolerance and worst <= tolerance * WORST_FACTOR
    where = f"worst block rows {row * TILE}+, columns {column * TILE}+"
    text = f"error {norm:.2e} (bound {tolerance:.1e}), {where}: {worst:.2e}"
    if wrong:
        text = f"{wrong} elements not finite, never written, or not the reference's infinity; {text}"
    return Verdict(passed, norm, (row * TILE, column * TILE), worst, text)


def distance(out: torch.Tensor, ref: torch.Tensor, scale: float) -> float:
    """||out - ref|| / scale over the elements whose reference is finite. `out` has them in the same order."""
    finite = torch.isfinite(ref)
    return float(torch.where(finite, out.double().reshape(ref.shape) - ref, 0.0).norm()) / (scale or 1.0)


def _block_norms(error: torch.Tensor) -> torch.Tensor:
    rows, columns = error.shape
    padded = torch.nn.functional.pad(error, (0, -columns % TILE, 0, -rows % TILE))
    split = padded.reshape(padded.shape[0] // TILE, TILE, padded.shape[1] // TILE, TILE)
    return split.square().sum(dim=(1, 3)).sqrt()


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of one type hold the same bytes, NaN included."""
    kind = {2: torch.int16, 4: torch.int32, 1: torch.uint8}[a.element_size()]
    return bool(torch.equal(a.contiguous().view(kind), b.contiguous().view(kind)))
