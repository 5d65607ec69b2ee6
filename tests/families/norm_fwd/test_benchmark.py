"""What norms are timed beside computes the same, in the order in which our results come."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.families.norm_fwd import benchmark, problem  # noqa: E402

from .specs import spec_of  # noqa: E402

SPECS = (
    {"problem.bias": True, "problem.stats": True},
    {"problem.norm": "rms"},
    {"problem.norm": "rms", "problem.stats": True, "problem.weight": "none"},
    {"problem.bias": True, "problem.residual": True},
    {"problem.norm": "rms", "problem.residual": True, "problem.stats": True},
)


def agrees(spec: Any, tensors: dict[str, Any], made: Any) -> None:
    wanted = problem.reference(spec, tensors)
    results = made if isinstance(made, tuple) else (made,)
    for (name, (exact, scale)), one in zip(wanted.items(), results, strict=True):
        assert float((one.double().view(exact.shape) - exact).norm()) < 1e-4 * scale, name


@pytest.mark.parametrize("values", SPECS)
@pytest.mark.parametrize("function", ["_eager", "_decomposed"])
def test_a_baseline_gives_our_results(values: dict[str, Any], function: str) -> None:
    torch.manual_seed(0)
    spec = spec_of({**values, "problem.dtype": "fp32"})
    tensors = problem.inputs(spec, (6, 72), torch.device("cpu"))
    agrees(spec, tensors, benchmark.bound(getattr(benchmark, function), spec, tensors)())


@pytest.mark.parametrize("values", [s for s in SPECS if s.get("problem.norm") == "rms"])
def test_quacks_results_come_in_the_order_of_ours(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """quack's rmsnorm_fwd returns out, residual_out and rstd."""

    def rmsnorm_fwd(x: Any, weight: Any, *, residual: Any, eps: float, store_rstd: bool) -> Any:
        whole = x if residual is None else x + residual
        rstd = (whole.square().mean(-1, keepdim=True) + eps).rsqrt()
        y = whole * rstd * (1 if weight is None else weight)
        return y, None if residual is None else whole, rstd if store_rstd else None

    monkeypatch.setitem(sys.modules, "quack.rmsnorm", SimpleNamespace(rmsnorm_fwd=rmsnorm_fwd))
    spec = spec_of({**values, "problem.dtype": "fp32"})
    tensors = problem.inputs(spec, (6, 72), torch.device("cpu"))
    agrees(spec, tensors, benchmark._quack(spec, tensors)())
