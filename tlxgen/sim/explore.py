"""A systematic search over the scheduler's decisions, which runs every schedule that can make a difference.

Greenlets cannot be copied, so each run starts again from its first decision. Runs that differ only in the order of
steps that commute (`order` says which do) are one *trace*, and the search runs at least one schedule of each trace,
most often exactly one (dynamic partial-order reduction with source sets and sleep sets: Abdulla, Aronis, Jonsson,
Sagonas, "Optimal dynamic partial order reduction", POPL 2014). A correct pipeline that barriers order completely is a
single trace. Runs are not pruned at visited states, since the rest of a run may add alternatives to earlier decisions.

If a search is complete and has no findings, then the program has no deadlock, race, lifetime or barrier fault, and the
same results, on every schedule for these inputs. If there are findings, the list may be incomplete, since a finding may
end its run early. The search does not vary the order in which tasks communicate through global memory, or the order of
a fence and an earlier release.

A state, as counted here, is a set of steps at barriers with the phase of each, regardless of their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tlxgen.coverage import Coverage
from tlxgen.errors import TlxgenError

from .actors import Actor, Event, Task
from .engine import Chooser
from .findings import Finding, Stop
from .launch import Session
from .order import Order, Touches, commute
from .repeatable import Case, Recorded
from .script import Script, in_order, take
from .watch import Watch

LONGEST = 20_000  # limit of a run's decisions; the memory for them grows with the square


@dataclass(frozen=True)
class Budget:
    """The limit of a search, counted in units that do not depend on the machine."""

    states: int = 200_000
    steps: int = 1_000_000  # of all runs


@dataclass
class Node:
    """A decision on the stack: the enabled actors, the chosen one, those to try, and those that need not be tried."""

    enabled: tuple[str, ...]
    chosen: str
    wanted: set[str]
    asleep: dict[str, Touches]
    touches: Touches = field(default_factory=dict)  # what the chosen step touches

    @property
    def untried(self) -> list[str]:
        return sorted(self.wanted - self.asleep.keys())


class Unrepeatable(TlxgenError):
    """A program that cannot be searched."""


class Redundant(Stop):
    """The run is redundant: another run has covered all its continuations."""


class Search:
    """Decides each run: it first repeats the decisions on the stack, then follows a default order."""

    def __init__(self) -> None:
        self.states: set[int] = set()
        self.stack: list[Node] = []
        self.order = Order(self.states)
        self.too_long = False  # whether a run had more steps than LONGEST
        self._fixed = 0  # number of the stack's nodes that this run repeats
        self._last: Actor | None = None

    def begin(self) -> None:
        """Starts a run."""
        self._fixed = len(self.stack)
        self.order = Order(self.states)
        self._last = None

    # Of one run, as its director and chooser.

    def chooser(self, launch: int) -> Chooser:
        return self

    def watch(self, launch: int) -> Watch | None:
        return self.order

    def admit(self, actor: Actor) -> None:
        """Does nothing: decisions do not depend on when an actor was created."""

    def choose(self, ready: list[Task], events: list[Event]) -> Actor:
        depth = len(self.order.actors)
        if depth > LONGEST:
            self.too_long = True
            raise Stop
        if depth < self._fixed:
            name = self.stack[depth].chosen
        else:
            name = self._open([self.order.name(actor) for actor in in_order(ready, events, self._last)], depth)
        same = depth != self._fixed - 1 or len(self.stack[depth].enabled) == len(ready) + len(events)
        self._last = take(name.partition(":")[2], ready, events) if same else None
        if self._last is None:
            raise Unrepeatable("the program does not do the same in every run: its inputs must come from session.seed")
        return self._last

    def _open(self, enabled: list[str], depth: int) -> str:
        """Makes a new decision. Raises Redundant if no enabled actor has to be tried."""
        asleep = {}
        if depth:
            last, touches, found = self.stack[-1], self.order.touches[-1], self.order.at[-1]
            asleep = {q: t for q, t in last.asleep.items() if q != last.chosen and commute(t, touches, found)}
        awake = [name for name in enabled if name not in asleep]
        if not awake:
            raise Redundant
        self.stack.append(Node(tuple(enabled), awake[0], {awake[0]}, asleep))
        return awake[0]

    # Between runs.

    def advance(self) -> bool:
        """Evaluates the run that has ended and goes to the next. Returns False if there is none."""
        for node, touches in zip(self.stack, self.order.touches, strict=False):
            node.touches = touches
        for race in self.order.races:
            node, first = self.stack[race[0]], self.order.first(race)
            if not (node.wanted | node.asleep.keys()).intersection(first):
                later = self.order.actors[race[1]]
                wanted = later if later in first else first[0]
                node.wanted.update([wanted] if wanted in node.enabled else node.enabled)
        while self.stack:
            node = self.stack[-1]
            node.asleep[node.chosen] = node.touches
            if node.untried:
                node.chosen = node.untried[0]
                return True
            self.stack.pop()
        return False


@dataclass
class Explored:
    """The result of a search: each finding with the decisions that lead to it and their number of steps. `limit` says
    what ended an incomplete search."""

    found: list[tuple[Finding, Script, int]] = field(default_factory=list)
    runs: int = 0
    steps: int = 0
    states: int = 0
    limit: str = ""
    coverage: Coverage = field(default_factory=Coverage)


def explore(case: Case, seed: int = 0, budget: Budget | None = None) -> Explored:
    """Runs the case on one schedule of every trace, or until the budget is spent. Raises UnsupportedOp."""
    budget = budget or Budget()
    search, result, known = Search(), Explored(), set()
    while True:
        search.begin()
        recorded = Recorded(search)
        session: Session = case.run(recorded, seed)
        result.runs += 1
        result.coverage.add(session.coverage)
        result.steps += session.steps
        result.states = len(search.states)
        for finding in session.findings.all:
            if finding.key not in known:
                known.add(finding.key)
                result.found.append((finding, Script.of(seed, recorded.logs), session.noticed[finding.key]))
        result.limit = _beyond(search, session)
        if result.limit:
            return result
        if not search.advance():
            return result
        if result.states >= budget.states:
            result.limit = f"{budget.states} states"
            return result
        if result.steps >= budget.steps:
            result.limit = f"{budget.steps} steps"
            return result


def _beyond(search: Search, session: Session) -> str:
    """The reason why the last run cannot be searched, or an empty text."""
    if search.too_long:
        return f"{LONGEST} decisions a run"
    if search.order.shared:
        return "two tasks in one queue"
    return "atomics, whose order is not searched" if session.synchronised else ""
