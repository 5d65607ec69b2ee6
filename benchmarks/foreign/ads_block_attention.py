"""Block attention of facebookresearch/ads_model_kernel_library: each block of 64 rows attends to itself."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import foreign, package

REPOSITORY = "facebookresearch/ads_model_kernel_library"
package("ads_mkl.ops.oss", REPOSITORY, "")
block = foreign(REPOSITORY, "block_attention/triton/tlx_block_attention.py")
_forward = block.tlx_block_attention
_backward = block.block_attention_backward


def starts(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device="cuda")


def forward(q, k, v, lengths, on_cpu=True):
    at = starts(lengths)
    return _forward(q, k, v, at, at.cpu() if on_cpu else None)[0]


def reference(q, k, v, lengths):
    sizes = [min(64, n - at) for n in lengths for at in range(0, n, 64)]
    parts = zip(*(x.split(sizes) for x in (q, k, v)), strict=True)
    return torch.cat([_attend(*(x.transpose(0, 1) for x in part)).transpose(0, 1) for part in parts])


def _attend(q, k, v):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


def backward(q, k, v, grad, lengths):
    at = starts(lengths)
    _, per_batch, per_program, blocks, *_ = _forward(q, k, v, at, at.cpu())
    return _backward(grad, q, k, v, at, per_batch, per_program, blocks)[:3]


def gradients(q, k, v, grad, lengths):
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(reference(*leaves, lengths), leaves, grad)


def rotated(x, w, positions, lengths):
    """Projection, rotation, attention."""
    at = starts(lengths)
    return _forward(
        *(torch.empty(1, 2, 64, dtype=x.dtype, device="cuda") for _ in range(3)),
        at,
        at.cpu(),
        include_projection_rotary=True,
        x=x,
        w=w,
        sinu_pos=positions,
        qhead=2,
        kvhead=2,
        max_seq_len=max(lengths),
    )[0]


def rotated_backward(q, k, v, grad, positions, lengths):
    at = starts(lengths)
    _, per_batch, per_program, blocks, *_ = _forward(q, k, v, at, at.cpu())
    return _backward(grad, q, k, v, at, per_batch, per_program, blocks, positions, True)[0]


def rotated_gradients(q, k, v, grad, positions, lengths):
    """The kernel is given what has been rotated; its gradients are by what has not."""
    sin, cos = (x.repeat_interleave(2, dim=-1)[:, None] for x in positions.chunk(2, dim=-1))

    def back(x):
        turned = (x * sin).unflatten(-1, (-1, 2))
        return x * cos + torch.stack((turned[..., 1], -turned[..., 0]), dim=-1).flatten(-2)

    return torch.cat([back(x).flatten(1) for x in gradients(q, k, v, grad, lengths)], dim=1)
