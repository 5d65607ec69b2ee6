"""Traces made by hand, whose times are known, and the pace of three problems."""

from __future__ import annotations

import pytest

from tlxgen.arch import Sm90
from tlxgen.errors import ReviewError
from tlxgen.roofline import GPC, Counts, Pace, Sharing, Work
from tlxgen.roofline.latencies import latencies, while_products_run
from tlxgen.roofline.model import ALIKE, AMID_LINE, AMID_SECTOR, APART, ORDER, USUAL, paced
from tlxgen.roofline.replay import replay
from tlxgen.roofline.trace import Op, Thread, Trace

H200 = latencies(Sm90)
LOAD, BARRIER, PRODUCT, SLOWER = H200.of_load(0), H200.mbarrier_group, H200.product, H200.beside["exponential unit"]
CLOCK = Counts(products=Sm90.products)  # of the tensor cores


def exponentials(clocks: float) -> Op:
    return Op("work", Counts(exponentials=clocks * Sm90.exponentials_per_clock))


def product(clocks: float, wgmmas: int = 1) -> Op:
    return Op("product", CLOCK * clocks, number=wgmmas)


def load(barrier: str, clocks: float, size: int = 8) -> Op:
    return Op("load", Counts(l2_bytes=clocks * Sm90.l2_bytes_per_clock_of_all), ((barrier, size),))


def wait(barrier: str, phase: int) -> Op:
    return Op("wait", on=((barrier, 1),), number=phase)


def arrive(barrier: str, size: int = 0) -> Op:
    return Op("arrive", on=((barrier, 1),), size=size)


def trace(*tasks: list[Op], ctas: int = 1, size: int = 1, **counts: int) -> Trace:
    """Each CTA has these tasks."""
    made = Trace("kernel", counts=dict(counts))
    for cta in range(ctas):
        for ops in tasks:
            made.threads[object()] = Thread(cta, cta % size, cta // size, size, 128, list(ops))  # type: ignore[index]
    return made


def clocks(made: Trace, resident: int = 1) -> float:
    return replay(made, Sm90, resident).clocks


def test_work_takes_as_long_as_its_busiest_unit() -> None:
    both = Op("work", Counts(exponentials=1600, alu=640))
    assert clocks(trace([both])) == pytest.approx(100)
    assert replay(trace([both]), Sm90).busy == {"exponential unit": pytest.approx(100), "ALU": pytest.approx(10)}


def test_what_sms_load_alike_comes_sooner_until_they_multiply() -> None:
    def arrives(apart: float, missed: float = 0.0, *before: Op) -> float:
        loading = Op("load", Counts(l2_bytes=9100.0), (("full", 9100),))
        made = trace([*before, arrive("full", 9100), loading, wait("full", 1)], full=1)
        return replay(made, Sm90, sharing=Sharing(apart, missed)).clocks

    assert arrives(1 / GPC) == pytest.approx(LOAD + BARRIER + 9100 / ALIKE)
    assert arrives(1.0) == pytest.approx(LOAD + BARRIER + 9100 / APART)
    assert arrives(1.0, 0.5) - arrives(1.0) == pytest.approx(H200.missed / 2)
    alike, usual, each = (arrives(apart, 0.0, product(100)) for apart in (1 / GPC, 0.5, 1.0))
    of_all = 9100 / Sm90.l2_bytes_per_clock_of_all
    assert usual - alike == pytest.approx(of_all * (1 + ORDER * (0.5 - USUAL)) - 9100 / ALIKE)
    assert each - usual == pytest.approx(of_all * ORDER / 2)


def test_loads_come_sooner_where_some_sms_have_none() -> None:
    """And more of them at a time take hardly longer."""

    def takes(size: int, few: bool) -> float:
        made = trace([Op("load", Counts(l2_bytes=size), (("full", 8),)), arrive("full", 8), wait("full", 1)], full=1)
        return replay(made, Sm90, few=few).clocks - BARRIER

    assert takes(88 << 10, False) == pytest.approx((88 << 10) / Sm90.l2_bytes_per_clock_of_all + 810)
    assert takes(88 << 10, True) == pytest.approx((88 << 10) / Sm90.l2_bytes_per_clock + 565)


def test_rows_that_begin_amid_lines_and_sectors_take_longer() -> None:
    def takes(*amid: float) -> float:
        made = trace([Op("load", Counts(l2_bytes=12800.0), (("full", 1),)), arrive("full", 1), wait("full", 1)], full=1)
        return replay(made, Sm90, sharing=Sharing(1 / GPC, 0.0, *amid)).clocks

    assert takes(1.0, 0.0) - takes() == pytest.approx(100 * AMID_LINE)
    assert takes(0.5, 0.25) - takes() == pytest.approx(100 * (AMID_LINE / 2 + AMID_SECTOR / 4))


def test_what_ctas_tell_each_other_takes_time() -> None:
    for op, takes in (
        (Op("fetch"), H200.word),
        (Op("release"), H200.release),
        (Op("fence", number=1), H200.proxy),
        (Op("fence"), H200.fence),
    ):
        assert clocks(trace([op, op])) == pytest.approx(2 * takes)


def test_sums_are_there_at_the_rate_of_l2() -> None:
    """And stores at that of the SM's share, which is higher."""

    def takes(added: float) -> float:
        return clocks(trace([Op("store", Counts(l2_bytes=1700.0, added=added)), Op("store_wait")]))

    assert takes(1700.0) - takes(0.0) == pytest.approx(1700 / H200.sums - 1700 / Sm90.l2_bytes_per_clock_of_all)


def test_tasks_share_a_unit_and_not_another() -> None:
    assert clocks(trace([exponentials(100)], [exponentials(100)])) == pytest.approx(200)
    other = Op("work", Counts(smem_bytes=100 * Sm90.smem_bytes_per_clock))
    assert clocks(trace([exponentials(100)], [other])) == pytest.approx(100)


def test_threads_are_slower_beside_products() -> None:
    """As long as they run. Beside those that run for 73 % of the time, exponentials take 1.2 times as long."""
    assert 1 / while_products_run(1.2) * 0.73 + 0.27 == pytest.approx(1 / 1.2)
    assert clocks(trace([product(600), exponentials(500), Op("product_wait")])) == pytest.approx(600 + PRODUCT)
    beside = (240 - H200.issue) / SLOWER
    assert clocks(trace([product(240), exponentials(500), Op("product_wait")])) == pytest.approx(240 + 500 - beside)


def test_who_issues_a_wgmma_too_many_waits() -> None:
    """Of sixteen, half must have ended when the last one is issued."""
    issues = [product(1600, wgmmas=16), exponentials(2000)]
    assert clocks(trace(issues)) == pytest.approx(1600 + 2000 - 800 / SLOWER)


def test_who_has_begun_to_issue_goes_on_before_others() -> None:
    """The twelve wgmmas of the first have ended when the others' begin."""
    twelve = [product(1200, wgmmas=12), Op("product_wait")]
    beside = (1200 - PRODUCT) / SLOWER
    assert clocks(trace([*twelve, exponentials(3000)], twelve)) == pytest.approx(2400 + 3000 - beside)


def test_multiply_adds_and_products_slow_each_other_down() -> None:
    """Together they ask for 1.57 times what the register file can do, and exponentials for nothing of it. An addition
    reads two numbers, and not three."""
    adds = Op("work", Counts(fma=1000 * Sm90.fma_per_clock, operands=3000 * Sm90.fma_per_clock))
    alone = 1000 * H200.registers[0] + 1000 * H200.registers[1]
    assert clocks(trace([product(1000), Op("product_wait")], [adds])) == pytest.approx(alone + PRODUCT, rel=0.02)
    fewer = Op("work", Counts(fma=1000 * Sm90.fma_per_clock, operands=2000 * Sm90.fma_per_clock))
    less = alone - 1000 * H200.registers[1] / 3
    assert clocks(trace([product(1000), Op("product_wait")], [fewer])) == pytest.approx(less + PRODUCT, rel=0.02)
    assert clocks(trace([product(1000), Op("product_wait")], [exponentials(500)])) == pytest.approx(1000 + PRODUCT)


def test_a_load_takes_longer_where_more_is_under_way() -> None:
    """In proportion between what was measured, and no longer than the longest that was."""
    (low, least), (high, most), *_ = H200.load
    assert H200.of_load((low + high) / 2) == (least + most) / 2
    assert H200.of_load(1 << 20) == H200.load[-1][1]


def test_a_sum_is_waited_for_as_a_maximum_is() -> None:
    """Both take longer beside products, which end before."""
    both = [Op("reduce"), Op("reduce", number=1)]
    assert clocks(trace(both)) == H200.maximum + H200.sum
    running = [product(1000), *both, Op("product_wait")]
    assert clocks(trace([*running, exponentials(10)])) == pytest.approx(1000 + PRODUCT + 10)
    assert clocks(trace([product(1), *both])) == pytest.approx(H200.issue + H200.maximum + H200.sum)


def test_products_run_one_after_the_other_and_are_waited_for_in_order() -> None:
    first = [product(100), product(50), Op("product_wait", number=1), exponentials(10)]
    assert clocks(trace([*first, Op("product_wait")])) == pytest.approx(150 + PRODUCT)
    one = [product(100), Op("product_wait")]
    assert clocks(trace(one, one)) == pytest.approx(200 + PRODUCT)


def test_a_task_alone_waits_between_its_products_and_another_fills_the_gaps() -> None:
    ten = [product(100), Op("product_wait")] * 10
    assert clocks(trace(ten)) == pytest.approx(10 * (100 + PRODUCT))
    assert clocks(trace(ten, ten)) == pytest.approx(20 * 100 + PRODUCT)


def test_a_load_arrives_after_its_latency_and_loads_follow_each_other() -> None:
    ops = [arrive("full", size=16), load("full", 30), load("full", 30), wait("full", 1)]
    assert clocks(trace(ops, full=1)) == pytest.approx(30 + 30 + LOAD + BARRIER)


def test_a_short_ring_waits_for_its_loads() -> None:
    """Of one slot each round has the whole latency, of enough slots none but the first."""

    def ring(slots: int, rounds: int) -> Trace:
        load_task, consumer, names = [], [], [f"{way}{i}" for way in ("full", "empty") for i in range(slots)]
        for n in range(rounds):
            slot, turn = n % slots, n // slots
            load_task += [wait(f"empty{slot}", turn), arrive(f"full{slot}", size=8), load(f"full{slot}", 1)]
            consumer += [wait(f"full{slot}", turn + 1), product(100), Op("product_wait"), arrive(f"empty{slot}")]
        return trace(load_task, consumer, **dict.fromkeys(names, 1))

    each = [(clocks(ring(slots, 40)) - clocks(ring(slots, 20))) / 20 for slots in (1, 4, 20)]
    whole = 1 + LOAD + 100 + PRODUCT + 2 * BARRIER
    assert each == [pytest.approx(whole), pytest.approx(whole / 4, rel=0.02), pytest.approx(100 + PRODUCT)]


def test_who_takes_turns_waits_for_the_other() -> None:
    def turns(mine: int, other: int) -> list[Op]:
        name = (("turn", mine), 128)
        return [
            Op("join_wait", on=(name,), number=256),
            exponentials(100),
            Op("join", on=((("turn", other), 128),), number=256),
        ]

    first = [Op("join", on=((("turn", 0), 128),), number=256)]  # by the second: the first begins
    assert clocks(trace(turns(0, 1), first + turns(1, 0))) == pytest.approx(2 * (100 + H200.named))


def test_a_store_is_waited_for_until_it_has_read() -> None:
    store = Op("store", Counts(smem_bytes=100 * Sm90.smem_bytes_per_clock))
    assert clocks(trace([store, Op("store_wait")])) == pytest.approx(100 + Sm90.store_latency)
    assert clocks(trace([store, Op("store_wait", number=1)])) == pytest.approx(100 + Sm90.store_latency)


def test_groups_of_copies_are_waited_for_in_order() -> None:
    """Two groups of a copy each, with work of 1,200 clocks before the second is issued."""
    copy, commit = Op("load", Counts(l2_bytes=10 * Sm90.l2_bytes_per_clock_of_all)), Op("load", number=1)
    ops = [copy, commit, exponentials(1200), copy, commit]
    assert clocks(trace([*ops, Op("load_wait", number=1), exponentials(5)])) == pytest.approx(1210 + LOAD)
    assert clocks(trace([*ops, Op("load_wait"), exponentials(5)])) == pytest.approx(1210 + LOAD + 5)
    assert clocks(trace([commit, Op("load_wait"), exponentials(5)])) == pytest.approx(5)


def test_what_a_cta_sends_arrives_on_the_others_barrier() -> None:
    """The other waits for its bytes, and for the latency."""
    made = trace([], full=1)
    send = Op("send", Counts(smem_bytes=10 * Sm90.smem_bytes_per_clock), (("full", 8),))
    tasks = [[send], [arrive("full", size=8), wait("full", 1)]]
    made.threads = {object(): Thread(rank, rank, 0, 2, 128, ops) for rank, ops in enumerate(tasks)}  # type: ignore[misc]
    assert clocks(made) == pytest.approx(10 + Sm90.send_latency + BARRIER)


def test_ctas_run_one_after_the_other_or_as_many_as_fit() -> None:
    ops = [Op("reduce"), exponentials(10)]
    alone = Sm90.reduction_latency + 10
    assert clocks(trace(ops, ctas=4)) == pytest.approx(4 * alone)
    assert clocks(trace(ops, ctas=4), resident=2) == pytest.approx(2 * (alone + 10))


def test_ctas_of_a_cluster_are_on_an_sm_each() -> None:
    assert clocks(trace([exponentials(100)], ctas=2, size=2)) == pytest.approx(100)


def test_a_wait_that_nothing_ends_is_an_error() -> None:
    with pytest.raises(ReviewError, match="waits for something"):
        clocks(trace([wait("full", 1)], full=1))


def test_a_pace_gives_the_clocks_that_it_was_made_of() -> None:
    works = [Work(3, 9, 3), Work(6, 36, 6), Work(6, 18, 3)]
    made = paced([Pace(100, 20, 3).of(w.items, w.rounds) for w in works], works)
    assert made is not None
    assert (made.start, made.item, made.round) == pytest.approx((100, 20, 3))
    assert paced([1, 2, 3], [Work(n, 2 * n, 2) for n in (1, 2, 3)]) is None
