"""Tensors of the attention families' problems: strided as a projection leaves them, with NaN wherever nobody may read.

Imports torch; the families do not.
"""

from __future__ import annotations

import torch

Shape = tuple[int, int, int, int, int]  # B, H, Hkv, Nq, Nk: of sequences of their own lengths, the longest
GAP = 16  # bytes of NaN between rows: strides are those of no contiguous tensor

# Aligned, ragged, one query, one key, Nq != Nk both ways, several heads to a head of K; up to some tiles a CTA.
SHAPES: tuple[Shape, ...] = (
    (2, 4, 4, 512, 512),
    (1, 1, 1, 1, 1),
    (3, 2, 1, 1, 300),
    (2, 2, 2, 300, 1),
    (1, 6, 2, 129, 257),
    (2, 3, 1, 400, 77),
    (1, 2, 2, 65, 640),
    (2, 8, 2, 1000, 1111),
    (5, 16, 4, 777, 777),
)


def shapes_of(own: tuple[tuple[int, ...], ...]) -> tuple[Shape, ...]:
    """The shapes to check: a spec's own, and those that catch the usual faults."""
    given = tuple((int(b), int(h), int(g), int(n), int(m)) for b, h, g, n, m in own)
    return tuple(dict.fromkeys((*given, *SHAPES)))


def heads_between_rows(
    lead: tuple[int, ...], rows: int, heads: int, columns: int, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Random (B, H, N, D), or (T, H, D) without `lead`, whose heads lie between the rows."""
    whole = torch.full((*lead, rows, heads, columns + GAP // dtype.itemsize), float("nan"), device=device, dtype=dtype)
    view = whole[..., :columns]
    view.copy_(torch.randn(*lead, rows, heads, columns, device=device).to(dtype))
    return view.transpose(1, 2) if lead else view


def strays(whole: torch.Tensor, inside: torch.Tensor) -> int:
    """Elements of `whole`, of NaN once, that have been written outside of its part `inside`."""
    written = ~torch.isnan(whole)
    part = written.as_strided(inside.shape, inside.stride(), inside.storage_offset() - whole.storage_offset())
    part.fill_(False)
    return int(written.sum())
