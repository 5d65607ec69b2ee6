"""The rule of MX quantisation in torch, bit by bit. Imports torch.

OCP MX v1.0, 5.2 and 6.3: 32 elements P_i and a scale X stand for X * P_i; X is a power of two in e8m0, and 2**-127 to
2**127 and NaN are what it can be. torchao (prototype/mx_formats, `ScaleCalculationMode`) fixes what the standard leaves
open: a block with a NaN or an infinity has the scale NaN and so have all of its elements; what is too large for e4m3
becomes its largest number; rceil is what cuBLAS documents for its 1D block scaling.
"""

from __future__ import annotations

import torch

from tlxgen.arch import Sm100

BLOCK, UNIT = Sm100.mx_block, Sm100.mx_rows  # elements that share a scale; rows of a block of scales
LARGEST = 448.0  # of e4m3: 1.75 * 2**8
NAN = 255  # of e8m0


def quantized(x: torch.Tensor, rule: str) -> tuple[torch.Tensor, torch.Tensor]:
    """x (R, C) in any type as e4m3 (R, C) and the bytes (R / 32, C) of its scales, of blocks of 32 along rows.

    The last block of a row has what elements there are.
    """
    rows, columns = x.shape
    blocks = torch.nn.functional.pad(x.float(), (0, -columns % BLOCK)).reshape(rows, -1, BLOCK)
    scales = exponent(blocks.abs().amax(-1), rule)
    factor = torch.where(scales == NAN, torch.nan, torch.exp2(127.0 - scales.float()))
    numbers = (blocks * factor[..., None]).clamp(-LARGEST, LARGEST)
    return numbers.reshape(rows, -1)[:, :columns].to(torch.float8_e4m3fn), scales.to(torch.uint8)


def exponent(largest: torch.Tensor, rule: str) -> torch.Tensor:
    """The e8m0 bytes (int32) of blocks whose largest magnitude is this, in fp32."""
    if rule == "rceil":
        bits = (largest * (1 / LARGEST)).view(torch.int32)
        above = torch.where(bits >> 23 == 0, 1 << 22, 0)  # byte 0 is 2**-127, a denormal of fp32
        found = (bits >> 23) + (bits & 0x7FFFFF > above).int()
    else:
        found = ((largest.view(torch.int32) >> 23) - 8).clamp(min=0)
    return torch.where(largest.isfinite(), found, NAN)


def blocked(scales: torch.Tensor) -> torch.Tensor:
    """Bytes (R, S) as cuBLAS and tcgen05 take them: blocks of 512 for 128 rows and 4 scales, filled up with zeros.

    Of a block, row r and scale s lie at byte r % 32 * 16 + r // 32 * 4 + s. The result is (1, R / 128, S / 4, 2, 256).
    """
    rows, columns = scales.shape
    whole = torch.nn.functional.pad(scales, (0, -columns % (UNIT // BLOCK), 0, -rows % UNIT))
    split = whole.reshape(-(-rows // UNIT), 4, 32, -(-columns // 4), 4)
    return split.permute(0, 3, 2, 1, 4).reshape(1, split.shape[0], split.shape[3], 2, 256)
