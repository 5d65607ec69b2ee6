"""How forward attention is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from tlxgen.arch import DTYPES
from tlxgen.families.attention.drawn import drawn as drawn
from tlxgen.families.attention.expressions.reference import function
from tlxgen.families.attention.inputs import Shape

from .problem import Tensors, keys_last, seen_of
from .spec import AttentionSpec

Run = Callable[[], Any]
Outputs = Mapping[str, torch.Tensor]
Baseline = Callable[[Tensors], Run]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
BIASED = {"cudnn": SDPBackend.CUDNN_ATTENTION, "cutlass": SDPBackend.EFFICIENT_ATTENTION}
LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")


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
    """The arguments, with no gap between the rows of tensors but of a bias, whose rows may be of any length."""
    plain = {name for name, x in tensors.items() if isinstance(x, torch.Tensor) and name != "attn_mask"}
    return {name: x.contiguous() if name in plain else x for name, x in tensors.items()}


def baselines(spec: AttentionSpec) -> Mapping[str, Baseline]:
    """torch's kernels, the first of which ratios refer to, where they have all that the spec asks for:
    scaled_dot_product_attention by cuDNN and by FlashAttention 2, or, with a bias, by cuDNN and CUTLASS; flex_attention
    for lists of blocks and for expressions."""
    if not _is_plain(spec):
        return {}
    if spec.softmax.expression and not spec.mask.blocks:
        return {"flex": lambda t: _flex(spec, t)}
    if spec.mask.blocks:
        return {} if spec.bias else {"flex": lambda t: _flex(spec, t)}
    if spec.bias:
        return {name: lambda t, by=by: _biased(spec, t, by) for name, by in BIASED.items()}  # type: ignore[misc]
    if spec.mask.kind == "window" or (spec.mask.kind == "causal" and spec.mask.align != "top_left"):
        return {}
    names = BACKENDS if spec.problem.head_dim == spec.head_dim_v else ["cudnn"]
    return {name: lambda t, name=name: _attention(spec, t, BACKENDS[name]) for name in names}  # type: ignore[misc]


def _is_plain(spec: AttentionSpec) -> bool:
    """Whether it asks for nothing that torch does not take beside a mask."""
    extras = spec.softmax.softcap or spec.softmax.sink
    return spec.problem.lengths == "dense" and not extras and spec.problem.dtype != "e4m3"


def _attention(spec: AttentionSpec, tensors: Tensors, backend: SDPBackend) -> Run:
    given = dense(tensors)
    q, k, v = (given[name] for name in "qkv")
    causal, grouped = spec.mask.kind == "causal", q.shape[1] != k.shape[1]

    def run() -> torch.Tensor:
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

    return run


def _biased(spec: AttentionSpec, tensors: Tensors, backend: SDPBackend) -> Run:
    """The mask is in the bias, which has the type of Q; K and V are copied for all heads that share them."""
    given = dense(tensors)
    q, shared = given["q"], given["q"].shape[1] // given["k"].shape[1]
    k, v = (given[name].repeat_interleave(shared, dim=1) for name in "kv")
    seen = seen_of(spec.weights, q.shape[2], k.shape[2], tensors, q.device)
    whole = given["attn_mask"].masked_fill(~seen, float("-inf")).to(q.dtype)
    rows = torch.nn.functional.pad(whole, (0, -whole.shape[3] % 8))[..., : whole.shape[3]]  # as both want them

    def run() -> torch.Tensor:
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=rows)

    return run


def _flex(spec: AttentionSpec, tensors: Tensors) -> Run:
    """Compiled for these lists, this mask and this expression before it is timed. Without lists torch makes its own."""
    given, blocks = dense(tensors), spec.mask.blocks
    left, right = tensors.get("window", (0, 0))
    q, k, v = (given[name] for name in "qkv")
    lengths = q.shape[2], k.shape[2]
    shift = k.shape[2] - q.shape[2] if spec.weights["bottom_right"] else 0

    def seen(b: Any, h: Any, i: Any, j: Any) -> Any:
        if spec.mask.kind == "causal":
            return j <= i + shift
        return (i + shift - left <= j) & (j <= i + shift + right) if spec.mask.kind == "window" else j >= 0

    if blocks:
        lists = {name: given.get(name) for name in LISTS}
        size = blocks.m, blocks.n
        mask = BlockMask.from_kv_blocks(**lists, BLOCK_SIZE=size, mask_mod=seen, seq_lengths=lengths)
    elif spec.mask.kind == "none":
        mask = None
    else:
        mask = create_block_mask(seen, None, None, *lengths, device=q.device)
    flex = torch.compile(flex_attention, dynamic=False)
    mod = _score_mod(spec.softmax.expression, q.shape[1], *lengths) if spec.softmax.expression else None
    return lambda: flex(q, k, v, score_mod=mod, block_mask=mask, enable_gqa=q.shape[1] != k.shape[1])


def _score_mod(text: str, heads: int, n_q: int, n_k: int) -> Callable[..., Any]:
    """An expression as flex_attention takes it."""
    evaluate, fixed = function(text), {"heads": heads, "n_q": n_q, "n_k": n_k}

    def modified(score: Any, batch: Any, head: Any, q: Any, k: Any) -> Any:
        return evaluate(score=score, batch=batch, head=head, q=q, k=k, **fixed)

    return modified


def peers(spec: AttentionSpec, shape: Shape, tensors: Tensors) -> Mapping[str, Callable[[], Outputs]]:
    """torch's kernels for O and the log-sum-exp of these arguments: FlashAttention 2, and cuDNN's where `baselines` has
    it. None for what neither knows: softcap, expressions, sinks, fp8, other widths of V, masks that both place
    otherwise."""
    *_, n, m = shape
    placed = n == m or spec.mask.kind == "none" or spec.mask.align == "bottom_right"
    known = not (spec.softmax.softcap or spec.softmax.sink) and spec.problem.dtype != "e4m3"
    known = known and not (spec.bias or spec.mask.blocks or spec.softmax.expression)
    found: dict[str, Callable[[], Outputs]] = {}
    if known and placed and spec.problem.head_dim == spec.head_dim_v:
        found["flash"] = lambda: _flash(spec, dense(tensors))
    if known and "cudnn" in baselines(spec):
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
