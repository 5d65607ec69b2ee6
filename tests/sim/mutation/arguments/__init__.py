"""Why mutants are no faults, by what they are of."""

from __future__ import annotations

from . import anywhere, attention, gemm, norms, quantize, wheel
from .argued import Equivalent

ARGUED: tuple[Equivalent, ...] = (
    *anywhere.ARGUED,
    *gemm.ARGUED,
    *attention.ARGUED,
    *norms.ARGUED,
    *quantize.ARGUED,
    *wheel.ARGUED,
)
