"""Benchmarks of decoding: the call to time, and the baselines. It imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.families.attention.inputs import Shape
from tlxgen.families.kit.matrices import copying

from .problem import Tensors, sequence
from .spec import DecodeSpec

Run = Callable[[], Any]


def call(module: ModuleType, spec: DecodeSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the host function into results that are allocated once. Without `config` it picks one."""
    given = _dense(tensors)
    out, lse = module.outputs(**given, scale=None)
    host = getattr(module, spec.name)
    picked = {} if config is None else {"config": config}
    return lambda: host(**given, out=out, lse=lse, **picked)


def baselines(spec: DecodeSpec) -> Mapping[str, Callable[[Tensors], Run]]:
    """torch's attention on each sequence's own keys, gathered before; and a copy of K, which
    reads half of the bytes of K and V, and writes as many."""
    return {"torch": lambda t: _torch(spec, t), "copy": lambda t: copying(t["k"])}


def _dense(t: Tensors) -> Tensors:
    """Contiguous tensors. The gaps between the rows of `t` only serve to find faults."""
    return {name: x.contiguous() if name in "qkv" else x for name, x in t.items()}


def _torch(spec: DecodeSpec, t: Tensors) -> Run:
    q, parts = t["q"].contiguous(), []
    for i in range(q.shape[0]):
        k, v = (x.contiguous()[None] for x in sequence(spec, t, i))
        n, m = q.shape[2], k.shape[2]
        at = torch.arange(n, device=q.device)[:, None] + m - n
        seen = torch.arange(m, device=q.device) <= at if spec.problem.causal and n > 1 else None
        parts.append((q[i : i + 1], k, v, seen))
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: (torch.cat([attend(q, k, v, attn_mask=seen, enable_gqa=True) for q, k, v, seen in parts]),)
