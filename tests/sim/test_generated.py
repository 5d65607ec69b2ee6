"""Every generated module: no finding and right numbers, on ragged and tiny shapes and on every kind of schedule."""

from __future__ import annotations

import pytest

from tests.sim.support import run_case, simulated_shapes, source, structures
from tlxgen.families import Structure
from tlxgen.sim import RUNS

RAGGED = (300, 264, 200)


@pytest.mark.parametrize(("name", "structure"), structures(), ids=lambda x: getattr(x, "name", x))
def test_a_generated_module_is_clean(name: str, structure: Structure) -> None:
    """The first config on a ragged problem of several tiles a CTA, the last one on a small one."""
    at = f"{name}/{structure.name}"
    last = len(structure.variants) - 1
    (_, ragged, *_), (small, *_) = (simulated_shapes(name, structure.variants[i]) for i in (0, last))
    for config, shape in ((0, ragged), (last, small)):
        report = run_case(at, source(at), config, shape)
        assert not report.seen, "\n".join(map(str, report.seen))
        assert report.runs == len(RUNS)


def test_a_seed_is_a_run_and_another_seed_another() -> None:
    at = "hopper_gemm/hopper_gemm_pingpong"
    first, again, other = (run_case(at, source(at), 0, RAGGED, (("starved", seed),)).steps for seed in (5, 5, 6))
    assert first == again != other


def test_few_sms_make_persistent_kernels_loop() -> None:
    at = "hopper_gemm/hopper_gemm_cooperative"
    report = run_case(at, source(at), 0, (1400, 520, 72), (("random", 0), ("lazy", 0)))
    assert not report.seen
