"""Clusters and global memory: each rule with a kernel that keeps it and one that breaks it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.sim import litmus_cluster as kernels
from tests.sim.support import litmus
from tlxgen.sim import DEVICE, RUNS, Session, verify

TWO: dict[str, Any] = {"grid": (2,), "ctas_per_cga": (2, 1, 1)}


def test_two_ctas_meet_before_their_mma() -> None:
    found, outs = litmus(kernels.pair, **TWO, MEET=True, WAIT=True, NO_ENDING=False)
    assert not found
    assert all(out[:2] == [128.0, 256.0] for out in outs)  # 64 products of (rank + 1) and at most 2
    for run in RUNS:
        found = litmus(kernels.pair, **TWO, runs=(run,), MEET=False, WAIT=True, NO_ENDING=False)[0]
        assert found & {"race-read-write", "async-lifetime"}, run  # as CTA 1 fills its operands before the MMA or after


def test_each_of_two_ctas_copies_its_own_scales() -> None:
    found, outs = litmus(kernels.scaled_pair, **TWO, MEET=True, WAIT=True)
    assert not found
    assert all(out[:2] == [128.0, 4 * 128.0] for out in outs)  # both scales are 2 ** rank
    assert litmus(kernels.scaled_pair, **TWO, MEET=False, WAIT=True)[0] & {"async-lifetime", "race-read-write"}
    assert litmus(kernels.scaled_pair, **TWO, MEET=True, WAIT=False)[0] & {"async-lifetime", "race-read-write"}


@pytest.mark.parametrize("rows", [128, 256])
def test_scales_of_two_ctas_may_lie_in_the_rows_of_one(rows: int) -> None:
    """Blocks of 128 columns of B by 4 of K follow each other along K first, in whatever shape they are declared."""
    found, outs = litmus(kernels.regrouped_pair, **TWO, ROWS=rows)
    assert not found
    assert all(out[:4] == [256.0, 128 * (2 + 4.0), 256.0, 128 * (2 + 4.0)] for out in outs)


def test_the_compilers_cluster_barrier_at_the_end_keeps_a_cta_for_its_peer() -> None:
    """CTA 1 does not wait for the MMA that reads its operands and writes its accumulator."""
    assert not litmus(kernels.pair, **TWO, MEET=True, WAIT=False, NO_ENDING=False)[0]
    assert litmus(kernels.pair, **TWO, MEET=True, WAIT=False, NO_ENDING=True)[0] == {"remote-to-exited-cta"}
    assert not litmus(kernels.pair, **TWO, MEET=True, WAIT=True, NO_ENDING=True)[0]


def test_all_tasks_of_a_cluster_come_to_its_barrier() -> None:
    """Each comes for its own warps: those of the first CTA alone, or the first task of each, are not all."""
    found, outs = litmus(kernels.meeting_of_tasks, **TWO, ALL=True, LAST=True)
    assert not found
    assert all(out[:2] == [1.0, 2.0] for out in outs)
    assert litmus(kernels.meeting_of_tasks, **TWO, ALL=True, LAST=False)[0] == {"remote-to-exited-cta"}


def test_a_task_that_has_ended_holds_up_no_barrier_and_one_that_has_not_does() -> None:
    assert not litmus(kernels.meeting_of_tasks, **TWO, ALL=False, LAST=True)[0]

    def program(session: Session) -> None:
        kernels.meeting_of_tasks[(2,)](torch.zeros(16, device=DEVICE), ctas_per_cga=(2, 1, 1), ALL=False, LAST=False)

    found = verify(program, RUNS[:1], arch="sm100")
    (deadlock,) = (s.finding for s in found.seen if s.finding.id == "deadlock")
    assert "the cluster barrier, to which CTA 0 task of line" in deadlock.message


@pytest.mark.parametrize("tasks", [False, True])
def test_programs_meet_outside_of_their_tasks(tasks: bool) -> None:
    found, outs = litmus(kernels.meeting_outside, **TWO, TASKS=tasks)
    assert not found
    assert all(out[:2] == [2.0, 1.0] for out in outs)


def test_launch_control_hands_out_every_tile() -> None:
    found, outs = litmus(kernels.tiles, grid=(16,), CONSUMERS=2, MULTI=False)
    assert not found
    assert all(out == [float(i) for i in range(16)] for out in outs)
    assert litmus(kernels.tiles, grid=(16,), CONSUMERS=3, MULTI=False)[0] == {"deadlock"}
    assert "parity-overrun" in litmus(kernels.tiles, grid=(16,), CONSUMERS=1, MULTI=False)[0]


@pytest.mark.parametrize("cluster", [2, 4])
def test_launch_control_of_clusters(cluster: int) -> None:
    launch: dict[str, Any] = {"grid": (16,), "ctas_per_cga": (cluster, 1, 1)}
    found, outs = litmus(kernels.tiles, **launch, CONSUMERS=2 * cluster, MULTI=True)
    assert not found
    assert all(out == [float(i) for i in range(16)] for out in outs)
    assert litmus(kernels.tiles, **launch, CONSUMERS=2 * cluster + 1, MULTI=True)[0] == {"deadlock"}
    assert "parity-overrun" in litmus(kernels.tiles, **launch, CONSUMERS=2 * cluster - 1, MULTI=True)[0]
    # One CTA asks for all, whatever it is told: without `multi_ctas` it does not wait for the others.
    assert litmus(kernels.tiles, **launch, CONSUMERS=2, MULTI=False)[0]


def test_launch_control_of_clusters_along_y_asks_twice() -> None:
    """Every CTA whose x is 0 asks, and each answer goes to both."""
    launch: dict[str, Any] = {"grid": (8, 2), "ctas_per_cga": (1, 2, 1)}
    assert "tx-mismatch" in litmus(kernels.tiles, **launch, CONSUMERS=4, MULTI=True)[0]


@pytest.mark.parametrize("cluster", [(2, 1, 1), (1, 2, 1), (1, 1, 2)])
def test_a_remote_store_is_seen_where_a_barrier_says_so(cluster: tuple[int, int, int]) -> None:
    launch: dict[str, Any] = {"grid": cluster, "ctas_per_cga": cluster}
    found, outs = litmus(kernels.exchange, **launch, BARRIER=True, BYTES=128, RANK=1)
    assert not found
    assert all(out[:2] == [2.0, 1.0] for out in outs)
    for run in RUNS:
        assert "race-read-write" in litmus(kernels.exchange, **launch, runs=(run,), BARRIER=False, BYTES=128, RANK=1)[0]
    assert "tx-mismatch" in litmus(kernels.exchange, **launch, BARRIER=True, BYTES=64, RANK=1)[0]
    assert "deadlock" in litmus(kernels.exchange, **launch, BARRIER=True, BYTES=256, RANK=1)[0]
    assert litmus(kernels.exchange, **launch, BARRIER=True, BYTES=128, RANK=2)[0] == {"out-of-bounds"}


def test_a_relaxed_arrival_says_that_fenced_barriers_are_there_and_nothing_else() -> None:
    given: dict[str, Any] = {"FENCE": True, "ARRIVE": True, "WAIT": True, "LATE": False}
    found, outs = litmus(kernels.exchange_in_halves, **TWO, **given)
    assert not found
    assert all(out[:2] == [2.0, 1.0] for out in outs)
    for run in RUNS:
        for without in ("FENCE", "WAIT"):
            found, _ = litmus(kernels.exchange_in_halves, **TWO, runs=(run,), **{**given, without: False})
            assert found == {"remote-before-start"}, (run, without)
        found, _ = litmus(kernels.exchange_in_halves, **TWO, runs=(run,), **{**given, "LATE": True})
        assert found == {"global-race"}, run


def test_a_wait_for_the_cluster_comes_after_an_arrival() -> None:
    found, _ = litmus(kernels.exchange_in_halves, **TWO, FENCE=True, ARRIVE=False, WAIT=True, LATE=False)
    assert found == {"kernel-error"}


def test_the_compiler_lets_no_cluster_meet_for_remote_stores() -> None:
    """It does for remote arrivals and multicast loads."""
    for run in RUNS:
        found, _ = litmus(kernels.exchange, **TWO, runs=(run,), BARRIER=True, BYTES=128, RANK=1, MEET=False)
        assert found == {"remote-before-start"}


def test_a_peer_must_have_started_and_not_exited() -> None:
    for run in RUNS:
        assert not litmus(kernels.into_a_peer, **TWO, runs=(run,), BEFORE=True, AFTER=True)[0]
        assert "remote-before-start" in litmus(kernels.into_a_peer, **TWO, runs=(run,), BEFORE=False, AFTER=True)[0]
        assert "remote-to-exited-cta" in litmus(kernels.into_a_peer, **TWO, runs=(run,), BEFORE=True, AFTER=False)[0]


def test_a_cta_that_uses_no_barrier_holds_up_no_other() -> None:
    assert not litmus(kernels.lone_barrier, **TWO)[0]


def test_the_memory_of_a_peer_is_there_before_it_allocates_it() -> None:
    found, outs = litmus(kernels.late_allocation, **TWO)
    assert not found and all(out[0] == 5.0 for out in outs)


@pytest.mark.parametrize("all_add", [True, False])
def test_reductions_mix_with_each_other_and_not_with_stores(all_add: bool) -> None:
    totals: list[float] = []

    def program(session: Session) -> None:
        target = torch.zeros(16, 16, device=DEVICE)
        kernels.sums[(4,)](TensorDescriptor(target, [16, 16], [16, 1], [16, 16]), ALL=all_add)
        totals.append(float(target.max()))

    report = verify(program, arch="sm100")
    assert report.ids == (set() if all_add else {"global-write-conflict"})
    assert not all_add or totals == [4.0] * len(RUNS)


@pytest.mark.parametrize("first", [True, False])
def test_what_one_cta_writes_another_reads_in_a_later_launch_only(first: bool) -> None:
    assert not litmus(kernels.neighbours, grid=(4,), OWN=True, FIRST=first)[0]
    for run in RUNS:
        assert "global-race" in litmus(kernels.neighbours, grid=(4,), runs=(run,), OWN=False, FIRST=first)[0], run


def _descriptors(slots: int, stages: int, schedule: Any) -> tuple[set[str], list[float]]:
    got: list[float] = []

    def program(session: Session) -> None:
        matrices = [torch.full((16, 16), float(i), device=DEVICE) for i in range(8)]
        out = torch.zeros(8, device=DEVICE)
        addresses = torch.tensor([m.data_ptr() for m in matrices], device=DEVICE)
        kernels.descriptors[(1,)](addresses, out, COUNT=8, SLOTS=slots, STAGES=stages)
        got.extend(out.tolist())

    return verify(program, (schedule,), arch="sm100").ids, got


@pytest.mark.parametrize("schedule", RUNS)
def test_a_ring_of_descriptors_has_one_slot_more_than_the_ring_of_loads(schedule: Any) -> None:
    # The descriptor is made before its load waits for a free stage, when as many loads may be under way as there are
    # stages.
    found, got = _descriptors(3, 2, schedule)
    assert not found and got == [float(i) for i in range(8)]
    assert "async-lifetime" in _descriptors(2, 2, schedule)[0]


@pytest.mark.parametrize("schedule", RUNS)
def test_a_call_makes_its_descriptor_in_memory_of_its_own(schedule: Any) -> None:
    def ids(unroll: bool) -> set[str]:
        def program(session: Session) -> None:
            source, out = torch.arange(512.0, device=DEVICE), torch.zeros(2, device=DEVICE)
            kernels.scratch[(1,)](source, out, UNROLL=unroll)
            if unroll and out.tolist() != [255.0, 511.0]:
                session.findings.add("wrong-numbers", str(out.tolist()))

        return verify(program, (schedule,), arch="sm100").ids

    assert not ids(True)
    assert "async-lifetime" in ids(False)


@pytest.mark.parametrize(("offset", "id"), [(0, None), (60, None), (64, "out-of-bounds"), (2, "out-of-bounds")])
def test_an_address_lies_in_a_tensor(offset: int, id: str | None) -> None:
    def program(session: Session) -> None:
        matrix, out = torch.arange(16.0, device=DEVICE), torch.full((1,), -1.0, device=DEVICE)
        kernels.far[(1,)](torch.tensor([matrix.data_ptr()], device=DEVICE), out, OFFSET=offset)
        assert float(out) == offset / 4

    assert verify(program, RUNS[:1], arch="sm100").ids == ({id} if id else set())


@pytest.mark.parametrize(
    ("size", "wait", "ids"),
    [(256, True, set()), (128, True, {"tx-mismatch"}), (512, True, {"deadlock"}), (256, False, {"race-read-write"})],
)
def test_a_bulk_copy_counts_its_bytes(size: int, wait: bool, ids: set[str]) -> None:
    def program(session: Session) -> None:
        source, out = torch.arange(64.0, device=DEVICE), torch.zeros(1, device=DEVICE)
        kernels.bulk[(1,)](source, out, BYTES=size, WAIT=wait)
        assert not wait or float(out) == 63.0

    for run in RUNS:
        assert verify(program, (run,), arch="sm100").ids >= ids
    assert ids or not verify(program, arch="sm100").ids
