"""How tiles are cut where a kernel is simulated: as the model of time may cut them, and wherever it may."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlxgen.families.gemm.cost import RATES
from tlxgen.families.gemm.cuts import Cuts
from tlxgen.families.gemm.model import Clocks, Cut, Gpu, Kernel, Times, Types

ROWS = Types(2, 2, 2, True, False)
EXTENTS = st.tuples(st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 8192))
FORMS: dict[str, dict[str, Any]] = {
    "last": {"tile": (128, 128, 64), "tail": "last"},
    "each": {"tile": (128, 64, 64), "tail": "each", "cluster": (2, 1, 1)},
    "exchanged": {"tile": (64, 88, 64), "tail": "each", "cluster": (2, 1, 1), "swap": True, "whole": True},
    "few blocks": {"tile": (64, 256, 64), "tail": "last", "ahead": 8},
}


@pytest.mark.parametrize("form", FORMS)
def test_tiles_are_cut_as_the_model_may_cut_them_and_wherever_it_may(form: str) -> None:
    kernel = Kernel(stages=4, **FORMS[form])

    @settings(max_examples=200, deadline=None)
    @given(EXTENTS, st.sampled_from([2, 4, 6, 34, 132]))
    def check(shape: tuple[int, int, int], sms: int) -> None:
        gpu = Gpu("", sms)
        clocks = Clocks(kernel, ROWS, gpu, RATES)
        _, _, tiles, slots, _ = clocks.of(*shape, 1.0, 1.0)
        ways = {Cut(*way) for way in clocks.cuts(tiles, slots) if way[1] > 1}
        cut = Cuts(Times([kernel], ROWS, RATES)).cut(0, shape, gpu)
        assert cut in (ways or {Cut(tiles, 1, slots)})

    check()


def test_estimates_are_those_of_the_module() -> None:
    times = Times([Kernel(tile=(128, 128, 64), stages=4)], ROWS, RATES)
    given = (512, 512, 512), Gpu("", 132)
    assert Cuts(times)(*given) == times(*given)


def test_a_cluster_has_its_ctas_where_there_are_fewer_sms() -> None:
    """No GPU launches it; the simulator runs it all the same."""
    times = Times([Kernel(tile=(64, 64, 64), stages=4, tail="each", cluster=(2, 4, 1))], ROWS, RATES)
    assert Cuts(times).cut(0, (64, 64, 640), Gpu("", 4)) == Cut(0, 2, 5)
