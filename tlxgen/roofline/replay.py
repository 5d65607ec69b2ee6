"""How long a traced launch takes: its operations in time, on units that tasks share.

Threads' work and products are jobs that need clocks of several units; jobs that run together slow each other down where
a unit has more to do than it can. Products, loads and stores of an SM are served in the order of their issue. What is
not known takes no time: latencies of arithmetic, conflicts of banks, instructions for addresses and loops. So what a
replay says lies below what is measured, as long as latencies of arch.py do.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tlxgen.arch import Arch
from tlxgen.errors import ReviewError

from .counts import Counts
from .latencies import latencies
from .model import L2, PRODUCTS, Sharing, units
from .trace import Op, Thread, Trace

REGISTERS, SUMS = "register file", "sums in L2"
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
    loading: float = 0.0  # bytes under way
    wgmmas: int = 0  # that have been issued and have not ended
    issuing: deque[_Issue] = field(default_factory=deque)  # whose turn it is, and who waits for it


@dataclass(eq=False)
class _Issue:
    """The wgmmas of a product that have not been issued, and what follows each of them, and the last."""

    each: Counts
    left: int
    ended: Callable[[], None]
    issued: Callable[[], None]


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


def replay(
    trace: Trace, arch: type[Arch], resident: int = 1, sharing: Sharing | None = None, few: bool = False
) -> Times:
    """The times of a launch whose clusters run one after the other, `resident` at a time.

    CTAs of a cluster are on an SM each. `sharing` tells how they load in the launch that is meant, `few` that there are
    SMs without work.

    Raises ReviewError where a task waits for what no operation of the trace does.
    """
    return _Replay(trace, arch, resident, sharing, few).run()


class _Replay:
    def __init__(self, trace: Trace, arch: type[Arch], resident: int, sharing: Sharing | None, few: bool) -> None:
        self.arch, self.now, self.sharing = arch, 0.0, sharing
        missed = sharing.missed if sharing else 0.0
        self.latencies = latencies(arch)
        self.few = few
        self.missed = missed * self.latencies.missed
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
        rates = [(sm, job, rate) for sm in self.sms.values() for job, rate in _rates(sm.running, self._beside(sm))]
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

    def _beside(self, sm: _Sm) -> Mapping[str, float]:
        """How much longer threads need for what they do now."""
        return self.latencies.beside if any(job.multiplies for job in sm.running) else {}

    def _later(self, clocks: float, then: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now + clocks, next(self.order), then))

    def _clocks_of_byte(self, sharing: Sharing | None, multiplied: bool) -> float:
        """Of what L2 gives or takes. `sharing`: of loads, where it is known."""
        of_all = 1 / (self.arch.l2_bytes_per_clock if self.few else self.arch.l2_bytes_per_clock_of_all)
        if sharing is None:
            return of_all
        each = sharing.clocks_of_byte()
        return (min(of_all * sharing.slower(), each) if multiplied else each) + sharing.clocks_of_edges()

    def _run(self, sm: _Sm, counts: Counts, then: Callable[[], None], queue: str = "") -> None:
        """Starts a job; one of a queue when those before it have ended."""
        needs = {u.name: u.clocks for u in units(counts, self.arch) if u.clocks}
        if counts.l2_bytes:
            sharing = self.sharing if queue == "loads" else None
            needs[L2] = counts.l2_bytes * self._clocks_of_byte(sharing, sm.multiplied)
        if counts.added and self.latencies.sums < math.inf:
            needs[SUMS] = counts.added / self.latencies.sums
        multiply_adds = counts.operands / 3 / self.arch.fma_per_clock
        if read := self.latencies.reads(needs.get(PRODUCTS, 0.0), multiply_adds):
            needs[REGISTERS] = read

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
        clocks = self.latencies.of_reduction(bool(op.number), self._beside(thread.sm))
        self._later(clocks, lambda: self._go_on(thread))
        return False

    def _fence(self, thread: _Thread, op: Op) -> bool:
        self._later(self.latencies.proxy if op.number else self.latencies.fence, lambda: self._go_on(thread))
        return False

    def _fetch(self, thread: _Thread, op: Op) -> bool:
        self._later(self.latencies.word, lambda: self._go_on(thread))
        return False

    def _release(self, thread: _Thread, op: Op) -> bool:
        self._later(self.latencies.release, lambda: self._go_on(thread))
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

    def _settle(self, barrier: _Barrier, arrivals: int, size: int, named: bool = False) -> None:
        barrier.lacks -= arrivals
        barrier.bytes -= size
        if barrier.lacks <= 0 and barrier.bytes <= 0:
            barrier.phase += 1
            barrier.lacks, barrier.bytes = barrier.lacks + barrier.count, 0
            woken = [thread for need, thread in barrier.waiting if need <= barrier.phase]
            barrier.waiting = [w for w in barrier.waiting if w[0] > barrier.phase]
            for thread in woken:
                self._later(self._wakes(thread, named), partial(self._go_on, thread))

    def _wakes(self, thread: _Thread, named: bool) -> float:
        """Clocks from the last arrival until a thread goes on."""
        if named:
            return self.latencies.named
        return self.latencies.mbarrier_group if thread.did.threads > self.arch.warp_threads else self.latencies.mbarrier

    def _product(self, thread: _Thread, op: Op) -> bool:
        """wgmmas are issued one by one. Of a thread's other products one queues up when the one before it has ended."""
        token = object()
        thread.sm.multiplied = True
        thread.flying["product"].append(token)

        def seen() -> None:
            for key, amount in op.on:
                self._settle(self.barriers[key], amount, 0)
            self._landed(thread, "product", token)

        if op.number:
            return self._wgmmas(thread, op, seen)

        def start() -> None:
            self._run(thread.sm, op.counts, ended, "products")

        def ended() -> None:
            thread.products.popleft()
            if thread.products:
                thread.products[0]()
            self._later(0.0, seen)

        thread.products.append(start)
        if len(thread.products) == 1:
            start()
        return True

    def _wgmmas(self, thread: _Thread, op: Op, seen: Callable[[], None]) -> bool:
        """The thread goes on when it has issued all of them, for which it waits where there is no room."""
        sm, begun, left = thread.sm, self.now, op.number

        def ended() -> None:
            nonlocal left
            left -= 1
            sm.wgmmas -= 1
            if not left:
                self._later(self.latencies.product, seen)
            self._issue(sm)

        def issued() -> None:
            self._later(max(0.0, begun + self.latencies.issue * op.number - self.now), lambda: self._go_on(thread))

        sm.issuing.append(_Issue(op.counts * (1 / op.number), op.number, ended, issued))
        self._issue(sm)
        return False

    def _issue(self, sm: _Sm) -> None:
        """Whoever has begun goes on as long as there is room, then who has waited longest."""
        while sm.issuing and sm.wgmmas < self.latencies.wgmmas:
            one = sm.issuing[0]
            sm.wgmmas += 1
            one.left -= 1
            self._run(sm, one.each, one.ended, "products")
            if not one.left:
                sm.issuing.popleft()
                one.issued()

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
        thread.sm.loading += op.counts.l2_bytes
        latency = self.latencies.of_load(thread.sm.loading, self.few) + self.missed

        def landed() -> None:
            thread.sm.loading -= op.counts.l2_bytes
            for key, size in op.on:
                self._settle(self.barriers[key], 0, size)
            for group in (thread.copies, *thread.groups):
                group.discard(token)
            self._close(thread)

        self._run(thread.sm, op.counts, lambda: self._later(latency, landed), "loads")
        return True

    def _close(self, thread: _Thread) -> None:
        """Groups of copies complete in order, an empty one with those before it."""
        while thread.groups and not thread.groups[0]:
            thread.groups.pop(0)
        self._resume(thread, "load")

    def _store(self, thread: _Thread, op: Op) -> bool:
        token = object()
        thread.flying["store"].append(token)
        read = Counts(smem_bytes=op.counts.smem_bytes, l2_bytes=op.counts.l2_bytes, added=op.counts.added)

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
            self._settle(barrier, amount, 0, named=True)
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


def _rates(running: list[_Job], beside: Mapping[str, float]) -> list[tuple[_Job, float]]:
    """Which part of each job is done in a clock. A unit that is asked for more serves all in proportion."""
    asked: dict[str, float] = defaultdict(float)
    found = []
    for job in running:
        needs = job.needs if job.multiplies else {unit: n * beside.get(unit, 1.0) for unit, n in job.needs.items()}
        alone = max(needs.values())
        found.append((job, alone))
        for unit, clocks in needs.items():
            asked[unit] += clocks / alone
    return [(job, 1 / alone / max(1.0, *(asked[unit] for unit in job.needs))) for job, alone in found]
