"""Why mutants are no faults, by what they are of."""

from __future__ import annotations

from . import anywhere, attention, attention_sm100, gemm, norms, quantize, wheel
from .argued import Equivalent

ARGUED: tuple[Equivalent, ...] = (
    *anywhere.ARGUED,
    *gemm.ARGUED,
    *attention.ARGUED,
    *attention_sm100.ARGUED,
    *norms.ARGUED,
    *quantize.ARGUED,
    *wheel.ARGUED,
)
