"""Problems of GDPA: inputs and reference. All else is attention_fwd's. It imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
from torch.nn import functional

from tlxgen.families.attention.inputs import Shape
from tlxgen.families.attention.sequences import lengths, window_of
from tlxgen.families.attention_fwd import problem as attention
from tlxgen.families.attention_fwd.problem import (
    Tensors,
    launch,
    operands,
    seen_of,
    sequences,
    shapes,
    together,
    tolerance,
    unseen,
)

from .spec import GdpaSpec

__all__ = ["inputs", "launch", "reference", "shapes", "simulated_shapes", "tolerance", "unseen"]

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "raw": lambda x: x,
    "relu": functional.relu,
    "leaky_relu": functional.leaky_relu,
    "relu_square": lambda x: functional.relu(x).square(),
    "hardswish": functional.hardswish,
    "silu": functional.silu,
    "fast_gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu": functional.gelu,
}


def simulated_shapes(spec: GdpaSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Those of attention_fwd, and many sequences of a tile of keys."""
    yield from attention.simulated_shapes(spec, constants, sms)
    yield many(constants)


def many(constants: Mapping[str, int]) -> Shape:
    """More sequences than CTAs, of a head and a tile of keys each."""
    length = constants["BLOCK_N"] // 2 + 1
    return 9, 1, 1, length, length


def inputs(spec: GdpaSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name."""
    b, h, _, n, m = shape
    made = operands(spec, shape, lengths(b, n, 0), lengths(b, m, 1), device)
    made["q"] *= spec.problem.head_dim**-0.5  # scores of about 1, where activations bend
    return made | {"qk_scale": 0.7} | ({"window": window_of(h)} if spec.mask.kind == "window" else {})


def reference(spec: GdpaSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """O in float64, from the same values that the kernel reads, and its norm."""
    parts = []
    for q, k, v in sequences(spec, t):
        seen = seen_of(spec.weights, q.shape[1], k.shape[1], t, q.device)
        parts.append(weighted(q, k, v, lambda x, seen=seen: FUNCTIONS[spec.activation](x) * seen * t["qk_scale"]))  # type: ignore[misc]
    out = together(spec, parts)
    return {"out": (out, max(float(out.detach().norm()), 1e-6))}


def weighted(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, weigh: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """O (H, Nq, Dv) of one sequence: what `weigh` makes of the scores of a head (Nq, Nk), by V."""
    group = q.shape[0] // k.shape[0]
    heads = (weigh(q[h].double() @ k[h // group].double().T) @ v[h // group].double() for h in range(q.shape[0]))
    return torch.stack(list(heads))
