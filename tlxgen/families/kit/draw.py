"""Numbers for the random shapes that a family's `benchmark.drawn` declares."""

from __future__ import annotations

import math
import random


def log_uniform(rng: random.Random, low: int, high: int, step: int = 1) -> int:
    """A multiple of `step` from `low` to `high`; each octave is as likely as any other."""
    number = math.exp(rng.uniform(math.log(low), math.log(high)))
    return min(high, max(low, step * round(number / step)))
