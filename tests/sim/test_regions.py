"""Regions of a storage: what all elements of one are is found without sorting them."""

from __future__ import annotations

import pytest
import torch

from tlxgen.sim.regions import Box, distinct, get, only, put


@pytest.mark.parametrize("values", [[], [3], [3, 3], [-1, -2], [7, 0, 7, 5], [-2, -2, -2]], ids=str)
def test_the_different_numbers_of_a_region(values: list[int]) -> None:
    numbers = torch.tensor(values, dtype=torch.int32)
    assert distinct(numbers) == sorted({*values})
    assert only(numbers) == (values[0] if len({*values}) == 1 else None)


def test_a_box_is_what_its_indices_are() -> None:
    numbers = torch.arange(60, dtype=torch.int32)
    box = Box((3, 4), (12, 2), 5)
    indices = torch.tensor([[5 + 12 * i + 2 * j for j in range(4)] for i in range(3)])
    assert box.end == int(indices.max()) + 1
    assert torch.equal(get(numbers, box), get(numbers, indices))
    ours, theirs = numbers.clone(), numbers.clone()
    put(ours, box, 99)
    put(theirs, indices, 99)
    assert torch.equal(ours, theirs) and int((ours == 99).sum()) == 12
