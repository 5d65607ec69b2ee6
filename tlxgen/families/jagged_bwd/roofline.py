"""The work items of the gradients of GDPA and HSTU: what `show --roofline` needs."""

from __future__ import annotations

from tlxgen.families.attention.common import Shape
from tlxgen.families.attention_bwd.roofline import probes, work
from tlxgen.families.attention_fwd.roofline import part_of_longest

from .cost import bytes_moved
from .spec import JaggedBwdSpec

__all__ = ["least_bytes", "probes", "work"]


def least_bytes(spec: JaggedBwdSpec, shape: Shape) -> float:
    """Bytes that a launch moves at the least, by the lengths that its sequences have."""
    last = "alpha" in spec.forward.weights
    return bytes_moved(spec, shape) * part_of_longest(spec.forward.problem.lengths, shape, last)
