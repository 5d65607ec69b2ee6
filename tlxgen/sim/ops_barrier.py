"""mbarriers, named barriers, the cluster barrier, and the ids of CTAs and replicas."""

from __future__ import annotations

from typing import Any

from .barriers import Mbarrier, NamedBarrier
from .findings import KernelFault, Place
from .machine import BarrierArray, BarrierRef, machine


class Barriers(BarrierArray):
    """A BarrierArray that kernels index."""

    def __getitem__(self, index: int) -> BarrierRef:
        m = machine()
        place = m.here()
        if m.change is not None:
            index = m.change.slot(place, self.name, index, len(self.barriers))
        if not 0 <= index < len(self.barriers):
            text = f"barrier {index} of {self.name}, which has {len(self.barriers)}"
            m.findings.stop("out-of-bounds", text, (place,))
        return self.refs[index]


def _alloc(name: str, number: int, count: int, per_thread: bool) -> Barriers:
    m = machine()
    place, cta = m.here(), m.worker.cta
    if count < 1 or number < 1:
        raise KernelFault(f"{number} barriers of {count} arrivals")
    if m.change is not None:
        count = m.change.count(name, count)
    made = Barriers(
        name,
        tuple(
            Mbarrier(f"{name}[{i}] of {cta.name}", count, m.hub, m.findings, per_thread, name, place)
            for i in range(number)
        ),
        len(cta.barriers),
    )
    cta.barriers.append(made)
    m.worker.clock |= cta.initialise(m.hub.new_bit())
    return made


def alloc_barriers(num_barriers: int, arrive_count: int = 1, *, _name: str = "barriers") -> Barriers:
    """Barriers on which the leader of a task arrives. `arrive_count` calls complete a phase."""
    return _alloc(_name, num_barriers, arrive_count, per_thread=False)


def alloc_warp_barrier(
    num_barriers: int, num_warps: int = 1, num_arrivals: int = 1, *, _name: str = "barriers"
) -> Barriers:
    """Barriers on which every thread of a task arrives."""
    return _alloc(_name, num_barriers, 32 * num_warps * num_arrivals, per_thread=True)


def barrier_expect_bytes(bar: BarrierRef, size: int, pred: Any = None) -> None:
    """One arrival, and `size` bytes that the phase also needs."""
    m = machine()
    m.meet()
    place, task = m.here(), m.worker
    if pred is not None and not pred:
        return
    if bar.barrier.per_thread:
        text = f"barrier_expect_bytes on {bar.barrier.name}: a warp barrier takes no bytes"
        m.findings.stop("barrier-misuse", text, (place,))
    if m.change is not None:
        size = m.change.bytes(place, int(size))
    bar.barrier.arrive(1, m.hub.release(task), place, expected=int(size))
    m.hub.pause()


def barrier_wait(bar: BarrierRef, phase: Any, pred: Any = None) -> None:
    """Waits for the phase of that parity."""
    m = machine()
    m.meet()
    place = m.here()
    if pred is None or pred:
        parity = int(phase)
        if m.change is not None and parity in (0, 1):
            parity = m.change.parity(place, m.worker, bar.barrier, parity)
        bar.barrier.wait(parity, place)
        m.worker.passed(bar.barrier.completed)


def barrier_arrive(bar: BarrierRef, arrive_count: int = 1, remote_cta_rank: Any = None, pred: Any = None) -> None:
    """`arrive_count` arrivals, by each thread on a warp barrier; on a peer's barrier with `remote_cta_rank`."""
    m = machine()
    m.meet()
    place, task = m.here(), m.worker
    if pred is not None and not pred:
        return
    if m.change is not None:
        arrive_count = m.change.arrivals(place, arrive_count)
        if not arrive_count:
            return
    target = bar.barrier
    if remote_cta_rank is not None:
        target = _remote(bar, int(remote_cta_rank), place)
    count = arrive_count * (task.threads if target.per_thread else 1)
    if not target.per_thread:
        task.rendezvous()  # the leader arrives after a sync of the task
    else:
        task.arrived()
    target.arrive(count, m.hub.release(task), place)
    m.hub.pause()


def _remote(bar: BarrierRef, rank: int, place: Place) -> Mbarrier:
    m = machine()
    cluster = m.worker.cta.cluster
    if not 0 <= rank < len(cluster):
        m.findings.stop("out-of-bounds", f"CTA {rank} of a cluster of {len(cluster)}", (place,))
    peer = cluster[rank]
    target = bar.on(peer)
    if peer is not m.worker.cta:
        m.reach(peer, m.worker.bit, place, f"an arrival on {target.name}")
    return target


def _named(id: int, threads: int, wait: bool) -> None:
    m = machine()
    place, cta = m.here(), m.worker.cta
    if not 0 <= id < 16:
        m.findings.stop("barrier-misuse", f"named barrier {id}: there are 16", (place,))
    if id not in cta.named:
        cta.named[id] = NamedBarrier(f"named barrier {id} of {cta.name}", m.hub, m.findings)
    cta.named[id].join(threads, wait, place)
    if wait:
        m.worker.rendezvous()


def named_barrier_wait(bar: int, arrive_count: int) -> None:
    """Arrives at a named barrier and waits until `arrive_count` threads have arrived."""
    _named(bar, arrive_count, wait=True)


def named_barrier_arrive(bar: int, arrive_count: int) -> None:
    """Arrives at a named barrier without a wait."""
    _named(bar, arrive_count, wait=False)


def cluster_barrier() -> None:
    """Waits for all CTAs of the cluster."""
    m = machine()
    m.here()
    m.meet()
    m.worker.rendezvous()
    m.worker.cta.meeting.join()


def fence_mbarrier_init_cluster() -> None:
    """All CTAs see the simulator's barriers at once, but a relaxed arrival says so only after this fence."""
    cta = machine().worker.cta
    cta.fenced = cta.ready


def cluster_arrive_relaxed() -> None:
    """`barrier.cluster.arrive.relaxed`: arrives, and releases nothing but barriers that were fenced as initialised."""
    m = machine()
    m.meet()
    m.worker.cta.meeting.arrive(m.worker.cta.fenced)


def cluster_wait() -> None:
    """`barrier.cluster.wait`: waits for all CTAs of the cluster, after an arrival."""
    machine().worker.cta.meeting.wait()


def cluster_cta_rank() -> int:
    """The rank of the CTA in its cluster."""
    return machine().worker.cta.rank


def cluster_size_1d() -> int:
    """The number of CTAs in the cluster."""
    return len(machine().worker.cta.cluster)


def async_task_replica_id() -> int:
    """The number of the running replica of its task."""
    return machine().worker.replica
