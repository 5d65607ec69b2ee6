"""How the backward of norms is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.families.kit import matrices
from tlxgen.families.kit.matrices import Shape, Tensors

from .spec import NormBwdSpec

Run = Callable[[], Any]
torch._dynamo.config.recompile_limit = 64  # each shape of a baseline is a compilation


def call(module: ModuleType, spec: NormBwdSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function; rows lie end to end, as in the baselines."""
    return matrices.call(module, spec, shape, {name: t.contiguous() for name, t in tensors.items()}, config)


def baselines(spec: NormBwdSpec) -> Mapping[str, Callable[[Tensors], Run]]:
    """torch's own operator, the same results by torch.compile, quack's RMSNorm, and a copy of as many bytes."""
    compiled = torch.compile(_decomposed, dynamic=False)
    found = {"torch": lambda t: _bound(_eager, spec, t), "torch.compile": lambda t: _bound(compiled, spec, t)}
    if spec.problem.norm == "rms" and spec.vectors and importlib.util.find_spec("quack"):
        found["quack"] = _quack
    return found | {"copy": _copy}


def _bound(function: Callable[..., Any], spec: NormBwdSpec, tensors: Tensors) -> Run:
    dy, x = (tensors[name].contiguous() for name in ("dy", "x"))
    weight = tensors["weight"].to(x.dtype) if spec.vectors else None
    stats = [tensors[name][..., None] for name in spec.stats]
    return lambda: function(dy, x, weight, *stats, bias=spec.problem.bias)


def _eager(dy: torch.Tensor, x: torch.Tensor, weight: Any, *stats: torch.Tensor, bias: bool) -> Any:
    ops: Any = torch.ops.aten
    n, wanted = x.shape[-1:], [True, weight is not None]
    if len(stats) == 1:
        return ops._fused_rms_norm_backward(dy, x, n, *stats, weight, wanted)
    return ops.native_layer_norm_backward(dy, x, n, *stats, weight, weight if bias else None, [*wanted, bias])


def _decomposed(dy: torch.Tensor, x: torch.Tensor, weight: Any, *stats: torch.Tensor, bias: bool) -> Any:
    """What Inductor makes kernels of."""
    wide, by_y, rstd, rows = x.float(), dy.float(), stats[-1], tuple(range(x.dim() - 1))
    xhat = (wide - stats[0] if len(stats) > 1 else wide) * rstd
    wdy = by_y if weight is None else by_y * weight.float()
    dx = wdy - xhat * (wdy * xhat).mean(-1, keepdim=True)
    dx = dx - wdy.mean(-1, keepdim=True) if len(stats) > 1 else dx
    sums = ((by_y * xhat).sum(rows),) * (weight is not None) + (by_y.sum(rows),) * bias
    return (dx * rstd).to(x.dtype), *(total.to(x.dtype) for total in sums)


def _quack(tensors: Tensors) -> Run:
    norms: Any = importlib.import_module("quack.rmsnorm")
    dy, x, weight, rstd = tensors.values()
    dy, x, rstd = dy.contiguous().flatten(0, -2), x.contiguous().flatten(0, -2), rstd.flatten()
    return lambda: norms.rmsnorm_bwd(x, weight, dy, rstd)[:2]


def _copy(tensors: Tensors) -> Run:
    """Half of the bytes of x, dy and dx are read, half written; it has no results to check."""
    x = tensors["x"].contiguous()
    source, target = (x.new_zeros(3 * x.numel() // 2) for _ in range(2))
    return lambda: (target.copy_(source), ())[1]
