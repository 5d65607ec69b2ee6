"""How forward attention is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tlxgen.arch import DTYPES

from .problem import Shape, Tensors, keys_last
from .spec import AttentionSpec

Run = Callable[[], Any]
Baseline = Callable[[Tensors], Run]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def call(module: ModuleType, spec: AttentionSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function into one O; `config` None lets it pick.

    Rows lie end to end, as in the baselines: the gaps between the rows of `tensors` are there to find faults.
    """
    host, given = getattr(module, spec.name), dense(tensors)
    q, v = given["q"], given["v"]
    if spec.problem.dtype == "e4m3":
        given["v"] = keys_last(v)
    dtype = getattr(torch, DTYPES[spec.out_dtype].torch)
    given["out"] = torch.empty((*q.shape[:-1], v.shape[-1]), dtype=dtype, device=q.device)
    if spec.softmax.lse and spec.problem.lengths != "packed":
        given["lse"] = torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)
    if config is not None:
        given["config"] = config
    return lambda: host(**given)


def dense(tensors: Tensors) -> Tensors:
    """The arguments, with no gap between the rows of tensors."""
    return {name: x.contiguous() if isinstance(x, torch.Tensor) else x for name, x in tensors.items()}


def baselines(spec: AttentionSpec) -> Mapping[str, Baseline]:
    """torch's scaled_dot_product_attention by cuDNN, which ratios refer to, and by FlashAttention 2, where it has all
    that the spec asks for."""
    plain = spec.problem.lengths == "dense" and not (spec.softmax.softcap or spec.softmax.sink)
    plain = plain and spec.problem.dtype != "e4m3"  # which torch does not take
    masked = spec.mask.kind == "none" or (spec.mask.kind == "causal" and spec.mask.align == "top_left")
    if not (plain and masked):
        return {}
    names = BACKENDS if spec.problem.head_dim == spec.head_dim_v else ["cudnn"]
    return {name: lambda t, name=name: _attention(spec, t, BACKENDS[name]) for name in names}  # type: ignore[misc]


def _attention(spec: AttentionSpec, tensors: Tensors, backend: SDPBackend) -> Run:
    given = dense(tensors)
    q, k, v = (given[name] for name in "qkv")
    causal, grouped = spec.mask.kind == "causal", q.shape[1] != k.shape[1]

    def run() -> torch.Tensor:
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

    return run
