"""mbarriers, named barriers and the cluster barrier.

An mbarrier has `phase` completed phases. `wait(parity)` passes when the last completed phase has that parity, so on a
fresh one wait(1) passes and wait(0) blocks. Waiters are woken by the completion, not by polling, and are ordered after
the arrivals of completed phases only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from .actors import Task
from .engine import Hub
from .findings import Findings, KernelFault, Place
from .watch import Amount


@dataclass(eq=False)
class Mbarrier:
    """An mbarrier. `count` arrivals and all expected bytes complete a phase. If `per_thread`, all threads arrive."""

    name: str
    count: int
    hub: Hub
    findings: Findings
    per_thread: bool = False
    array: str = ""  # the name of the array that it belongs to
    place: Place = field(default_factory=lambda: Place("", 0))  # the line of its allocation
    phase: int = 0
    pending: int = field(init=False)
    bytes: int = 0
    completed: int = 0  # clock of the completed phases
    arriving: int = 0  # clock of the arrivals in the current phase
    landed: int = 0  # clock of the copies of the completed phases
    landing: int = 0  # clock of the copies of the current phase
    waiting: list[tuple[Task, int]] = field(default_factory=list)
    looped: bool = False  # whether a task waits in a loop
    passed: list[tuple[int, Place]] = field(default_factory=list)  # segments that waited for the preceding phase

    def __post_init__(self) -> None:
        self.pending = self.count
        self.key = self.hub.new_key("b")

    @property
    def label(self) -> str:
        return self.name

    @property
    def missing(self) -> Amount:
        return self.pending, self.bytes

    def _opens(self, parity: int) -> bool:
        return self.phase & 1 != parity

    def wait(self, parity: int, place: Place) -> None:
        """Blocks the running task until the last completed phase has that parity."""
        if parity not in (0, 1):
            self.findings.stop("barrier-misuse", f"wait on {self.name} for parity {parity}; it is 0 or 1", (place,))
        self.hub.pause()
        self.hub.enter()
        task, watch, opens = self.hub.current, self.hub.watch, self._opens(parity)
        if task.loops:
            self.looped = True
        if watch is not None:
            watch.waits(self, self.phase + (not opens), place)
        if not opens:
            self.waiting.append((task, parity))
            self.hub.block(lambda: self.state(parity))
        else:
            self._pass(task, place)
            if watch is not None:
                watch.passes(self)

    def _pass(self, task: Task, place: Place) -> None:
        task.clock |= self.completed
        self.passed.append((task.bit, place))

    def state(self, parity: int) -> str:
        """The state that a wait for `parity` finds, in words."""
        expected = f", {self.bytes} bytes outstanding" if self.bytes else ""
        return (
            f"{self.name} parity {parity}: {self.phase} phases complete, {self.count - self.pending} of {self.count} "
            f"arrived{expected}"
        )

    def arrive(self, count: int, clock: int, place: Place, expected: int = 0) -> None:
        """`count` arrivals by an actor with that clock. The phase also needs `expected` more bytes."""
        self.hub.enter()
        if self.hub.watch is not None:
            self.hub.watch.arrives(self, (count, -expected), place)
        if count > self.pending:
            text = f"{count} arrivals on {self.name}, which waits for {self.pending} of {self.count} in this phase"
            self.findings.stop("over-arrival", text, (place,))
        if self.landed & ~clock:
            text = f"an arrival for phase {self.phase} of {self.name} may come while phase {self.phase - 1} lacks bytes"
            self.findings.add("over-arrival", text, (place,))
        self.pending -= count
        self.bytes += expected
        self.arriving |= clock
        self._settle(place)

    def promise(self, size: int, place: Place) -> None:
        """Notes that a copy of `size` bytes has been issued."""
        if self.hub.watch is not None:
            self.hub.watch.promises(self, size, place)

    def transfer(self, size: int, clock: int, place: Place) -> None:
        """Notes that a copy of `size` bytes has completed."""
        self.hub.enter()
        if self.hub.watch is not None:
            self.hub.watch.arrives(self, (0, size), place)
        if self.completed & ~clock:
            text = f"bytes for phase {self.phase} of {self.name} may come before phase {self.phase - 1} is complete"
            self.findings.add("tx-mismatch", text, (place,))
        self.bytes -= size
        self.arriving |= clock
        self.landing |= clock
        self._settle(place)

    def _settle(self, place: Place) -> None:
        if self.pending:
            return
        if self.bytes < 0:
            text = f"{self.name} received {-self.bytes} bytes more than expected"
            self.findings.stop("tx-mismatch", text, (place,))
        if self.bytes == 0:
            self._complete(place)

    def _complete(self, place: Place) -> None:
        for bit, waited in self.passed:
            if not bit & self.arriving:
                text = f"{self.name} completes a phase before one that waited for the phase before has passed for sure"
                self.findings.add("parity-overrun", text, (place, waited))
        self.passed = []
        self.completed |= self.arriving
        self.landed |= self.landing
        self.arriving = self.landing = 0
        self.phase += 1
        self.pending = self.count
        if self.hub.watch is not None:
            self.hub.watch.completes(self)
        waiting, self.waiting = self.waiting, []
        for task, parity in waiting:
            if self._opens(parity):
                self._pass(task, task.place)
                self.hub.wake(task, self)
            else:
                self.waiting.append((task, parity))


@dataclass(eq=False)
class NamedBarrier:
    """A named barrier. It counts the threads of waiters and arrivers. An arrival left over at the end is legal."""

    name: str
    hub: Hub
    findings: Findings
    threads: int = 0  # threads that have come in the current round
    present: int = 0
    clock: int = 0
    phase: int = 0  # completed rounds
    waiting: list[Task] = field(default_factory=list)

    @property
    def key(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        return self.name

    @property
    def missing(self) -> Amount:
        return self.threads - self.present, 0

    def join(self, threads: int, wait: bool, place: Place) -> None:
        """The running task arrives at the barrier and, if `wait`, blocks there."""
        self.hub.pause()
        self.hub.enter()
        task, watch = self.hub.current, self.hub.watch
        if self.present and threads != self.threads:
            self._misused(f"{threads} threads on {self.name}; the round began with {self.threads}", place)
        if threads % 32 or not task.threads <= threads:
            self._misused(f"{threads} threads on {self.name} from a task of {task.threads}", place)
        self.threads = threads
        if watch is not None:
            watch.arrives(self, (task.threads, 0), place)
        self.present += task.threads
        self.clock |= self.hub.release(task)
        if self.present > threads:
            self._misused(f"{self.present} threads have come to {self.name} for {threads}", place)
        if self.present == threads:
            waiting, clock = self.waiting, self.clock
            self.present, self.clock, self.waiting = 0, 0, []
            self.phase += 1
            if watch is not None:
                watch.completes(self)
            for other in waiting:
                other.clock |= clock
                self.hub.wake(other, self)
            if wait:
                task.clock |= clock
                if watch is not None:
                    watch.passes(self)
        elif wait:
            self.waiting.append(task)
            self.hub.block(lambda: f"{self.name}: {self.present} of {threads} threads have come")

    def _misused(self, text: str, place: Place) -> NoReturn:
        self.findings.stop("barrier-misuse", text, (place,))


@dataclass(eq=False)
class ClusterBarrier:
    """The barrier of all threads of a cluster that have not exited. `members` are the running tasks, or the program.

    A program outside of tasks arrives with all warps of its CTA. A task arrives with its own warps, so all tasks must
    arrive; a task that has ended counts as exited. (fbtriton, ClusterOpsToLLVM.cpp, lowerClusterSyncForAllWarps; PTX
    ISA, barrier.cluster.)
    """

    key: str
    hub: Hub
    members: set[Task] = field(default_factory=set)
    come: set[Task] = field(default_factory=set)
    clock: int = 0
    phase: int = 0
    waiting: list[Task] = field(default_factory=list)
    passed: dict[Task, int] = field(default_factory=dict)  # tasks that have not yet waited -> what their wait acquires

    @property
    def label(self) -> str:
        return "the cluster barrier"

    @property
    def missing(self) -> Amount:
        return len(self.members) - len(self.come), 0

    def join(self) -> None:
        """The running task arrives, and waits for all others of the cluster."""
        task = self.hub.current
        clock = self._enter()
        if len(self.come) + 1 == len(self.members):
            task.clock |= clock
            self._come(clock)
            if self.hub.watch is not None:
                self.hub.watch.passes(self)
            return
        self._come(clock)
        self.waiting.append(task)
        self.hub.block(self._text)

    def _text(self) -> str:
        absent = sorted(t.name for t in self.members - self.come)
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        return f"the cluster barrier, to which {', '.join(absent[:3])}{more} have not come"

    def arrive(self, released: int | None = None) -> None:
        """The running task arrives and does not wait. A relaxed arrival releases no more than `released`."""
        self._come(self._enter(released))

    def wait(self) -> None:
        """The running task, which has arrived, waits for all others of the cluster."""
        task = self.hub.current
        self.hub.enter()
        if task in self.passed:
            task.clock |= self.passed.pop(task)
            if self.hub.watch is not None:
                self.hub.watch.passes(self)
        elif task in self.come:
            self.waiting.append(task)
            self.hub.block(self._text)
        else:
            raise KernelFault("barrier.cluster.wait without an arrival before it")

    def leave(self, task: Task, heir: Task | None = None) -> None:
        """Removes a task that exits, or replaces it by `heir`."""
        self.members.discard(task)
        self.come.discard(task)
        if heir is not None:
            self.members.add(heir)
        if self.come and len(self.come) == len(self.members):
            self._complete()

    def _enter(self, released: int | None = None) -> int:
        """The clock of all that have arrived, including the running task, which may release less than all it did."""
        self.hub.enter()
        task = self.hub.current
        if self.hub.watch is not None:
            self.hub.watch.arrives(self, (1, 0), task.place)
        return self.clock | (self.hub.release(task) if released is None else released)

    def _come(self, clock: int) -> None:
        self.clock = clock
        self.come.add(self.hub.current)
        if len(self.come) == len(self.members):
            self._complete()

    def _complete(self) -> None:
        waiting, clock, self.clock, self.waiting = self.waiting, self.clock, 0, []
        self.passed = dict.fromkeys(self.come.difference(waiting), clock)
        self.come.clear()
        self.phase += 1
        if self.hub.watch is not None:
            self.hub.watch.completes(self)
        for other in waiting:
            other.clock |= clock
            self.hub.wake(other, self)
