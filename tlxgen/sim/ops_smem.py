"""Shared memory: allocation, views, and what a task itself reads and writes there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from .findings import KernelFault, UnsupportedOp
from .machine import BarrierArray, BarrierRef, machine
from .memory import SMEM_BYTES, Access, Ring, Slot, View, poisoned


def local_alloc(
    shape: Sequence[int], dtype: torch.dtype, num: int, storage: Any = None, reuse: Any = None, *, _name: str = "smem"
) -> Ring:
    """`num` buffers, poisoned. An alias (`reuse`) and tensor memory are not modelled."""
    m = machine()
    place = m.here()
    if reuse is not None or storage not in (None, "smem"):
        raise UnsupportedOp("tlx.local_alloc with storage= or reuse=", place)
    cta = m.worker.cta
    cta.smem += math.prod(shape) * dtype.itemsize * num
    if cta.smem > SMEM_BYTES:
        text = f"{cta.smem} bytes of shared memory with {_name}; a CTA has {SMEM_BYTES}"
        m.findings.stop("out-of-bounds", text, (place,))
    number = len(cta.rings)
    slots = tuple(Slot(_name, i, cta, number, poisoned(shape, dtype)) for i in range(num))
    ring = LocalRing(_name, slots, m.findings)
    cta.rings.append(ring)
    return ring


class LocalRing(Ring):
    """A Ring that kernels index."""

    def __getitem__(self, index: int) -> View:
        return self.at(index, machine().here())


def local_view(buffers: Any, index: int) -> View | BarrierRef:
    """`buffers[index]`, of memory or of barriers."""
    if not isinstance(buffers, (LocalRing, BarrierArray)):
        raise KernelFault(f"local_view of {type(buffers).__name__}")
    found: View | BarrierRef = buffers[index]  # type: ignore[index]
    return found


def local_trans(view: View, dims: Sequence[int] = (1, 0)) -> View:
    """The same bytes, transposed."""
    return View(view.slot, view.tensor.permute(tuple(dims)), view.rect)


def local_slice(view: View, offset: Sequence[int], shape: Sequence[int]) -> View:
    """A rectangle of a view that is not itself a part or transposed."""
    m = machine()
    place = m.here()
    if view.tensor.dim() != 2 or view.tensor.shape != view.slot.data.shape or not view.tensor.is_contiguous():
        raise UnsupportedOp("tlx.local_slice of a part", place)
    (r, c), (rows, columns) = offset, shape
    if r < 0 or c < 0 or r + rows > view.shape[0] or c + columns > view.shape[1]:
        text = f"a slice of {rows} x {columns} at ({r}, {c}) of {view.slot}, which is {view.shape}"
        m.findings.stop("out-of-bounds", text, (place,))
    return View(view.slot, view.tensor[r : r + rows, c : c + columns], (r, r + rows, c, c + columns))


def local_store(view: View, value: torch.Tensor) -> None:
    """The task writes a view. The async proxy sees it after a fence."""
    m = machine()
    place, worker = m.here(), m.worker
    if tuple(value.shape) != view.shape or value.dtype != view.dtype:
        text = f"local_store of {tuple(value.shape)} {value.dtype} to {view.shape} {view.dtype}"
        raise KernelFault(text)
    access = Access(worker.bit, place, "a local_store", engine=False, fenced=False)
    view.slot.write(view.rect, access, worker.clock, m.findings)
    worker.unfenced.append(access)
    view.tensor.copy_(value)
    m.hub.pause()


def local_load(view: View, *_: Any, **options: Any) -> torch.Tensor:
    """The task reads a view."""
    m = machine()
    place, worker = m.here(), m.worker
    access = Access(worker.bit, place, "a local_load", engine=False, fenced=True)
    view.slot.read(view.rect, access, worker.clock, m.findings)
    m.hub.pause()
    return view.tensor.clone()


def fence(scope: str) -> None:
    """`async_shared`: what the task has stored is now visible to TMA and wgmma."""
    m = machine()
    m.here()
    if scope not in ("async_shared", "gpu", "sys"):
        raise KernelFault(f"fence({scope!r})")
    if scope == "async_shared":
        for access in m.worker.unfenced:
            access.fenced = True
        m.worker.unfenced.clear()


def fence_async_shared() -> None:
    """`fence("async_shared")`."""
    fence("async_shared")
