"""Boxes that TMA moves over a descriptor with larger bounds than its allocation, as those of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tlxgen.sim.findings import Findings, Place, Stop
from tlxgen.sim.globalmem import Descriptor, GlobalMemory

HERE = Place("here.py", 7)
ROWS, COLUMNS = 8, 16
FAR = 1 << 40


def ragged() -> tuple[Descriptor, GlobalMemory, Findings]:
    findings = Findings()
    flat = torch.zeros(ROWS * COLUMNS, dtype=torch.float16)
    return Descriptor(flat, 0, (FAR, COLUMNS), (COLUMNS, 1), (4, COLUMNS)), GlobalMemory(findings), findings


def read(descriptor: Descriptor, memory: GlobalMemory, row: int) -> None:
    descriptor.read([row, 0], memory, 0, HERE)


def write(descriptor: Descriptor, memory: GlobalMemory, row: int) -> None:
    descriptor.write([row, 0], torch.ones(4, COLUMNS, dtype=torch.float16), memory, 0, HERE)


def add(descriptor: Descriptor, memory: GlobalMemory, row: int) -> None:
    descriptor.reduce("add", [row, 0], torch.ones(4, COLUMNS, dtype=torch.float16), memory, 0, HERE)


@pytest.mark.parametrize("move", [read, write, add])
@pytest.mark.parametrize("row", [ROWS - 3, ROWS, FAR // 2, FAR - 4])
def test_a_box_that_leaves_the_allocation_is_out_of_bounds(
    move: Callable[[Descriptor, GlobalMemory, int], None], row: int
) -> None:
    descriptor, memory, findings = ragged()
    with pytest.raises(Stop):
        move(descriptor, memory, row)
    (found,) = findings.all
    assert found.id == "out-of-bounds" and found.places == (HERE,)


@pytest.mark.parametrize("move", [read, write, add])
def test_a_box_at_its_end_is_not(move: Callable[[Descriptor, GlobalMemory, int], None]) -> None:
    descriptor, memory, findings = ragged()
    move(descriptor, memory, ROWS - 4)
    assert not findings.all


def test_the_chunk_of_the_last_row_may_reach_past_the_end() -> None:
    """TMA stores whole chunks of 16 bytes: what lies beyond the allocation of the last row is left out here."""
    findings = Findings()
    flat = torch.zeros(3 * 8 + 5, dtype=torch.float16)  # four rows of 5 of 8
    descriptor, memory = Descriptor(flat, 0, (4, 5), (8, 1), (4, 8)), GlobalMemory(findings)
    descriptor.write([0, 0], torch.ones(4, 8, dtype=torch.float16), memory, 0, HERE)
    assert not findings.all and flat.sum() == flat.numel()
