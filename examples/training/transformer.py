"""A transformer block that learns which token follows which, with generated operators and with torch's.

    python examples/training/transformer.py --json transformer.json --plot transformer.svg

Ours are layer norm, linear layers, gelu and causal attention (grouped heads), forward and backward. Embedding,
cross entropy and Adam are torch's in every run.
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
    linear_gelu = common.generated("hopper_linear", "hopper_linear_bias_gelu")
    attention = common.generated("hopper_attention_bwd", "attention_causal")
    norm = common.generated("hopper_layer_norm_bwd", "norm", "hopper_layer_norm_bwd")
    return SimpleNamespace(
        linear=lambda x, weight: linear(x, weight.t()),
        linear_gelu=lambda x, weight, bias: linear_gelu(x, weight.t(), bias=bias),
        attention=attention(common.generated("hopper_attention_fwd", "hopper_attention_fwd_causal")),
        norm=norm(common.generated("hopper_layer_norm", "hopper_layer_norm")),
    )


def of_torch() -> SimpleNamespace:
    return SimpleNamespace(
        linear=functional.linear,
        linear_gelu=lambda x, weight, bias: functional.gelu(functional.linear(x, weight, bias)),
        attention=functional.scaled_dot_product_attention,
        norm=functional.layer_norm,
    )


def sizes(small: bool) -> SimpleNamespace:
    """Sequences, their tokens, heads of Q, of K and V, and how many tokens there are."""
    if small:
        return SimpleNamespace(batch=2, tokens=32, heads=2, kv_heads=1, vocabulary=64)
    return SimpleNamespace(batch=8, tokens=512, heads=8, kv_heads=2, vocabulary=1024)


def parameters(size: SimpleNamespace, seed: int) -> dict[str, torch.Tensor]:
    """In fp32, on the CPU: the same for all runs."""
    made = torch.Generator().manual_seed(seed)
    width, kv = size.heads * HEAD, size.kv_heads * HEAD
    shapes = {
        "embedding": (size.vocabulary, width), "qkv": (width + 2 * kv, width), "projection": (width, width),
        "up": (4 * width, width), "down": (width, 4 * width), "head": (size.vocabulary, width),
    }  # fmt: skip
    found = {name: torch.randn(shape, generator=made) * shape[1] ** -0.5 for name, shape in shapes.items()}
    found["embedding"] *= width**0.5
    for i in range(3):
        found |= {f"norm{i}": torch.ones(width), f"shift{i}": torch.zeros(width)}
    return found | {"bias": torch.zeros(4 * width)}


def block(op: SimpleNamespace, p: dict[str, torch.Tensor], x: torch.Tensor, size: SimpleNamespace) -> torch.Tensor:
    """x: (tokens of all sequences, width). Returns scores of the tokens that may follow each."""
    width, kv = size.heads * HEAD, size.kv_heads * HEAD

    def heads(t: torch.Tensor) -> torch.Tensor:
        return t.reshape(size.batch, size.tokens, -1, HEAD).transpose(1, 2)

    qkv = op.linear(op.norm(x, (width,), p["norm0"], p["shift0"], 1e-5), p["qkv"])
    q, k, v = map(heads, qkv.split((width, kv, kv), -1))
    seen = op.attention(q, k, v, is_causal=True, enable_gqa=True)
    x = x + op.linear(seen.transpose(1, 2).reshape(-1, width), p["projection"])
    hidden = op.linear_gelu(op.norm(x, (width,), p["norm1"], p["shift1"], 1e-5), p["up"], p["bias"])
    x = x + op.linear(hidden, p["down"])
    return op.linear(op.norm(x, (width,), p["norm2"], p["shift2"], 1e-5), p["head"])


def model(operators: str, dtype: torch.dtype, device: torch.device, seed: int, small: bool) -> tuple[Any, Any]:
    """The loss of a step, and the parameters, which stay in fp32; `dtype` is what the block computes in."""
    op, size = ours() if operators == "tlxgen" else of_torch(), sizes(small)
    leaves = {name: x.to(device).requires_grad_() for name, x in parameters(size, seed).items()}
    follower = torch.randperm(size.vocabulary, generator=torch.Generator().manual_seed(seed))

    def loss_of(step: int) -> torch.Tensor:
        drawn = torch.Generator().manual_seed(seed + 1 + step)
        tokens = torch.randint(size.vocabulary, (size.batch * size.tokens,), generator=drawn)
        p = {name: x.to(dtype) for name, x in leaves.items()}
        x = functional.embedding(tokens.to(device), p["embedding"])
        return functional.cross_entropy(block(op, p, x, size).float(), follower[tokens].to(device))

    return loss_of, [*leaves.values()]


def main(argv: list[str] | None = None) -> int:
    return common.main("transformer", (__doc__ or "").splitlines()[0], model, argv)


if __name__ == "__main__":
    sys.exit(main())
