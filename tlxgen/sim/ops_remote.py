"""A task's operations on the shared memory of another CTA of its cluster."""

from __future__ import annotations

from typing import Any

import torch

from .actors import Event
from .findings import KernelFault
from .machine import BarrierRef, Cta, machine
from .memory import Access, View


def _peer(rank: Any) -> Cta:
    m = machine()
    cluster = m.worker.cta.cluster
    if not 0 <= int(rank) < len(cluster):
        m.findings.stop("out-of-bounds", f"CTA {int(rank)} of a cluster of {len(cluster)}", (m.here(),))
    return cluster[int(rank)]


def remote_shmem_store(dst: View, src: torch.Tensor, remote_cta_rank: Any) -> None:
    """Stores into the corresponding view in a peer's shared memory. No barrier signals its completion."""
    m = machine()
    place, worker = m.here(), m.worker
    _check(dst, src.shape, src.dtype)
    peer = _peer(remote_cta_rank)
    m.reach(peer, worker.bit, place, "a remote store")
    target = dst.on(peer)
    access = Access(worker.bit, place, "a remote store", engine=False, fenced=False)
    target.write(access, worker.clock, m.findings)
    target.put(src)
    m.hub.pause()


def async_remote_shmem_store(dst: View, src: torch.Tensor, remote_cta_rank: Any, barrier: BarrierRef) -> None:
    """Stores registers into a peer's shared memory. The bytes complete on the peer's barrier."""
    _check(dst, src.shape, src.dtype)
    _transfer(dst, None, src, _peer(remote_cta_rank), barrier)


def async_remote_shmem_copy(dst: View, src: View, remote_cta_rank: Any, barrier: BarrierRef) -> None:
    """Copies shared memory into a peer's. The bytes complete on the peer's barrier."""
    _check(dst, src.shape, src.dtype)
    _transfer(dst, src, None, _peer(remote_cta_rank), barrier)


def _check(dst: Any, shape: Any, dtype: torch.dtype) -> None:
    if not isinstance(dst, View) or dst.kind != "smem":
        raise KernelFault("a remote store goes to shared memory")
    if tuple(shape) != dst.shape or dtype != dst.dtype:
        raise KernelFault(f"a remote store of {tuple(shape)} {dtype} to {dst.shape} {dst.dtype}")


def _transfer(dst: View, src: View | None, value: torch.Tensor | None, peer: Cta, barrier: BarrierRef) -> None:
    m = machine()
    place, target = m.here(), dst.on(peer)
    waiter = barrier.on(peer)

    def run(event: Event) -> None:
        target.put(src.get() if src is not None else value)
        waiter.transfer(target.size, event.clock, place)

    event = m.prepare("remote copy", run)
    what = "a remote copy"
    # A bulk copy goes through the async proxy; what threads store there does not see before a fence in the peer.
    access = Access(event.bit, place, what, engine=True, fenced=src is not None, generic=src is None)
    if src is not None:
        src.read(access, event.clock, m.findings)
    target.write(access, event.clock, m.findings)
    target.poison()
    m.reach(peer, event.bit, place, what)
    waiter.promise(target.size, place)
    m.hub.issue(event)
    m.hub.pause()
