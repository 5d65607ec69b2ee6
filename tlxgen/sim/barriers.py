"""mbarriers, named barriers and the cluster barrier.

An mbarrier has `phase` completed phases; `wait(parity)` passes when the last completed phase has that parity, so that a
fresh one lets wait(1) pass and holds wait(0). Waiters are released at the event, not by polling, and take the clock of
completed phases only: what a partial arrival did is not ordered before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from .actors import Task
from .engine import Hub
from .findings import Findings, Place
from .watch import Amount


@dataclass(eq=False)
class Mbarrier:
    """`count` arrivals and all expected bytes complete a phase; under `per_thread` all threads of a task arrive."""

    name: str
    count: int
    hub: Hub
    findings: Findings
    per_thread: bool = False
    array: str = ""  # the name of the barriers that it was allocated with
    place: Place = field(default_factory=lambda: Place("", 0))  # where
    phase: int = 0
    pending: int = field(init=False)
    bytes: int = 0
    completed: int = 0  # clock of the phases that are complete
    arriving: int = 0  # clock of what arrived in this one
    landed: int = 0  # clock of the copies of the phases that are complete
    landing: int = 0  # of those of this one
    waiting: list[tuple[Task, int]] = field(default_factory=list)
    looped: bool = False  # somebody waits in a loop
    passed: list[tuple[int, Place]] = field(default_factory=list)  # segments that waited for the phase before this one

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
        """Blocks the task that runs until the last completed phase has that parity."""
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
        """What a wait for `parity` sees, in words."""
        expected = f", {self.bytes} bytes outstanding" if self.bytes else ""
        return (
            f"{self.name} parity {parity}: {self.phase} phases complete, {self.count - self.pending} of {self.count} "
            f"arrived{expected}"
        )

    def arrive(self, count: int, clock: int, place: Place, expected: int = 0) -> None:
        """`count` arrivals by someone with that clock; `expected` bytes more must come before the phase completes."""
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
        """A copy that will bring `size` bytes has been issued."""
        if self.hub.watch is not None:
            self.hub.watch.promises(self, size, place)

    def transfer(self, size: int, clock: int, place: Place) -> None:
        """A copy has brought `size` bytes."""
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
    """Counts threads: those of the waiters and of the arrivers. An arrival left over at the end is legal."""

    name: str
    hub: Hub
    findings: Findings
    threads: int = 0  # of the round that is under way
    present: int = 0
    clock: int = 0
    phase: int = 0  # complete rounds
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
        """The task that runs comes to the barrier, and stays there when it waits."""
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
    """All threads of a cluster that have not exited meet. `members`: the tasks that run, or the program where none do.

    A program outside of tasks comes with all warps of its CTA. In tasks each comes for its own warps, so that all of
    them must; one that has ended has exited. (fbtriton, ClusterOpsToLLVM.cpp, lowerClusterSyncForAllWarps; PTX ISA,
    barrier.cluster.)
    """

    key: str
    hub: Hub
    members: set[Task] = field(default_factory=set)
    come: set[Task] = field(default_factory=set)
    clock: int = 0
    phase: int = 0
    waiting: list[Task] = field(default_factory=list)

    @property
    def label(self) -> str:
        return "the cluster barrier"

    @property
    def missing(self) -> Amount:
        return len(self.members) - len(self.come), 0

    def join(self) -> None:
        """The task that runs waits for all others of the cluster."""
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

    def arrive(self) -> None:
        """The task that runs comes, and does not wait."""
        self._come(self._enter())

    def leave(self, task: Task, heir: Task | None = None) -> None:
        """A task exits, or makes way for others; `heir` comes in its place."""
        self.members.discard(task)
        self.come.discard(task)
        if heir is not None:
            self.members.add(heir)
        if self.come and len(self.come) == len(self.members):
            self._complete()

    def _enter(self) -> int:
        """The clock of all that have come, and of the task that comes now."""
        self.hub.enter()
        task = self.hub.current
        if self.hub.watch is not None:
            self.hub.watch.arrives(self, (1, 0), task.place)
        return self.clock | self.hub.release(task)

    def _come(self, clock: int) -> None:
        self.clock = clock
        self.come.add(self.hub.current)
        if len(self.come) == len(self.members):
            self._complete()

    def _complete(self) -> None:
        waiting, clock, self.clock, self.waiting = self.waiting, self.clock, 0, []
        self.come.clear()
        self.phase += 1
        if self.hub.watch is not None:
            self.hub.watch.completes(self)
        for other in waiting:
            other.clock |= clock
            self.hub.wake(other, self)
