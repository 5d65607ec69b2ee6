"""Benchmarks of norms: the call to time, and the baselines. It imports torch."""

from __future__ import annotations

import functools
import importlib.util
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from tlxgen.families.kit import matrices
from tlxgen.families.kit.draw import log_uniform
from tlxgen.families.kit.matrices import Baselines, Shape, Tensors

from .problem import EPS
from .spec import NormSpec

Run = Callable[[], Any]
torch._dynamo.config.recompile_limit = 64  # each shape of a baseline is a compilation


def call(module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function. Rows are contiguous, as in the baselines."""
    return matrices.call(module, spec, shape, {**tensors, **dense(tensors)}, config)


LARGEST = 2**28  # elements: some half a millisecond


def drawn(spec: Any, rng: random.Random) -> Shape | None:
    """A random typical shape, or None if it is too large.

    Columns are those of a model (half) or log-uniform from 64 to 131,072 in multiples of 1, 8 or 128; rows are
    log-uniform from 1 to 65,536.
    """
    if rng.random() < 0.5:
        columns = rng.choice((512, 1024, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 12288, 16384))
    else:
        columns = log_uniform(rng, 64, 131072, rng.choice((1, 8, 128)))
    rows = log_uniform(rng, 1, 65536)
    return (rows, columns) if rows * columns <= LARGEST else None


def dense(tensors: Tensors) -> Tensors:
    """The tensors, made contiguous."""
    return {name: t.contiguous() for name, t in tensors.items() if isinstance(t, torch.Tensor)}


def bound(function: Callable[..., Any], spec: Any, tensors: Tensors) -> Run:
    """The call of a baseline, with weights in the type of x."""
    fp32 = ("mean", "rstd")
    given = {name: t if name in fp32 else t.to(tensors["x"].dtype) for name, t in dense(tensors).items()}
    return lambda: function(spec.problem, **given)


def against(
    eager: Callable[..., Any], decomposed: Callable[..., Any], spec: Any
) -> dict[str, Callable[[Tensors], Run]]:
    """torch's own operator, and the same results by torch.compile."""
    both = {"torch": eager, "torch.compile": torch.compile(decomposed, dynamic=False)}
    return {name: functools.partial(bound, function, spec) for name, function in both.items()}


def baselines(spec: NormSpec) -> Baselines:
    """torch, torch.compile and quack, whose layer norm has weights in fp32 and no residual."""
    there = importlib.util.find_spec("quack") and not (spec.layer and spec.problem.residual)
    return against(_eager, _decomposed, spec) | ({"quack": functools.partial(_quack, spec)} if there else {})


def _eager(problem: Any, x: Any, weight: Any = None, bias: Any = None, residual: Any = None) -> Any:
    whole, n = x if residual is None else x + residual, x.shape[-1:]
    if problem.norm == "layer":
        return _results(problem, whole, *torch.native_layer_norm(whole, n, weight, bias, EPS))
    return _results(problem, whole, *torch._fused_rms_norm(whole, n, weight, EPS))


def _decomposed(problem: Any, x: Any, weight: Any = None, bias: Any = None, residual: Any = None) -> Any:
    """The operations of which Inductor makes one kernel, faster than the fused RMSNorm, which it calls as it is."""
    if problem.norm == "layer":
        return _eager(problem, x, weight, bias, residual)
    whole = x if residual is None else x + residual
    wide = whole.float()
    rstd = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS)
    scaled = wide * rstd if weight is None else wide * rstd * weight
    return _results(problem, whole, scaled.to(x.dtype), rstd)


def _results(problem: Any, whole: Any, y: Any, *stats: Any) -> Any:
    """The results in our order: y, the sum, statistics; or y alone."""
    made = (y, *[whole] * problem.residual, *(stats if problem.stats else ()))
    return made if len(made) > 1 else y


def _quack(spec: NormSpec, tensors: Tensors) -> Run:
    norms: Any = importlib.import_module("quack.rmsnorm")
    given, stats = dense(tensors), spec.problem.stats
    if spec.layer:
        wide = [None if t is None else t.float() for t in map(given.get, ("weight", "bias"))]
        run = functools.partial(norms.layernorm_fwd, given["x"], *wide, EPS, return_rstd=stats, return_mean=stats)
        return (lambda: _results(spec.problem, None, *[run()[i] for i in (0, 2, 1)])) if stats else run
    of = functools.partial(norms.rmsnorm_fwd, given["x"], given.get("weight"), residual=given.get("residual"), eps=EPS)
    run = functools.partial(of, store_rstd=stats)

    def in_order() -> Any:
        y, whole, rstd = run()
        return _results(spec.problem, whole, y, rstd)

    return in_order
