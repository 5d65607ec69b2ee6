"""How long a traced launch takes: its operations in time, on units that tasks share.

Threads' work and products are jobs that need clocks of several units; jobs that run together slow each other down where
a unit has more to do than it can. Products, loads and stores of an SM are served in the order of their issue. What is
not known takes no time: latencies of arithmetic, conflicts of banks, instructions for addresses and loops. So what a
replay says lies below what is measured, as long as latencies of arch.py do.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tlxgen.arch import Arch
from tlxgen.errors import ReviewError

from .counts import Counts
from .model import L2, PRODUCTS, Sharing, units
from .trace import Op, Thread, Trace

PRODUCT_LATENCY = {"sm90": 54}  # clocks by which a warpgroup alone waits longer for its wgmmas than they take
_LEAST = 1e-9  # of a clock


@dataclass(frozen=True)
class Times:
    """Clocks of a launch, and of them those that each unit of the busiest SM was needed for."""

    clocks: float
    busy: dict[str, float]


@dataclass(eq=False)
class _Job:
    needs: dict[str, float]  # clocks of each unit
    then: Callable[[], None]
    left: float = 1.0

    @property
    def multiplies(self) -> bool:
        return PRODUCTS in self.needs


@dataclass
class _Sm:
    running: list[_Job] = field(default_factory=list)
    queues: dict[str, deque[_Job]] = field(default_factory=lambda: defaultdict(deque))
    busy: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    multiplied: bool = False


@dataclass
class _Barrier:
    """An mbarrier, or one that threads join: arrivals and bytes that a phase lacks, and who waits for which phase."""

    count: int
    lacks: int = 0
    bytes: int = 0
    phase: int = 0
    waiting: list[tuple[int, _Thread]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lacks = self.count


@dataclass(eq=False)
class _Thread:
    did: Thread
    sm: _Sm
    at: int = 0
    flying: dict[str, list[object]] = field(default_factory=lambda: defaultdict(list))  # products and stores
    copies: set[object] = field(default_factory=set)  # that are in flight and in no group yet
    groups: list[set[object]] = field(default_factory=list)  # of copies, in order
    products: deque[Callable[[], None]] = field(default_factory=deque)  # that have not ended, in order
    waits: tuple[str, int] | None = None  # for how many of which may still be in flight
    passed: dict[Hashable, int] = field(default_factory=dict)  # phases of what threads join

    def in_flight(self, kind: str) -> list[Any]:
        return self.groups if kind == "load" else self.flying[kind]


def replay(trace: Trace, arch: type[Arch], resident: int = 1, sharing: Sharing | None = None) -> Times:
    """The times of a launch whose clusters run one after the other, `resident` at a time.

    CTAs of a cluster are on an SM each. `sharing` tells how they load in the launch that is meant.

    Raises ReviewError where a task waits for what no operation of the trace does.
    """
    return _Replay(trace, arch, resident, sharing).run()


class _Replay:
    def __init__(self, trace: Trace, arch: type[Arch], resident: int, sharing: Sharing | None) -> None:
        self.arch, self.now, self.sharing = arch, 0.0, sharing
        missed = sharing.missed if sharing else 0.0
        self.load_latency = arch.load_latency + missed * (arch.tma_latency - arch.load_latency)
        self.sms: dict[int, _Sm] = defaultdict(_Sm)
        self.barriers = {key: _Barrier(count) for key, count in trace.counts.items()}
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.kernel = trace.kernel
        clusters: dict[int, list[Thread]] = defaultdict(list)
        for thread in trace.threads.values():
            clusters[thread.cluster].append(thread)
        self.clusters = deque(clusters[n] for n in sorted(clusters))
        self.unfinished: dict[int, int] = {}
        for _ in range(resident):
            self._start()

    def run(self) -> Times:
        while self._step():
            pass
        if self.unfinished or self.clusters:
            raise ReviewError(f"{self.kernel}: a task waits for something that the replay does not know")
        busiest = max(self.sms.values(), key=lambda sm: max(sm.busy.values(), default=0.0))
        return Times(self.now, dict(busiest.busy))

    def _start(self) -> None:
        """The next cluster."""
        if self.clusters:
            threads = self.clusters.popleft()
            self.unfinished[threads[0].cluster] = len(threads)
            for did in threads:
                self._later(0.0, partial(self._go_on, _Thread(did, self.sms[did.rank])))

    def _step(self) -> bool:
        """Until the next job ends, or the next event."""
        rates = [(sm, job, rate) for sm in self.sms.values() for job, rate in _rates(sm.running, self.arch)]
        ends = min((job.left / rate for _, job, rate in rates), default=None)
        if self.events and (ends is None or self.events[0][0] <= self.now + ends):
            passed = max(self.events[0][0] - self.now, 0.0)
        elif ends is not None:
            passed = ends
        else:
            return False
        self.now += passed
        for sm, job, rate in rates:
            part = min(passed * rate, job.left)
            job.left -= part
            for unit, clocks in job.needs.items():
                sm.busy[unit] += part * clocks
        for sm, job, _ in rates:
            if job.left <= _LEAST:
                sm.running.remove(job)
                job.then()
        while self.events and self.events[0][0] <= self.now:
            heapq.heappop(self.events)[2]()
        return True

    def _later(self, clocks: float, then: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now + clocks, next(self.order), then))

    def _run(self, sm: _Sm, counts: Counts, then: Callable[[], None], queue: str = "") -> None:
        """Starts a job; one of a queue when those before it have ended."""
        needs = {u.name: u.clocks for u in units(counts, self.arch) if u.clocks}
        if L2 in needs and self.sharing and queue == "loads" and not sm.multiplied:
            needs[L2] = counts.l2_bytes * self.sharing.clocks_of_byte()
        elif L2 in needs:
            needs[L2] *= self.arch.l2_bytes_per_clock / self.arch.l2_bytes_per_clock_of_all

        def ended() -> None:
            if queue:
                line.popleft()
                if line:
                    sm.running.append(line[0])
            then()

        job = _Job(needs or {"": _LEAST}, ended)
        line = sm.queues[queue]
        if queue:
            line.append(job)
        if not queue or len(line) == 1:
            sm.running.append(job)

    def _go_on(self, thread: _Thread) -> None:
        """Runs a thread until it waits, or works."""
        ops = thread.did.ops
        while thread.at < len(ops):
            op = ops[thread.at]
            thread.at += 1
            if not getattr(self, f"_{op.kind}")(thread, op):
                return
        cluster = thread.did.cluster
        self.unfinished[cluster] -= 1
        if not self.unfinished[cluster]:
            del self.unfinished[cluster]
            self._start()

    # Each returns whether the thread goes on at once.

    def _work(self, thread: _Thread, op: Op) -> bool:
        self._run(thread.sm, op.counts, lambda: self._go_on(thread))
        return False

    def _reduce(self, thread: _Thread, op: Op) -> bool:
        self._later(self.arch.reduction_latency, lambda: self._go_on(thread))
        return False

    def _wait(self, thread: _Thread, op: Op) -> bool:
        barrier = self.barriers[op.on[0][0]]
        if barrier.phase >= op.number:
            return True
        barrier.waiting.append((op.number, thread))
        return False

    def _arrive(self, thread: _Thread, op: Op) -> bool:
        for key, amount in op.on:
            self._settle(self.barriers[key], amount, -op.size)
        return True

    def _settle(self, barrier: _Barrier, arrivals: int, size: int) -> None:
        barrier.lacks -= arrivals
        barrier.bytes -= size
        if barrier.lacks <= 0 and barrier.bytes <= 0:
            barrier.phase += 1
            barrier.lacks, barrier.bytes = barrier.lacks + barrier.count, 0
            woken = [thread for need, thread in barrier.waiting if need <= barrier.phase]
            barrier.waiting = [w for w in barrier.waiting if w[0] > barrier.phase]
            for thread in woken:
                self._later(self.arch.barrier_latency, partial(self._go_on, thread))

    def _product(self, thread: _Thread, op: Op) -> bool:
        """A thread's product queues up when the one before it has ended, so that those of others come between."""
        token = object()
        thread.sm.multiplied = True
        thread.flying["product"].append(token)

        def start() -> None:
            self._run(thread.sm, op.counts, ended, "products")

        def ended() -> None:
            thread.products.popleft()
            if thread.products:
                thread.products[0]()
            self._later(PRODUCT_LATENCY.get(self.arch.name, 0.0) if op.counts.products else 0.0, seen)

        def seen() -> None:
            for key, amount in op.on:
                self._settle(self.barriers[key], amount, 0)
            self._landed(thread, "product", token)

        thread.products.append(start)
        if len(thread.products) == 1:
            start()
        return True

    _commit = _product

    def _load(self, thread: _Thread, op: Op) -> bool:
        if op.number:  # a commit of the copies before it
            thread.groups.append(thread.copies)
            thread.copies = set()
            self._close(thread)
            return True
        token = object()
        if not op.on:
            thread.copies.add(token)

        def landed() -> None:
            for key, size in op.on:
                self._settle(self.barriers[key], 0, size)
            for group in (thread.copies, *thread.groups):
                group.discard(token)
            self._close(thread)

        self._run(thread.sm, op.counts, lambda: self._later(self.load_latency, landed), "loads")
        return True

    def _close(self, thread: _Thread) -> None:
        """Groups of copies complete in order, an empty one with those before it."""
        while thread.groups and not thread.groups[0]:
            thread.groups.pop(0)
        self._resume(thread, "load")

    def _store(self, thread: _Thread, op: Op) -> bool:
        token = object()
        thread.flying["store"].append(token)
        read = Counts(smem_bytes=op.counts.smem_bytes, l2_bytes=op.counts.l2_bytes)

        def landed() -> None:
            self._landed(thread, "store", token)

        self._run(thread.sm, read, lambda: self._later(self.arch.store_latency, landed), "stores")
        return True

    def _send(self, thread: _Thread, op: Op) -> bool:
        def landed() -> None:
            for key, size in op.on:
                self._settle(self.barriers[key], 0, size)

        self._run(thread.sm, op.counts, lambda: self._later(self.arch.send_latency, landed), "sends")
        return True

    def _landed(self, thread: _Thread, kind: str, token: object) -> None:
        thread.flying[kind].remove(token)
        self._resume(thread, kind)

    def _resume(self, thread: _Thread, kind: str) -> None:
        if thread.waits and thread.waits[0] == kind and len(thread.in_flight(kind)) <= thread.waits[1]:
            thread.waits = None
            self._later(0.0, lambda: self._go_on(thread))

    def _in_flight(self, thread: _Thread, kind: str, most: int) -> bool:
        if len(thread.in_flight(kind)) <= most:
            return True
        thread.waits = kind, most
        return False

    def _product_wait(self, thread: _Thread, op: Op) -> bool:
        return self._in_flight(thread, "product", op.number)

    def _store_wait(self, thread: _Thread, op: Op) -> bool:
        return self._in_flight(thread, "store", op.number)

    def _load_wait(self, thread: _Thread, op: Op) -> bool:
        return self._in_flight(thread, "load", op.number)

    def _join(self, thread: _Thread, op: Op) -> bool:
        (key, amount) = op.on[0]
        barrier = self.barriers.setdefault(key, _Barrier(op.number))
        if not barrier.lacks - amount:
            barrier.count = op.number
        thread.passed[key] = barrier.phase + 1
        if amount:
            self._settle(barrier, amount, 0)
        return True

    def _join_wait(self, thread: _Thread, op: Op) -> bool:
        (key, amount) = op.on[0]
        if amount:
            self._join(thread, op)
        need = thread.passed.get(key, 0)
        barrier = self.barriers[key]
        if barrier.phase >= need:
            self._later(0.0, lambda: self._go_on(thread))
        else:
            barrier.waiting.append((need, thread))
        return False


def _rates(running: list[_Job], arch: type[Arch]) -> list[tuple[_Job, float]]:
    """Which part of each job is done in a clock. A unit that is asked for more serves all in proportion."""
    beside = arch.beside_products if any(job.multiplies for job in running) else {}
    asked: dict[str, float] = defaultdict(float)
    found = []
    for job in running:
        needs = job.needs if job.multiplies else {unit: n * beside.get(unit, 1.0) for unit, n in job.needs.items()}
        alone = max(needs.values())
        found.append((job, alone))
        for unit, clocks in needs.items():
            asked[unit] += clocks / alone
    return [(job, 1 / alone / max(1.0, *(asked[unit] for unit in job.needs))) for job, alone in found]
