"""What a block of pointers points to."""

from __future__ import annotations

from typing import Any

import torch

from .arith import Pointer
from .findings import KernelFault
from .machine import machine


def addresses(pointer: Any, mask: Any, what: str, hint: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices into the pointers' storage, and which of them the mask keeps; those must lie inside. A `hint` reads and
    writes nothing, and needs not wait for the kernel before."""
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
    first, end = pointer.extent  # of the tensor, not of what was allocated: it may be a part of more
    outside = kept & ((at < first) | (at >= end))
    if bool(outside.any()):
        text = f"{what} of {int(outside.sum())} elements outside of a tensor of {end - first}"
        m.findings.stop("out-of-bounds", text, (place,))
    return at, kept
