"""cp.async: a task's own copies from pointers into shared memory, in groups that it waits for."""

from __future__ import annotations

from typing import Any

import torch

from .engine import Event
from .findings import KernelFault, UnsupportedOp
from .machine import machine
from .memory import Access, View
from .ops_tl import addresses


def async_load(pointer: Any, result: View, mask: Any = None, other: Any = None, **options: Any) -> None:
    """Copies a block of pointers into `result`; what the mask leaves out becomes `other`, or zero (read in the PTX)."""
    m = machine()
    place, worker = m.here(), m.worker
    if options.get("bulk") or options.get("barrier") is not None:
        raise UnsupportedOp("tlx.async_load of bulk form", place)
    at, kept = addresses(pointer, mask, "async_load")
    if tuple(at.shape) != result.shape or pointer.dtype != result.dtype:
        raise KernelFault(f"async_load of {tuple(at.shape)} {pointer.dtype} into {result.shape} {result.dtype}")
    fill = torch.as_tensor(other or 0, dtype=pointer.dtype)

    def run(_: Event) -> None:
        values = pointer.flat[at.clamp(0, pointer.flat.numel() - 1)]
        result.put(torch.where(kept, values, fill))

    event = m.prepare("cp.async", run)
    # The compiler fences a task's own copies before a wgmma reads them.
    access = Access(event.bit, place, "a cp.async", engine=True, fenced=True)
    result.write(access, event.clock, m.findings)
    worker.copies.append(event)
    m.hub.issue(event)
    m.hub.pause()


def async_load_commit_group(tokens: Any = None) -> None:
    """All copies since the last commit are one group; a group may be empty."""
    m = machine()
    m.here()
    m.worker.groups.append(m.worker.copies)
    m.worker.copies = []


def async_load_wait_group(pendings: int, tokens: Any = None) -> None:
    """Waits until at most `pendings` groups of this task are under way."""
    m = machine()
    m.here()
    worker = m.worker
    m.hub.pause()
    retired = worker.groups[: max(0, len(worker.groups) - pendings)]
    worker.groups = worker.groups[len(retired) :]
    for event in (e for group in retired for e in group):
        m.hub.await_event(event)
        worker.clock |= event.clock
