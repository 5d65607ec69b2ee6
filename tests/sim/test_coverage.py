"""What runs exercised: lines outside of baked-out branches, rounds, items, steals, rings, predicates, ranks, tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

from tlxgen.coverage import Coverage, Gap, Waiver, points, summary_of, waived
from tlxgen.sim import DEVICE, Limits, Session, verify


@triton.jit
def helper(x):
    return x + 1


@triton.jit
def unused(x):
    return x - 1


@triton.jit
def branches(out, n, FLAG: tl.constexpr, bias=None):
    if FLAG:
        tl.store(out, helper(1))
    else:
        tl.store(out, unused(1))
    if bias is not None:
        tl.store(out + 1, 1)
    if FLAG and n > 5:
        tl.store(out + 2, 1)
    if not FLAG and n > 5:
        tl.store(out + 3, 1)
    if n > 3:
        tl.store(out + 4, 1)


@triton.jit
def ring(out, rounds, SLOTS: tl.constexpr):
    tiles = tlx.local_alloc((16, 16), tl.float32, SLOTS)
    full = tlx.alloc_barriers(SLOTS, arrive_count=1)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=1)
    once = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(once[0], 0)
            for i in range(rounds):
                tlx.barrier_wait(empty[i % SLOTS], (i // SLOTS & 1) ^ 1)
                tlx.local_store(tiles[i % SLOTS], tl.zeros((16, 16), tl.float32))
                tlx.barrier_arrive(full[i % SLOTS], pred=i >= 0)
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(once[0])
            for i in range(rounds):
                tlx.barrier_wait(full[i % SLOTS], i // SLOTS & 1)
                for _ in tl.static_range(2):
                    tl.store(out, tl.max(tl.max(tlx.local_load(tiles[i % SLOTS]), 0), 0))
                tlx.barrier_arrive(empty[i % SLOTS])


@triton.jit
def inner(out, base, PARTS, WIDE, n):
    for part in tl.static_range(PARTS):
        if WIDE:
            tl.store(out + base + part, 1.0)
    if n > 3:
        tl.store(out + base, 2.0)


@triton.jit
def outer(out, n, PARTS: tl.constexpr, WIDE: tl.constexpr):
    inner(out, 4, PARTS, WIDE=WIDE, n=n)
    inner(out, 8, PARTS - 1, WIDE, n)


@triton.jit
def in_shares(out, items):
    programs = tl.num_programs(0)
    mine = items // programs
    if tl.program_id(0) < items % programs:
        mine += 1
    item = tl.program_id(0)
    for _ in range(mine):
        for part in range(items // tl.num_programs(1)):
            tl.store(out + item, 1.0 + part)
        item += programs


@triton.jit
def persistent(out, items, NUM_SMS: tl.constexpr):
    for item in range(tl.program_id(0), items, NUM_SMS):
        at = item * 4 + tl.arange(0, 4)
        tl.store(out + at, 1.0, mask=at < 10)


@triton.jit
def dynamic(out):
    clc = tlx.clc_create_context(1)
    item = tl.program_id(0)
    turn = 0
    while item >= 0:
        tlx.clc_producer(clc, turn ^ 1)
        tl.store(out + item, 1.0)
        item = tlx.clc_consumer(clc, turn)
        turn ^= 1


@triton.jit
def ranked(out):
    if tlx.cluster_cta_rank() == 0:
        tl.store(out, 1.0)
    tlx.cluster_barrier()


def covered(launch: Callable[[torch.Tensor], Any], sms: int = 4, arch: str = "sm90") -> Coverage:
    def program(session: Session) -> None:
        launch(torch.zeros(64, device=DEVICE))

    report = verify(program, (("random", 0), ("lazy", 0)), sms=sms, arch=arch, limits=Limits(steps=50_000))
    assert not report.errors, str(report)
    return report.coverage


def missing(coverage: Coverage) -> set[tuple[str, int, str]]:
    """Kind, line from the kernel's first, and subject."""
    first = min(k.place[1] for k in coverage.kernels.values())
    return {(g.kind, g.line - first, g.extra or g.subject) for g in points(coverage) if g.missing}


def test_lines_that_constants_leave_out_are_not_missing() -> None:
    seen = missing(covered(lambda out: branches[(1,)](out, 2, FLAG=True)))
    assert {(kind, line) for kind, line, _ in seen} == {("line", 9), ("line", 13)}


def test_a_helper_that_only_a_baked_out_branch_calls_is_not_missing() -> None:
    coverage = covered(lambda out: branches[(1,)](out, 2, FLAG=True))
    assert {f.outline.name for f in coverage.live()} == {"branches", "helper"}


def test_runs_of_one_target_are_merged_over_its_configs() -> None:
    def launch(out: torch.Tensor) -> None:
        for flag in (True, False):
            for n in (2, 7):
                branches[(1,)](out, n, FLAG=flag, bias=out if flag else None)

    coverage = covered(launch)
    assert not missing(coverage)
    assert {f.outline.name for f in coverage.live()} == {"branches", "helper", "unused"}


def test_a_condition_that_is_never_false_is_missing() -> None:
    kinds = {(kind, line) for kind, line, _ in missing(covered(lambda out: branches[(1,)](out, 7, FLAG=True)))}
    assert ("branch", 12) in kinds


@pytest.mark.parametrize(
    ("rounds", "gaps"),
    [
        ((2,), {"ring", "predicate", "one-round", "no-round"}),
        ((5,), {"predicate", "one-round", "no-round"}),
        ((0, 1, 5), {"predicate"}),
        ((0, 1), {"ring", "predicate", "second-round"}),
    ],
)
def test_rounds_and_wraps(rounds: tuple[int, ...], gaps: set[str]) -> None:
    coverage = covered(lambda out: [ring[(1,)](out, n, SLOTS=2) for n in rounds])
    assert {kind for kind, *_ in missing(coverage)} == gaps
    rings = {u.name: u.slots for u in coverage.uses.values()}
    most = max(rounds)
    assert rings["full"] == rings["tiles"] == [(most + 1) // 2, most // 2]
    assert not any(g.subject == "once" for g in points(coverage))  # it is not in a loop: it cannot wrap


def test_words_of_what_is_missing() -> None:
    coverage = covered(lambda out: ring[(1,)](out, 2, SLOTS=2))
    line = summary_of(list(points(coverage))).line
    assert line.startswith("not seen: rings full, empty, tiles never wrapped; predicate of line ")
    assert "never false" in line
    assert "never ran 0 times" in line


ITEMS = pytest.mark.parametrize(
    ("items", "sms", "expected"), [(4, 4, [0, 2 * 4, 0]), (9, 4, [0, 0, 8]), (3, 4, [2, 6, 0]), (3, 1, [0, 0, 2])]
)


def test_what_all_calls_of_a_helper_fix_is_fixed_in_it() -> None:
    """Though its parameters do not say that they are constants; what varies is looked for as ever."""
    coverage = covered(lambda out: outer[(1,)](out, 2, PARTS=3, WIDE=False))
    function = next(f for f in coverage.live() if f.outline.name == "inner")
    assert [loop.fixed for loop in function.outline.loops] == [True]
    gaps = {(g.kind, g.line - function.outline.line) for g in points(coverage) if g.missing}
    assert gaps == {("line", 6)}


@ITEMS
def test_items_that_are_counted_before(items: int, sms: int, expected: list[int]) -> None:
    """A share of them all; what is divided by another extent of the grid is none."""
    coverage = covered(lambda out: in_shares[(sms,)](out, items))
    (kernel,) = coverage.kernels.values()
    assert kernel.items == expected
    assert [loop.items for f in coverage.live() for loop in f.outline.loops] == [True, False]


@ITEMS
def test_items_of_a_cta(items: int, sms: int, expected: list[int]) -> None:
    coverage = covered(lambda out: persistent[(sms,)](out, items, NUM_SMS=sms))
    (kernel,) = coverage.kernels.values()
    assert kernel.items == expected


def test_tiles_inside_across_and_outside() -> None:
    coverage = covered(lambda out: persistent[(4,)](out, 4, NUM_SMS=4))
    assert list(coverage.tiles.values()) == [[4, 2, 2]]


@pytest.mark.parametrize(("grid", "sms", "steals"), [(6, 2, [True, True]), (2, 2, [True, False])])
def test_steals(grid: int, sms: int, steals: list[bool]) -> None:
    coverage = covered(lambda out: dynamic[(grid,)](out), sms, "sm100")
    (kernel,) = coverage.kernels.values()
    assert [bool(n) for n in kernel.steals] == steals
    assert coverage.asked  # how many clusters run at once is how many SMs there are
    assert ("steal" in {kind for kind, *_ in missing(coverage)}) is not steals[1]


def test_ranks_of_a_cluster() -> None:
    coverage = covered(lambda out: ranked[(4,)](out, ctas_per_cga=(2, 1, 1)))
    (kernel,) = coverage.kernels.values()
    assert kernel.ranks == {2: [4, 4]}
    assert not missing(coverage)


def test_a_waiver_is_for_what_is_missing() -> None:
    coverage = covered(lambda out: ring[(1,)](out, 2, SLOTS=2))
    waivers = [Waiver(("no-round", "line"), "for i in ", "rounds are at least 1"), Waiver(("ring",), "full", "why")]
    found: list[Gap] = waived(points(coverage), waivers)
    assert {g.kind for g in found if g.reason} == {"no-round", "ring"}
    summary = summary_of(found)
    assert summary.excepted == 3
    assert "0 times" not in summary.line and "rings empty, tiles" in summary.line
