"""Who computes which tile, ring slots and the choice of config: the modules' own arithmetic, executed on ints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tlxgen.families.gemm.model import Gpu
from tlxgen.families.gemm.spec import GemmSpec

from .matrix import HELPED, TAIL, spec_of
from .source import Source
from .toy import Problem, Tile, Toy, cdiv

GENERATED = Path(__file__).resolve().parents[3] / "generated"
shapes = st.tuples(
    st.integers(1, 900), st.integers(1, 900), st.integers(2, 24), st.integers(1, 12), st.integers(1, 4)
)  # M, N, SMs, GROUP_M, SPLIT_K


@pytest.fixture(scope="module")
def toys(sources: list[Source]) -> list[Toy]:
    """A module for each way in which work is shared out."""
    return list({toy.arithmetic: toy for toy in map(Toy, sources)}.values())


@cache
def first_of(folder: str, pattern: str) -> Toy:
    """The first such module that is generated."""
    return Toy(Source.read(sorted((GENERATED / folder).glob(pattern))[0]))


def for_every_problem(toys: list[Toy], check: Callable[[Problem], None]) -> None:
    for toy in toys:
        problems = shapes.map(partial(Problem.of, toy))
        try:
            settings(max_examples=25, deadline=None, report_multiple_bugs=False)(given(problems)(check))()
        except AssertionError as error:
            raise AssertionError(f"{toy.source.name}: {error}") from error


def test_work_is_shared_out_in_every_way_that_the_axes_have(toys: list[Toy]) -> None:
    forms = ((toy, toy.cluster > 1, toy.parts > 1) for toy in toys)
    ways = {(*form, "num_programs" in toy.source.text, "SPLIT_K" in toy.configs[0].kwargs) for toy, *form in forms}
    assert len(ways) == 10  # one CTA or a cluster, persistent or grid, K whole or cut; and a cluster that cuts K
    assert any("replica" in toy.arithmetic for toy in toys)  # pingpong
    assert {"replica" in toy.arithmetic for toy in toys if toy.tail} == {False, True}


def test_every_tile_of_c_has_exactly_one_owner_in_every_role(toys: list[Toy]) -> None:
    def check(problem: Problem) -> None:
        owners: dict[str, Counter[Tile]] = {}
        for program in range(problem.programs):
            for role, walks in problem.walks(program).items():
                cooperating = walks[0] == walks[-1]  # replicas that share a tile's rows; others own tiles of their own
                items = walks[0] if cooperating else sum(walks, [])
                owners.setdefault(role, Counter()).update(problem.tile(item, program) for item in items)
        for count in owners.values():
            assert problem.wanted <= set(count)
            assert set(count.values()) == {1}

    for_every_problem(toys, check)


def test_tiles_go_down_a_group_of_rows_before_the_next_column(toys: list[Toy]) -> None:
    whole = [toy for toy in toys if not toy.tail and toy.cluster == 1 and "SPLIT_K" not in toy.configs[0].kwargs]
    assert len(whole) >= 3  # others cut and shift the order; who owns what there is looked at above

    def check(problem: Problem) -> None:
        rows, columns = cdiv(problem.m, problem.config["BLOCK_M"]), cdiv(problem.n, problem.config["BLOCK_N"])
        groups = [range(r, min(r + problem.group_m, rows)) for r in range(0, rows, problem.group_m)]
        order = [(row, column) for group in groups for column in range(columns) for row in group]
        assert [problem.tile(item, 0)[:2] for item in range(rows * columns)] == order

    for_every_problem(whole, check)


@given(st.integers(1, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(-2, 2))
@example(1, 2**31 - 1, 0)
@example(2, 2**31 - 1, 0)
@example(2**31 - 1, 1, -1)
def test_a_quotient_by_multiplication_is_exact(divisor: int, dividend: int, offset: int) -> None:
    names = first_of("hopper_gemm", "hopper*.py").names
    near = min(max(dividend // divisor * divisor + offset, 0), 2**31 - 1)  # where rounding down matters
    for x in (dividend, near):
        assert names["quotient"](x, divisor, names["reciprocal"](divisor)) == x // divisor


def test_only_a_cluster_reaches_past_the_edge_of_c_and_never_as_a_whole(toys: list[Toy]) -> None:
    def check(problem: Problem) -> None:
        rows, columns = cdiv(problem.m, problem.config["BLOCK_M"]), cdiv(problem.n, problem.config["BLOCK_N"])
        for program in range(problem.programs):
            for item in next(iter(problem.walks(program).values()))[0]:
                row, column, _ = problem.tile(item, program)
                assert max(row - rows + 1, column - columns + 1) < problem.toy.cluster
                row, column, _ = problem.tile(item, program - program % problem.toy.cluster)
                assert row < rows and column < columns

    for_every_problem(toys, check)


def test_every_role_of_a_cta_walks_the_same_items_in_the_same_order(toys: list[Toy]) -> None:
    def check(problem: Problem) -> None:
        for program in range(problem.programs):
            ((whole,), *others) = problem.walks(program).values()
            for walks in others:
                in_turns = [whole[replica :: len(walks)] for replica in range(len(walks))]
                assert walks in (in_turns, [whole] * len(walks))

    for_every_problem(toys, check)


def test_the_ctas_of_a_cluster_take_neighbouring_tiles_of_the_same_item(toys: list[Toy]) -> None:
    clusters = [toy for toy in toys if toy.cluster > 1 and toy.parts == 1]
    assert {toy.cluster for toy in clusters} == {2, 4}

    def check(problem: Problem) -> None:
        ctas = problem.toy.cluster
        assert problem.programs % ctas == 0
        for program in range(0, problem.programs, ctas):
            walks = problem.walks(program)
            assert [problem.walks(program + rank) for rank in range(1, ctas)] == [walks] * (ctas - 1)
            item = next(iter(walks.values()))[0][0]
            row, column, part = problem.tile(item, program)
            tiles = [problem.tile(item, program + rank) for rank in range(ctas)]
            high = len({row for row, _, _ in tiles})  # ranks go down the cluster's rows before its next column
            assert ctas % high == 0
            assert tiles == [(row + rank % high, column + rank // high, part) for rank in range(ctas)]

    for_every_problem(clusters, check)


def test_the_ctas_of_a_cluster_along_k_take_the_parts_of_one_tile(toys: list[Toy]) -> None:
    clusters = [toy for toy in toys if toy.parts > 1]
    assert {toy.parts for toy in clusters} == {2, 4}

    def check(problem: Problem) -> None:
        parts = problem.toy.parts
        assert problem.programs % parts == 0
        for first in range(0, problem.programs, parts):
            walks = [problem.walks(first + rank) for rank in range(parts)]
            assert walks == walks[:1] * parts
            item = next(iter(walks[0].values()))[0][0]
            row, column, _ = problem.tile(item, first)
            assert [problem.tile(item, first + r) for r in range(parts)] == [(row, column, r) for r in range(parts)]

    for_every_problem(clusters, check)


def test_what_is_left_over_is_every_tile_but_as_many_for_each_cta_as_there_are(toys: list[Toy]) -> None:
    cut = [toy for toy in toys if toy.tail and not toy.helped]
    assert cut

    def check(problem: Problem) -> None:
        rows, columns = cdiv(problem.m, problem.config["BLOCK_M"]), cdiv(problem.n, problem.config["BLOCK_N"])
        parts: dict[tuple[int, int], list[int]] = {}
        for item in range(problem.num_whole + problem.left * problem.tail_parts):
            for rank in range(problem.toy.cluster):
                row, column, part = problem.tile(item, rank)
                parts.setdefault((row, column), []).append(part)
        down, across = problem.toy.along
        assert set(parts) == {
            (r, c) for r in range(cdiv(rows, down) * down) for c in range(cdiv(columns, across) * across)
        }
        assert all(found in ([0], list(range(problem.tail_parts))) for found in parts.values())
        assert problem.left < problem.at_once and (problem.left == 0 or problem.num_whole % problem.at_once == 0)
        workers, shares = problem.host["num_workers"], problem.host["shares"]
        if workers is None:  # the last CTA of a tile adds it up: there are no others
            workers, shares = min(problem.num_whole + problem.left * problem.tail_parts, problem.at_once), 0
            workers *= problem.toy.cluster
        assert workers <= max(problem.sms, problem.toy.cluster) and problem.programs == workers + problem.left * shares
        for program in range(problem.programs):  # who comes after the workers has no item: it adds up
            items = [walk for walks in problem.walks(program).values() for walk in walks]
            assert any(items) == (program < workers)

    for_every_problem(cut, check)


def test_who_has_no_tile_in_the_last_round_helps_those_that_started_after_it(toys: list[Toy]) -> None:
    helped = [toy for toy in toys if toy.helped]
    assert {"replica" in toy.arithmetic for toy in helped} == {False, True}

    def check(problem: Problem) -> None:
        trips, told, k_tiles, lent = problem.toy.names["trips_of"], problem.told, 100, 7
        of: dict[tuple[int, int], list[tuple[int, int, int]]] = {}  # a tile's parts: CTA, which, K tiles
        for program in range(problem.programs):
            items = next(iter(problem.walks(program).values()))[0]
            rounds = problem.num_whole // problem.sms + (problem.left > 0)
            assert len(items) <= max(rounds, 1) + max(told["helper_items"] - 1, 0) + (told["helper_items"] == 0)
            for item in items:
                row, column, part = problem.tile(item, program)
                k = trips(item, problem.num_whole, told["helpers"], k_tiles, lent)
                of.setdefault((row, column), []).append((program, part, k))
        for parts in of.values():
            assert sum(k for *_, k in parts) == k_tiles
            if len(parts) > 1:  # a CTA waits for one that was there before it, and so never for one that cannot start
                (helper, *_), (owner, *_) = sorted(parts, key=lambda part: -part[1])
                assert helper < told["helpers"] <= owner

    for_every_problem(helped, check)


@given(st.integers(1, 5000), st.integers(1, 512), st.integers(64, 4096), st.integers(2, 148))
def test_helpers_have_no_more_of_k_than_those_whom_they_help(items: int, k_tiles: int, slot: int, sms: int) -> None:
    last_round = first_of("hopper_gemm_helped", "*pingpong*.py").names["last_round"]
    num_whole, helpers, lent, pieces = last_round(items, k_tiles, slot, sms)
    assert 0 <= lent < k_tiles and num_whole == (items // sms * sms if lent else items)
    if lent:
        left = items - num_whole
        assert 0 < helpers <= sms - left and cdiv(left, helpers) == pieces and lent * pieces <= k_tiles - lent


def test_the_simulator_is_given_problems_with_helpers_of_one_and_of_several() -> None:
    pytest.importorskip("torch")
    from tlxgen.families.gemm.problem import simulated_shapes
    from tlxgen.sim import SMS

    spec = GemmSpec.model_validate(spec_of("some", HELPED))
    for path in sorted((GENERATED / "hopper_gemm_helped").glob("hopper*.py")):
        toy = Toy(Source.read(path))
        config, slot = toy.configs[0].kwargs, toy.names["slot_clocks"](toy.configs[0])
        found = set()
        for m, n, k in simulated_shapes(spec, config, SMS):
            items = cdiv(m, config["BLOCK_M"]) * cdiv(n, config["BLOCK_N"])
            num_whole, helpers, _, pieces = toy.names["last_round"](items, cdiv(k, config["BLOCK_K"]), slot, SMS)
            found.add((num_whole > 0, helpers, pieces) if helpers else None)
        assert found == {None, (True, 2, 1), (True, 1, 1), (False, 1, 3)}, path.name


@given(st.integers(0, 131), st.integers(1, 512), st.integers(64, 4096))
def test_a_tail_is_cut_into_no_more_parts_than_there_are_ctas(left: int, k_tiles: int, slot: int) -> None:
    part = first_of("hopper_gemm_tail", "*pingpong*.py").names["part_of"](left, k_tiles, slot, 132)
    parts = cdiv(k_tiles, part)
    assert 1 <= part <= k_tiles and parts <= 32  # a byte counts them, of two replicas each
    if parts > 1:
        assert left * parts <= 132 and (k_tiles - part) * slot > 19000


def test_the_simulator_is_given_problems_whose_tail_is_cut() -> None:
    pytest.importorskip("torch")
    from tlxgen.families.gemm.problem import simulated_shapes
    from tlxgen.sim import SMS

    spec = GemmSpec.model_validate(spec_of("some", TAIL))
    for path in sorted((GENERATED / "hopper_gemm_tail").glob("hopper*.py")):
        toy = Toy(Source.read(path))
        config = toy.configs[0].kwargs
        slot, parts = toy.names["slot_clocks"](toy.configs[0]), set()
        for m, n, k in simulated_shapes(spec, config, SMS):
            left = cdiv(m, config["BLOCK_M"]) * cdiv(n, config["BLOCK_N"]) % SMS
            k_tiles = cdiv(k, config["BLOCK_K"])
            parts.add(cdiv(k_tiles, toy.names["part_of"](left, k_tiles, slot, SMS)))
        assert len(parts) >= 3 and 1 in parts, path.name


def test_a_ring_goes_round_its_slots_and_flips_its_phase_every_round(toys: list[Toy]) -> None:
    @given(st.integers(0, 10**6), st.integers(1, 64))
    def check(count: int, slots: int) -> None:
        for toy in toys:
            slot, phase = toy.ring_slot(count, slots)
            assert (slot, phase) == (count % slots, count // slots % 2)

    check()


@pytest.mark.parametrize("name", sorted(p.name for p in GENERATED.glob("*_gemm*") if "grouped" not in p.name))
def test_pick_config_finds_an_entry_of_the_table_for_every_shape(name: str) -> None:
    toys = [Toy(Source.read(path)) for path in sorted((GENERATED / name).glob("[!_]*.py"))]
    extents = st.integers(1, 20000)

    @settings(max_examples=50, deadline=None)
    @given(extents, extents, extents, st.integers(2, 200))
    def check(m: int, n: int, k: int, sms: int) -> None:
        for toy in toys:
            assert any(toy.pick_config(m, n, k, Gpu("", sms)) is config for config in toy.configs)

    check()
