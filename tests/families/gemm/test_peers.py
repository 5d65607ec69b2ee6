"""What of torch stands beside a GEMM in `tlxgen check --peers`, on the CPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.support import kernels  # noqa: E402
from tlxgen.check import numerics  # noqa: E402
from tlxgen.families.gemm.benchmark import peers  # noqa: E402

SHAPE = (40, 48, 64)


def test_torch_computes_the_output_that_ours_is_held_against() -> None:
    found = kernels("hopper_gemm")
    problem, spec = found.family.problem(), found.structures[0].variants[0].spec
    tensors = problem.inputs(spec, SHAPE, torch.device("cpu"))
    ((peer, call),) = peers(spec, SHAPE, tensors).items()
    ((output, (exact, scale)),) = problem.reference(spec, tensors).items()
    assert peer == "torch"
    assert 0 < numerics.distance(call()[output], exact, scale) < 2 * problem.tolerance(spec, output)


def test_of_two_kernels_of_torch_s_the_one_of_the_same_accuracy() -> None:
    names = {n: list(peers(kernels(n).structures[0].variants[0].spec, SHAPE, {})) for n in FP8}
    assert names == FP8


FP8 = {
    "hopper_gemm_fp8_tuned": ["torch._scaled_mm"],
    "hopper_gemm_fp8_exact_tuned": ["torch._scaled_mm exact"],
    "blackwell_mx_gemm": [],
}
