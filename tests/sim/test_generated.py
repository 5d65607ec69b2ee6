"""Every generated module is clean: a record in its lock says so (tests/proof/test_shipped.py), or it is run here.

What is run has right numbers and no finding, on ragged and tiny problems and on every kind of schedule. A module that
has a record, by `tlxgen verify --changed`, is run by nobody here: .ci/verify audits records.
"""

from __future__ import annotations

import pytest

from tests.sim.support import kernels, run_case, source, unproven
from tlxgen.sim import RUNS, SMS

RAGGED = (300, 264, 200)


@pytest.mark.parametrize(("name", "structure"), list(unproven()))
def test_a_generated_module_without_a_record_is_clean(name: str, structure: str) -> None:
    """The first config on a ragged problem of several tiles a CTA, the last one on a small one."""
    family, variants = kernels(name).family, kernels(name).structure(structure).variants
    for config, which in ((0, 1), (len(variants) - 1, 0)):
        plan = variants[config].plan
        assert plan
        constants = dict(plan.launches[0].constants)
        shapes = tuple(family.problem().simulated_shapes(variants[config].spec, constants, SMS))
        report = run_case(f"{name}/{structure}", source(f"{name}/{structure}"), config, shapes[which])
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
