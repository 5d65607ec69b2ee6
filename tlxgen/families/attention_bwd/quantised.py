"""MXFP8 operands of a backward attention problem: e4m3 numbers and scales, and what they stand for. Imports torch."""

from __future__ import annotations

from typing import Any

import torch

from tlxgen.families.attention.inputs import heads_between_rows
from tlxgen.families.mx_quantize.reference import BLOCK, blocked, exponent, quantized

from .mx import LIFT, operands

Tensors = dict[str, Any]
POWERS = {"q": (-1, 1), "k": (-1, 1), "v": (-3, 3), "dout": (-3, 3)}  # of two: scores stay those of a softmax


def inputs(made: Tensors) -> Tensors:
    """Random Q, K, V and dO like those in `made` (B, H, N, D), along D and along the sequence, and all scales."""
    found: Tensors = {}
    for _, name, turned in operands():
        plain = name.removesuffix("_columns")
        if not turned:
            found[f"{plain} itself"] = _random(made[plain], POWERS[plain])
        x = found[f"{plain} itself"]
        b, h, n, d = x.shape
        numbers, scales = zip(*(quantized(m.T if turned else m, "floor") for m in x.flatten(0, 1)), strict=True)
        found[name] = heads_between_rows((b,), n, h, d, torch.float8_e4m3fn, x.device)
        wide = torch.stack([m.float().T if turned else m.float() for m in numbers])
        found[name].copy_(wide.view(x.shape))
        packed = torch.cat([blocked(s) for s in scales])
        found[f"{name}_scale"] = packed.view(b, h, *packed.shape[1:])
    return {name: x for name, x in found.items() if not name.endswith(" itself")}


def _random(like: torch.Tensor, powers: tuple[int, int]) -> torch.Tensor:
    """Normal numbers, those of each block of 32 x 32 times a power of two: scales of one block are no other's."""
    b, h, n, d = like.shape
    power = torch.randint(*powers, (b, h, -(-n // BLOCK), d // BLOCK), device=like.device)
    factors = torch.exp2(power.float()).repeat_interleave(BLOCK, 2)[:, :, :n].repeat_interleave(BLOCK, 3)
    return torch.randn(like.shape, device=like.device) * factors


def dequantised(t: Tensors) -> Tensors:
    """All operands in float64, times their scales."""
    return {name: _wide(t[name], t[f"{name}_scale"], turned) for _, name, turned in operands()}


def _wide(numbers: torch.Tensor, packed: torch.Tensor, turned: bool) -> torch.Tensor:
    x = numbers.double().mT if turned else numbers.double()
    b, h, rows, columns = x.shape
    blocks = packed.reshape(b, h, *packed.shape[2:4], 32, 4, 4).permute(0, 1, 2, 5, 4, 3, 6)
    factors = torch.exp2(blocks.reshape(b, h, packed.shape[2] * 128, -1).double() - 127)
    wide = x * factors.repeat_interleave(BLOCK, 3)[:, :, :rows, :columns]
    return wide.mT if turned else wide


def rounded_weights(p: torch.Tensor) -> torch.Tensor:
    """Probabilities as the kernel multiplies them: e4m3, with one scale."""
    return (p * 2**LIFT).float().to(torch.float8_e4m3fn).double() / 2**LIFT


def rounded_gradients(ds: torch.Tensor) -> torch.Tensor:
    """dS (Nq, Nk) likewise: e4m3, with a scale for 32 x 32 elements."""
    n, m = ds.shape
    whole = torch.nn.functional.pad(ds.float(), (0, -m % BLOCK, 0, -n % BLOCK))
    blocks = whole.unflatten(0, (-1, BLOCK)).unflatten(2, (-1, BLOCK))
    scales = torch.exp2(exponent(blocks.abs().amax((1, 3), keepdim=True), "rceil").float() - 127)
    numbers = (blocks / scales).to(torch.float8_e4m3fn).float() * scales
    return numbers.flatten(2).flatten(0, 1)[:n, :m].double()
