"""Random bits, by the same generator as in triton.language."""

from __future__ import annotations

import torch

_KEYS = (0x9E3779B9, 0xBB67AE85)  # Philox4x32 (Salmon et al., SC 2011)
_ROUNDS = (0xD2511F53, 0xCD9E8D57)
_LOW = 0xFFFFFFFF


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
