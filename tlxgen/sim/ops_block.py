"""Block pointers: `tl.make_block_ptr`, a movable box of a tensor. Bounds are checked in the named dimensions; in the
others every element must exist, as for any pointer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from .arith import Pointer
from .findings import KernelFault


@dataclass(frozen=True, eq=False)
class BlockPointer:
    """`block_shape` elements from `offsets` on, of a tensor of `shape` at `base`."""

    base: Pointer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    block_shape: tuple[int, ...]

    @property
    def dtype(self) -> torch.dtype:
        return self.base.dtype

    def pointers(self, boundary_check: Any) -> tuple[Pointer, torch.Tensor | None]:
        """The pointer to each element, and a mask if a dimension is checked."""
        rank = len(self.block_shape)
        checked = {boundary_check} if isinstance(boundary_check, int) else set(boundary_check)
        if not checked <= set(range(rank)):
            raise KernelFault(f"boundary_check of {sorted(checked)} for a block of {rank} dimensions")
        at = torch.zeros(self.block_shape, dtype=torch.int64)
        mask: torch.Tensor | None = None
        for i, (offset, extent) in enumerate(zip(self.offsets, self.block_shape, strict=True)):
            places = (offset + torch.arange(extent)).reshape(*[1] * i, extent, *[1] * (rank - 1 - i))
            at = at + places * self.strides[i]
            if i in checked:
                inside = ((places >= 0) & (places < self.shape[i])).broadcast_to(self.block_shape)
                mask = inside if mask is None else mask & inside
        return self.base + at, mask


def make_block_ptr(
    base: Pointer, shape: Sequence[Any], strides: Sequence[Any], offsets: Sequence[Any], block_shape: Sequence[Any],
    order: Sequence[Any],
) -> BlockPointer:  # fmt: skip
    """Makes a block pointer. `order` is a hint."""
    sizes = [tuple(int(x) for x in part) for part in (shape, strides, offsets, block_shape)]
    rank = len(sizes[-1])
    if not isinstance(base, Pointer) or any(len(x) != rank for x in sizes) or sorted(order) != list(range(rank)):
        raise KernelFault(f"tl.make_block_ptr of {type(base).__name__} with {sizes}, order {list(order)}")
    return BlockPointer(base, *sizes)


def advance(base: BlockPointer, offsets: Sequence[Any]) -> BlockPointer:
    """The block moved by `offsets`."""
    if not isinstance(base, BlockPointer) or len(offsets) != len(base.offsets):
        raise KernelFault(f"tl.advance of {type(base).__name__} by {len(offsets)} offsets")
    return replace(base, offsets=tuple(a + int(b) for a, b in zip(base.offsets, offsets, strict=True)))
