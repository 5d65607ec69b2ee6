"""Who fills and who drains a ring decides its barriers' kinds, counts and bytes."""

from __future__ import annotations

from typing import Literal

import pytest

from tlxgen.arch import DTYPES
from tlxgen.plan import Drain, Fill, Tile
from tlxgen.plan.barriers import derive

from .toy import ROLES, ring, size


def test_the_full_barrier_of_tma_loads_counts_one_arrival_and_the_bytes_of_all_tiles() -> None:
    b = Tile("b", (size("K", 64), size("N", 256)), DTYPES["bf16"])
    full = derive(ring(tiles=(*ring().tiles, b)), ROLES).full_barrier
    assert full and full.bytes
    assert (full.name, full.kind, full.count, full.slots.value) == ("ab_full", "tx", 1, 4)
    assert full.bytes.value == 128 * 64 * 2 + 64 * 256 * 2
    assert full.bytes.text == "M * K * 2 + K * N * 2"


def test_a_tile_cut_in_groups_still_brings_all_of_its_bytes() -> None:
    cut = Tile("a", (size("M", 128), size("K", 64)), DTYPES["e4m3"], groups=2)
    full = derive(ring(tiles=(cut,)), ROLES).full_barrier
    assert full and full.bytes and full.bytes.value == 128 * 64


def test_what_the_ctas_of_a_cluster_store_into_each_other_counts_bytes_and_is_released_to_all() -> None:
    """Each of 4 CTAs fills a quarter of a tile in each of them, itself included."""
    part = Tile("part", (size("M", 64), size("N", 128)), DTYPES["fp32"], groups=4, axis=1)
    sums = ring(tiles=(part,), fill=Fill("mma", "remote", ctas=4), drains=(Drain("mma", ctas=4),))
    full, empty = derive(sums, ROLES).full_barrier, derive(sums, ROLES).empty_barrier
    assert full and full.bytes and (full.kind, full.count, full.bytes.value) == ("tx", 1, 64 * 128 * 4)
    assert empty and (empty.kind, empty.count) == ("leader", 4)
    once = derive(ring(tiles=(part,), fill=Fill("mma", "remote", ctas=4), drains=()), ROLES)
    assert once.full_barrier and once.empty_barrier is None


@pytest.mark.parametrize("kind", ["leader", "warp"])
def test_a_full_barrier_of_tma_loads_is_never_a_warp_barrier(kind: str) -> None:
    full = derive(ring(empty=kind), ROLES).full_barrier
    assert full and full.kind == "tx"


@pytest.mark.parametrize(("replicas", "ctas", "arrivals"), [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (2, 2, 3)])
def test_an_empty_barrier_counts_replicas_times_ctas_times_arrivals(replicas: int, ctas: int, arrivals: int) -> None:
    empty = derive(ring(drains=(Drain("mma", replicas, ctas, arrivals),)), ROLES).empty_barrier
    assert empty and empty.kind == "leader" and empty.bytes is None
    assert empty.count == empty.arrivals == replicas * ctas * arrivals


def test_a_drain_of_some_ctas_says_as_many() -> None:
    assert Drain("mma", ctas=4).released_to == (1, 2, 3)
    assert Drain("mma", ctas=3, others=(2, 4)).released_to == (2, 4)
    assert ring(drains=(Drain("load"), Drain("mma", ctas=3, others=(2, 4)))).released_to == (2, 4)
    with pytest.raises(ValueError, match="of 4 CTAs releases to 2 others"):
        Drain("mma", ctas=4, others=(2, 4))


def test_the_arrivals_of_all_drains_add_up() -> None:
    empty = derive(ring(drains=(Drain("mma", replicas=2), Drain("load", ctas=2))), ROLES).empty_barrier
    assert empty and empty.count == 4


def test_a_warp_barrier_counts_every_thread_of_every_arrival() -> None:
    empty = derive(ring(empty="warp", drains=(Drain("mma", replicas=2, ctas=2),)), ROLES).empty_barrier
    assert empty
    assert (empty.kind, empty.arrivals, empty.warps, empty.count) == ("warp", 4, 4, 4 * 4 * 32)


def test_drains_of_different_warp_counts_share_a_barrier_that_counts_tasks() -> None:
    drains = (Drain("mma"), Drain("store"))
    with pytest.raises(ValueError, match=r"ring ab.*\[1, 4\]"):
        derive(ring(empty="warp", drains=drains), ROLES)
    empty = derive(ring(drains=drains), ROLES).empty_barrier
    assert empty and (empty.kind, empty.count) == ("leader", 2)


@pytest.mark.parametrize(("kind", "full_count", "empty_count"), [("leader", 1, 1), ("warp", 128, 32)])
def test_a_ring_filled_by_stores_is_published_by_the_task_that_stores(
    kind: str, full_count: int, empty_count: int
) -> None:
    staged = derive(ring(name="c", fill=Fill("mma", "store"), drains=(Drain("store"),), empty=kind, banks=2), ROLES)
    full, empty = staged.full_barrier, staged.empty_barrier
    assert full and empty
    assert full.bytes is None  # nobody expects bytes: the stores are the task's own
    assert (full.kind, full.count, empty.kind, empty.count) == (kind, full_count, kind, empty_count)
    assert full.slots.value == empty.slots.value == 8  # a bank for each replica


@pytest.mark.parametrize(("fill", "kind"), [("tma", "tx"), ("commit", "commit")])
def test_a_ring_that_loads_or_products_fill_once_has_a_full_barrier_alone(
    fill: Literal["tma", "commit"], kind: str
) -> None:
    once = derive(ring(fill=Fill("load", fill), drains=()), ROLES)
    assert once.full_barrier and once.full_barrier.kind == kind and once.empty_barrier is None


def test_a_ring_that_nobody_drains_has_no_barriers() -> None:
    alone = derive(ring(fill=Fill("mma", "store"), drains=()), ROLES)
    assert (alone.full_barrier, alone.empty_barrier) == (None, None)


@pytest.mark.parametrize(("ctas", "remote"), [(1, False), (2, True)])
def test_a_ring_is_released_remotely_when_a_drain_spans_ctas(ctas: int, remote: bool) -> None:
    assert ring(drains=(Drain("mma", ctas=ctas),)).released_remotely is remote
