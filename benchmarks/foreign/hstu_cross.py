"""The backward of HSTU cross-attention in facebookexperimental/triton's tutorials: ragged queries and keys."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import foreign

hstu = foreign("facebookexperimental/triton", "third_party/tlx/tutorials/hstu_cross_attn/tlx_bw_cross_attention.py")
LOG2E = 1.4426950408889634


def starts(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int64, device="cuda")


def backward(q, k, v, dout, queries, keys, softmax=False, shared=False, two_blocks=False):
    """`shared`: K is V as well, and its gradient the sum of both."""
    v = k if shared else v
    out, maxima = (None, None)
    if softmax:
        out, maxima = attention(q.float(), k.float(), v.float(), queries, keys, True)
        out, maxima = out.to(q.dtype), maxima.contiguous()
    dq, dk, dv = hstu.tlx_bw_reduce_dq(
        q, k, v, dout, starts(keys), torch.tensor(1 / max(keys), device="cuda"), max(keys), q.shape[-1] ** -0.5,
        max_q_len=max(queries), seq_offsets_q=starts(queries), shared_kv=shared,
        num_softmax_heads=q.shape[1] if softmax else 0, out=out, M=maxima, use_2kv=two_blocks,
    )  # fmt: skip
    return (dq, dk) if shared else (dq, dk, dv)


def attention(q, k, v, queries, keys, softmax):
    outs, maxima = [], []
    for a, b, c in zip(q.split(queries), k.split(keys), v.split(keys), strict=True):
        scores = torch.einsum("qhd,khd->hqk", a, b) * q.shape[-1] ** -0.5
        weights = scores.softmax(-1) if softmax else torch.nn.functional.silu(scores) / max(keys)
        outs.append(torch.einsum("hqk,khd->qhd", weights, c))
        maxima.append(scores.logsumexp(-1).T * LOG2E)
    return torch.cat(outs), torch.cat(maxima)


def gradients(q, k, v, dout, queries, keys, softmax=False, shared=False):
    leaves = [x.detach().clone().requires_grad_() for x in ((q, k) if shared else (q, k, v))]
    with torch.enable_grad():
        out = attention(leaves[0], leaves[1], leaves[-1], queries, keys, softmax)[0]
        return torch.autograd.grad(out, leaves, dout)
