"""TMA: loads, which complete in any order on a barrier, and stores, in groups that a task waits for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .actors import Event
from .addresses import addresses
from .arith import Pointer
from .findings import KernelFault, Place
from .globalmem import Descriptor
from .machine import BarrierRef, machine
from .memory import Access, Buffer, View
from .ops_memory import whole

_WHOLE = frozenset({torch.int32, torch.int64, torch.uint32, torch.uint64})
CHUNK = 16  # bytes of a row at a multiple of which a TMA load begins (measured on an H200)
_HALF = frozenset({torch.float16, torch.bfloat16})
# The types for which a descriptor supports reductions. (fbtriton, semantic.py, descriptor_atomic_*.)
REDUCED = {
    "add": _WHOLE - {torch.int64} | _HALF | {torch.float32}, "min": _WHOLE | _HALF, "max": _WHOLE | _HALF,
    "and": _WHOLE, "or": _WHOLE, "xor": _WHOLE,
}  # fmt: skip


def async_descriptor_load(
    desc: Descriptor,
    result: View | Buffer,
    offsets: Sequence[int],
    barrier: BarrierRef,
    pred: Any = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    multicast_targets: Sequence[int] = (),
    two_ctas: Any = False,
) -> None:
    """Loads a box into `result`, in this CTA or in those of `multicast_targets`, each with all bytes on its barrier.

    The destination is poison until the copy is complete, so that an early read gives wrong numbers. With `two_ctas` the
    bytes complete on the barrier of the CTA of even rank.
    """
    m = machine()
    place, cta = m.here(), m.worker.cta
    m.meet()
    if pred is not None and not pred:
        return
    result = whole(result)
    _check(desc, result, offsets)
    m.touch_memory(place, "a TMA load")
    ranks = [int(r) for r in multicast_targets] or [cta.rank]
    if any(not 0 <= r < len(cta.cluster) for r in ranks):
        m.findings.stop("out-of-bounds", f"CTAs {ranks} of a cluster of {len(cta.cluster)}", (place,))
    ctas = [cta.cluster[r] for r in ranks]
    views = [result.on(c) for c in ctas]
    targets = [barrier.on(c.cluster[c.rank & ~1] if two_ctas else c) for c in ctas]
    at = [int(o) for o in offsets]
    if at[-1] * desc.dtype.itemsize % CHUNK:
        text = f"a TMA load begins {at[-1] * desc.dtype.itemsize % CHUNK} bytes past a multiple of {CHUNK} of a row"
        m.findings.stop("misaligned", text, (place,))

    def run(event: Event) -> None:
        box = desc.now().read(at, m.memory, cta.number, place)
        for view, target in zip(views, targets, strict=True):
            view.put(box)
            target.transfer(desc.bytes, event.clock, place)

    event = m.prepare("TMA load", run)
    access = Access(event.bit, place, "a TMA load", engine=True, fenced=True)
    desc.use(access, event.clock, m.findings)
    for reached, view, target in zip(ctas, views, targets, strict=True):
        target.promise(desc.bytes, place)
        view.write(access, event.clock, m.findings)
        view.poison()
        if reached is cta:
            m.land(event.bit, place, "a TMA load")
        else:
            m.reach(reached, event.bit, place, "a multicast TMA load")
    if two_ctas and cta.rank % 2:
        m.reach(cta.cluster[cta.rank & ~1], event.bit, place, "the arrival of a TMA load of two CTAs")
    m.hub.issue(event)
    m.hub.pause()


def async_descriptor_prefetch_tensor(
    desc: Descriptor, offsets: Sequence[int], pred: Any = None, **options: Any
) -> None:
    """A hint without an effect."""
    if len(offsets) != len(desc.block):
        raise KernelFault(f"{len(offsets)} offsets for a descriptor of rank {len(desc.block)}")


def prefetch(pointer: Any, level: str = "L2", mask: Any = None, tensormap: Any = False) -> None:
    """A hint without an effect. The pointers must be inside of their tensor."""
    if not tensormap:
        addresses(pointer, mask, "tlx.prefetch", hint=True)


def async_descriptor_store(
    desc: Descriptor, source: View | Buffer, offsets: Sequence[int], eviction_policy: str = "", store_reduce: str = ""
) -> None:
    """Stores a box from `source`, or reduces it into memory (`store_reduce`). Each store is a group, and `source` is
    read until the group has been waited for."""
    m = machine()
    place = m.here()
    source = whole(source)
    _check(desc, source, offsets)
    m.touch_memory(place, "a TMA store")
    number, at = m.worker.cta.number, _stored_at(offsets)

    def run(_: Event) -> None:
        if store_reduce:
            desc.now().reduce(store_reduce, at, source.get(), m.memory, number, place)
        else:
            desc.now().write(at, source.get(), m.memory, number, place)

    event, access = _store("TMA reduction" if store_reduce else "TMA store", source, run)
    desc.use(access, event.clock, m.findings)
    _issue(event)


def async_store(dst_global_ptr: Pointer, src_smem: View | Buffer, size: int) -> None:
    """Copies `size` bytes of shared memory to global memory. It is waited for like a TMA store."""
    m = machine()
    place, source, number = m.here(), whole(src_smem), m.worker.cta.number
    length, rest = divmod(int(size), source.dtype.itemsize)
    if rest or size % 16 or length > source.tensor.numel() or dst_global_ptr.dtype != source.dtype:
        raise KernelFault(f"async_store of {size} bytes of {source.shape} {source.dtype} to {dst_global_ptr.dtype}")
    at, _ = addresses(dst_global_ptr + torch.arange(length), None, "async_store")

    def run(_: Event) -> None:
        m.memory.record(dst_global_ptr.flat, at, number, place)
        dst_global_ptr.flat[at] = source.get().flatten()[:length]

    event, _ = _store("bulk store", source, run)
    _issue(event)


def _store(name: str, source: View, run: Callable[[Event], None]) -> tuple[Event, Access]:
    m = machine()
    place, worker = m.here(), m.worker
    event = m.prepare(name, run, worker.stores)
    access = Access(event.bit, place, f"a {name}", engine=True, fenced=True)
    source.read(access, event.clock, m.findings)
    worker.unstored.append(event)
    worker.unwritten.append(event)
    return event, access


def _issue(event: Event) -> None:
    m = machine()
    m.hub.issue(event)
    m.hub.pause()


def async_descriptor_store_wait(pendings: int) -> None:
    """Waits until at most `pendings` of this task's stores still read their buffers."""
    m = machine()
    place, worker = m.here(), m.worker
    if m.change is not None:
        pendings = m.change.pendings(place, pendings)
    if pendings < 0:
        raise KernelFault(f"async_descriptor_store_wait({pendings})")
    m.hub.pause()
    retired = worker.unstored[: max(0, len(worker.unstored) - pendings)]
    worker.unstored = worker.unstored[len(retired) :]
    for event in retired:
        m.hub.await_event(event)
        worker.clock |= event.clock


def bulk_wait_group(pendings: int) -> None:
    """PTX's `cp.async.bulk.wait_group`: waits until the writes of all but the last `pendings` of this task's stores are
    complete. This orders the issuing warp; the other warps are ordered when they meet it."""
    async_descriptor_store_wait(pendings)
    worker = machine().worker
    while len(worker.unwritten) > pendings:
        worker.landed |= worker.unwritten.pop(0).written


def _stored_at(offsets: Sequence[int]) -> list[int]:
    """The offsets of a store, which must not be negative. A load from a negative offset reads zeros, but for a store an
    H200 ends the launch with cudaErrorIllegalInstruction, even if no part of the box is in the tensor."""
    m = machine()
    at = [int(o) for o in offsets]
    if min(at) < 0:
        text = f"TMA store to {at}: an offset before the tensor is an illegal instruction"
        m.findings.stop("out-of-bounds", text, (m.here(),))
    return at


def _check(desc: Any, view: Any, offsets: Sequence[int]) -> None:
    if not isinstance(desc, Descriptor) or not isinstance(view, View):
        raise KernelFault(f"TMA between {type(desc).__name__} and {type(view).__name__}")
    if _squeezed(view.shape) != _squeezed(desc.block) or view.dtype != desc.dtype:
        raise KernelFault(f"TMA between a box of {desc.block} {desc.dtype} and a buffer of {view.shape} {view.dtype}")
    if len(offsets) != len(desc.block):
        raise KernelFault(f"{len(offsets)} offsets for a descriptor of rank {len(desc.block)}")


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape without dimensions of 1, since a box of a tensor of rank 4 may fill a matrix."""
    return tuple(s for s in shape if s != 1)


class KernelDescriptor(Descriptor):
    """A Descriptor with methods for kernels, whose copies are complete when they return."""

    def load(self, offsets: Sequence[int]) -> torch.Tensor:
        """`desc.load(offsets)`."""
        m = machine()
        place = self._used("desc.load")
        return self.now().read([int(o) for o in offsets], m.memory, m.worker.cta.number, place)

    def store(self, offsets: Sequence[int], value: torch.Tensor, store_reduce: str = "") -> None:
        """`desc.store(offsets, value)`. With `store_reduce` the value is added (or its minimum is taken, ...)."""
        m = machine()
        place = self._used("desc.store")
        if tuple(value.shape) != self.block or value.dtype != self.dtype:
            raise KernelFault(
                f"desc.store of {tuple(value.shape)} {value.dtype} into a box of {self.block} {self.dtype}"
            )
        if store_reduce:
            if self.dtype not in REDUCED[store_reduce]:
                raise KernelFault(f"desc.store with {store_reduce} of {self.dtype}")
            self.now().reduce(store_reduce, _stored_at(offsets), value, m.memory, m.worker.cta.number, place)
        else:
            self.now().write(_stored_at(offsets), value, m.memory, m.worker.cta.number, place)

    def __getattr__(self, name: str) -> Callable[[Sequence[int], torch.Tensor], None]:
        """`desc.atomic_add(offsets, value)` and so on."""
        kind = name.removeprefix("atomic_")
        if kind == name or kind not in REDUCED:
            raise AttributeError(name)
        return lambda offsets, value: self.store(offsets, value, kind)

    def _used(self, what: str) -> Place:
        m = machine()
        place, worker = m.here(), m.worker
        m.touch_memory(place, what)
        self.use(Access(worker.bit, place, what, engine=False, fenced=True), worker.clock, m.findings)
        return place
