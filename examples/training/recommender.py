"""A recommender block (HSTU over histories, GDPA that pools them), with generated operators and with torch's.

    python examples/training/recommender.py --json recommender.json --plot recommender.svg

Of each user there is a history of items of its own length. The block learns whether the user has liked them on the
whole. Ours are layer norm, linear layers, HSTU attention and GDPA with queries that all users share, forward and
backward. Embedding, gates, the last dot product, the loss and Adam are torch's in every run.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import common
import torch
from torch.nn import functional

HEAD = 128  # columns of a head


def ours() -> SimpleNamespace:
    """Generated operators that know their gradients."""
    linear = common.generated("hopper_linear", "hopper_linear")
    norm = common.generated("hopper_layer_norm_bwd", "norm", "hopper_layer_norm_bwd")
    hstu = common.generated("hopper_hstu_bwd", "attention_causal")
    gdpa = common.generated("hopper_gdpa_bwd", "attention_silu")
    return SimpleNamespace(
        linear=lambda x, weight: linear(x, weight.t()),
        norm=norm(common.generated("hopper_layer_norm", "hopper_layer_norm")),
        hstu=hstu(common.generated("hopper_hstu", "hopper_hstu_causal"))[0],
        gdpa=gdpa(common.generated("hopper_gdpa", "hopper_gdpa_silu")),
    )


def padded(x: torch.Tensor, offsets: torch.Tensor, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Jagged rows (T, H, D) as (B, H, longest, D) with zeros behind, and which rows (B, longest) there are."""
    place = torch.arange(longest, device=x.device) + offsets[:-1, None]
    inside = place < offsets[1:, None]
    return (x[place.clamp(max=len(x) - 1)] * inside[..., None, None]).transpose(1, 2), inside


def hstu_of_torch(longest: int, alpha: float, q: Any, k: Any, v: Any, offsets: torch.Tensor) -> torch.Tensor:
    """silu(alpha Q K^T) / longest V of each sequence, causal."""
    (q, inside), (k, _), (v, _) = (padded(x, offsets, longest) for x in (q, k, v))
    p = functional.silu(alpha * q @ k.transpose(-1, -2)).tril()
    return ((p @ v) / longest).transpose(1, 2)[inside]


def gdpa_of_torch(q: Any, k: Any, v: Any, q_ends: Any, offsets: torch.Tensor, n: int, m: int, **o: Any) -> Any:
    """silu(Q K^T) V times qk_scale, of the same queries (n, H, D) for each sequence of keys: (B n, H, D)."""
    (k, _), (v, _) = padded(k, offsets, m), padded(v, offsets, m)
    p = functional.silu(q.transpose(0, 1) @ k.transpose(-1, -2))  # of a key of zeros it is 0
    return (o["qk_scale"] * (p @ v)).transpose(1, 2).flatten(0, 1)


def of_torch() -> SimpleNamespace:
    return SimpleNamespace(linear=functional.linear, norm=functional.layer_norm, hstu=hstu_of_torch, gdpa=gdpa_of_torch)


def sizes(small: bool) -> SimpleNamespace:
    """Users, the longest history, heads, queries that all users share, and how many items there are."""
    if small:
        return SimpleNamespace(users=3, longest=40, heads=1, queries=8, items=50)
    return SimpleNamespace(users=64, longest=256, heads=4, queries=16, items=1000)


def parameters(size: SimpleNamespace, seed: int) -> dict[str, torch.Tensor]:
    """In fp32, on the CPU: the same for all runs."""
    made = torch.Generator().manual_seed(seed)
    width = size.heads * HEAD
    shapes = {
        "embedding": (size.items, width), "uqkv": (4 * width, width), "projection": (width, width),
        "kv": (2 * width, width), "queries": (size.queries, size.heads, HEAD), "head": (width, 1),
    }  # fmt: skip
    found = {name: torch.randn(shape, generator=made) for name, shape in shapes.items()}
    for name in ("uqkv", "projection", "kv"):
        found[name] *= width**-0.5
    found["head"] *= len(found["head"]) ** -0.5
    for i in range(4):
        found |= {f"norm{i}": torch.ones(width), f"shift{i}": torch.zeros(width)}
    return found


def block(
    op: SimpleNamespace, p: dict[str, torch.Tensor], x: torch.Tensor, offsets: torch.Tensor, size: SimpleNamespace
) -> torch.Tensor:
    """x: (items of all histories, width). Returns a number a user, (users,)."""
    width = size.heads * HEAD

    def norm(rows: torch.Tensor, i: int) -> torch.Tensor:
        return op.norm(rows, (width,), p[f"norm{i}"], p[f"shift{i}"], 1e-5)

    def heads(rows: torch.Tensor) -> torch.Tensor:
        return rows.reshape(-1, size.heads, HEAD)

    u, q, k, v = functional.silu(op.linear(norm(x, 0), p["uqkv"])).split(width, -1)
    seen = op.hstu(size.longest, HEAD**-0.5, heads(q), heads(k), heads(v), offsets)
    x = x + op.linear(u * norm(seen.reshape(-1, width), 1), p["projection"])
    k, v = op.linear(norm(x, 2), p["kv"]).split(width, -1)
    ends = torch.tensor([0, size.queries], device=x.device)
    about = {"qk_scale": 1 / size.longest, "activation": "silu", "broadcast_q": True}
    queries = p["queries"] * HEAD**-0.5
    pooled = op.gdpa(queries, heads(k), heads(v), ends, offsets, size.queries, size.longest, **about)
    return (norm(pooled.reshape(-1, width), 3).reshape(size.users, -1, width).mean(1) @ p["head"])[:, 0]


def model(operators: str, dtype: torch.dtype, device: torch.device, seed: int, small: bool) -> tuple[Any, Any]:
    """The loss of a step, and the parameters, which stay in fp32; `dtype` is what the block computes in."""
    op, size = ours() if operators == "tlxgen" else of_torch(), sizes(small)
    leaves = {name: x.to(device).requires_grad_() for name, x in parameters(size, seed).items()}
    made = torch.Generator().manual_seed(seed)
    likes = torch.randn(size.items, generator=made)
    lengths = torch.randint(1, size.longest + 1, (size.users,), generator=made)
    total = int(lengths.sum())

    def loss_of(step: int) -> torch.Tensor:
        drawn = torch.Generator().manual_seed(seed + 1 + step)
        mixed = lengths[torch.randperm(size.users, generator=drawn)]  # as many items in each step: the same shapes
        offsets = torch.cat((torch.zeros(1, dtype=torch.int64), mixed.cumsum(0))).to(torch.int32)
        items = torch.randint(size.items, (total,), generator=drawn)
        user = torch.repeat_interleave(torch.arange(size.users), mixed)
        liked = (torch.zeros(size.users).index_add(0, user, likes[items]) > 0).float()
        p = {name: x.to(dtype) for name, x in leaves.items()}
        x = functional.embedding(items.to(device), p["embedding"])
        scores = block(op, p, x, offsets.to(device), size)
        return functional.binary_cross_entropy_with_logits(scores.float(), liked.to(device))

    return loss_of, [*leaves.values()]


def main(argv: list[str] | None = None) -> int:
    return common.main("recommender", (__doc__ or "").splitlines()[0], model, argv)


if __name__ == "__main__":
    sys.exit(main())
