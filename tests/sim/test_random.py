"""Random bits and stochastic rounding in the simulator."""

from __future__ import annotations

import pytest
import torch

from tlxgen.sim.ops_random import randint
from tlxgen.sim.ops_warp import stoch_round


def test_random_bits_are_philox_4x32_10() -> None:
    # Known answer of Random123 for counter and key zero.
    assert int(randint(0, torch.zeros(1, dtype=torch.int32))) == 0x6627E8D5
    assert len(set(randint(7, torch.arange(4096, dtype=torch.int32)).tolist())) > 4090
    assert not torch.equal(randint(1, torch.arange(8)), randint(2, torch.arange(8)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("value", [1.0 + 2**-11, -3.3, 0.7, 1e-3, 100.1])
def test_rounding_goes_to_a_neighbour_and_is_right_in_the_mean(dtype: torch.dtype, value: float) -> None:
    x = torch.full((1 << 16,), value)
    out = stoch_round(x, dtype, randint(3, torch.arange(1 << 16))).float()
    below, above = float(out.min()), float(out.max())
    assert set(out.tolist()) == {below, above} and below < value < above
    assert abs(float(out.double().mean()) - value) < 0.02 * (above - below)


def test_what_the_type_holds_stays_and_what_is_too_large_saturates() -> None:
    x = torch.tensor([0.0, 1.5, -2.0, 1e38, -1e38])
    out = stoch_round(x, torch.float16, randint(0, torch.arange(5)))
    assert out.tolist() == [0.0, 1.5, -2.0, 65504.0, -65504.0]
