"""One rule of the simulator a test, each with a kernel that keeps it and one that breaks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.sim import litmus
from tlxgen.sim import DEVICE, RUNS, Report, Session, UnsupportedOp, verify


def ids(kernel: Any, **constants: Any) -> set[str]:
    return run(kernel, **constants).ids


def run(kernel: Any, **constants: Any) -> Report:
    def program(session: Session) -> None:
        out = torch.zeros(16, dtype=torch.float32, device=DEVICE)
        kernel[(1,)](*([out] if "out" in kernel.arg_names else []), **constants)

    return verify(program)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (100_000, 3)])
def test_integers_wrap_and_divide_as_in_c(a: int, b: int) -> None:
    def program(session: Session) -> None:
        out = torch.zeros(10, dtype=torch.int32, device=DEVICE)
        litmus.integers[(1,)](out, a, b)
        got.append(out.tolist())

    got: list[list[int]] = []
    assert not verify(program, RUNS[:1]).seen
    quotients = [int(x / b) for x in (a, a + 1)]
    remainders = [x - q * b for x, q in zip((a, a + 1), quotients, strict=True)]
    wrapped = int(torch.tensor(a * 65536 * b, dtype=torch.int64).to(torch.int32))
    wide = int(torch.tensor(a * b, dtype=torch.int64))
    expected = [quotients[0], remainders[0], wrapped, *quotients, *remainders, wide, 0, 1]
    assert got == [expected]


def test_a_fresh_barrier_lets_parity_1_pass() -> None:
    assert not ids(litmus.fresh_wait, parity=1)
    report = run(litmus.fresh_wait, parity=0)
    assert report.ids == {"deadlock"}
    text = str(report.seen[0])
    assert "bars[0]" in text and "parity 0" in text and "0 of 1 arrived" in text and "litmus.py:" in text


def test_an_arrival_too_many() -> None:
    assert ids(litmus.over_arrival) == {"over-arrival"}


def _of_a_source(kernel: Any, **constants: Any) -> Any:
    def run(session: Session) -> None:
        source = torch.ones(16, 16, dtype=torch.bfloat16, device=DEVICE)
        described = TensorDescriptor(source, [16, 16], [16, 1], [16, 16])
        kernel[(1,)](described, torch.zeros(16, device=DEVICE), **constants)

    return run


@pytest.mark.parametrize("schedule", RUNS)
def test_an_arrival_that_may_come_while_the_phase_before_lacks_bytes(schedule: tuple[Any, int]) -> None:
    # Found on every schedule, also where the bytes happen to come in time.
    assert "over-arrival" in verify(_of_a_source(litmus.early_arrival, WAIT=False), (schedule,)).ids
    assert not verify(_of_a_source(litmus.early_arrival, WAIT=True), (schedule,)).seen


@pytest.mark.parametrize("schedule", RUNS)
def test_a_copy_into_shared_memory_is_waited_for_before_the_end(schedule: tuple[Any, int]) -> None:
    assert verify(_of_a_source(litmus.load_and_leave, WAIT=False), (schedule,)).ids == {"pending-at-exit"}
    assert not verify(_of_a_source(litmus.load_and_leave, WAIT=True), (schedule,)).seen


@pytest.mark.parametrize(
    ("apart", "fence", "found"),
    [(True, "", {"missing-fence"}), (True, "before", {"missing-fence"}), (True, "after", set()), (False, "", set())],
)
def test_what_cp_async_has_copied_is_fenced_for_the_products_of_another_task(
    apart: bool, fence: str, found: set[str]
) -> None:
    """Between a task's own copies and products the compiler puts a fence; one before the wait is for earlier copies."""

    def program(session: Session) -> None:
        source = torch.ones(64, 64, dtype=torch.bfloat16, device=DEVICE)
        litmus.copied[(1,)](source, APART=apart, FENCE=fence)

    assert verify(program).ids == found


@pytest.mark.parametrize(("row", "column"), [(-16, 0), (0, -8), (-1, 24)])
def test_a_store_may_not_begin_before_its_tensor_and_a_load_may(row: int, column: int) -> None:
    def program(load: bool) -> Any:
        def run(session: Session) -> None:
            source, target = (torch.ones(32, 32, dtype=torch.bfloat16, device=DEVICE) for _ in range(2))
            described = [TensorDescriptor(t, [32, 32], [32, 1], [16, 16]) for t in (source, target)]
            places = (row, column, 0, 0) if load else (0, 0, row, column)
            litmus.copy_between[(1,)](*described, *places)

        return run

    assert verify(program(False)).ids == {"out-of-bounds"}
    assert not verify(program(True)).seen


def test_a_barrier_orders_a_store_before_a_load_and_nothing_else_does() -> None:
    assert not ids(litmus.hand_over, WAIT=True, FENCE=False)
    # Found on every schedule, also where the store happens to come first.
    for schedule in RUNS:
        out: list[str] = []

        def program(session: Session, out: list[str] = out) -> None:
            litmus.hand_over[(1,)](torch.zeros(1, device=DEVICE), WAIT=False, FENCE=False)

        found = verify(program, (schedule,)).ids
        assert found & {"race-read-write"}, schedule


def test_a_task_has_its_own_copy_of_a_variable() -> None:
    def program(session: Session) -> None:
        out = torch.zeros(1, device=DEVICE)
        litmus.hand_over[(1,)](out, WAIT=True, FENCE=False)
        got.append(float(out[0]))

    got: list[float] = []
    assert not verify(program).seen
    assert got == [7.0] * len(RUNS)  # 3 + 1 in the tile, and the other task's own 3


def test_a_barrier_may_not_run_two_phases_ahead() -> None:
    assert "parity-overrun" in ids(litmus.two_overruns)


@pytest.mark.parametrize(("offset", "found"), [(-1, True), (0, False), (9, False), (10, True)])
def test_a_pointer_ends_with_its_tensor_and_not_with_the_allocation(offset: int, found: bool) -> None:
    def program(session: Session) -> None:
        whole = torch.zeros(8, 8, device=DEVICE)
        litmus.load_one[(1,)](whole[2:4, 3:5], offset)  # 2 rows of 2, 8 apart: 10 elements from the first to the last

    report = verify(program, RUNS[:1])
    assert report.ids == ({"out-of-bounds"} if found else set())


def test_a_wait_cannot_leave_less_than_nothing_pending() -> None:
    assert not ids(litmus.pending, PENDINGS=0)
    report = run(litmus.pending, PENDINGS=-1)
    assert report.ids == {"kernel-error"} and "async_descriptor_store_wait(-1)" in str(report.seen[0])


def test_named_barriers_count_threads() -> None:
    assert not ids(litmus.named, FIRST=256, SECOND=256)
    assert "barrier-misuse" in ids(litmus.named, FIRST=256, SECOND=128)
    assert ids(litmus.named, FIRST=384, SECOND=384) == {"deadlock"}


def test_every_thread_arrives_on_a_warp_barrier() -> None:
    assert not ids(litmus.per_thread, WARPS=2)
    assert ids(litmus.per_thread, WARPS=3) == {"deadlock"}
    assert ids(litmus.per_thread, WARPS=1) == {"over-arrival"}


def test_shared_memory_ends() -> None:
    assert ids(litmus.too_much) == {"out-of-bounds"}


def test_an_operation_that_is_not_modelled_is_named_with_its_line() -> None:
    with pytest.raises(UnsupportedOp, match=r"litmus.py:\d+:1: the simulator does not support tl.cumsum") as caught:
        run(litmus.unsupported)
    assert caught.value.location is not None
    text = Path(litmus.__file__).read_text().splitlines()[caught.value.location.line - 1]
    assert "tl.cumsum" in text


def test_tma_fills_with_zero_and_stores_whole_chunks_of_16_bytes() -> None:
    def program(session: Session) -> None:
        source = torch.ones(20, 24, dtype=torch.bfloat16, device=DEVICE)
        target = torch.full((20, 32), float("nan"), dtype=torch.bfloat16, device=DEVICE)
        of_source = TensorDescriptor(source, [18, 19], [24, 1], [16, 16])
        of_target = TensorDescriptor(target, [18, 19], [32, 1], [16, 16])
        litmus.copy_box[(1,)](of_source, of_target, 8, 8)
        got.append(target.as_subclass(torch.Tensor).float())

    got: list[torch.Tensor] = []
    assert not verify(program, RUNS[:1]).seen
    written = torch.full((20, 32), float("nan"))
    written[8:18, 8:19] = 1.0
    written[8:18, 19:24] = 0.0  # past the tensor's 19 columns: the rest of the chunk that ends at 24
    assert torch.equal(got[0].nan_to_num(-1), written.nan_to_num(-1))


@pytest.mark.parametrize(("column", "ids"), [(0, set()), (8, set()), (4, {"misaligned"}), (-3, {"misaligned"})])
def test_a_tma_load_begins_at_a_multiple_of_16_bytes_of_a_row(column: int, ids: set[str]) -> None:
    """An H200 ends with an illegal instruction at 4 and 100 columns of bf16, and loads at 0, 8 and 200."""

    def program(session: Session) -> None:
        tensors = (torch.ones(16, 32, dtype=torch.bfloat16, device=DEVICE) for _ in range(2))
        described = [TensorDescriptor(t, [16, 32], [32, 1], [16, 16]) for t in tensors]
        litmus.copy_between[(1,)](*described, 0, column, 0, 0)

    assert verify(program, RUNS[:1]).ids == ids


def test_a_product_goes_by_the_name_that_the_wait_gives_it() -> None:
    """Under the name before, it is there after a wait, but nothing keeps its uses behind that."""
    assert not ids(litmus.first_name, WAIT=True, TAKE=True)
    outs = []

    def program(session: Session) -> None:
        out = torch.zeros(1, device=DEVICE)
        litmus.first_name[(1,)](out, WAIT=True, TAKE=False)
        outs.append(out.item())

    found = verify(program, RUNS[:2])
    assert found.ids == {"async-lifetime"} and "gave back" in found.seen[0].finding.message
    assert outs == [64 * 2.0 * 2.0] * 2
    early = run(litmus.first_name, WAIT=False, TAKE=False)
    assert early.ids == {"async-lifetime"} and "comes first" in early.seen[0].finding.message
