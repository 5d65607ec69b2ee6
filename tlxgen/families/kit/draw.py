"""Random numbers for the shapes that a family's `benchmark.drawn` draws."""

from __future__ import annotations

import math
import random


def log_uniform(rng: random.Random, low: int, high: int, step: int = 1) -> int:
    """A random multiple of `step` between `low` and `high`, uniform in the logarithm."""
    number = math.exp(rng.uniform(math.log(low), math.log(high)))
    return min(high, max(low, step * round(number / step)))
