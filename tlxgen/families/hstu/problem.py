"""Problems of HSTU: inputs, reference and shapes. All else is attention_fwd's.

It imports torch; the rest of the family does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from tlxgen.families.attention.inputs import Shape
from tlxgen.families.attention.sequences import lengths, window_of
from tlxgen.families.attention_fwd import problem as attention
from tlxgen.families.attention_fwd.problem import Tensors, launch, sequences, together, tolerance, unseen
from tlxgen.families.gdpa.problem import many, weighted

from .spec import HstuSpec

__all__ = ["inputs", "launch", "reference", "shapes", "simulated_shapes", "tolerance", "unseen"]

CONTEXT, FULL = 5, 9  # of a check: keys and queries; tiles are cut by each


def shapes(spec: HstuSpec) -> tuple[Shape, ...]:
    """The shapes to check: those of the spec, and shapes that find the usual faults."""
    return tuple(dict.fromkeys(ordered(shape) for shape in attention.shapes(spec)))


def simulated_shapes(spec: HstuSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Those of attention_fwd, then as many queries as keys: with a tile of these, two, some more, many times one. Then
    so many keys more that what queries see ends, or begins, with the first or the last key of a tile."""
    yield from map(ordered, attention.simulated_shapes(spec, constants, sms))
    m, n = constants["BLOCK_M"], constants["BLOCK_N"]
    for batches, length in ((2, n // 2 + 1), (2, n + 5), (3, 2 * m + 9)):
        yield batches, 1, 1, length, length
    yield many(constants)
    cut = (window_of(2)[0] - 1) % n
    for heads, queries, more in ((4, m, n + 1), (2, m + n // 2, cut), (1, 3 * m // 4, m // 2 - 2)):
        yield 1, heads, 1, queries, queries + more


def ordered(shape: Shape) -> Shape:
    """The shape with no more queries than keys."""
    b, h, kv, n, m = shape
    return b, h, kv, min(n, m), max(n, m)


def inputs(spec: HstuSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. Every other sequence has other targets."""
    b, h, _, n, m = shape
    k_lengths = lengths(b, m, 1)
    none = {2} if n < m else set()  # the third sequence, of keys without a query
    q_lengths = [0 if i in none else min(length, n) for i, length in enumerate(k_lengths)]
    made = attention.operands(spec, shape, q_lengths, k_lengths, device)
    made |= {"alpha": 2 * spec.problem.head_dim**-0.5, "attn_scale": 1 / m}
    if spec.problem.attn_scale == "rows":
        made["attn_scale"] = torch.rand(len(made["q"]), device=device) / m
    if spec.mask.targets:
        targets = [min(3 + 40 * (i % 2), length) for i, length in enumerate(k_lengths)]
        made["num_targets"] = torch.tensor(targets, dtype=torch.int32, device=device)
    asked = {"contextual": ("contextual_seq_len", CONTEXT), "max_attn_len": ("max_attn_len", window_of(h)[0])}
    asked |= {"min_full_attn": ("min_full_attn_seq_len", FULL)}
    return made | dict(of for key, of in asked.items() if getattr(spec.mask, key))


def reference(spec: HstuSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """O in float64, from the same values that the kernel reads, and its norm."""
    silu, parts = torch.nn.functional.silu, []
    for i, (q, k, v) in enumerate(sequences(spec, t)):
        targets = int(t["num_targets"][i]) if spec.mask.targets else None
        seen = seen_of(spec, k.shape[1], targets, t).to(q.device)[k.shape[1] - q.shape[1] :]
        parts.append(weighted(q, k, v, lambda x, seen=seen: silu(t["alpha"] * x) * seen))  # type: ignore[misc]
    out = together(spec, parts)
    factor = t["attn_scale"][:, None, None].double() if spec.problem.attn_scale == "rows" else t["attn_scale"]
    out = out * factor
    return {"out": (out, max(float(out.detach().norm()), 1e-6))}


def seen_of(spec: HstuSpec, n: int, targets: int | None, t: Tensors) -> torch.Tensor:
    """(n, n): whether the query at the position of one key sees another key, by the definition."""
    context, near, full = (
        int(t.get(name, 0)) for name in ("contextual_seq_len", "max_attn_len", "min_full_attn_seq_len")
    )
    history = n - max(context - 1, 0) - (targets or 0)
    place = (torch.arange(n) - max(context - 1, 0)).clamp(min=0)
    place = place if targets is None else place.clamp(max=history)
    row, column = place[:, None], place[None, :]
    away = row - column if spec.mask.causal else (row - column).abs()
    seen = torch.eye(n, dtype=torch.bool) | (away > 0)
    if near:
        seen &= (away <= near) | (row >= history - full if full else False)
    if context:
        seen |= (row == 0) & (column < history)
    return seen
