"""tcgen05: MMAs into tensor memory, which one thread issues and the tensor core executes in order, commits, and copies.

Operations of one thread complete in the order of issue, so two MMAs of one task need no barrier between them, but those
of two tasks do. With `two_ctas` the CTA of even rank issues for the pair. Each CTA computes its rows of D from its own
A and both halves of B, and a commit arrives in both. (PTX ISA, tcgen05; fbtriton, MMAv5.cpp.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .actors import Event
from .barriers import Mbarrier
from .findings import KernelFault, Place
from .footprint import overlap
from .layouts import ROWS
from .machine import BarrierRef, Cta, machine
from .memory import Access, View
from .mx import unpack_scales


def mma(
    a: View,
    b: View,
    acc: View,
    use_acc: Any = None,
    pred: Any = None,
    barriers: Sequence[BarrierRef] = (),
    two_ctas: Any = False,
    force_async: Any = False,
    scales: Sequence[View] = (),
    product: Callable[..., torch.Tensor] = torch.matmul,
) -> None:
    """D = A @ B (+ D), D in tensor memory. `product` multiplies the values of A, B and the scales, in float32."""
    m = machine()
    m.meet()
    place, worker = m.here(), m.worker
    m.pairs = m.pairs or bool(two_ctas)
    if two_ctas and worker.cta.rank % 2 or pred is not None and not pred:
        return
    _lay_out(a, acc, bool(two_ctas))
    for operand in (a, *scales):
        _keep_apart(operand, acc, place)
    ctas = _pair(worker.cta) if two_ctas else [worker.cta]
    start = use_acc is None or bool(use_acc)

    def run(_: Event) -> None:
        right = torch.cat([_values(b.on(c)) for c in ctas], dim=1)
        for cta in ctas:
            value = product(_values(a.on(cta)), right, *(s.on(cta).get() for s in scales))
            target = acc.on(cta)
            target.put((value + target.get().float() if start else value).to(target.dtype))

    event = _prepare("tcgen05.mma", run)
    access = Access(event.bit, place, "a tcgen05.mma", engine=True, fenced=True, task=worker)
    for cta in ctas:
        if cta is not worker.cta:
            m.reach(cta, event.bit, place, "a tcgen05.mma of two CTAs")
        for operand in (a, b, *scales):
            operand.on(cta).read(access, event.clock, m.findings)
        if start:
            acc.on(cta).read(access, event.clock, m.findings)
        acc.on(cta).write(access, event.clock, m.findings)
    m.hub.issue(event)
    for barrier in barriers:
        _commit([barrier.on(cta) for cta in ctas])
    m.hub.pause()
    if not barriers and not force_async:
        m.hub.await_event(event)
        worker.clock |= event.clock


def _lay_out(a: View, acc: View, two_ctas: bool) -> None:
    """Tells the launch the layouts that this MMA needs in tensor memory. Raises Relayout if an operand's differs."""
    if acc.shape[0] != ROWS:
        return
    layouts = machine().layouts
    layouts.use(acc.buffer.site, "halved" if two_ctas else "plain", acc.buffer.layout)
    if a.kind == "tmem":
        layouts.use(a.buffer.site, "doubled" if two_ctas else "plain", a.buffer.layout)


def _keep_apart(operand: View, acc: View, place: Place) -> None:
    """Reports an operand in tensor memory that shares bytes with D.

    An MMA is one instruction for each 32 bytes of K. The first one writes D, and the later ones still read their part
    of A and of the scales. (fbtriton, MMAv5.cpp.)
    """
    if operand.buffer.storage is acc.buffer.storage and overlap(operand.footprint, acc.footprint):
        text = f"a tcgen05.mma overwrites {acc}, whose bytes are also {operand}, which it may still read itself"
        machine().findings.add("async-lifetime", text, (place, place))


def _values(view: View) -> torch.Tensor:
    """The values of an operand. Bytes are packed fp4 and stay bytes."""
    value = view.get()
    return value.float() if value.is_floating_point() else value


def _pair(cta: Cta) -> list[Cta]:
    if len(cta.cluster) < 2:
        raise KernelFault("two_ctas in a cluster of one CTA")
    return cta.cluster[cta.rank & ~1 : (cta.rank & ~1) + 2]


def check_shapes(a: View, b: View, acc: View, two_ctas: bool) -> None:
    """Raises KernelFault for operands that tcgen05.mma does not support."""
    for operand in (a, b, acc):
        if not isinstance(operand, View):
            raise KernelFault(f"tcgen05.mma of {type(operand).__name__}: its operands are in memory")
    if acc.kind != "tmem" or b.kind != "smem":
        raise KernelFault("tcgen05.mma: D must be in tensor memory, B in shared memory")
    (rows, depth), (inner, columns) = a.shape, b.shape
    width = columns * (2 if two_ctas else 1)
    if depth != inner or tuple(acc.shape) != (rows, width):
        text = f"tcgen05.mma of {a.shape} and {b.shape} into {acc.shape}" + (" by two CTAs" if two_ctas else "")
        raise KernelFault(text)
    if rows not in (64, 128) or width % 8 or not 8 <= width <= 256:
        raise KernelFault(f"tcgen05.mma: no instruction of {rows} x {width}")


def _prepare(name: str, run: Callable[[Event], None]) -> Event:
    """An event in the queue of the issuing thread, ordered after the thread's earlier events."""
    m = machine()
    worker = m.worker
    event = m.prepare(name, run, worker.tensor_core)
    event.clock |= worker.tensor_core_clock
    worker.tensor_core_clock = event.clock
    return event


def _commit(targets: Sequence[Mbarrier]) -> None:
    m = machine()
    place = m.here()
    for target in targets:
        if target.per_thread:
            text = f"a commit on {target.name}: a warp barrier counts threads, a commit arrives once"
            m.findings.stop("barrier-misuse", text, (place,))

    def run(event: Event) -> None:
        for target in targets:
            target.arrive(1, event.clock, place)

    m.hub.issue(_prepare("tcgen05.commit", run))


def tcgen05_commit(mBarrier: BarrierRef, two_ctas: Any = False) -> None:
    """Arrives once when all tensor-core operations of this task are complete; in both CTAs of a pair."""
    m = machine()
    m.meet()
    m.here()
    cta = m.worker.cta
    if two_ctas and cta.rank % 2:
        return
    _commit([mBarrier.on(c) for c in _pair(cta)] if two_ctas else [mBarrier.barrier])
    m.hub.pause()


def tmem_copy(src: View, dst: View) -> None:
    """Copies shared memory to tensor memory, in order with the task's MMAs. Scales of an MX operand are unpacked.

    In a kernel with MMAs of two CTAs, the CTA of even rank issues the copy for both, each from its own memory, since
    all tcgen05 operations of a kernel have one cta_group. (Read in fbtriton's PTX; PTX ISA, tcgen05.cp.)
    """
    m = machine()
    m.meet()
    place, cta = m.here(), m.worker.cta
    if src.kind != "smem" or dst.kind != "tmem":
        raise KernelFault("tmem_copy goes from shared to tensor memory")
    if not dst.buffer.scales and src.shape != dst.shape:
        raise KernelFault(f"tmem_copy of {src.shape} into {dst.shape}")

    if m.layouts.pairs and cta.rank % 2:
        return
    ctas = _pair(cta) if m.layouts.pairs else [cta]

    def run(_: Event) -> None:
        for c in ctas:
            value = src.on(c).get()
            dst.on(c).put(unpack_scales(value, dst.shape) if dst.buffer.scales else value)

    event = _prepare("tcgen05.cp", run)
    access = Access(event.bit, place, "a tmem_copy", engine=True, fenced=True)
    for c in ctas:
        if c is not cta:
            m.reach(c, event.bit, place, "a tmem_copy of two CTAs")
        src.on(c).read(access, event.clock, m.findings)
        dst.on(c).write(access, event.clock, m.findings)
    m.hub.issue(event)
    m.hub.pause()
