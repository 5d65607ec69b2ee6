"""async_dot_scaled: tcgen05 MMAs of MX operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from .findings import KernelFault
from .machine import BarrierRef
from .memory import Kind, View
from .mx import BLOCK, FORMATS, fp4_values, scale_values, unpack_scales
from .ops_tcgen05 import mma


def async_dot_scaled(
    A: View,
    B: View,
    acc: View,
    A_scale: View,
    A_format: str,
    B_scale: View,
    B_format: str,
    use_acc: Any = None,
    pred: Any = None,
    mBarriers: Sequence[BarrierRef] = (),
    two_ctas: Any = False,
    force_async: Any = False,
    out_dtype: Any = torch.float32,
) -> None:
    """D = (A * A_scale) @ (B * B_scale) (+ D), where 32 elements along K share a scale.

    A is M x K with scales M x K/32, and B is K x N with scales N x K/32 (for all N columns, also with two CTAs). Packed
    fp4 has K/2 bytes. Scales may be padded to more rows and columns. In shared memory they are in the order of
    tcgen05.cp, and are padded to tiles of 128 x 4.
    """
    for view, name in ((A, A_format), (B, B_format)):
        if name not in FORMATS or view.dtype not in (FORMATS[name], torch.uint8):
            raise KernelFault(f"async_dot_scaled: {view.dtype} as {name}")
    fp4 = A_format == "e2m1", B_format == "e2m1"
    depth = A.shape[1] * (2 if fp4[0] else 1)
    columns = B.shape[1] * (2 if two_ctas else 1)
    if depth != B.shape[0] * (2 if fp4[1] else 1) or tuple(acc.shape) != (A.shape[0], columns) or A.shape[0] != 128:
        raise KernelFault(f"async_dot_scaled of {A.shape} {A_format} and {B.shape} {B_format} into {acc.shape}")

    for scale, rows in ((A_scale, A.shape[0]), (B_scale, columns)):
        _check_scale(scale, rows, depth // BLOCK)

    def product(a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
        a = _values(a, A_format) * _spread(a_scale, A_scale.kind, A.shape[0], depth)
        b = _values(b.mT, B_format) * _spread(b_scale, B_scale.kind, columns, depth)
        return a @ b.mT

    mma(A, B, acc, use_acc, pred, mBarriers, two_ctas, force_async, (A_scale, B_scale), product)


def _values(raw: torch.Tensor, name: str) -> torch.Tensor:
    if name == "e2m1":
        return fp4_values(raw.contiguous())
    return raw.float() if raw.is_floating_point() else raw.contiguous().view(FORMATS[name]).float()


def _tiles(rows: int, columns: int) -> tuple[int, int]:
    """Padded to tiles of 128 x 4."""
    return -(-rows // 128) * 128, -(-columns // 4) * 4


def _check_scale(scale: View, rows: int, columns: int) -> None:
    """Raises KernelFault unless the scales are those of rows x columns blocks."""
    if scale.kind == "tmem":
        fits = len(scale.shape) == 2 and (
            scale.shape[0] >= rows and scale.shape[1] >= columns or _regrouped(scale.shape, rows, columns)
        )
    else:
        fits = math.prod(scale.shape) == math.prod(_tiles(rows, columns))
    if not fits:
        raise KernelFault(f"async_dot_scaled: scales of {scale.shape} for {rows} x {columns} blocks")


def _regrouped(shape: Sequence[int], rows: int, columns: int) -> bool:
    """Whether scales of rows x columns blocks can have `shape`: fewer rows, with each further 128 rows beside them.

    For the B of two CTAs the compiler allocates as many rows as one CTA has columns of B, with the same bytes in all.
    (fbtriton, MMALowering.cpp, lowerScaleToTmem.)
    """
    whole = _tiles(rows, columns)
    return shape[0] % 128 == 0 and whole[0] % shape[0] == 0 and math.prod(shape) == math.prod(whole)


def _spread(scale: torch.Tensor, kind: Kind, rows: int, depth: int) -> torch.Tensor:
    """The factors of rows x depth elements."""
    columns = depth // BLOCK
    if kind == "smem":
        scale = unpack_scales(scale, _tiles(rows, columns))
    elif scale.shape[0] < rows:
        scale = scale.unflatten(1, (-(-rows // scale.shape[0]), -1)).transpose(0, 1).flatten(0, 1)
    return scale_values(scale[:rows, :columns]).repeat_interleave(BLOCK, dim=1)
