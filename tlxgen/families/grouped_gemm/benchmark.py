"""How a grouped GEMM is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import DTYPES

from .problem import Shape, Tensors, groups_of, of_groups, parts
from .spec import GroupedGemmSpec

Run = Callable[[], Any]
Baseline = Callable[[Tensors], Run]


def call(module: ModuleType, spec: GroupedGemmSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function; `config` None lets it pick one."""
    host = getattr(module, spec.name)
    given: dict[str, Any] = {} if config is None else {"config": config}
    if not tensors["b"].shape[-1] * DTYPES[spec.problem.c.dtype].bytes % 16:
        given["out"] = module.outputs(**tensors)
    return lambda: host(**tensors, **given)


def baselines(spec: GroupedGemmSpec) -> Mapping[str, Baseline]:
    """What to compare with: torch's grouped product, and a loop of torch.mm, whose host knows the sizes."""
    groups, problem = groups_of(spec), spec.problem
    if spec.epilogue.ops or DTYPES[problem.a.dtype].is_fp8:
        return {}
    found: dict[str, Baseline] = {}
    if groups.given == "offs" and problem.a.dtype == problem.c.dtype == "bf16":
        found["torch._grouped_mm"] = _torch
    return found | {"loop of torch.mm": lambda t: _loop(spec, t)}


def peers(spec: GroupedGemmSpec, shape: Shape, t: Tensors) -> Mapping[str, Callable[[], Mapping[str, torch.Tensor]]]:
    """A product at a time by torch, for these arguments."""
    if spec.epilogue.ops or DTYPES[spec.problem.a.dtype].is_fp8:
        return {}
    return {"torch.mm": lambda: results(spec, t, _loop(spec, t)())}


def results(spec: GroupedGemmSpec, t: Tensors, made: Any) -> Mapping[str, torch.Tensor]:
    """Of what a call returns what each group has of C, by name."""
    if isinstance(made, list):
        return {f"c[{i}]": c for i, c in enumerate(made) if c.numel()}
    return of_groups(spec, t, made)


def _torch(t: Tensors) -> Run:
    a, b, offs = t["a"], t["b"], t.get("offs")
    return lambda: torch._grouped_mm(a, b, offs=offs)


def _loop(spec: GroupedGemmSpec, t: Tensors) -> Callable[[], list[torch.Tensor]]:
    own = [(part["a"], part["b"]) for part in parts(spec, t)]
    kind = getattr(torch, DTYPES[spec.problem.c.dtype].torch)
    return lambda: [(a @ b).to(kind) for a, b in own]
