"""A norm with numbers in it: inputs, reference, tolerance and launch. Imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import Arch
from tlxgen.families.attention.inputs import GAP, strays

from .spec import NormSpec

Shape = tuple[int, int]
Tensors = dict[str, torch.Tensor]
MEAN = 16.0  # of x, whose squares are then far larger than its variance
EPS = 1e-5
SHAPES = ((1, 1), (3, 7), (40, 64), (1000, 1111), (77, 5000), (6, 20000), (4, 40008), (5, 131072), (2, 262144))


def shapes(spec: NormSpec) -> tuple[Shape, ...]:
    """The spec's own shapes, and of those that catch the usual faults all that a config's CTAs can hold."""
    given = dict.fromkeys((*((int(m), int(n)) for m, n in spec.check.shapes), *SHAPES))
    return tuple(shape for shape in given if shape[1] <= spec.tile.n * spec.cluster.n)


def simulated_shapes(spec: NormSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs at once: one element; ragged rows, three tiles to some CTAs; whole rows."""
    m, n = spec.tile.m, spec.tile.n * spec.cluster.n
    ctas = Arch.registers // (32 * spec.warps * spec.registers) * sms
    clusters = max(1, ctas // spec.cluster.n) if spec.schedule.kind == "persistent" else 1
    yield from ((1, 1), ((2 * clusters + 1) * m - m // 2, n - 3), (m, n))


def inputs(spec: NormSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name; between the rows of x lies NaN."""
    x = _poisoned(spec, shape, device)[1]
    x.copy_(torch.randn(shape, device=device) + MEAN)
    made = {"x": x.unflatten(0, (2, -1)) if shape[0] % 2 == 0 else x}
    for name, kind in spec.vectors.items():
        made[name] = torch.randn(shape[1], device=device).to(getattr(torch, kind.torch))
    return made


def _poisoned(spec: NormSpec, shape: Shape, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of NaN, and the rows of it that are x or y, with a gap after each."""
    whole = torch.full((shape[0] + 2, shape[1] + GAP // spec.dtype.bytes), float("nan"), device=device)
    whole = whole.to(getattr(torch, spec.dtype.torch))
    return whole, whole[: shape[0], : shape[1]]


def launch(module: ModuleType, spec: NormSpec, shape: Shape, tensors: Tensors, config: Any) -> tuple[Tensors, int]:
    """Runs the generated host function on outputs of NaN; returns them and the number of elements written outside."""
    x = tensors["x"]
    buffers = {"out": _poisoned(spec, shape, x.device)}
    for name in spec.stats:
        flat = torch.full((shape[0] + 64,), float("nan"), device=x.device)
        buffers[name] = flat, flat[: shape[0]]
    outputs = {name: part.view(x.shape[: x.dim() - (name != "out")]) for name, (_, part) in buffers.items()}
    getattr(module, spec.name)(**tensors, **outputs, eps=EPS, config=config)
    torch.cuda.synchronize()
    return outputs, sum(strays(*pair) for pair in buffers.values())


def reference(spec: NormSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each output in float64, and the norm that an error is relative to."""
    x = t["x"].double()
    mean = x.mean(-1)
    x = x - mean[..., None] if spec.problem.norm == "layer" else x
    rstd = (x.square().mean(-1) + EPS).rsqrt()
    out = x * rstd[..., None] * t.get("weight", 1.0) + t.get("bias", 0.0)
    made = {"out": out, "mean": mean, "rstd": rstd}
    return {name: (made[name], float(made[name].norm())) for name in ("out", *spec.stats)}


def tolerance(spec: NormSpec, output: str) -> float:
    """The largest relative error norm that is right: of y twice what rounding it costs, of statistics fp32's."""
    if output == "out" and spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return {"bf16": 4e-3, "fp16": 5e-4}.get(spec.problem.dtype, 1e-5) if output == "out" else 1e-5


def reproducible(spec: NormSpec, output: str) -> bool:
    """Whether every run gives the same bits: sums of CTAs are added in the order of their ranks."""
    return True
