"""Benchmarks of the backward of norms: the call to time, and the baselines. It imports torch."""

from __future__ import annotations

import importlib.util
from typing import Any

import torch

from tlxgen.families.kit.matrices import Baselines, Tensors
from tlxgen.families.norm_fwd.benchmark import Run, against, call, dense, drawn

from .spec import NormBwdSpec

__all__ = ["baselines", "call", "drawn"]


def baselines(spec: NormBwdSpec) -> Baselines:
    """The baselines: torch, torch.compile, quack's RMSNorm, and a copy of the same number of bytes."""
    found = against(_eager, _decomposed, spec) | {"copy": _copy}
    there = spec.problem.norm == "rms" and spec.vectors and importlib.util.find_spec("quack")
    return found | ({"quack": _quack} if there else {})


def _eager(
    problem: Any, dy: Any, x: Any, rstd: Any, weight: Any = None, mean: Any = None, dresidual_out: Any = None
) -> Any:
    ops: Any = torch.ops.aten
    n, stats, wanted = (
        x.shape[-1:],
        (None if mean is None else mean[..., None], rstd[..., None]),
        [True, weight is not None],
    )
    if problem.norm == "rms":
        dx, *others = ops._fused_rms_norm_backward(dy, x, n, stats[1], weight, wanted)
    else:
        bias = weight if problem.bias else None
        dx, *others = ops.native_layer_norm_backward(dy, x, n, *stats, weight, bias, [*wanted, problem.bias])
    return dx if dresidual_out is None else dx + dresidual_out, *others


def _decomposed(
    problem: Any, dy: Any, x: Any, rstd: Any, weight: Any = None, mean: Any = None, dresidual_out: Any = None
) -> Any:
    """The operations of which Inductor makes kernels."""
    rows, by_y, rstd = tuple(range(x.dim() - 1)), dy.float(), rstd[..., None]
    xhat = (x.float() if mean is None else x.float() - mean[..., None]) * rstd
    wdy = by_y if weight is None else by_y * weight.float()
    dx = wdy - xhat * (wdy * xhat).mean(-1, keepdim=True) - (0 if mean is None else wdy.mean(-1, keepdim=True))
    dx = dx * rstd if dresidual_out is None else dx * rstd + dresidual_out.float()
    sums = ((by_y * xhat).sum(rows),) * (weight is not None) + (by_y.sum(rows),) * problem.bias
    return dx.to(x.dtype), *(total.to(x.dtype) for total in sums)


def _quack(tensors: Tensors) -> Run:
    norms: Any = importlib.import_module("quack.rmsnorm")
    t = {
        name: x.flatten(0, -2) if x.dim() > 1 and name != "rstd" else x.flatten() for name, x in dense(tensors).items()
    }
    return lambda: norms.rmsnorm_bwd(t["x"], t["weight"], t["dy"], t["rstd"], t.get("dresidual_out"))[:2]


def _copy(tensors: Tensors) -> Run:
    """A copy that reads half of the bytes of all rows and writes half. It has no results to check."""
    rows = sum(name in tensors for name in ("x", "dy", "dresidual_out")) + 1
    source, target = (tensors["x"].contiguous().new_zeros(rows * tensors["x"].numel() // 2) for _ in range(2))
    return lambda: (target.copy_(source), ())[1]
