"""How a grouped GEMM is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import DTYPES
from tlxgen.families.gemm import benchmark as gemm
from tlxgen.families.gemm.problem import c_columns
from tlxgen.families.kit.draw import log_uniform

from .problem import Shape, Tensors, arguments, groups_of, of_groups, parts
from .spec import GroupedGemmSpec

Run = Callable[[], Any]
Baseline = Callable[[Tensors], Run]


def call(module: ModuleType, spec: GroupedGemmSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function; `config` None lets it pick one."""
    host = getattr(module, spec.name)
    given: dict[str, Any] = {} if config is None else {"config": config}
    if not c_columns(spec, tensors["b"].shape[-1]) * DTYPES[spec.problem.c.dtype].bytes % 16:
        given["out"] = module.outputs(**arguments(module, spec, tensors))
    given |= arguments(module, spec, tensors)
    return lambda: host(**given)


def baselines(spec: GroupedGemmSpec) -> Mapping[str, Baseline]:
    """What to compare with: torch's grouped product, and a loop of torch.mm, whose host knows the sizes."""
    groups, problem = groups_of(spec), spec.problem
    if spec.epilogue.ops or DTYPES[problem.a.dtype].is_fp8:
        return {}
    found: dict[str, Baseline] = {}
    if groups.given == "offs" and problem.a.dtype == problem.c.dtype == "bf16":
        found["torch._grouped_mm"] = _torch
    return found | {"loop of torch.mm": lambda t: _loop(spec, t)}


def peers(
    spec: GroupedGemmSpec, shape: Shape, tensors: Tensors
) -> Mapping[str, Callable[[], Mapping[str, torch.Tensor]]]:
    """A product at a time by torch, for these arguments."""
    return {"torch.mm": lambda: results(spec, tensors, _loop(spec, tensors)())} if baselines(spec) else {}


def results(spec: GroupedGemmSpec, tensors: Tensors, out: Any) -> Mapping[str, torch.Tensor]:
    """Of what a call returns what each group has of C, by name."""
    if isinstance(out, list):
        return {f"c[{i}]": c for i, c in enumerate(out) if c.numel()}
    return of_groups(spec, tensors, out)


def drawn(spec: GroupedGemmSpec, rng: random.Random) -> Shape | None:
    """A random shape as users have them: 2 to 128 groups of 16 to 4096 rows, by the weights of a language model."""
    found = gemm.drawn(spec, rng)
    g, m = 2 ** rng.randint(1, 7), log_uniform(rng, 16, 4096)
    return (g, m, *found[1:]) if found and 2.0 * g * m * found[1] * found[2] < gemm.LARGEST else None


def _torch(t: Tensors) -> Run:
    a, b, offs = t["a"], t["b"], t.get("offs")
    return lambda: torch._grouped_mm(a, b, offs=offs)


def _loop(spec: GroupedGemmSpec, t: Tensors) -> Callable[[], list[torch.Tensor]]:
    own = [(part["a"], part["b"]) for part in parts(spec, t)]
    kind = getattr(torch, DTYPES[spec.problem.c.dtype].torch)
    return lambda: [(a @ b).to(kind) for a, b in own]
