"""The work of the gradients of GDPA and HSTU: five products where the forward has two."""

from __future__ import annotations

from tlxgen.families.attention.common import Shape
from tlxgen.families.attention_bwd.cost import clocks
from tlxgen.families.attention_fwd import cost as forward

from .spec import JaggedBwdSpec

__all__ = ["bytes_moved", "clocks", "flops"]


def flops(spec: JaggedBwdSpec, shape: Shape) -> int:
    """Floating-point operations of the products over the pairs that are seen."""
    return forward.flops(spec.forward, shape) * 5 // 2


def bytes_moved(spec: JaggedBwdSpec, shape: Shape) -> float:
    """Bytes of Q, K, V, dO and the gradients, each once: dO is as large as O, of the rest there is a gradient."""
    _, h, kv, n, m = shape
    return forward.bytes_moved(spec.forward, shape) * (3 * h * n + 4 * kv * m) / (2 * h * n + 2 * kv * m)
