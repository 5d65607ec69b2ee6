"""HSTU of meta-recsys/generative-recommenders: attention with silu for the softmax."""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import package

package("generative_recommenders", "meta-recsys/generative-recommenders", "generative_recommenders")
attention = importlib.import_module("generative_recommenders.ops.triton.triton_hstu_attention")


def starts(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int64, device="cuda")


def _targets(targets):
    return None if targets is None else torch.tensor(targets, dtype=torch.int64, device="cuda")


def forward(q, k, v, lengths, targets=None, window=0, context=0, tma=True):
    return attention.triton_hstu_attention_fwd(
        max(lengths), q.shape[-1] ** -0.5, q, k, v, starts(lengths), _targets(targets), window, context, None, tma, 0
    )


def backward(q, k, v, grad, lengths, targets=None, window=0, context=0, tma=False):
    made = [torch.empty_like(x) for x in (q, k, v)]
    attention.triton_hstu_attention_bwd(
        grad, q, k, v, *made, starts(lengths), _targets(targets), max(lengths), q.shape[-1] ** -0.5, window, context,
        None, tma, 0,
    )  # fmt: skip
    return made


def _seen(length, targets, window, context):
    """Who sees whom: what is before, and itself. The first `context` rows see all that are no targets, and targets no
    others."""
    ids = torch.arange(length)
    last = length
    if context:
        ids, last = (ids - context + 1).clamp(min=0), last - context + 1
    last -= targets
    ids = ids.clamp(max=last)
    distance = ids[:, None] - ids[None, :]
    seen = torch.eye(length, dtype=torch.bool) | (distance > 0)
    if window:
        seen &= distance <= window
    return seen | (ids[:, None] == 0) & (ids[None, :] < last) if context else seen


def reference(q, k, v, lengths, targets=None, window=0, context=0):
    targets = targets or [0] * len(lengths)
    outs = []
    for i, (a, b, c) in enumerate(zip(*(x.split(lengths) for x in (q, k, v)), strict=True)):
        scores = a.transpose(0, 1) @ b.permute(1, 2, 0) * q.shape[-1] ** -0.5
        weights = F.silu(scores) / max(lengths) * _seen(lengths[i], targets[i], window, context)
        outs.append((weights @ c.transpose(0, 1)).transpose(0, 1))
    return torch.cat(outs)


def gradients(q, k, v, grad, lengths, targets=None, window=0, context=0):
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(reference(*leaves, lengths, targets, window, context), leaves, grad)
