"""Benchmarks of quantisers: the call to time, and the baselines. It imports torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tlxgen.families.kit.matrices import Baselines, Tensors, call, copying

from .reference import blocked, quantized
from .spec import QuantizeSpec

__all__ = ["baselines", "call", "results"]


def baselines(spec: QuantizeSpec) -> Baselines:
    """A copy of x, which moves no fewer bytes a byte read, and the same results by torch.compile."""
    compiled = torch.compile(_results, dynamic=False)
    return {"copy of x": lambda t: copying(t["x"]), "torch.compile": lambda t: _bound(compiled, spec, t)}


def results(spec: QuantizeSpec, tensors: Tensors, out: Any) -> dict[str, torch.Tensor]:
    """The results by name, with scales as the reference's bytes. A copy has no results."""
    values = (x.view(torch.uint8) if x.dtype == torch.float8_e8m0fnu else x for x in out)
    return dict(zip(spec.results, values, strict=True)) if out else {}


def _bound(function: Callable[..., Any], spec: QuantizeSpec, t: Tensors) -> Callable[[], Any]:
    p = spec.problem
    return lambda: function(t["x"], p.along, p.scale, p.columns)


def _results(x: torch.Tensor, along: str, scale: str, columns: str) -> tuple[torch.Tensor, ...]:
    made: tuple[torch.Tensor, ...] = ()
    if along != "columns":
        numbers, scales = quantized(x, scale)
        made += numbers, blocked(scales)
    if along != "rows":
        numbers, scales = quantized(x.T, scale)
        made += numbers if columns == "transposed" else numbers.T.contiguous(), blocked(scales)
    return made
