"""Problems of the backward of norms: inputs, reference and launch; the rest is the forward's. It imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from tlxgen.coverage import Waiver
from tlxgen.families.kit.matrices import Shape, Tensors, launch, random
from tlxgen.families.kit.unseen import GRID
from tlxgen.families.norm_fwd.problem import EPS, MEAN, SHAPES

from .spec import NormBwdSpec

__all__ = ["inputs", "launch", "reference", "shapes", "simulated_shapes", "tolerance", "unseen"]

SHORT = 8192  # columns of a short row, of which many can be run
APART = 16  # rows of a tile of the separate kernel that adds up columns
ROUND = 16  # clusters whose sums of long rows are added up at a time


def shapes(spec: NormBwdSpec) -> tuple[Shape, ...]:
    """The spec's own shapes, and those shapes that find the usual faults whose rows a config can hold."""
    given = dict.fromkeys((*((int(m), int(n)) for m, n in spec.check.shapes), *SHAPES))
    return tuple(shape for shape in given if shape[1] <= spec.columns and shape[1] % spec.step == 0)


def simulated_shapes(spec: NormBwdSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs at once: few rows of ragged columns, so many that slots go round, and those of the sums
    twice where rows are short; one row or element. Another kernel's sums of columns have two tiles of rows, and so many
    programs that rows are not as wide as they may be: one CTA has all its chunks, the next one and a half. Long rows on
    many SMs have the sums of more clusters than are added up at a time; of clusters of 8 too few are simulated."""
    rounds = max(1 + spec.rings.rows.stages, 6 if spec.cluster.n > 1 and spec.columns <= SHORT else 0)
    tiles = max(1, spec.ctas * sms // spec.cluster.n) * rounds + 1
    held = spec.tile.n * spec.tile.chunks
    columns = min(spec.columns, held + spec.tile.n * 3 // 2) if spec.apart else spec.columns
    yield tiles * spec.tile.m - spec.tile.m // 2, columns - max(spec.step, 3)
    yield (1 + APART, 5 * spec.step) if spec.apart else (1, spec.step)
    if spec.columns > SHORT and spec.cluster.n < 8:
        yield (ROUND + 1) * spec.tile.m, SHORT + spec.step


def inputs(spec: NormBwdSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. The gaps between rows of x and dy hold NaN.

    In half of the rows dy goes with x, in the others against it, and a weight is 1 on average. Of numbers that have
    nothing to do with each other, the means along a row that dx takes would be lost among errors of rounding; sums of
    columns stay small.
    """
    x, *gradients = (random(shape[0], shape[1], spec.problem.dtype, device) for _ in spec.read)
    gradients[0].add_((x + 1) * torch.randn(shape[0], 1, device=device).sign())
    found = dict(zip(spec.read[1:], gradients, strict=True)) | {"x": x.add_(MEAN)}
    wide = x.double()
    if spec.vectors:
        found["weight"] = random(1, shape[1], spec.vectors["weight"].name, device)[0].add_(1)
    if "mean" in spec.stats:
        found["mean"] = wide.mean(-1).float()
        wide = wide - wide.mean(-1, keepdim=True)
    return found | {"rstd": (wide.square().mean(-1) + EPS).rsqrt().float()}


def unseen(spec: NormBwdSpec) -> Iterator[Waiver]:
    """Waivers for what no run can exercise, with reasons."""
    yield GRID
    rounds = r"for first in range\((0|P), (2 \* )?P, 2048 // COLUMNS\)"
    yield Waiver(("no-round",), rounds, "there are the sums of one cluster at least")
    if spec.columns <= SHORT:
        why = "a round adds up the sums of as many clusters as a CPU does not run at once, and waits for nobody"
        yield Waiver(("second-round",), rounds, why)


def reference(spec: NormBwdSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each gradient in float64, from the same values that the kernel reads, and the norm that an error is relative to.

    dx is a difference, which is 0 for rows of one element, so the norm is at least a hundredth of its first term.
    """
    x, dy, rstd = t["x"].double(), t["dy"].double(), t["rstd"].double()[..., None]
    xhat = (x - t["mean"].double()[..., None] if "mean" in t else x) * rstd
    wdy = dy * t.get("weight", torch.ones(())).double()
    dx = wdy - xhat * (wdy * xhat).mean(-1, keepdim=True) - (wdy.mean(-1, keepdim=True) if "mean" in t else 0.0)
    rows = tuple(range(x.dim() - 1))
    dx = dx * rstd + t.get("dresidual_out", torch.zeros(())).double()
    made = {"dx": dx, "dweight": (dy * xhat).sum(rows), "dbias": dy.sum(rows)}
    least = {"dx": float((wdy * rstd).norm()) / 100}
    names = ("dx", *(f"d{name}" for name in spec.vectors))
    return {name: (made[name], max(float(made[name].norm()), least.get(name, 0.0))) for name in names}


def tolerance(spec: NormBwdSpec, output: str) -> float:
    """The largest relative error norm of a correct result: twice the rounding error."""
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    kind = spec.problem.dtype if output == "dx" else spec.vectors["weight"].name
    return {"bf16": 4e-3, "fp16": 5e-4}.get(kind, 1e-5)
