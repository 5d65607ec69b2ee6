"""MX quantisation as torchao's, of which the mxfp8 tutorial imports two names: enough for it to run without torchao,
and the way back, for references."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import ModuleType

import torch

from tlxgen.sim.mx import BLOCK, scale_bytes, scale_values, unpack_scales

TORCHAO = "torchao.prototype.mx_formats.mx_tensor"
_LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


class ScaleCalculationMode:
    """How scales are rounded; RCEIL, up, is what Blackwell's instruction does."""

    RCEIL = "rceil"


@dataclass(frozen=True)
class MXTensor:
    """A matrix in blocks of 32 along its rows: fp8 values, and E8M0 scales in the order of tcgen05.cp."""

    qdata: torch.Tensor
    scale: torch.Tensor

    @classmethod
    def to_mx(cls, data: torch.Tensor, dtype: torch.dtype, scaling_mode: str, is_swizzled_scales: bool) -> MXTensor:
        """Quantises `data`; its size must be whole blocks."""
        if scaling_mode != ScaleCalculationMode.RCEIL or not is_swizzled_scales:
            raise NotImplementedError("only RCEIL with swizzled scales")
        blocks = data.float().unflatten(-1, (-1, BLOCK))
        scales = scale_bytes(blocks.abs().amax(dim=-1) / _LARGEST[dtype])
        values = blocks / scale_values(scales).unsqueeze(-1)
        return cls(values.clamp(-_LARGEST[dtype], _LARGEST[dtype]).to(dtype).flatten(-2), _swizzled(scales))


def _swizzled(scales: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 x 4, padded with zeros, row r and column c of one at (r % 32) * 16 + (r // 32) * 4 + c."""
    rows, columns = -(-scales.shape[0] // 128) * 128, -(-scales.shape[1] // 4) * 4
    padded = scales.new_zeros(rows, columns)
    padded[: scales.shape[0], : scales.shape[1]] = scales
    return padded.reshape(rows // 128, 4, 32, columns // 4, 4).permute(0, 3, 2, 1, 4).flatten()


def dequantized(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """float32 of a matrix that `MXTensor.to_mx` gave."""
    rows, columns = values.shape
    shape = (-(-rows // 128) * 128, -(-columns // BLOCK // 4) * 4)
    factors = scale_values(unpack_scales(scale.flatten(), shape))[:rows, : columns // BLOCK]
    return values.float() * factors.repeat_interleave(BLOCK, dim=1)


@contextlib.contextmanager
def as_torchao() -> Iterator[None]:
    """While it lasts, what is imported finds these classes as torchao's."""
    names = list(accumulate(TORCHAO.split("."), "{}.{}".format))
    before = {name: sys.modules[name] for name in names if name in sys.modules}
    modules = {name: ModuleType(name) for name in names}
    last = modules[names[-1]]
    last.MXTensor, last.ScaleCalculationMode = MXTensor, ScaleCalculationMode  # type: ignore[attr-defined]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
        sys.modules.update(before)


@contextlib.contextmanager
def torchao_at(folder: Path) -> Iterator[None]:
    """While it lasts, child processes, which take over this one's path, find these classes in `folder` as torchao's."""
    module = folder / f"{TORCHAO.replace('.', '/')}.py"
    module.parent.mkdir(parents=True)
    module.write_text(f"from {__name__} import MXTensor, ScaleCalculationMode\n")
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
