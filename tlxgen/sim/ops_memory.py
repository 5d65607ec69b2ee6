"""Shared and tensor memory: allocation, aliases, views, and a task's own reads and writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from .alias import AliasSpec, Group, GroupType
from .findings import KernelFault, Place
from .footprint import Footprint, overlap
from .layouts import ROWS
from .machine import BarrierArray, BarrierRef, Touch, Worker, machine
from .memory import COLUMN_BYTES, COLUMNS, LANES, SMEM_BYTES, Access, Buffer, Kind, Ring, Storage, View, columns_used


class StorageKind:
    """`tlx.storage_kind`."""

    smem: Kind = "smem"
    tmem: Kind = "tmem"
    smemCluster = "smemCluster"


class LocalBuffer(Buffer):
    """A Buffer that kernels index."""

    def __getitem__(self, index: int) -> View:
        m = machine()
        place = m.here()
        if m.change is not None:
            index = m.change.slot(place, self.name, int(index), self.num)
        return self.at(int(index), place)


def local_alloc(
    shape: Sequence[int],
    dtype: torch.dtype,
    num: int,
    storage: Kind = "smem",
    reuse: Buffer | AliasSpec | None = None,
    layout: Any = None,
    *,
    _name: str = "buffer",
) -> LocalBuffer:
    """`num` poisoned buffers or, with `reuse=`, a view of others' memory. Layouts do not change values."""
    m = machine()
    place = m.here()
    shape, num = tuple(int(s) for s in shape), int(num)
    if num < 1 or any(s < 1 for s in shape):
        raise KernelFault(f"local_alloc of {num} buffers of {shape}")
    scales = dtype in (torch.uint8, torch.int8)  # each quarter of the lanes has a copy
    if storage == "tmem" and (len(shape) != 2 or (shape[0] > LANES and not scales)):
        raise KernelFault(f"local_alloc of {shape} in tensor memory, which has {LANES} lanes")
    if reuse is None:
        owner = _storage(storage)
    else:
        owner = reuse.storage
        if owner.kind != storage:
            raise KernelFault(f"local_alloc in {storage} reuses memory in {owner.kind}")
        owner.alias()
    buffer = LocalBuffer(_name, owner, m.findings, shape, dtype, num)
    buffer.ring = Ring(_name, place, num)
    if storage == "tmem":
        buffer.site = m.calls()
        buffer.layout = m.layouts.of(buffer.site, shape[0], dtype)
        half = shape[0] == ROWS and buffer.layout == "plain" and not scales
        owner.lanes = max(owner.lanes, ROWS if half else LANES)
        buffer.place(0, buffer.unit, 1)  # a slot's columns follow from the layout
    if isinstance(reuse, Buffer):
        buffer.place(reuse.offset, buffer.unit, 1)
    elif reuse is not None:
        reuse.buffers.append(buffer)
    owner.fit(buffer.extent)
    _check_size(storage, place, _name)
    return buffer


def _storage(kind: Kind) -> Storage:
    cta = machine().worker.cta
    number, cta.allocated = cta.allocated, cta.allocated + 1
    if number == len(cta.storages):
        cta.storages.append(Storage(kind, cta, number))
    return cta.storages[number]


def _check_size(kind: Kind, place: Place, name: str) -> None:
    m = machine()
    storages = [s for s in m.worker.cta.storages if s.kind == kind]
    used = sum(s.extent for s in storages) if kind == "smem" else columns_used(storages)
    limit, unit = (SMEM_BYTES, "bytes of shared memory") if kind == "smem" else (COLUMNS, "columns of tensor memory")
    if used > limit:
        m.findings.stop("out-of-bounds", f"{used} {unit} with {name}; a CTA has {limit}", (place,))


def storage_alias_spec(
    storage: Kind = "smem", buffer_size_bytes: int | None = None, *, _name: str = "storage"
) -> AliasSpec:
    """Memory for the buffers with `reuse=` this. They all start at its start, unless `set_buffer_overlap` is called. It
    is as large as they need, or `buffer_size_bytes`, which must be enough."""
    place = machine().here()
    owner = _storage(storage)
    if buffer_size_bytes is not None:
        owner.limit = int(buffer_size_bytes) // (1 if storage == "smem" else LANES * COLUMN_BYTES)
        owner.fit(owner.limit)
    return AliasSpec(storage, owner, lambda: _check_size(storage, place, _name))


def reuse_group(*elements: Any, group_type: str = GroupType.shared, group_size: int = 1) -> Group:
    """A node of an alias plan."""
    return Group(elements, group_type, group_size)


# Views.


def local_view(buffers: Any, index: int) -> View | BarrierRef:
    """`buffers[index]`, for memory or barriers; for a view, the part with that first index."""
    if isinstance(buffers, View):
        return buffers.part(buffers.strided[index])
    if not isinstance(buffers, (LocalBuffer, BarrierArray)):
        raise KernelFault(f"local_view of {type(buffers).__name__}")
    found: View | BarrierRef = buffers[index]  # type: ignore[index]
    return found


def whole(result: View | Buffer) -> View:
    """The only slot of a buffer that a kernel uses without an index."""
    return result.at(0, machine().here()) if isinstance(result, Buffer) and result.num == 1 else result  # type: ignore[return-value]


def local_trans(view: View, dims: Sequence[int] = (1, 0)) -> View:
    """The same bytes, transposed."""
    return view.part(view.strided.permute(tuple(dims)))


def local_slice(view: View, offset: Sequence[int], shape: Sequence[int]) -> View:
    """A box of a view."""
    m = machine()
    place = m.here()
    if len(offset) != len(view.shape) or len(shape) != len(view.shape):
        raise KernelFault(f"local_slice at {list(offset)} of {list(shape)} of a view of {view.shape}")
    if any(o < 0 or o + n > size for o, n, size in zip(offset, shape, view.shape, strict=True)):
        text = f"a slice of {list(shape)} at {list(offset)} of {view}, which is {view.shape}"
        m.findings.stop("out-of-bounds", text, (place,))
    if view.kind == "tmem" and (offset[0] or shape[0] != view.shape[0]):
        raise KernelFault("local_slice of tensor memory takes all lanes")
    return view.part(view.strided[tuple(slice(o, o + n) for o, n in zip(offset, shape, strict=True))])


def subslice(view: View, offset: int, size: int) -> View:
    """Columns of a view of tensor memory."""
    if view.kind != "tmem":
        raise KernelFault("subslice is of tensor memory")
    starts = [0] * (len(view.shape) - 1)
    return local_slice(view, [*starts, offset], [*view.shape[:-1], size])


def local_reshape(view: View | Buffer, shape: Sequence[int]) -> View | Buffer:
    """The same bytes of shared memory in another shape."""
    return local_reinterpret(view, view.dtype, shape)


def local_reinterpret(view: View | Buffer, dtype: torch.dtype, shape: Sequence[int] | None = None) -> View | Buffer:
    """The same bytes as another type, in another shape if given."""
    shape = tuple(shape or view.shape)
    if isinstance(view, Buffer):
        layout: Any = {"layout": view.layout, "site": view.site, "ring": view.ring}
        other = LocalBuffer(view.name, view.storage, view.findings, shape, dtype, view.num, **layout)
        if other.unit != view.unit:
            raise KernelFault(f"{view.name}: {view.unit} bytes cannot be a {shape} of {dtype}")
        other.place(view.offset, view.step, view.group)
        return other
    if math.prod(shape) * dtype.itemsize != view.size:
        return _reaching(view, dtype, shape)
    if not view.tensor.is_contiguous() and shape != view.shape:
        raise KernelFault("local_reinterpret with another shape of a part of a buffer")
    return view.part(view.strided.view(dtype).view(shape))


def _reaching(view: View, dtype: torch.dtype, shape: Sequence[int]) -> View:
    """A view of more or fewer bytes than a slot has, from its start on, up to the end of its allocation."""
    m = machine()
    place, storage, size = m.here(), view.buffer.storage, math.prod(shape) * dtype.itemsize
    if storage.kind != "smem":
        raise KernelFault(f"{view}: {view.size} bytes cannot be a {shape} of {dtype}")
    start = view.tensor.storage_offset() * view.dtype.itemsize
    if start + size > storage.extent:
        text = f"{size} bytes from {view} on, {start} bytes into an allocation of {storage.extent}"
        m.findings.stop("out-of-bounds", text, (place,))
    storage.alias()
    return view.part(storage.bytes[start : start + size].view(dtype).reshape(tuple(shape)))


# A task's own accesses.


def local_store(view: View, value: torch.Tensor) -> None:
    """Writes a view. The async proxy sees shared memory after a fence, and tensor memory at once."""
    m = machine()
    place, worker = m.here(), m.worker
    if tuple(value.shape) != view.shape or value.dtype != view.dtype:
        raise KernelFault(f"local_store of {tuple(value.shape)} {value.dtype} to {view.shape} {view.dtype}")
    access = Access(worker.bit, place, "a local_store", engine=False, fenced=view.kind == "tmem")
    view.write(access, worker.clock, m.findings)
    _between_warps(worker, view, place, writes=True)
    view.put(value)
    m.hub.pause()


def local_load(view: View, *_: Any, **options: Any) -> torch.Tensor:
    """Reads a view."""
    m = machine()
    place, worker = m.here(), m.worker
    access = Access(worker.bit, place, "a local_load", engine=False, fenced=True)
    view.read(access, worker.clock, m.findings)
    _between_warps(worker, view, place, writes=False)
    m.hub.pause()
    return view.get()


def local_gather(src: View, indices: Any, axis: int, token: Any = None) -> torch.Tensor:
    """Elements of shared memory at `indices` along `axis`."""
    value, at = _gathered(src, indices, "local_gather"), _indices(indices)
    return value.gather(axis, at)


def local_scatter(dst: View, src: torch.Tensor, indices: Any, axis: int, token: Any = None) -> None:
    """Writes elements of `src` to `indices` along `axis`. Of several writes to one element, any may win."""
    value, at = _gathered(dst, indices, "local_scatter"), _indices(indices)
    local_store(dst, value.scatter(axis, at, src))


def _gathered(view: View, indices: Any, what: str) -> torch.Tensor:
    if view.kind != "smem":
        raise KernelFault(f"{what} is of shared memory")
    if isinstance(indices, View):
        local_load(indices)
    m = machine()
    place, worker = m.here(), m.worker
    access = Access(worker.bit, place, f"a {what}", engine=False, fenced=True)
    view.read(access, worker.clock, m.findings)
    return view.get()


def _indices(indices: Any) -> torch.Tensor:
    value = indices.get() if isinstance(indices, View) else indices
    return value.to(torch.int64)


def _between_warps(worker: Worker, view: View, place: Place, writes: bool) -> None:
    """Reports tensor memory that one warpgroup of a task accesses and another overwrites without a sync in between.

    Lanes belong to fixed warps, so in a task of up to 4 warps each byte is accessed by one warp. In a task of 8 warps
    each warpgroup has half of the columns of every view, and the halves of two views that alias are different bytes.
    The compiler orders the warps' accesses to shared memory, but not to tensor memory. The warps are in sync where they
    have met, and where they wait for an event that waited for an arrival of all of them.
    """
    if worker.warps <= 4 or view.kind != "tmem":
        return
    worker.touches += 1
    mine = Touch(view.buffer.storage, _halves(view), place, writes, worker.touches)
    for other in worker.touched:
        if mine.storage is not other.storage or not (writes or other.writes):
            continue
        if overlap(mine.halves[0], other.halves[1]) or overlap(mine.halves[1], other.halves[0]):
            text = f"{worker.name}: one warpgroup touches {view} while the other still may; no barrier joins them"
            machine().findings.add("warp-hazard", text, (place, other.place))
    worker.touched.append(mine)


def _halves(view: View) -> tuple[Footprint, Footprint]:
    width = view.tensor.shape[-1]
    if width < 2:  # both warpgroups have all of it, and write the same
        return view.footprint, view.footprint
    first, second = view.tensor.split(width // 2, dim=-1)[:2]
    return view.part(first).footprint, view.part(second).footprint


def fence(scope: str) -> None:
    """`async_shared`: later TMA and MMA operations see all stores that happen before the fence, of all tasks."""
    m = machine()
    m.here()
    if scope not in ("async_shared", "gpu", "sys"):
        raise KernelFault(f"fence({scope!r})")
    if scope == "async_shared":
        before = m.hub.release(m.worker)
        m.worker.cta.fences.append((before, m.worker.bit))


def fence_async_shared() -> None:
    """`fence("async_shared")`."""
    fence("async_shared")
