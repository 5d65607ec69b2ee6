"""How forward attention is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tlxgen.arch import DTYPES
from tlxgen.families.attention.drawn import drawn as drawn
from tlxgen.families.attention.inputs import Shape

from .problem import Tensors, keys_last
from .spec import AttentionSpec

Run = Callable[[], Any]
Outputs = Mapping[str, torch.Tensor]
Baseline = Callable[[Tensors], Run]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def call(module: ModuleType, spec: AttentionSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function into one O; `config` None lets it pick.

    Rows lie end to end, as in the baselines: the gaps between the rows of `tensors` are there to find faults.
    """
    host, given = getattr(module, spec.name), dense(tensors)
    q, v = given["q"], given["v"]
    if spec.problem.dtype == "e4m3" and not spec.scaled:
        given["v"] = keys_last(v)
    dtype = getattr(torch, DTYPES[spec.out_dtype].torch)
    given["out"] = torch.empty((*q.shape[:-1], v.shape[-1]), dtype=dtype, device=q.device)
    if spec.lse and spec.problem.lengths != "packed":
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


def peers(spec: AttentionSpec, shape: Shape, tensors: Tensors) -> Mapping[str, Callable[[], Outputs]]:
    """torch's kernels for O and the log-sum-exp of these arguments: FlashAttention 2, and cuDNN's where `baselines` has
    it. None for what neither knows: softcap, sinks, fp8, other widths of V, masks that both place otherwise."""
    *_, n, m = shape
    placed = n == m or spec.mask.kind == "none" or spec.mask.align == "bottom_right"
    known = not (spec.softmax.softcap or spec.softmax.sink) and spec.problem.dtype != "e4m3"
    found: dict[str, Callable[[], Outputs]] = {}
    if known and placed and spec.problem.head_dim == spec.head_dim_v:
        found["flash"] = lambda: _flash(spec, dense(tensors))
    if "cudnn" in baselines(spec):
        found["cudnn"] = lambda: _cudnn(spec, dense(tensors))
    return found


def _flash(spec: AttentionSpec, t: Tensors) -> Outputs:
    """Its causal mask and window stand at the last key, its tensors have the heads between the rows."""
    packed = spec.problem.lengths == "packed"
    q, k, v = (t[name] if packed else t[name].transpose(1, 2) for name in "qkv")
    sums, most = (t.get("cu_seqlens_q"), t.get("cu_seqlens_k")), (q.shape[-3], k.shape[-3])
    if packed:
        most = (t["max_seqlen_q"], int(t["cu_seqlens_k"].diff().max()))
    left, right = t["window"] if spec.mask.kind == "window" else (None, None)
    out, lse, *_ = torch.ops.aten._flash_attention_forward(
        *(q, k, v, *sums, *most, 0.0, spec.mask.kind == "causal", False),
        window_size_left=left,
        window_size_right=right,
        seqused_k=t.get("key_lengths"),
    )
    return {"out": out if packed else out.transpose(1, 2), "lse": lse}


def _cudnn(spec: AttentionSpec, t: Tensors) -> Outputs:
    shared = t["q"].shape[1] // t["k"].shape[1]
    k, v = (t[name].repeat_interleave(shared, dim=1) for name in "kv")
    causal = spec.mask.kind == "causal"
    out, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(t["q"], k, v, None, True, 0.0, causal, False)
    return {"out": out, "lse": lse}
