"""What the search decides, on times that are looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.tune.conftest import Project
from tlxgen.tune.classes import classes
from tlxgen.tune.results import Result
from tlxgen.tune.search import BATCH, Effort, Outcome, Search, expected
from tlxgen.tune.space import Candidate, Shape
from tlxgen.tune.tuning import compile_order

SHAPE = (4096, 4096, 4096)
SMALL = Effort(ranked=12, drawn=4, rungs=((6, 20), (2, 60)))
SEED = 1  # by which candidates of both structures are drawn


class Bench:
    """Times by rank: the candidate at place i takes 100 + cost[i] microseconds; those in `faulty` fail."""

    def __init__(self, ranked: Sequence[Candidate], fastest: int, faulty: Mapping[int, int] | None = None) -> None:
        self.place = {c.key: i for i, c in enumerate(ranked)}
        self.fastest, self.faulty, self.calls = fastest, faulty or {}, list[tuple[list[int], int]]()

    def __call__(self, some: Sequence[Candidate], shape: Shape, turns: int, prove: bool) -> dict[str, Result]:
        self.calls.append(([self.place[c.key] for c in some], turns))
        return {c.key: self.result(self.place[c.key], turns) for c in some}

    def result(self, place: int, turns: int) -> Result:
        if self.faulty.get(place, 1000) <= turns:
            return Result(fault="hang", text="")
        return Result(us=100.0 + abs(place - self.fastest), baseline="torch", baseline_us=100.0)


def search(project: Project, bench: Bench, effort: Effort = SMALL, seed: int = 0, **options: object) -> Outcome:
    ranked = project.space.ranked([SHAPE], 132)
    return Search(ranked, [SHAPE], bench, effort=effort, seed=seed, **options).run()  # type: ignore[arg-type]


def ranked(project: Project) -> list[Candidate]:
    return project.space.ranked([SHAPE], 132)


def test_the_fastest_of_the_best_ranked_wins_and_the_next_is_runner_up(project: Project) -> None:
    line = ranked(project)
    outcome = search(project, Bench(line, fastest=7))
    assert outcome.order[0] is not None and outcome.order[0].key == line[7].key
    assert outcome.order[1].key in {line[6].key, line[8].key}


def test_each_rung_measures_fewer_for_longer(project: Project) -> None:
    bench = Bench(ranked(project), fastest=7)
    search(project, bench)
    sizes = {turns: sum(len(some) for some, t in bench.calls if t == turns) for turns in (6, 20, 60)}
    assert sizes == {6: 16, 20: 6, 60: 2}
    assert all(len(some) <= 8 for some, _ in bench.calls)


def test_drawn_candidates_find_what_the_estimate_misjudges_and_depend_on_the_seed(project: Project) -> None:
    drawn = []
    for seed in (0, 0, 1):
        bench = Bench(ranked(project), fastest=0)
        search(project, bench, seed=seed)
        drawn.append([p for some, t in bench.calls if t == 6 for p in some if p >= 12])
    assert drawn[0] == drawn[1] != drawn[2]
    lucky = drawn[0][0]
    bench = Bench(ranked(project), fastest=lucky)
    assert search(project, bench).order[0].key == ranked(project)[lucky].key


def test_the_others_are_measured_as_if_who_has_a_fault_had_never_been_there(project: Project) -> None:
    """Whoever it is: among the best, the best of a structure that is drawn, or drawn at random."""
    line = sorted(ranked(project), key=lambda c: c.structure)  # one structure behind the other
    effort = Effort(ranked=4, drawn=4, rungs=())

    def measured(some: Sequence[Candidate], faulty: set[str]) -> set[str]:
        bench = Bench(line, fastest=0, faulty={i: 1 for i, c in enumerate(line) if c.key in faulty})
        return set(Search(some, [SHAPE], bench, effort=effort, seed=SEED).run().results)

    usual = expected(line, effort, seed=SEED)
    assert len({c.structure for c in usual[4:]}) > 1, "nobody is drawn for its structure"
    for faulty in ({c.key} for c in usual):
        assert measured(line, faulty) == measured([c for c in line if c.key not in faulty], set())
    both = {usual[0].key, usual[4].key}
    assert measured(line, both) == measured([c for c in line if c.key not in both], set())


def test_of_a_structure_that_the_estimate_puts_last_the_best_is_measured_all_the_same(project: Project) -> None:
    kinds = {c.structure for c in ranked(project)}
    assert len(kinds) == 2
    line = sorted(ranked(project), key=lambda c: c.structure)  # one structure behind the other
    behind = next(i for i, c in enumerate(line) if c.structure != line[0].structure)
    bench = Bench(line, fastest=behind)
    effort = Effort(ranked=12, drawn=1, rungs=((6, 20), (2, 60)))
    outcome = Search(line, [SHAPE], bench, effort=effort, seed=0).run()
    assert outcome.order[0].key == line[behind].key and len(outcome.results) == 13


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_expected_is_what_is_measured_when_nothing_fails(project: Project, seed: int) -> None:
    line = ranked(project)
    bench = Bench(line, fastest=0)
    search(project, bench, seed=seed)
    measured = [p for some, turns in bench.calls if turns == SMALL.turns for p in some]
    assert [bench.place[c.key] for c in expected(line, SMALL, seed)] == measured


def test_classes_side_by_side_are_compiled_batch_by_batch(project: Project) -> None:
    line = ranked(project)
    first, second, third = (16, 1, 1), (32, 1, 1), (64, 1, 1)
    lines = {first: line[: BATCH + 2], second: line[:BATCH], third: line[:3]}
    order = list(compile_order(lines, at_once=2))
    assert [shape for shape, _ in order] == [first] * BATCH + [second] * BATCH + [first] * 2 + [third] * 3
    assert all([c for s, c in order if s == shape] == list(lines[shape]) for shape in lines)


def test_an_exhaustive_search_measures_all(project: Project) -> None:
    line = ranked(project)
    outcome = search(project, Bench(line, fastest=len(line) - 1), Effort.exhaustive(len(line)))
    assert outcome.order[0].key == line[-1].key
    assert len(outcome.results) == len(line)


@pytest.mark.parametrize("turns", [6, 20, 60])
def test_a_fault_in_any_rung_leaves_the_search_as_if_that_candidate_had_never_been(
    project: Project, turns: int
) -> None:
    line = ranked(project)
    sick = Bench(line, fastest=7, faulty={3: turns, 7: turns})
    with_fault = search(project, sick)
    without = [c for i, c in enumerate(line) if i not in (3, 7)]
    places = {c.key: i for i, c in enumerate(line)}
    healthy = Bench(line, fastest=7)
    healthy.place = places
    clean = Search(without, [SHAPE], healthy, effort=SMALL, seed=0).run()
    assert {c.key for c, _, _ in with_fault.faults.values()} <= {line[3].key, line[7].key}
    assert line[7].key in with_fault.faults
    assert [c.key for c in with_fault.order[:2]] == [c.key for c in clean.order[:2]]
    assert with_fault.score(with_fault.order[0]) == clean.score(clean.order[0])


def test_a_budget_ends_it_with_the_best_so_far(project: Project) -> None:
    asked = iter([True, False])
    outcome = search(project, Bench(ranked(project), fastest=2), in_time=lambda: next(asked, False))
    assert outcome.stopped
    assert len(outcome.results) == 8
    assert outcome.order[0].key == ranked(project)[2].key


def test_no_time_at_all_is_an_outcome_without_a_winner(project: Project) -> None:
    outcome = search(project, Bench(ranked(project), fastest=2), in_time=lambda: False)
    assert (outcome.stopped, outcome.order) == (True, [])


def test_a_class_is_won_over_all_of_its_shapes(project: Project) -> None:
    """Twice as fast on one shape and three times as slow on the other is no win."""
    line = ranked(project)
    times = {line[0].key: (50.0, 300.0), line[1].key: (90.0, 100.0)}

    def measure(some: Sequence[Candidate], shape: Shape, turns: int, prove: bool) -> dict[str, Result]:
        i = 0 if shape == SHAPE else 1
        return {c.key: Result(us=times.get(c.key, (200, 200))[i], baseline_us=100.0) for c in some}

    outcome = Search(line, [SHAPE, (3000, 3000, 3000)], measure, effort=SMALL, seed=0).run()
    assert outcome.order[0].key == line[1].key


def test_each_shape_is_searched_once_and_by_itself() -> None:
    found = classes([(3000, 10, 10), (4096, 16, 9), (10, 10, 10), (3000, 10, 10)])
    assert found == {shape: (shape,) for shape in ((10, 10, 10), (3000, 10, 10), (4096, 16, 9))}
