"""TLX kernels of pytorch/FBGEMM's experimental folder: 2-simplicial attention, and attention and products (LCE) that
broadcast what belongs to a user to all candidates."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import package

_FOLDER = "fbgemm_gpu/experimental"
package("simplicial", "pytorch/FBGEMM", f"{_FOLDER}/simplicial_attention/simplicial")
package("ikbo", "pytorch/FBGEMM", f"{_FOLDER}/ikbo/ikbo")


def simplicial(q, k1, k2, v1, v2, w1, w2, variant="fwd_ws"):
    """O, of one head of keys, as its tests do."""
    module = importlib.import_module(f"simplicial.ops.tlx.{variant}")
    return getattr(module, f"tlx_{variant}")(q, k1, k2, v1, v2, w1=w1, w2=w2)[0]


def simplicial_reference(q, k1, k2, v1, v2, w1, w2):
    """Row i sees pairs (j, k) with i - w1 < j <= i and i - w2 < k <= i."""
    k1, k2, v1, v2 = (x[:, :, 0] for x in (k1, k2, v1, v2))
    scores = torch.einsum("bihd,bjd,bkd->bhijk", q, k1, k2) / math.sqrt(q.shape[-1])
    at = torch.arange(q.shape[1])
    near = [(at[None, :] <= at[:, None]) & (at[None, :] > at[:, None] - w) for w in (w1, w2)]
    scores = scores.masked_fill(~(near[0][:, :, None] & near[1][:, None, :]), -math.inf)
    weights = scores.flatten(-2).softmax(-1).view_as(scores)
    return torch.einsum("bhijk,bjd,bkd->bihd", weights, v1, v2)


def broadcast_attention(q, k, v, candidates, seeds):
    """`candidates`: how many each user has."""
    module = importlib.import_module("ikbo.ops.tlx_ikbo_fa_ws")
    users, grid, first = [], [], 0
    for user, count in enumerate(candidates):
        users += [user] * count
        grid += range(first, first + count, 2)
        first += count
    users, grid = (torch.tensor(x, dtype=torch.int32, device="cuda") for x in (users, grid))
    return module.tlx_flash_attn_ikbo_tma_persistent(q, k, v, users, seeds, k.shape[0] // len(candidates), grid)


def broadcast_attention_reference(q, k, v, candidates, seeds):
    q = q.unflatten(0, (-1, seeds)).transpose(1, 2)
    k, v = (
        x.unflatten(0, (len(candidates), -1)).repeat_interleave(torch.tensor(candidates), 0).transpose(1, 2)
        for x in (k, v)
    )
    return ((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v).transpose(1, 2).flatten(0, 1)


def broadcast_products(w, w_user, x, x_user, each):
    """`each` candidates a user."""
    module = importlib.import_module("ikbo.ops.tlx_ikbo_lce")
    users = (torch.arange(x.shape[0], device="cuda") // each).int()
    return module.tlx_ikbo_lce(w, w_user, x, x_user, users, module.create_user_flag(w_user, x_user))


def broadcast_products_reference(w, w_user, x, x_user, each):
    return w @ x + (w_user @ x_user)[torch.arange(x.shape[0]) // each]
