"""One launch: CTAs, clusters, and the state that operations of tl and tlx share, such as the running task and line."""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, reduce
from pathlib import Path
from types import FrameType
from typing import Any

from .actors import Event, Task
from .barriers import ClusterBarrier, Mbarrier, NamedBarrier
from .change import Change
from .engine import Chooser, Hub
from .findings import Findings, KernelFault, Place
from .footprint import Footprint
from .globalmem import GlobalMemory
from .layouts import Layouts
from .memory import Storage
from .watch import Watch

_HERE = str(Path(__file__).parent)


@cache
def _ours(path: str) -> bool:
    """Whether a file is the simulator's."""
    return path.startswith(_HERE)


@dataclass(frozen=True)
class Limits:
    """The limits of one launch. A kernel that exceeds them is assumed not to end.

    The limit is a number of steps, which does not depend on the machine; with a limit of time, a loaded machine would
    report false findings. Each of the `ctas` takes memory. At most `resident` clusters run at a time, in the order of
    their numbers, as if other kernels had the other SMs.
    """

    steps: int = 3_000_000
    ctas: int = 1_000_000
    resident: int | None = None


@dataclass(frozen=True, eq=False)
class BarrierArray:
    """The result of `alloc_barriers`. An index gives a BarrierRef."""

    name: str
    barriers: tuple[Mbarrier, ...]
    number: int = 0  # its number among the CTA's arrays
    refs: tuple[BarrierRef, ...] = field(init=False)

    def __post_init__(self) -> None:
        refs = (BarrierRef(barrier, self.number, index) for index, barrier in enumerate(self.barriers))
        object.__setattr__(self, "refs", tuple(refs))


@dataclass(frozen=True, eq=False)
class BarrierRef:
    """One mbarrier and its position, by which a peer CTA's can be found."""

    barrier: Mbarrier
    array: int
    index: int

    @property
    def label(self) -> str:
        return self.barrier.label

    def on(self, cta: Cta) -> Mbarrier:
        if self.array >= len(cta.barriers):
            m = machine()
            text = f"a barrier of {cta.name}, which has not initialised it yet: a cluster barrier comes first"
            m.findings.stop("remote-before-start", text, (m.here(),))
        return cta.barriers[self.array].barriers[self.index]


@dataclass(eq=False)
class Cta:
    """A CTA. `program` is its index in the grid, `corner` that in its cluster, and `number` that in the launch."""

    program: tuple[int, int, int]
    corner: tuple[int, int, int]
    grid: tuple[int, int, int]
    number: int
    rank: int
    warps: int
    cluster: list[Cta]
    meeting: ClusterBarrier
    storages: list[Storage] = field(default_factory=list)
    allocated: int = 0  # number of storages that the CTA itself has allocated so far
    barriers: list[BarrierArray] = field(default_factory=list)
    named: dict[int, NamedBarrier] = field(default_factory=dict)
    ready: int = 0  # bit of its last initialisation of a barrier, or of its start
    fenced: int = 0  # what a relaxed arrival on the cluster's barrier releases of it
    met: bool = False  # whether the cluster has met after that
    fences: list[tuple[int, int]] = field(default_factory=list)  # async_shared: clock before, bit after
    scratch: dict[tuple[int, ...], Any] = field(default_factory=dict)  # the compiler's memory, by the lines of its use
    ended: int | None = None  # clock when its program ended
    remote: list[tuple[int, Place, str]] = field(default_factory=list)  # accesses of peers, which must precede its exit
    landing: list[tuple[int, Place, str]] = field(
        default_factory=list
    )  # its own copies into its shared memory, likewise

    @property
    def name(self) -> str:
        return f"CTA {self.number}"

    def initialise(self, bit: int) -> int:
        """A peer whose clock has `bit` may use what the CTA has now."""
        self.ready = bit
        self.fenced = 0
        return bit

    def counterpart(self, storage: Storage) -> Storage:
        """The allocation that corresponds to a peer's `storage`. It exists before the CTA reaches it, since the
        compiler places all shared and tensor memory."""
        for other in storage.owner.storages[len(self.storages) : storage.number + 1]:
            self.storages.append(Storage(other.kind, self, other.number, other.extent, lanes=other.lanes))
        return self.storages[storage.number]


@dataclass(frozen=True, eq=False)
class Touch:
    """An access of the two warpgroups of a task to tensor memory."""

    storage: Storage
    halves: tuple[Footprint, Footprint]
    place: Place
    writes: bool
    number: int  # its number among those of the task


@dataclass(eq=False)
class Worker(Task):
    """A task of a CTA, with its queues of asynchronous work."""

    cta: Cta = field(kw_only=True)
    dots: deque[Event] = field(default_factory=deque)  # wgmmas that are not complete, in order
    undotted: list[Event] = field(default_factory=list)  # wgmmas that were issued and not waited for
    stores: deque[Event] = field(default_factory=deque)
    unstored: list[Event] = field(default_factory=list)
    unwritten: list[Event] = field(default_factory=list)  # TMA stores whose writes it has not waited for
    landed: int = 0  # bits of completed writes that one of its warps has waited for
    copies: list[Event] = field(default_factory=list)  # cp.async since the last commit
    groups: list[list[Event]] = field(default_factory=list)  # groups that were committed and not waited for
    tensor_core: deque[Event] = field(default_factory=deque)  # tcgen05 operations that are not complete, in order
    tensor_core_clock: int = 0
    touched: list[Touch] = field(default_factory=list)  # accesses since its warps last met
    arrivals: list[tuple[int, int]] = field(default_factory=list)  # arrivals of all threads: bit, number of `touches`
    touches: int = 0  # number of accesses to tensor memory
    items: dict[tuple[int, int], int] = field(default_factory=dict)  # number of work items, by loop

    def arrived(self) -> None:
        """Notes that every thread of the task has arrived on a barrier, without a wait."""
        self.arrivals.append((self.bit, self.touches))

    def passed(self, clock: int) -> None:
        """Notes a wait of its warps for a clock. If that includes an arrival of every thread, the warps have met."""
        last = max((touches for bit, touches in self.arrivals if bit & clock), default=0)
        if last:
            self.touched = [touch for touch in self.touched if touch.number > last]
            self.arrivals = [arrival for arrival in self.arrivals if arrival[1] > last]

    def rendezvous(self) -> None:
        """Notes that all warps of the task have met."""
        self.touched.clear()
        self.arrivals.clear()
        self.clock |= self.landed
        self.landed = 0


def _places(grid: tuple[int, int, int], step: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Every index of a grid, by steps, where x varies fastest."""
    return [
        (x, y, z)
        for z in range(0, grid[2], step[2])
        for y in range(0, grid[1], step[1])
        for x in range(0, grid[0], step[0])
    ]


class Machine:
    """The state of one launch; operations reach it through `machine()`."""

    def __init__(
        self,
        findings: Findings,
        memory: GlobalMemory,
        chooser: Chooser,
        limits: Limits,
        layouts: Layouts,
        watch: Watch | None = None,
        change: Change | None = None,
        arch: str = "sm90",
    ) -> None:
        self.layouts = layouts
        self.change = change
        self.arch = arch
        self.findings = findings
        self.memory = memory
        self.hub = Hub(findings, chooser, limits.steps, watch)
        self.pairs = False  # whether there is an MMA of two CTAs
        self.no_ending_sync = False  # async_tasks(no_ending_cluster_sync=True)
        self.meets_at_start = True  # whether the compiler adds a cluster sync after barriers are initialised
        self.pdl = False  # whether it may run, up to its gdc_wait, while the preceding launch still runs
        self.awaited = 0  # bits of segments after a gdc_wait
        self.steals = [0, 0]  # numbers of refused and granted requests for work
        self.asks = False  # whether it may ask for work, by cluster launch control
        self.limited = False  # whether not all clusters run at once
        self._waiting: deque[list[Cta]] = deque()  # clusters that have not started

    @property
    def worker(self) -> Worker:
        """The running task."""
        task = self.hub.current
        assert isinstance(task, Worker)
        return task

    def here(self) -> Place:
        """The line of kernel source that called the operation. It is also noted as the task's position."""
        frame = operation = sys._getframe(1)
        path = frame.f_code.co_filename
        while _ours(path) and frame.f_back is not None:
            operation, frame = frame, frame.f_back
            path = frame.f_code.co_filename
        hub = self.hub
        task, watch = hub.current, hub.watch
        task.place = place = Place(path, frame.f_lineno)
        if watch is not None:
            watch.operation(task, place, operation)
        return place

    def calls(self) -> tuple[int, ...]:
        """The lines of kernel source that led to the operation, the innermost first. They identify the call."""
        lines: list[int] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not _ours(frame.f_code.co_filename):
                lines.append(frame.f_lineno)
            frame = frame.f_back
        return tuple(lines)

    def launch(
        self,
        program: Callable[[], None],
        grid: tuple[int, int, int],
        cluster: tuple[int, int, int],
        warps: int,
        resident: int | None = None,
    ) -> None:
        """Runs `program` as every CTA of the grid.

        If `resident` is given, as for cluster launch control, at most that many clusters run at a time; else all do.
        """
        if any(g % c for g, c in zip(grid, cluster, strict=True)):
            raise KernelFault(f"a grid of {grid} is not a multiple of clusters of {cluster} CTAs")
        self._program, self._grid, self._warps, self.limited = program, grid, warps, resident is not None
        for number, corner in enumerate(_places(grid, cluster)):
            self._waiting.append(self._cluster(number, corner, cluster))
        for _ in range(min(resident or len(self._waiting), len(self._waiting))):
            self._start_next()
        self.hub.run()

    def _cluster(self, number: int, corner: tuple[int, int, int], size: tuple[int, int, int]) -> list[Cta]:
        members: list[Cta] = []
        inner = _places(size, (1, 1, 1))
        meeting = ClusterBarrier(f"cluster {number}", self.hub)
        for rank, step in enumerate(inner):
            x, y, z = (c + s for c, s in zip(corner, step, strict=True))
            first = number * len(inner)
            members.append(Cta((x, y, z), step, self._grid, first + rank, rank, self._warps, members, meeting))
        return members

    def _start_next(self) -> None:
        if self.limited:
            self.hub.take("clusters that wait")
        if self._waiting:
            for cta in self._waiting.popleft():
                self._start(cta, self._program)

    def steal(self) -> tuple[int, int, int] | None:
        """Cancels the launch of the next waiting cluster and returns the index of its first CTA; None if none waits."""
        self.hub.take("clusters that wait")
        self.steals[bool(self._waiting)] += 1
        return self._waiting.popleft()[0].program if self._waiting else None

    def meet(self) -> None:
        """The compiler's own cluster sync, between the initialisation of barriers and the first use of one.

        Every kernel has it that arrives on a peer's barrier or has MMAs of two CTAs. Stores into a peer's memory do not
        cause it. (fbtriton, TritonGPUToLLVM.cpp, maybeInsertClusterSync.)
        """
        cta = self.worker.cta
        if self.meets_at_start and len(cta.cluster) > 1 and not cta.met:
            cta.met = True
            cta.meeting.join()

    def _start(self, cta: Cta, program: Callable[[], None]) -> None:
        bit = self.hub.new_bit()
        main = Worker(cta.name, cta.warps, bit, bit, cta=cta)
        main.clock |= cta.initialise(self.hub.new_bit())
        cta.fenced = cta.ready
        cta.meeting.members.add(main)

        def run() -> None:
            program()
            self.finish(main)
            if self.meets_at_start and not cta.met:  # it used no barrier, but took part in the compiler's sync
                cta.meeting.arrive()
            cta.meeting.leave(main)
            cta.ended = main.clock
            if all(peer.ended is not None for peer in cta.cluster):
                self._leave(cta.cluster)
                self._start_next()

        self.hub.spawn(main, run)

    def _leave(self, cluster: list[Cta]) -> None:
        """When all programs of a cluster have ended, reports accesses that may have reached a CTA after it exited. Its
        memory may then belong to another CTA.

        A kernel with MMAs of two CTAs has a cluster barrier of all warps before it frees its tensor memory, unless
        async_tasks disables it; no other kernel has one. (fbtriton, NVGPUToLLVMPass.cpp, freeTMAlloc;
        WarpSpecializeUtility.cpp, rewritePartitionRegions.)
        """
        joined = 0
        if self.pairs and not self.no_ending_sync:
            joined = reduce(operator.or_, (cta.ended or 0 for cta in cluster))
        for cta in cluster:
            left = (cta.ended or 0) | joined
            for needed, place, what in cta.remote:
                if not needed & left:
                    text = f"{what} reaches {cta.name}, which may have exited"
                    self.findings.add("remote-to-exited-cta", text, (place,))
            for needed, place, what in cta.landing:
                if not needed & left:
                    text = f"{cta.name} ends while {what}, for which nobody waited, may still write to its memory"
                    self.findings.add("pending-at-exit", text, (place,))

    def land(self, bit: int, place: Place, what: str) -> None:
        """Notes that `what`, a copy by an engine, writes to shared memory of the running CTA, which must not exit
        before the copy completes. cp.async does not count, since its thread has not ended before it."""
        self.worker.cta.landing.append((bit, place, what))

    def reach(self, cta: Cta, bit: int, place: Place, what: str) -> None:
        """Notes that `what` accesses another CTA, which must have started before, and must not exit before it."""
        if not cta.ready & self.worker.clock:
            text = f"{what} reaches {cta.name}, which may not have started: a cluster barrier comes first"
            self.findings.add("remote-before-start", text, (place,))
        cta.remote.append((bit, place, what))

    def await_grid(self) -> None:
        """Orders all later actions, of all tasks, after the end of the preceding launch."""
        self.hub.release(self.worker)
        self.awaited |= self.worker.bit

    def touch_memory(self, place: Place, what: str) -> None:
        """Notes that the running task accesses global memory."""
        if self.pdl and not self.awaited & self.worker.clock:
            text = f"{what} may come before the end of the launch before: the kernel is launched to overlap with that"
            self.findings.add("before-grid-wait", text, (place,))

    def finish(self, worker: Worker) -> None:
        """Checks at the end of a task that none of its operations is pending."""
        for event in (*worker.undotted, *worker.unstored):
            text = f"{worker.name} ends while its {event.name} may still run"
            self.findings.add("pending-at-exit", text, (event.place,))

    def prepare(self, name: str, run: Callable[[Event], None], queue: deque[Event] | None = None) -> Event:
        """An asynchronous operation of the running task, for `hub.issue`. `run` performs its effect."""
        place, task = self.here(), self.worker
        bit = self.hub.new_bit()
        event = Event(name, place, bit, self.hub.release(task) | bit, lambda: run(event), queue)
        return event


_running: list[Machine] = []


def machine() -> Machine:
    """The current launch."""
    return _running[-1]


class running:
    """`with running(machine)`: operations inside belong to that launch."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __enter__(self) -> Machine:
        _running.append(self._machine)
        return self._machine

    def __exit__(self, *_: object) -> None:
        _running.pop()
