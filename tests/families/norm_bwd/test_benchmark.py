"""What the backward of norms is timed beside computes the same, in the order in which our results come."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.families.norm_bwd import benchmark, problem  # noqa: E402
from tlxgen.families.norm_fwd.benchmark import bound  # noqa: E402

from .specs import spec_of  # noqa: E402

SPECS = (
    {"problem.bias": True},
    {"problem.norm": "rms"},
    {},
    {"problem.norm": "rms", "problem.weight": "none"},
    {"problem.bias": True, "problem.residual": True},
    {"problem.norm": "rms", "problem.residual": True},
)

CASES = [(values, "_decomposed") for values in SPECS]
CASES += [(values, "_eager") for values in SPECS if "problem.norm" not in values]  # torch has RMSNorm's on a GPU alone


@pytest.mark.parametrize(("values", "function"), CASES)
def test_a_baseline_gives_our_results(values: dict[str, Any], function: str) -> None:
    torch.manual_seed(0)
    spec = spec_of({**values, "problem.dtype": "fp32"})
    tensors = problem.inputs(spec, (6, 72), torch.device("cpu"))
    run = bound(getattr(benchmark, function), spec, tensors)
    wanted = problem.reference(spec, tensors)
    for (name, (exact, scale)), made in zip(wanted.items(), run(), strict=False):
        assert made is not None and float((made.double() - exact).norm()) < 1e-4 * scale, name


def test_a_copy_has_no_results() -> None:
    assert benchmark._copy(problem.inputs(spec_of({}), (6, 72), torch.device("cpu")))() == ()
