"""How backward attention is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch

from tlxgen.families.attention.drawn import drawn as drawn
from tlxgen.families.attention.inputs import Shape
from tlxgen.families.attention_fwd.benchmark import dense

from .problem import LIKE, Tensors, out_dtype, results_of
from .spec import SoftmaxBackwardSpec

Run = Callable[[], Any]
Baseline = Callable[[Tensors], Run]
Outputs = Mapping[str, torch.Tensor]


def call(module: ModuleType, spec: SoftmaxBackwardSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function into one set of gradients; `config` None takes the first.

    Rows lie end to end, as in the baseline: the gaps between the rows of `tensors` are there to find faults.
    """
    host = getattr(module, spec.name)
    given = dense(tensors)
    given |= {name: torch.empty_like(given[of], dtype=_type(spec, given[of])) for name, of in results_of(spec)}
    options = {} if config is None else {"config": config}
    return lambda: host(**given, **options)


def _type(spec: SoftmaxBackwardSpec, like: torch.Tensor) -> torch.dtype:
    """Of a gradient by a tensor: that of O, or of a vector its own."""
    return out_dtype(spec) if like.dim() > 1 else like.dtype


def baselines(spec: SoftmaxBackwardSpec) -> Mapping[str, Baseline]:
    """cuDNN's backward, as torch calls it, and of packed sequences FlashAttention 2's, where all three gradients are
    asked for and it has the mask."""
    if spec.gradients != ("dq", "dk", "dv") or _unknown(spec):
        return {}
    if spec.lengths == "packed":
        return {"flash": lambda t: _flash(spec, dense(t))} if _placed_last(spec) else {}
    masked = spec.mask.kind == "none" or (spec.mask.kind == "causal" and spec.mask.align == "top_left")
    return {"cudnn": lambda t: _cudnn(spec, t)} if masked and spec.lengths == "dense" else {}


def _unknown(spec: SoftmaxBackwardSpec) -> bool:
    """Whether operands or scores have what torch's kernels do not."""
    of_scores = spec.softmax.softcap or bool(spec.softmax.expression)
    return of_scores or any(map(spec.weights.get, ("sink", "bias", "blocks"))) or spec.scaled


def _placed_last(spec: SoftmaxBackwardSpec) -> bool:
    """Whether a mask stands at the last key, as FlashAttention's do."""
    return spec.mask.kind == "none" or spec.mask.align == "bottom_right"


def _cudnn(spec: SoftmaxBackwardSpec, tensors: Tensors) -> Run:
    """Its own forward comes first, and is not timed. Autograd cannot be captured in a graph, hence its operators.

    Heads that share K and V get copies of them, and the gradients of the copies are added up within the timed call.
    """
    ops: Any = torch.ops.aten
    q, k, v, dout = (tensors[name].contiguous() for name in ("q", "k", "v", "dout"))
    shared = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(shared, dim=1) if shared > 1 else x for x in (k, v))
    causal = spec.mask.kind == "causal"
    forward = ops._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal, False)
    out, lse, begins_q, begins_k, most_q, most_k, seed, offset, _ = forward

    def run() -> tuple[torch.Tensor, ...]:
        fixed = (out, lse, seed, offset, None, begins_q, begins_k, most_q, most_k, 0.0, causal)
        dq, dk, dv = ops._scaled_dot_product_cudnn_attention_backward(dout, q, k, v, *fixed)
        if shared > 1:
            dk, dv = (x.unflatten(1, (-1, shared)).sum(2) for x in (dk, dv))
        return dq, dk, dv

    return run


def peers(spec: SoftmaxBackwardSpec, shape: Shape, tensors: Tensors) -> Mapping[str, Callable[[], Outputs]]:
    """torch's kernels for the gradients of these arguments: FlashAttention 2, from the same O and log-sum-exp, and
    cuDNN's, which has its own (of one query it refuses the first time and crashes the second). None for masks that both
    place otherwise."""
    *_, n, m = shape
    if _unknown(spec) or spec.lengths == "keys":
        return {}
    found: dict[str, Callable[[], Outputs]] = {}
    if ((n == m and spec.lengths == "dense") or _placed_last(spec)) and spec.problem.head_dim == spec.head_dim_v:
        found["flash"] = lambda: _named(spec, _flash(spec, tensors)())
    if (
        spec.lengths == "dense"
        and n > 1
        and spec.mask.kind != "window"
        and (spec.mask.kind == "none" or spec.mask.align == "top_left")
    ):
        found["cudnn"] = lambda: _named(spec, _cudnn(spec, tensors)())
    return found


def _flash(spec: SoftmaxBackwardSpec, t: Tensors) -> Run:
    """Its forward, which makes the seeds that it asks for, is not timed. In its tensors, heads lie between the rows."""
    ops: Any = torch.ops.aten
    packed = spec.lengths == "packed"
    by_rows = (t[name] if packed else t[name].transpose(1, 2) for name in ("q", "k", "v", "out", "dout"))
    q, k, v, out, dout = (x.contiguous() for x in by_rows)
    sums = t.get("cu_seqlens_q"), t.get("cu_seqlens_k")
    most = (t["max_seqlen_q"], t["max_seqlen_k"]) if packed else (q.shape[1], k.shape[1])
    causal, lse = spec.mask.kind == "causal", t["lse"].contiguous()
    seeds = ops._flash_attention_forward(q, k, v, *sums, *most, 0.0, causal, False)[2:4]
    left, right = t["window"] if spec.mask.kind == "window" else (None, None)

    def run() -> tuple[torch.Tensor, ...]:
        found = ops._flash_attention_backward(
            *(dout, q, k, v, out, lse, *sums, *most, 0.0, causal, *seeds),
            window_size_left=left,
            window_size_right=right,
        )
        return tuple(found if packed else (x.transpose(1, 2) for x in found))

    return run


def _named(spec: SoftmaxBackwardSpec, gradients: Sequence[torch.Tensor]) -> Outputs:
    """Those of dQ, dK, dV that the spec asks for."""
    return {name: x for name, x in zip(LIKE, gradients, strict=True) if name in spec.gradients}
