"""The search for one shape: successive halving over the best-ranked candidates, and some drawn from the others.

Its decisions depend on the candidates, their results and the seed, not on time, the number of workers or the order of
results. Only a budget ends it early. The next candidate in line replaces one with a fault, so that all others are
measured as if the faulty one did not exist.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from tlxgen import digest

from .results import Result
from .space import Candidate, Shape

BATCH = 8  # candidates that are timed together in the first rung

# (candidates, shape, turns, prove) -> results by key; with `prove`, numerics are checked before the timing
Measure = Callable[[Sequence[Candidate], Shape, int, bool], Mapping[str, Result]]


@dataclass(frozen=True)
class Effort:
    """How much is measured: the `ranked` best by estimate and `drawn` of the others, for `turns` replays each.

    Each rung then measures a number of the best again, for a number of turns.
    """

    ranked: int = 24
    drawn: int = 8
    turns: int = 6
    rungs: tuple[tuple[int, int], ...] = ((8, 20), (3, 60))

    @classmethod
    def exhaustive(cls, count: int) -> Effort:
        """The effort that measures every candidate."""
        return cls(ranked=count, drawn=0)


@dataclass
class Outcome:
    """The result of a search: the candidates without a fault, best first, with their latest results, and the faults."""

    order: list[Candidate] = field(default_factory=list)
    results: dict[str, dict[Shape, Result]] = field(default_factory=dict)
    faults: dict[str, tuple[Candidate, Shape, Result]] = field(default_factory=dict)
    stopped: bool = False  # the budget ended it before its last rung

    def score(self, candidate: Candidate) -> float:
        """The time relative to the baseline, as a geometric mean over the shapes. Less is better."""
        found = self.results[candidate.key].values()
        return math.exp(sum(math.log(r.score) for r in found) / len(found))


def drawn(ranked: Sequence[Candidate], measured: Set[str], seed: int) -> Iterator[Candidate]:
    """Yields candidates that rank low: first the best of each structure that is not among those `measured`, since the
    errors of an estimate are mostly between structures, then random candidates."""
    seen, given = set(measured), set[str]()
    for candidate in ranked:
        if candidate.structure not in seen:
            seen.add(candidate.structure)
            given.add(candidate.key)
            yield candidate
    by_digest = sorted(ranked, key=lambda c: digest.of_text(f"{seed} {c.key}"))
    yield from (c for c in by_digest if c.key not in given)


def expected(ranked: Sequence[Candidate], effort: Effort, seed: int) -> list[Candidate]:
    """The candidates that a search measures, in order, if none has a fault. They are compiled ahead."""
    best = list(ranked[: effort.ranked])
    known = {c.key for c in best}
    others = (c for c in drawn(ranked, {c.structure for c in best}, seed) if c.key not in known)
    return best + list(itertools.islice(others, effort.drawn))


class Search:
    """Finds the fastest of `ranked` candidates on `shapes`.

    `in_time` is called before each batch and ends the search if it returns false; `on_step` is called after each batch.
    """

    def __init__(
        self,
        ranked: Sequence[Candidate],
        shapes: Sequence[Shape],
        measure: Measure,
        *,
        effort: Effort,
        seed: int,
        in_time: Callable[[], bool] = lambda: True,
        on_step: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:
        self.ranked, self.shapes, self.measure, self.effort, self.seed = ranked, shapes, measure, effort, seed
        self.in_time, self.on_step = in_time, on_step
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Runs all rungs, or as many as the budget allows."""
        effort = self.effort
        self._rung(iter(self.ranked), effort.ranked, effort.turns, prove=True)
        best = list(self.outcome.order)
        while (missing := self._drawn_beside(best)) and not self.outcome.stopped:
            self._rung(missing, len(missing), effort.turns, prove=True)
        for count, turns in effort.rungs:
            finalists = self._rung(list(self.outcome.order), count, turns, prove=False)
            rest = [c for c in self.outcome.order if c not in finalists]
            self.outcome.order = self._by_score(finalists) + rest
        return self.outcome

    def _drawn_beside(self, best: Sequence[Candidate]) -> list[Candidate]:
        """The drawn candidates that have not been measured yet. If one has a fault, they are drawn again without it, so
        that the next of its structure takes its place."""
        sound = [c for c in self.ranked if c.key not in self.outcome.faults]
        others = drawn(sound, {c.structure for c in best}, self.seed)
        known = {c.key for c in best}
        wanted = itertools.islice((c for c in others if c.key not in known), self.effort.drawn)
        return [c for c in wanted if c.key not in self.outcome.results]

    def _rung(self, line: Iterable[Candidate], count: int, turns: int, prove: bool) -> list[Candidate]:
        """Measures candidates of the line until `count` of them have no fault, and returns those."""
        waiting: Iterator[Candidate] = (c for c in line if c.key not in self.outcome.faults)
        healthy: list[Candidate] = []
        while len(healthy) < count:
            size = min(BATCH, count - len(healthy))
            batch = list(itertools.islice(waiting, size))
            if not batch:
                break
            if self.outcome.stopped or not self.in_time():
                self.outcome.stopped = True
                break
            self._batch(batch, turns, prove)
            healthy += [c for c in batch if c.key not in self.outcome.faults]
            self.on_step(self.outcome)
        return healthy

    def _batch(self, batch: Sequence[Candidate], turns: int, prove: bool) -> None:
        """Measures a batch on every shape. A candidate with a fault on one shape is excluded."""
        found: dict[str, dict[Shape, Result]] = {}
        faults = self.outcome.faults
        for shape in self.shapes:
            for key, result in self.measure([c for c in batch if c.key not in faults], shape, turns, prove).items():
                if result.fault:
                    faults[key] = (next(c for c in batch if c.key == key), shape, result)
                else:
                    found.setdefault(key, {})[shape] = result
        for candidate in batch:
            self.outcome.results.pop(candidate.key, None)
        self.outcome.results |= {key: results for key, results in found.items() if key not in faults}
        known = {c.key: c for c in [*self.outcome.order, *batch] if c.key in self.outcome.results}
        self.outcome.order = self._by_score(known.values())

    def _by_score(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        return sorted(candidates, key=lambda c: (self.outcome.score(c), c.key))
