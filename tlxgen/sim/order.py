"""The happens-before order of a run's steps, the pairs that could occur in the other order, and steps that commute.

A step is what a task does between two pauses, or the completion of an event. A step of a task uses at most one barrier
(`Hub.enter` pauses between two). Two steps commute unless they use the same barrier and their order matters:
  - arrivals in different phases do not commute. Arrivals in one phase do, since the phase needs all of them and all
    expected bytes in every order. If a run ends by too many arrivals or bytes, they are assumed not to commute;
  - a wait that passes when v phases are complete has the same result whenever it starts after phase v-1 and before
    phase v+1 is complete. So it does not commute with the arrivals of phase v-1, nor with those that complete v+1.
Two accesses to a buffer need no decision, since the simulator compares unordered accesses in either order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from .actors import Actor, Event, Task, rank
from .findings import Finding, Place
from .watch import Amount, Barrier, Progress, Watch

Touch = Amount | int  # what a step adds to a barrier or, for a wait, the number of complete phases at which it passes
Touches = dict[str, Touch]  # by the barrier's name
Found = dict[str, tuple[Amount, int]]  # barrier -> missing amount and completed phases before the step
_UNSETTLED = {"over-arrival", "tx-mismatch", "barrier-misuse"}  # findings that depend on the order within a phase


class Order(Watch):
    """The happens-before order of one run's steps as sets of bits, and the pairs of steps that could be exchanged.

    What a step learns from a barrier orders only the steps after it, since the step itself would have been the same.
    """

    def __init__(self, states: set[int] | None = None) -> None:
        self.actors: list[str] = []  # the actor of each step
        self.before: list[int] = []
        self.touches: list[Touches] = []
        self.at: list[Found] = []  # the state of the barriers before each step that uses them
        self.races: list[tuple[int, int]] = []
        self._states = set[int]() if states is None else states  # the states of all runs so far
        self._state = 0
        self._next: dict[str, int] = defaultdict(int)  # what happens before the next step of an actor
        self._queues: dict[int, int] = {}
        self._issuers: dict[int, str] = {}
        self.shared = False  # whether two tasks have issued into one queue, whose order the search does not vary
        self._arrivals: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._waits: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._touched: dict[str, int] = defaultdict(int)
        self._launch = -1

    # The steps.

    def attach(self, hub: Progress) -> None:
        self.close()
        super().attach(hub)
        self._launch += 1
        self._queues.clear()
        self._issuers.clear()

    def name(self, actor: Actor) -> str:
        return f"{self._launch}:{actor.key}"

    def acts(self, actor: Actor) -> None:
        self.close()
        name = self.name(actor)
        self.actors.append(name)
        self.before.append(self._next[name])
        self.touches.append({})
        self.at.append({})
        if isinstance(actor, Event) and actor.queue is not None:
            self.before[-1] |= self._queues.get(id(actor.queue), 0)

    def close(self) -> None:
        """Ends the last step."""
        if self.actors:
            self._next[self.actors[-1]] |= self._past()

    def _past(self) -> int:
        """All that happens before a task or event that the actor makes or wakes now."""
        if self.hub.actor is None:  # a launch starts after all steps of the preceding one
            return (1 << len(self.actors)) - 1
        return self.before[-1] | 1 << (len(self.actors) - 1) | self._next[self.actors[-1]]

    def _after(self, mask: int) -> None:
        """Orders the actor's next step after `mask`. What it did at a barrier in this step is not ordered."""
        if self.touches[-1]:
            self._next[self.actors[-1]] |= mask
        else:
            self.before[-1] |= mask

    def spawned(self, task: Task) -> None:
        self._next[self.name(task)] = self._past()

    def issued(self, event: Event) -> None:
        self._next[self.name(event)] = self._past()
        if event.queue is not None and self.actors:
            self.shared |= self._issuers.setdefault(id(event.queue), self.actors[-1]) != self.actors[-1]

    def completed(self, event: Event) -> None:
        if event.queue is not None:
            self._queues[id(event.queue)] = self._past()

    def woken(self, task: Task, barrier: Barrier | None) -> None:
        self._next[self.name(task)] |= self._past()
        if barrier is not None:
            self._next[self.name(task)] |= self._closed(self._of(barrier)[barrier.phase])

    def follows(self, other: Actor) -> None:
        self._after(self._next[self.name(other)])

    # Barriers.

    def _named(self, barrier: Barrier) -> str:
        return f"{self._launch}:{barrier.key}"

    def _of(self, barrier: Barrier) -> dict[int, list[int]]:
        return self._arrivals[self._named(barrier)]

    def _closed(self, steps: Iterable[int]) -> int:
        mask = 0
        for step in steps:
            mask |= self.before[step] | 1 << step
        return mask

    def _touch(self, name: str, found: tuple[Amount, int], touch: Touch) -> int:
        """Notes that the step uses a barrier. Returns the step's number."""
        step = len(self.actors) - 1
        actor = self.actors[step]
        self._touched[actor] += 1
        phase, amount = (touch, None) if isinstance(touch, int) else (found[1] + 1, touch)
        self._state = (self._state + hash((actor, self._touched[actor], name, amount, phase))) & (1 << 64) - 1
        self._states.add(self._state)
        again = self.touches[step].get(name)
        if isinstance(again, tuple) and isinstance(touch, tuple):
            touch = again[0] + touch[0], again[1] + touch[1]
        self.touches[step][name] = touch
        self.at[step].setdefault(name, found)
        return step

    def _conflict(self, earlier: list[int], step: int) -> None:
        """Notes that the step does not commute with any of `earlier`."""
        base = self.before[step]
        earlier = [s for s in earlier if s != step]
        for other in earlier:
            rest = base | self._closed(s for s in earlier if s != other)
            if not rest >> other & 1:
                self.races.append((other, step))
        self.before[step] |= self._closed(earlier)

    def waits(self, barrier: Barrier, phase: int, place: Place) -> None:
        step = self._touch(self._named(barrier), (barrier.missing, barrier.phase), phase)
        self._conflict(self._of(barrier)[phase - 1], step)
        self._waits[self._named(barrier)].append((step, phase))

    def passes(self, barrier: Barrier) -> None:
        self._after(self._closed(self._of(barrier)[barrier.phase]))

    def arrives(self, barrier: Barrier, amount: Amount, place: Place) -> None:
        if self.hub.actor is None:
            return
        phase = barrier.phase + 1
        step = self._touch(self._named(barrier), (barrier.missing, barrier.phase), amount)
        self._conflict(self._of(barrier)[phase - 1], step)
        self._of(barrier)[phase].append(step)

    def takes(self, what: str) -> None:
        if self.hub.actor is None:
            return
        name = f"{self._launch}:{what}"
        taken = self._arrivals[name]  # as if each take were an arrival that completes a phase
        step = self._touch(name, ((1, 0), len(taken)), (1, 0))
        self._conflict(taken.get(len(taken), []), step)
        taken[len(taken) + 1] = [step]

    def completes(self, barrier: Barrier) -> None:
        if self.hub.actor is None:
            return
        step, phase = len(self.actors) - 1, barrier.phase
        arrived = 0
        for other in self._of(barrier)[phase]:
            arrived |= self.before[other]
        late = [w for w, v in self._waits[self._named(barrier)] if v == phase - 1 and not arrived >> w & 1]
        self._conflict(late, step)

    def found(self, finding: Finding) -> None:
        if finding.id in _UNSETTLED:
            self.races += [pair for phases in self._arrivals.values() for pair in self._unordered(phases)]

    def _unordered(self, phases: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
        """The pairs of arrivals in a barrier's last phase that nothing orders."""
        last = phases[max(phases)]
        return ((a, b) for a in last for b in last if a < b and not self.before[b] >> a & 1)

    def first(self, race: tuple[int, int]) -> list[str]:
        """The actors that may go first in a run in which the later step of the pair precedes the earlier one."""
        earlier, later = race
        steps = [k for k in range(earlier + 1, later) if not self.before[k] >> earlier & 1] + [later]
        mask = sum(1 << k for k in steps)
        return [self.actors[k] for k in steps if not self.before[k] & mask]

    def calm(self, ended: bool) -> list[list[str]]:
        """The same steps with fewer switches between actors, as the keys of the actors, for each launch.

        Each actor continues while all steps that must precede its next one are done. If a finding has `ended` the run,
        its last step stays the last.
        """
        todo: dict[str, list[int]] = defaultdict(list)
        for step in reversed(range(len(self.actors) - ended)):
            todo[self.actors[step]].append(step)
        logs: list[list[str]] = [[] for _ in range(self._launch + 1)]
        done, now = 0, ""
        while todo:
            able = (a for a, steps in todo.items() if not self.before[steps[-1]] & ~done)
            now = now if now in todo and not self.before[todo[now][-1]] & ~done else min(able, key=rank)
            done |= 1 << todo[now].pop()
            logs[int(now.partition(":")[0])].append(now.partition(":")[2])
            if not todo[now]:
                del todo[now]
        if ended:
            logs[-1].append(self.actors[-1].partition(":")[2])
        return logs


def commute(a: Touches, b: Touches, found: Found) -> bool:
    """Whether two enabled steps, for this state of the barriers, have the same effect in both orders.

    It has to agree with `Order`. If a sleeping step wakes where `Order` sees no conflict, the run is taken as
    redundant, and its races as covered.
    """
    return all(_together(a[name], b[name], *found[name]) for name in a.keys() & b.keys())


def _together(a: Touch, b: Touch, missing: Amount, phase: int) -> bool:
    """Whether two uses of a barrier, with `phase` completed phases, commute."""
    arrivals, size = missing
    amounts = [x for x in (a, b) if not isinstance(x, int)]
    if sum(n for n, _ in amounts) > arrivals:
        return False
    completes = any(n == arrivals and bytes >= size for n, bytes in amounts)
    waits = [x for x in (a, b) if isinstance(x, int)]
    return not completes or (len(waits) == 1 and waits[0] == phase + 1)  # a wait that blocked before, and passes now
