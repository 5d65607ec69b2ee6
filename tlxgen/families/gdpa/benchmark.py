"""Benchmarks of GDPA: the call to time, and the baselines. It imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from tlxgen.families.attention.drawn import drawn
from tlxgen.families.attention_fwd.benchmark import call, dense

__all__ = ["baselines", "call", "drawn"]

Tensors = Mapping[str, Any]


def baselines(spec: Any) -> Mapping[str, Callable[[Tensors], Callable[[], Any]]]:
    """FlashAttention 2 in torch, on the same tensors: softmax attention, which does as many products. It takes no
    targets, and its window is not ours."""
    known = spec.problem.head_dim == spec.head_dim_v and spec.weights["mask"] in ("none", "causal")
    return {"flash_softmax": lambda t: _softmax(spec, t)} if known else {}


def _softmax(spec: Any, tensors: Tensors) -> Callable[[], Any]:
    t = dense(dict(tensors))
    packed = spec.problem.lengths == "packed"
    q, k, v = (t[name] if packed else t[name].transpose(1, 2) for name in "qkv")
    sums, most = (t.get("cu_seqlens_q"), t.get("cu_seqlens_k")), (q.shape[-3], k.shape[-3])
    if packed:
        most = (t["max_seqlen_q"], int(t["cu_seqlens_k"].diff().max()))
    causal = spec.weights["mask"] == "causal"
    return lambda: torch.ops.aten._flash_attention_forward(q, k, v, *sums, *most, 0.0, causal, False)
