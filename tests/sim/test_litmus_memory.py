"""Aliased memory, tensor memory and tcgen05: each rule with a kernel that keeps it and one that breaks it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.sim import litmus_memory as kernels
from tests.sim.support import litmus
from tlxgen.sim import RUNS, Findings
from tlxgen.sim.alias import AliasSpec, Group, GroupType
from tlxgen.sim.findings import KernelFault, Place
from tlxgen.sim.memory import Buffer, Kind, Storage, columns_used

CORRECT = {"WAIT": True, "WARP_BARRIER": False, "KEEP": True, "OWN_THREAD": True, "MMAS": 2}


def test_buffers_that_alias_are_the_same_bytes() -> None:
    found, outs = litmus(kernels.aliased, ORDER=True)
    assert not found
    assert all(out[:2] == [1.0, 2.0] for out in outs)
    assert {"race-write-write", "race-read-write"} & litmus(kernels.aliased, ORDER=False)[0]


def test_a_distinct_group_is_apart_and_a_shared_one_is_not() -> None:
    found, outs = litmus(kernels.grouped, SHARED=False)
    assert not found
    assert all(out[:2] == [1.0, 2.0] for out in outs)
    assert "race-write-write" in litmus(kernels.grouped, SHARED=True)[0]


def _buffer(spec: AliasSpec, shape: tuple[int, ...], dtype: torch.dtype, num: int) -> Buffer:
    buffer = Buffer(f"b{len(spec.buffers)}", spec.storage, Findings(), shape, dtype, num)
    spec.storage.alias()
    spec.buffers.append(buffer)
    return buffer


def _begins(buffer: Buffer) -> list[int]:
    return [buffer.begin(i) for i in range(buffer.num)]


def _spec(kind: Kind) -> AliasSpec:
    return AliasSpec(kind, Storage(kind, None, 0), lambda: None)


def test_a_plan_in_tensor_memory_is_placed_as_computed_by_hand() -> None:
    # As in attention: scores of 128 fp32 columns, shared with probabilities of 128 fp16 (64 columns) behind two
    # vectors of one column, each aligned to its own width.
    spec = _spec("tmem")
    scores = _buffer(spec, (128, 128), torch.float32, 2)
    probabilities = _buffer(spec, (128, 128), torch.float16, 2)
    row_max, row_sum = (_buffer(spec, (128, 1), torch.float32, 2) for _ in range(2))
    inner = Group((probabilities, row_max, row_sum), GroupType.distinct, 1)
    spec.set_buffer_overlap(Group((scores, inner), GroupType.shared, 1))
    assert [_begins(b) for b in (scores, probabilities, row_max, row_sum)] == [
        [0, 128], [0, 128], [64, 192], [65, 193],
    ]  # fmt: skip
    assert spec.storage.extent == 256


def test_a_plan_in_shared_memory_is_placed_as_computed_by_hand() -> None:
    spec = _spec("smem")
    whole = _buffer(spec, (64, 64), torch.float32, 2)  # 16384 bytes
    first, second = (_buffer(spec, (64, 64), torch.float16, 2) for _ in range(2))  # 8192 bytes each
    apart = Group((first, second), GroupType.distinct, 1)
    spec.set_buffer_overlap(Group((whole, apart), GroupType.shared, 1))
    assert [_begins(b) for b in (whole, first, second)] == [[0, 16384], [0, 16384], [8192, 24576]]
    assert spec.storage.extent == 32768


def test_slots_lie_at_multiples_of_their_size() -> None:
    spec = _spec("smem")
    sizes = [_buffer(spec, (64, 64), dtype, 2) for dtype in (torch.float32, torch.float16)]
    with pytest.raises(KernelFault, match="multiples of its 16384"):
        spec.set_buffer_overlap(Group(tuple(sizes), GroupType.distinct, 1))


def test_slots_of_a_group_size_lie_beside_each_other_in_a_slot_of_the_other() -> None:
    spec = _spec("smem")
    whole = _buffer(spec, (64, 64), torch.float16, 2)  # 8192 bytes
    halves = _buffer(spec, (32, 64), torch.float16, 4)  # 4096 bytes
    spec.set_buffer_overlap(Group((whole, Group((halves,), GroupType.shared, 2)), GroupType.shared, 1))
    assert _begins(whole) == [0, 8192]
    assert _begins(halves) == [0, 4096, 8192, 12288]


def test_the_index_of_a_padded_group_is_the_compilers() -> None:
    spec = _spec("smem")
    whole = _buffer(spec, (64, 64), torch.float32, 2)  # 16384 bytes
    halves = _buffer(spec, (32, 64), torch.float16, 4)  # 4096 bytes, 8192 from one to the next
    spec.set_buffer_overlap(Group((whole, Group((halves,), GroupType.shared, 2)), GroupType.shared, 1))
    assert _begins(halves) == [4096 * (2 * i + i % 2) for i in range(4)]  # StorageAliasAllocation.cpp


def test_a_plan_names_only_buffers_of_its_storage() -> None:
    spec, other = _spec("smem"), _spec("smem")
    mine, theirs = (_buffer(s, (64, 64), torch.float16, 1) for s in (spec, other))
    with pytest.raises(KernelFault, match="reuse="):
        spec.set_buffer_overlap(Group((mine, theirs), GroupType.shared, 1))
    assert mine.at(0, Place("", 0)).shape == (64, 64)


def test_mmas_of_a_thread_are_in_order_and_a_commit_ends_them() -> None:
    found, outs = litmus(kernels.tensor_core, **CORRECT)
    assert not found
    assert all(out[0] == 128.0 for out in outs)  # twice 64 ones


@pytest.mark.parametrize(
    ("change", "ids"),
    [
        ({"WAIT": False}, {"race-read-write"}),
        ({"WARP_BARRIER": True}, {"barrier-misuse"}),
        ({"KEEP": False}, {"async-lifetime", "race-read-write"}),  # as the store comes after the MMA or before it
        ({"OWN_THREAD": False}, {"race-write-write"}),
    ],
)
def test_a_fault_about_tcgen05_shows_on_every_schedule(change: dict[str, Any], ids: set[str]) -> None:
    for run in RUNS:
        assert ids & litmus(kernels.tensor_core, runs=(run,), **{**CORRECT, **change})[0], run


def test_tensor_memory_has_512_columns() -> None:
    found, outs = litmus(kernels.columns, NUM=2)
    assert not found and all(out[0] == 3.0 for out in outs)
    assert litmus(kernels.columns, NUM=3)[0] == {"out-of-bounds"}


def test_two_buffers_of_64_rows_lie_in_the_same_columns() -> None:
    """256 columns of each half of the lanes fit between 2 x 128 of both, 320 do not; of 128 rows, 2 x 128 do."""
    found, outs = litmus(kernels.columns_of_half, HALF=4, WHOLE=2, ROWS=64)
    assert not found and all(out[:4] == [1.0, 2.0, 3.0, 4.0] for out in outs)
    assert litmus(kernels.columns_of_half, HALF=5, WHOLE=2, ROWS=64)[0] == {"out-of-bounds"}
    assert not litmus(kernels.columns_of_half, HALF=2, WHOLE=2, ROWS=128)[0]
    assert litmus(kernels.columns_of_half, HALF=3, WHOLE=2, ROWS=128)[0] == {"out-of-bounds"}


def test_the_first_place_that_fits_is_taken() -> None:
    """As the compiler does, at multiples of 4 columns: (lanes, columns) of one allocation after the other."""
    for sizes, used in [
        ([(64, 6), (128, 4), (64, 6)], 12),  # the second lies behind the first, the third beside it
        ([(64, 6), (128, 4), (64, 10)], 22),
        ([(64, 6), (64, 10), (64, 4)], 12),
        ([(128, 3), (128, 3)], 7),
    ]:
        assert columns_used(Storage("tmem", None, 0, width, lanes=lanes) for lanes, width in sizes) == used, sizes


def test_a_view_may_reach_over_several_slots_and_not_beyond() -> None:
    found, outs = litmus(kernels.reaching, SLOTS=4, WAIT=True)
    assert not found and all(out[:4] == [0.0, 1.0, 2.0, 3.0] for out in outs)
    assert "race-read-write" in litmus(kernels.reaching, SLOTS=4, WAIT=False)[0]
    assert "uninitialised" in litmus(kernels.reaching, SLOTS=2, WAIT=True)[0]
    assert litmus(kernels.reaching, SLOTS=8, WAIT=True)[0] == {"out-of-bounds"}


def test_scales_are_copied_in_the_order_of_the_thread() -> None:
    found, outs = litmus(kernels.scaled, KEEP=True, WAIT=True)
    assert not found
    assert all(out[0] == 128 * 2.0 * 2.0 for out in outs)
    assert "async-lifetime" in litmus(kernels.scaled, KEEP=False, WAIT=True)[0]
    assert "race-read-write" in litmus(kernels.scaled, KEEP=True, WAIT=False)[0]


def test_an_mma_may_not_write_over_what_it_reads_itself() -> None:
    """In memory that several buffers share: over its scales, or over an A in tensor memory."""
    for kernel, product in ((kernels.scaled_in_place, 128 * 2.0 * 2.0), (kernels.from_tensor_memory, 128.0)):
        found, outs = litmus(kernel, APART=True)
        assert not found and all(out[0] == product for out in outs)
        assert litmus(kernel, APART=False)[0] == {"async-lifetime"}
