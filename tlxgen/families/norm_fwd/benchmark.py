"""How norms are timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

import functools
import importlib.util
import operator
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.families.kit import matrices
from tlxgen.families.kit.matrices import Shape, Tensors

from .problem import EPS
from .spec import NormSpec

Run = Callable[[], Any]
torch._dynamo.config.recompile_limit = 64  # each shape of a baseline is a compilation


def call(module: ModuleType, spec: NormSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function; rows lie end to end, as in the baselines."""
    return matrices.call(module, spec, shape, _dense(tensors) | {"eps": EPS}, config)


def _dense(tensors: Tensors) -> Tensors:
    return {name: t.contiguous() for name, t in tensors.items() if name != "eps"}


def baselines(spec: NormSpec) -> Mapping[str, Callable[[Tensors], Run]]:
    """torch's own operator, the same results by torch.compile, and quack, whose layer norm has weights in fp32."""
    compiled = torch.compile(_decomposed, dynamic=False)
    found = {"torch": lambda t: _bound(_eager, spec, t), "torch.compile": lambda t: _bound(compiled, spec, t)}
    return found | ({"quack": lambda t: _quack(spec, t)} if importlib.util.find_spec("quack") else {})


def _bound(function: Callable[..., Any], spec: NormSpec, tensors: Tensors) -> Run:
    x, *vectors = (t.to(tensors["x"].dtype) for t in _dense(tensors).values())
    return lambda: function(x, *vectors, *[None] * (2 - len(vectors)), spec.problem.norm, spec.problem.stats)


def _eager(x: torch.Tensor, weight: Any, bias: Any, norm: str, stats: bool) -> Any:
    n = x.shape[-1:]
    layer = norm == "layer"
    made = torch.native_layer_norm(x, n, weight, bias, EPS) if layer else torch._fused_rms_norm(x, n, weight, EPS)
    return made if stats else made[0]


def _decomposed(x: torch.Tensor, weight: Any, bias: Any, norm: str, stats: bool) -> Any:
    """What Inductor makes one kernel of: it takes the fused RMSNorm as it is, and its own is faster."""
    if norm == "layer":
        return _eager(x, weight, bias, norm, stats)
    wide = x.float()
    rstd = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)
    scaled = wide * rstd if weight is None else wide * rstd * weight
    return (scaled.to(x.dtype), rstd) if stats else scaled.to(x.dtype)


def _quack(spec: NormSpec, tensors: Tensors) -> Run:
    norms: Any = importlib.import_module("quack.rmsnorm")
    x, weight, bias = tensors["x"].contiguous(), tensors.get("weight"), tensors.get("bias")
    stats = spec.problem.stats
    if spec.problem.norm == "rms":  # which returns out, a residual, rstd
        run = functools.partial(norms.rmsnorm_fwd, x, weight, eps=EPS, store_rstd=stats)
        return lambda: run()[:: 2 if stats else 3]
    wide = [None if t is None else t.float() for t in (weight, bias)]
    run = functools.partial(norms.layernorm_fwd, x, *wide, EPS, return_rstd=stats, return_mean=stats)
    return (lambda: operator.itemgetter(0, 2, 1)(run())) if stats else run  # of out, rstd, mean
