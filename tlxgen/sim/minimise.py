"""Finds a short run to a finding with little work, as a list of decisions.

It tries the default order, the delay of one task from its start or after some steps, and other schedules that may reach
the finding in fewer steps. The steps of the shortest run are reordered to have few switches between tasks. Then parts
of its list are removed while the run still reaches the finding (delta debugging: Zeller, Hildebrandt, "Simplifying and
isolating failure-inducing input", 2002). Work is counted in steps of the scheduler, so the result does not depend on
the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .actors import rank
from .findings import Key
from .launch import Director, Scheduled
from .machine import Limits
from .order import Order
from .repeatable import Case, Recorded
from .script import Block, Script, Scripted
from .watch import Watch

STEPS = 100_000  # limit of the work: a few seconds
_HELD_AFTER = (0, 1, 2, 4, 8, 16)  # steps of a task after which it is held back
PER_RUN = 20  # overhead of a run, in steps
_ELSEWHERE = [Scheduled("lazy", 0), Scheduled("eager", 0)] + [Scheduled("starved", seed) for seed in range(3)]


@dataclass(frozen=True)
class Shortest:
    """A short run with `steps` to the finding. It is `minimal` if no decision can be removed."""

    script: Script
    steps: int
    minimal: bool


class _Work:
    """Runs the case until a finding, and counts the steps."""

    def __init__(self, case: Case, key: Key, seed: int, limit: int) -> None:
        self.case, self.key, self.seed, self.left = case, key, seed, limit

    def reaches(self, director: Director, watch: Watch | None = None) -> tuple[int, Script] | None:
        """The steps to the finding and the decisions that led to it; None if the run does not reach it."""
        recorded = Recorded(director, (lambda: watch) if watch else None)
        session = self.case.run(recorded, self.seed, self.key)
        self.left -= session.steps + PER_RUN
        if all(finding.key != self.key for finding in session.findings.all):
            return None
        return session.noticed[self.key], Script.of(self.seed, recorded.logs)


def shortest(case: Case, key: Key, director: Director, seed: int, limit: int = STEPS) -> Shortest:
    """The shortest run that is found from `director`'s run. Raises LookupError if that does not reach the finding."""
    work, plain = _Work(case, key, seed, limit), Script(seed)
    best = work.reaches(director)
    if best is None:
        raise LookupError(f"the run does not come to {key[0]}")
    if found := work.reaches(Scripted(plain)):
        return Shortest(plain, found[0], True)
    shorter = (found for other in _ELSEWHERE if work.left > 0 and (found := work.reaches(other)))
    steps, script = min([best, *shorter], key=lambda found: found[0])
    work.case = replace(case, limits=Limits(2 * steps + 100))  # longer runs are not useful
    flat = _flat(_hold(script, work) or _calm(script, work))
    flat = _unbounded(_reduce(flat, work)[0], work)
    flat, minimal = _reduce(flat, work)
    script = _script(flat, seed)
    found = work.reaches(Scripted(script))
    assert found is not None
    return Shortest(script, found[0], minimal)


def _hold(script: Script, work: _Work) -> Script | None:
    """The shortest of the runs that hold back one task of the last launch, from the earliest step that is enough."""
    if not script.launches:
        return None
    limit = 2 * work.left // 3
    earlier: list[tuple[Block, ...]] = [()] * (len(script.launches) - 1)
    for steps in _HELD_AFTER:
        found = []
        for key in sorted({b.key for b in script.launches[-1] if "e" not in b.key}, key=rank):
            begin = (Block(key.partition(".")[0]), Block(key, steps)) if steps else ()  # the program makes the task
            held = replace(script, launches=(*earlier, (*begin, Block(key, held=True))))
            if work.left > limit and (reached := work.reaches(Scripted(held))):
                found.append((reached[0], held))
        if found:
            return min(found, key=lambda one: one[0])[1]
    return None


def _calm(script: Script, work: _Work) -> Script:
    """The same trace with fewer switches between actors, if that run also reaches the finding."""
    if work.left <= 0:
        return script
    order = Order()
    if not work.reaches(Scripted(script), order):
        return script
    calm = Script.of(work.seed, order.calm(ended=work.key[0] != "deadlock"))
    return calm if work.reaches(Scripted(calm)) else script


Flat = list[tuple[int, Block]]  # the number of the launch, and a decision


def _flat(script: Script) -> Flat:
    return [(i, block) for i, blocks in enumerate(script.launches) for block in blocks]


def _script(flat: Flat, seed: int) -> Script:
    launches = max((i for i, _ in flat), default=-1) + 1
    return Script(seed, tuple(tuple(b for i, b in flat if i == launch) for launch in range(launches)))


def _reduce(flat: Flat, work: _Work) -> tuple[Flat, bool]:
    """Removes parts of the list, large ones first, from the end, which the finding is least likely to need.

    The flag says that no single decision can be removed any more.
    """
    size = max(1, len(flat) // 2)
    while flat:
        end, shrunk = len(flat), False
        while end > 0:
            if work.left <= 0:
                return flat, False
            shorter = flat[: max(0, end - size)] + flat[end:]
            if work.reaches(Scripted(_script(shorter, work.seed))):
                flat, shrunk = shorter, True
            end = max(0, end - size)
        if size == 1 and not shrunk:
            break
        size = max(1, size // 2)
    return flat, True


def _unbounded(flat: Flat, work: _Work) -> Flat:
    """Removes counts that do not matter: `0.1x7` becomes `0.1`."""
    for at, (launch, block) in enumerate(flat):
        longer = [*flat[:at], (launch, replace(block, times=0)), *flat[at + 1 :]]
        if block.times and work.left > 0 and work.reaches(Scripted(_script(longer, work.seed))):
            flat = longer
    return flat
