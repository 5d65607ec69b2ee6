"""Problems of quantisation: inputs, reference, launch. Results must be equal to the bit. It imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.coverage import Waiver
from tlxgen.families.kit.matrices import GAP, Shape, Tensors, random, shapes
from tlxgen.families.kit.unseen import GRID

from .reference import blocked, quantized
from .spec import BLOCK, QuantizeSpec

__all__ = ["inputs", "launch", "reference", "shapes", "simulated_shapes", "tolerance", "unseen"]

POISON = 0x7F  # NaN of e4m3; as a scale 1
SPREAD = {"bf16": 40, "fp32": 40, "fp16": 8}  # powers of two by which blocks may differ


def simulated_shapes(spec: QuantizeSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """One element; ragged tiles whose last block of 32 is cut off; whole blocks of scales; of persistent CTAs, so many
    tiles that each uses slots again, and some once more."""
    m, n = constants["BLOCK_M"], constants["BLOCK_N"]
    yield from ((1, 1), (m + 35, n + 3), (128, 2 * n))
    if spec.persistent:
        most = sms * spec.ctas * spec.rings.x.stages
        yield 3 * m, (most // 3 + 1) * n


def unseen(spec: QuantizeSpec) -> Iterator[Waiver]:
    """What no run can exercise, and why."""
    if spec.persistent:
        yield GRID


def inputs(spec: QuantizeSpec, shape: Shape, device: torch.device) -> Tensors:
    """x, by name: blocks of very different magnitudes, some of zeros. The gaps between its rows hold NaN."""
    x = random(shape[0], shape[1], spec.problem.dtype, device)
    bound = SPREAD[spec.problem.dtype]
    rows, columns = (-(-extent // BLOCK) for extent in shape)
    power = torch.randint(-bound, bound // 2, (rows, columns), device=device).float()
    power = power.repeat_interleave(BLOCK, 0)[: shape[0]].repeat_interleave(BLOCK, 1)[:, : shape[1]]
    there = torch.rand(rows, columns, device=device) > 0.1
    there = there.repeat_interleave(BLOCK, 0)[: shape[0]].repeat_interleave(BLOCK, 1)[:, : shape[1]]
    x.copy_(torch.where(there, x.float() * torch.exp2(power), 0.0))
    return {"x": x}


def results(spec: QuantizeSpec, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """The results of the rule for x, with scales as bytes."""
    made = {}
    if spec.by_rows:
        made["rows"], scales = quantized(x, spec.problem.scale)
        made["row_scales"] = blocked(scales)
    if spec.by_columns:
        numbers, scales = quantized(x.T, spec.problem.scale)
        made["columns"] = numbers if spec.transposed else numbers.view(torch.uint8).T.view(torch.float8_e4m3fn)
        made["column_scales"] = blocked(scales)
    return made


def reference(spec: QuantizeSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each result in float64, scales as their bytes, and the norm that an error is relative to."""
    made = {name: value.double() for name, value in results(spec, t["x"]).items()}
    return {name: (value, float(value.norm())) for name, value in made.items()}


def tolerance(spec: QuantizeSpec, output: str) -> float:
    """Zero, since powers of two and one rounding have one correct result."""
    return 0.0


def launch(
    module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the host function on poisoned results. Returns them, and the number of elements written outside of them."""
    host = getattr(module, spec.name)
    memory, given = {}, {}
    for name, like in zip(spec.results, module.outputs(**tensors), strict=True):
        rows, columns = like.shape if like.dim() == 2 else (1, like.numel())
        memory[name] = torch.full((rows + 1, columns + GAP), POISON, dtype=torch.uint8, device=like.device)
        view = memory[name][:rows, :columns]
        given[name] = view.view(torch.float8_e4m3fn) if like.dim() == 2 else view.view(like.shape)
    host(**tensors, **given, config=config)
    torch.cuda.synchronize()
    strays = 0
    for name, whole in memory.items():
        rows, columns = given[name].shape if given[name].dim() == 2 else (1, given[name].numel())
        strays += int((whole[:rows, columns:] != POISON).sum()) + int((whole[rows:] != POISON).sum())
    return given, strays
