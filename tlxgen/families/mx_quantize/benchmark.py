"""How quantisers are timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tlxgen.families.kit.matrices import Baselines, Tensors, call

from .reference import quantized
from .spec import QuantizeSpec

__all__ = ["baselines", "call"]


def baselines(spec: QuantizeSpec) -> Baselines:
    """A copy of x, which moves no fewer bytes a byte read, and the same results by torch.compile."""
    compiled = torch.compile(_results, dynamic=False)
    return {"copy of x": lambda t: t["x"].clone, "torch.compile": lambda t: _bound(compiled, spec, t)}


def _bound(function: Callable[..., Any], spec: QuantizeSpec, t: Tensors) -> Callable[[], Any]:
    p = spec.problem
    return lambda: function(t["x"], p.along, p.scale, p.columns)


def _results(x: torch.Tensor, along: str, scale: str, columns: str) -> tuple[torch.Tensor, ...]:
    made: tuple[torch.Tensor, ...] = ()
    if along != "columns":
        made += quantized(x, scale)
    if along != "rows":
        numbers, scales = quantized(x.T, scale)
        made += numbers if columns == "transposed" else numbers.T.contiguous(), scales
    return made
