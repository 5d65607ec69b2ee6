"""Benchmarks of HSTU attention, which are those of GDPA. It imports torch."""

from __future__ import annotations

import random
from typing import Any

from tlxgen.families.attention import drawn as attention
from tlxgen.families.attention.common import Shape
from tlxgen.families.gdpa.benchmark import baselines, call

__all__ = ["baselines", "call", "drawn"]


def drawn(spec: Any, rng: random.Random) -> Shape | None:
    """A random shape of attention, with as many keys as queries."""
    shape = attention.drawn(spec, rng)
    return (*shape[:4], shape[3]) if shape else None
