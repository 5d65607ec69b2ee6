"""Microscaling (MX) formats: block scales of 8 exponent bits, fp8 and packed fp4 values. (OCP MX v1.0; PTX ISA.)"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .findings import KernelFault

BLOCK = 32  # elements along K that share a scale
_FP4 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
FORMATS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e2m1": torch.uint8}


def scale_values(raw: torch.Tensor) -> torch.Tensor:
    """E8M0 bytes as float32: 2 ** (byte - 127), NaN for 255."""
    value = torch.exp2(raw.to(torch.float32) - 127.0)
    return torch.where(raw == 255, torch.full_like(value, float("nan")), value)


def fp4_values(packed: torch.Tensor) -> torch.Tensor:
    """E2M1 pairs of a byte, the low half first along the last dimension, as float32."""
    codes = torch.stack((packed & 0xF, packed >> 4), dim=-1).flatten(-2).to(torch.int64)
    return _FP4[codes & 7] * torch.where(codes & 8 != 0, -1.0, 1.0)


def unpack_scales(packed: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Scales in shared memory, blocks of 128 rows by 4 in the order of tcgen05.cp, as a matrix of `shape`.

    Row r, column c of a block is its byte (r % 32) * 16 + (r // 32) * 4 + c; blocks follow each other along K first.
    """
    rows, columns = shape
    if rows % 128 or columns % 4 or packed.numel() != rows * columns:
        raise KernelFault(f"scales of shape {tuple(packed.shape)} are no packed {rows} x {columns}")
    blocks = packed.reshape(rows // 128, columns // 4, 32, 4, 4)
    return blocks.permute(0, 3, 2, 1, 4).reshape(rows, columns)


def scale_bytes(value: torch.Tensor) -> torch.Tensor:
    """float32 as E8M0 bytes, rounded up and saturated like cvt.rp.satfinite.ue8m0x2. NaN is 255; signs are dropped."""
    bits = value.abs().view(torch.int32)
    exponent, fraction = bits >> 23, bits & 0x7FFFFF
    up = torch.where(exponent == 0, fraction > 0x400000, fraction != 0)  # 2 ** -127 is a subnormal float32
    return torch.where(value.isnan(), 255, (exponent + up.to(torch.int32)).clamp(max=254)).to(torch.uint8)
