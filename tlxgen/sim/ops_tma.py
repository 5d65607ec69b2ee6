"""TMA: loads that complete in any order on a barrier, stores in groups that a task waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .engine import Event
from .findings import KernelFault, UnsupportedOp
from .machine import BarrierRef, machine
from .memory import Access, Descriptor, View, poisoned


def async_descriptor_load(
    desc: Descriptor,
    result: View,
    offsets: Sequence[int],
    barrier: BarrierRef,
    pred: Any = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    multicast_targets: Sequence[int] = (),
    **options: Any,
) -> None:
    """Loads a box into `result`, here or in the CTAs of `multicast_targets`, each of whose barriers gets all its bytes.

    The destination is poison until the copy is complete: whoever reads it before gets wrong numbers.
    """
    m = machine()
    place, cta = m.here(), m.worker.cta
    if any(options.values()):
        raise UnsupportedOp(f"tlx.async_descriptor_load with {', '.join(k for k, v in options.items() if v)}", place)
    if pred is not None and not pred:
        return
    _check(desc, result, offsets)
    ranks = [int(r) for r in multicast_targets] or [cta.rank]
    if any(not 0 <= r < len(cta.cluster) for r in ranks):
        m.findings.stop("out-of-bounds", f"CTAs {ranks} of a cluster of {len(cta.cluster)}", (place,))
    views = [result.on(cta.cluster[r]) for r in ranks]
    targets = [barrier.on(cta.cluster[r]) for r in ranks]
    at = list(offsets)

    def run(event: Event) -> None:
        box = desc.read(at)
        for view, target in zip(views, targets, strict=True):
            view.tensor.copy_(box)
            target.transfer(desc.bytes, event.clock, place)

    event = m.prepare("TMA load", run)
    access = Access(event.bit, place, "a TMA load", engine=True, fenced=True)
    for rank, view in zip(ranks, views, strict=True):
        view.slot.write(view.rect, access, event.clock, m.findings)
        view.tensor.copy_(poisoned(view.shape, view.dtype))
        if rank != cta.rank:
            m.reach(cta.cluster[rank], event.bit, place, "a multicast TMA load")
    m.hub.issue(event)
    m.hub.pause()


def async_descriptor_store(
    desc: Descriptor, source: View, offsets: Sequence[int], eviction_policy: str = "", store_reduce: str = ""
) -> None:
    """Stores a box from `source`, which is read until the group (each store is one) has been waited for."""
    m = machine()
    place, worker = m.here(), m.worker
    if store_reduce:
        raise UnsupportedOp("tlx.async_descriptor_store with store_reduce", place)
    _check(desc, source, offsets)
    number, at = worker.cta.number, list(offsets)

    def run(_: Event) -> None:
        desc.write(at, source.tensor, m.memory, number, place)

    event = m.prepare("TMA store", run, worker.stores)
    access = Access(event.bit, place, "a TMA store", engine=True, fenced=True)
    source.slot.read(source.rect, access, event.clock, m.findings)
    worker.unstored.append(event)
    m.hub.issue(event)
    m.hub.pause()


def async_descriptor_store_wait(pendings: int) -> None:
    """Waits until at most `pendings` of this task's stores still read their buffers."""
    m = machine()
    m.here()
    worker = m.worker
    if pendings < 0:
        raise KernelFault(f"async_descriptor_store_wait({pendings})")
    m.hub.pause()
    retired = worker.unstored[: max(0, len(worker.unstored) - pendings)]
    worker.unstored = worker.unstored[len(retired) :]
    for event in retired:
        m.hub.await_event(event)
        worker.clock |= event.clock


def _check(desc: Any, view: Any, offsets: Sequence[int]) -> None:
    if not isinstance(desc, Descriptor) or not isinstance(view, View):
        raise KernelFault(f"TMA between {type(desc).__name__} and {type(view).__name__}")
    if view.shape != desc.block or view.dtype != desc.dtype:
        raise KernelFault(f"TMA between a box of {desc.block} {desc.dtype} and a buffer of {view.shape} {view.dtype}")
    if len(offsets) != len(desc.block):
        raise KernelFault(f"{len(offsets)} offsets for a descriptor of rank {len(desc.block)}")


class KernelDescriptor(Descriptor):
    """A Descriptor that kernels call: these two copies are complete when they return."""

    def load(self, offsets: Sequence[int]) -> torch.Tensor:
        """`desc.load(offsets)`."""
        machine().here()
        return self.read(list(offsets))

    def store(self, offsets: Sequence[int], value: torch.Tensor) -> None:
        """`desc.store(offsets, value)`."""
        m = machine()
        place = m.here()
        if tuple(value.shape) != self.block or value.dtype != self.dtype:
            raise KernelFault(
                f"desc.store of {tuple(value.shape)} {value.dtype} into a box of {self.block} {self.dtype}"
            )
        self.write(list(offsets), value, m.memory, m.worker.cta.number, place)
