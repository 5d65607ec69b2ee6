"""On how many SMs a target runs, and in which order the problems of a kernel are delayed."""

from __future__ import annotations

import pytest

from tlxgen.coverage import Coverage, Kernel
from tlxgen.sim import Budget, Delays, Report, Script, Way
from tlxgen.verify.structures import middle_first
from tlxgen.verify.varied import Varied


def counts(way: Way, cluster: int = 1, asks: bool = True) -> list[int]:
    """On which numbers of SMs a target runs whose kernel has such clusters."""
    ran: list[int] = []

    def run(_: str, sms: int) -> Report:
        ran.append(sms)
        kernel = Kernel("kernel", ("kernel.py", 1), ranks={cluster: [1] * cluster})
        return Report(coverage=Coverage(kernels={kernel.place: kernel}, asked=asks))

    Varied(lambda sms, noted: "module", None).run(way, run)
    return ran


def test_what_asks_for_the_number_runs_on_several() -> None:
    assert counts(("random", 0)) == [4, 1, 2, 17] and counts(("random", 1)) == [4, 1, 3]
    assert counts(Delays()) == [4, 1, 2]
    assert counts(Budget()) == [4]
    assert counts(Script(0, part=3)) == [3]
    assert counts(("random", 0), asks=False) == [4]


@pytest.mark.parametrize("way", [("random", 0), ("random", 1), ("starved", 1), Delays()])
def test_no_gpu_has_half_a_cluster(way: Way) -> None:
    """A persistent kernel's grid would be no multiple of its clusters: the launch would fail, by no fault."""
    for cluster in (2, 4):
        ran = counts(way, cluster)
        assert ran[0] == 4 and all(sms % cluster == 0 for sms in ran)


def test_delays_begin_where_there_is_an_order() -> None:
    assert middle_first([1, 100, 20, 5000, 30]) == [4, 2, 1, 0, 3]
    assert middle_first([7]) == [0]
