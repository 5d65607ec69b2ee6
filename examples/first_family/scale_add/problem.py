"""A scale_add problem with numbers in it."""

from collections.abc import Iterator, Mapping

import torch

from tlxgen.families.kit.matrices import Shape, Tensors, launch, random, shapes, tolerance

from .spec import ScaleAddSpec

__all__ = ["inputs", "launch", "reference", "shapes", "simulated_shapes", "tolerance"]


def simulated_shapes(spec: ScaleAddSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """One element; ragged tiles, so many that the slots of each CTA go round."""
    yield 1, 1
    yield 2 * constants["BLOCK_M"] - 3, sms * (constants["STAGES"] + 1) // 2 * constants["BLOCK_N"] + 5


def inputs(spec: ScaleAddSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the host function, by name."""
    return {name: random(*shape, spec.problem.dtype, device) for name in "ab"} | {"alpha": 1.25}


def reference(spec: ScaleAddSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """C in float64, and the norm that an error is relative to."""
    c = t["alpha"] * t["a"].double() + t["b"].double()
    return {"out": (c, float(c.norm()))}
