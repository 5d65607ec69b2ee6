"""Random bits as triton.language makes them, and rounding by them."""

from __future__ import annotations

import torch

from .findings import KernelFault

_KEYS = (0x9E3779B9, 0xBB67AE85)  # Philox4x32 (Salmon et al., SC 2011)
_ROUNDS = (0xD2511F53, 0xCD9E8D57)
_LOW = 0xFFFFFFFF
# Types that cvt.rs has, with an integer of the same width to step to their neighbours by.
_ROUNDED = {
    torch.bfloat16: torch.int16,
    torch.float16: torch.int16,
    torch.float8_e4m3fn: torch.int8,
    torch.float8_e5m2: torch.int8,
}


def randint(seed: int, offset: torch.Tensor, n_rounds: int = 10) -> torch.Tensor:
    """`tl.randint`: 32 random bits an element of `offset`, as int64 in [0, 2**32): Philox4x32 of that counter."""
    wide = offset.to(torch.int64)
    zero = torch.zeros_like(wide)
    c0, c1, c2, c3 = wide & _LOW, (wide >> 32) & _LOW if offset.dtype == torch.int64 else zero, zero, zero
    k0, k1 = int(seed) & _LOW, (int(seed) >> 32) & _LOW
    for _ in range(n_rounds):
        high2, low2 = _product(_ROUNDS[1], c2)
        high0, low0 = _product(_ROUNDS[0], c0)
        c0, c1, c2, c3 = high2 ^ c1 ^ k0, low2, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + _KEYS[0]) & _LOW, (k1 + _KEYS[1]) & _LOW
    return c0


def _product(a: int, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The upper and the lower 32 bits of a * b, both of 32 bits."""
    upper = (b * (a >> 16) + ((b * (a & 0xFFFF)) >> 16)) >> 16
    return upper, (b * a) & _LOW


def stoch_round(src: torch.Tensor, dst_ty: torch.dtype, rand_bits: torch.Tensor) -> torch.Tensor:
    """`tlx.stoch_round`: to one of the two neighbours in `dst_ty`, the nearer one more likely; too large saturates."""
    if dst_ty not in _ROUNDED or src.dtype != torch.float32 or src.shape != rand_bits.shape:
        raise KernelFault(f"stoch_round of {tuple(src.shape)} {src.dtype} to {dst_ty} by {tuple(rand_bits.shape)} bits")
    largest = torch.finfo(dst_ty).max
    src = src.clamp(-largest, largest)
    near = src.to(dst_ty)
    bits = near.view(_ROUNDED[dst_ty])
    away = (near.float().abs() < src.abs()).to(bits.dtype)  # of two floats of a sign, the larger has the larger bits
    signed_zero = torch.where(near.float() == 0, torch.signbit(src).to(bits.dtype) << (8 * bits.itemsize - 1), bits)
    other = (signed_zero + torch.where(away.bool(), 1, -1).to(bits.dtype)).view(dst_ty)
    gap = (other.float() - near.float()).abs()
    chance = torch.where(near.float() == src, torch.zeros_like(src), (src - near.float()).abs() / gap)
    return torch.where((rand_bits & _LOW).float() / 2**32 < chance, other.float(), near.float()).to(dst_ty)
