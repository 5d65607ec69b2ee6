"""The elements that a block of pointers points to."""

from __future__ import annotations

from typing import Any

import torch

from .arith import Pointer
from .findings import KernelFault
from .machine import machine


def addresses(pointer: Any, mask: Any, what: str, hint: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices into the pointers' storage, and which of them the mask keeps. Those must be inside of the tensor.

    A `hint` (a prefetch) accesses no memory, so it need not wait for the preceding kernel.
    """
    m = machine()
    place = m.here()
    if not isinstance(pointer, Pointer):
        raise KernelFault(f"{what} of {type(pointer).__name__}")
    if not hint:
        m.touch_memory(place, what)
    at = torch.as_tensor(pointer.at, dtype=torch.int64)
    kept = torch.as_tensor(True if mask is None else mask)
    if mask is not None and not hint:
        m.memory.tile(place, 0 if bool(kept.all()) else 1 if bool(kept.any()) else 2)
    at, kept = torch.broadcast_tensors(at, kept)
    first, end = pointer.extent  # of the tensor, which may be a part of a larger allocation
    outside = kept & ((at < first) | (at >= end))
    if bool(outside.any()):
        text = f"{what} of {int(outside.sum())} elements outside of a tensor of {end - first}"
        m.findings.stop("out-of-bounds", text, (place,))
    return at, kept
