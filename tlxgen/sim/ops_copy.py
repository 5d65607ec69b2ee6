"""cp.async, by which a task copies from pointers into shared memory in groups that it waits for, and cp.async.bulk, one
copy of contiguous bytes that completes on an mbarrier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from .actors import Event
from .addresses import addresses
from .findings import KernelFault
from .machine import BarrierRef, machine
from .memory import Access, Buffer, View
from .ops_memory import whole


def async_load(
    src: Any,
    result: View | Buffer,
    mask: Any = None,
    other: Any = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    is_volatile: bool = False,
    bulk: bool = False,
    bulk_size: int | None = None,
    barrier: BarrierRef | None = None,
) -> None:
    """Copies a block of pointers into `result`. Masked elements become `other`, or zero (as read in the PTX).

    With `bulk` it copies `bulk_size` bytes (or as many as `result` has) from the first pointer on, which complete on
    `barrier`.
    """
    if not bulk:
        if bulk_size is not None or barrier is not None:
            raise KernelFault("async_load: bulk_size and barrier are of the bulk form")
        return _copy(src, whole(result), mask, other)
    if barrier is None or mask is not None or other is not None:
        raise KernelFault("async_load of bulk form takes a barrier, no mask and no other")
    return _bulk(src, whole(result), bulk_size, barrier)


def _bulk(pointer: Any, result: View, size: int | None, barrier: BarrierRef) -> None:
    m = machine()
    m.meet()
    place, target, number = m.here(), barrier.barrier, m.worker.cta.number
    size = result.size if size is None else int(size)
    length, rest = divmod(size, result.dtype.itemsize)
    if rest or size % 16 or size > result.size or len(result.shape) != 1 or pointer.dtype != result.dtype:
        raise KernelFault(f"async_load of {size} bytes of {pointer.dtype} into {result.shape} {result.dtype}")
    first = int(torch.as_tensor(pointer.at).flatten()[0])
    at, _ = addresses(replace(pointer, at=first + torch.arange(length)), None, "async_load")
    part = result.part(result.tensor[:length])

    def run(event: Event) -> None:
        m.memory.observe(pointer.flat, at, number, place)
        part.put(pointer.flat[at])
        target.transfer(size, event.clock, place)

    event = m.prepare("cp.async.bulk", run)
    part.write(Access(event.bit, place, "a cp.async.bulk", engine=True, fenced=True), event.clock, m.findings)
    m.land(event.bit, place, "a cp.async.bulk")
    target.promise(size, place)
    part.poison()
    m.hub.issue(event)
    m.hub.pause()


def _copy(pointer: Any, result: View, mask: Any, other: Any) -> None:
    m = machine()
    place, worker, number = m.here(), m.worker, m.worker.cta.number
    at, kept = addresses(pointer, mask, "async_load")
    if tuple(at.shape) != result.shape or pointer.dtype != result.dtype:
        raise KernelFault(f"async_load of {tuple(at.shape)} {pointer.dtype} into {result.shape} {result.dtype}")
    fill = torch.as_tensor(other or 0, dtype=pointer.dtype)

    def run(_: Event) -> None:
        m.memory.observe(pointer.flat, at[kept], number, place)
        values = pointer.flat[at.clamp(0, pointer.flat.numel() - 1)]
        result.put(torch.where(kept, values, fill))

    event = m.prepare("cp.async", run)
    access = Access(event.bit, place, "a cp.async", engine=True, fenced=False, generic=True, task=worker)
    result.write(access, event.clock, m.findings)
    worker.copies.append(event)
    m.hub.issue(event)
    m.hub.pause()


def async_load_commit_group(tokens: Any = None) -> None:
    """Makes a group of all copies since the last commit. A group may be empty."""
    m = machine()
    m.here()
    m.worker.groups.append(m.worker.copies)
    m.worker.copies = []


def async_load_wait_group(pendings: int, tokens: Any = None) -> None:
    """Waits until at most `pendings` groups of this task are in flight."""
    m = machine()
    place, worker = m.here(), m.worker
    if m.change is not None:
        pendings = m.change.pendings(place, pendings)
    if pendings < 0:
        raise KernelFault(f"async_load_wait_group({pendings})")
    m.hub.pause()
    retired = worker.groups[: max(0, len(worker.groups) - pendings)]
    worker.groups = worker.groups[len(retired) :]
    for event in (e for group in retired for e in group):
        m.hub.await_event(event)
        worker.clock |= event.clock
