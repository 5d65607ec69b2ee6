"""Problems of norms: inputs, reference and tolerance. It imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from tlxgen.families.kit.matrices import Shape, Tensors, launch, random

from .spec import NormSpec

__all__ = ["inputs", "launch", "reference", "shapes", "simulated_shapes", "tolerance"]

MEAN = 16.0  # of x, whose squares are then far larger than its variance
EPS = 1e-5
SHAPES = ((1, 1), (3, 7), (40, 64), (1000, 1111), (77, 5000), (6, 20000), (4, 40008), (5, 131072), (2, 262144))


def shapes(spec: NormSpec) -> tuple[Shape, ...]:
    """The spec's own shapes, and those shapes that find the usual faults whose rows a config's CTAs can hold."""
    given = dict.fromkeys((*((int(m), int(n)) for m, n in spec.check.shapes), *SHAPES))
    return tuple(shape for shape in given if shape[1] <= spec.most and shape[1] % spec.step == 0)


def simulated_shapes(spec: NormSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs quickly: one element; ragged rows; whole rows, as long as a config's CTAs can hold."""
    m, n = spec.tile.m, spec.most
    yield from ((1, spec.step), (3 * m - m // 2, n - 3 * spec.step), (m, n))


def inputs(spec: NormSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. The gaps between rows of x hold NaN."""
    x = random(shape[0], shape[1], spec.problem.dtype, device).add_(MEAN)
    vectors = {name: random(1, shape[1], kind.name, device)[0] for name, kind in spec.vectors.items()}
    residual = {name: random(shape[0], shape[1], spec.problem.dtype, device) for name in spec.read[1:]}
    return {"x": x, **residual, **vectors, "eps": EPS}


def reference(spec: NormSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each output in float64, and the norm that an error is relative to."""
    x = t["x"].double()
    if spec.problem.residual:  # rounded, as the kernel normalises and returns it
        x = (t["x"].float() + t["residual"].float()).to(t["x"].dtype).double()
    whole = x
    mean = x.mean(-1)
    x = x - mean[..., None] if spec.layer else x
    rstd = (x.square().mean(-1) + t["eps"]).rsqrt()
    out = x * rstd[..., None] * t.get("weight", 1.0) + t.get("bias", 0.0)
    made = {"out": out, "residual_out": whole, "mean": mean, "rstd": rstd}
    return {name: (made[name], float(made[name].norm())) for name in (*spec.written.values(), *spec.stats)}


def tolerance(spec: NormSpec, output: str) -> float:
    """The largest relative error norm of a correct result: twice the rounding error for y, fp32's for statistics."""
    if output == "out" and spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return {"bf16": 4e-3, "fp16": 5e-4}.get(spec.problem.dtype, 1e-5) if output == "out" else 1e-5
