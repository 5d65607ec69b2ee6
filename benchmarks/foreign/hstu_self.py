"""HSTU self-attention of facebookexperimental/triton's tutorials: silu for the softmax, ragged sequences."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import foreign

hstu = foreign("facebookexperimental/triton", "third_party/tlx/tutorials/hstu_self_attn/tlx_bw_hstu_attention.py")
BACKWARD = {True: hstu._hstu_attn_bwd_ws, False: hstu._hstu_attn_bwd_ws_non_persistent}


def starts(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int64, device="cuda")


def forward(q, k, v, lengths, softmax=False, causal=True, config=0):
    """Sums of silu, divided by the longest length; or a softmax."""
    heads = q.shape[1] if softmax else 0
    saved = []
    maxima, stride = hstu.forward_custom_vars(q, heads, saved)
    return hstu.tlx_hstu_attention_fwd(
        max_seq_len=max(lengths), alpha=q.shape[-1] ** -0.5, q=q, k=k, v=v, seq_offsets=starts(lengths),
        attn_scale=torch.tensor(1 / max(lengths), device="cuda"), sort_by_length_indices=None, M=maxima,
        stride_mm=stride, num_softmax_heads=heads, num_targets=None, causal=causal, max_attn_len=0, full_attn_size=0,
        contextual_seq_len=0,
    )  # fmt: skip


def backward(q, k, v, dout, lengths, persistent, causal=True, rows=128):
    """Of sums of silu. `rows` of queries a step pick the config."""
    configs = [c for c in hstu.get_hstu_bwd_configs() if c.kwargs["BLOCK_M1"] == rows]
    BACKWARD[persistent].configs = configs[:1]
    dq, dk, dv = torch.zeros_like(q), torch.empty_like(k), torch.empty_like(v)
    none = torch.empty(0, device="cuda", dtype=torch.float32)
    return hstu.tlx_hstu_attention_bwd(
        dout=dout, q=q, k=k, v=v, dq=dq, dk=dk, dv=dv, seq_offsets=starts(lengths),
        attn_scale=torch.tensor(1 / max(lengths), device="cuda"), max_seq_len=max(lengths), alpha=q.shape[-1] ** -0.5,
        M=none, Delta=none, stride_mm=0, num_softmax_heads=0, num_targets=None, causal=causal,
        use_persistent=persistent,
    )  # fmt: skip


def silu_attention(q, k, v, lengths, causal=True, softmax=False):
    outs = []
    for a, b, c in zip(q.split(lengths), k.split(lengths), v.split(lengths), strict=True):
        scores = torch.einsum("qhd,khd->hqk", a, b) * q.shape[-1] ** -0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1) & causal
        if softmax:
            weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        else:
            weights = (torch.nn.functional.silu(scores) / max(lengths)).masked_fill(hidden, 0)
        outs.append(torch.einsum("hqk,khd->qhd", weights, c))
    return torch.cat(outs)


def gradients(q, k, v, dout, lengths, causal=True):
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        return torch.autograd.grad(silu_attention(*leaves, lengths, causal), leaves, dout)
