"""Random problems of attention, as users have them."""

from __future__ import annotations

import random
from typing import Any

from tlxgen.families.kit.draw import log_uniform

from .common import Shape

LARGEST = 2**37  # pairs of a query and a key over all heads: some 20 ms of a forward pass


def drawn(spec: Any, rng: random.Random) -> Shape | None:
    """Batch, heads of Q, heads of K and V, queries, keys; None for a problem that is too large.

    The batch is log-uniform from 1 to 32, queries from 64 to 16,384. A third has groups of 2 to 8 heads on one of K and
    V, and a fifth other keys than queries, log-uniform too.
    """
    batch, heads, queries = (
        log_uniform(rng, 1, 32),
        rng.choice((8, 12, 16, 24, 32, 40, 64)),
        log_uniform(rng, 64, 16384),
    )
    group = rng.choice([g for g in (2, 4, 8) if heads % g == 0]) if rng.random() < 1 / 3 else 1
    keys = log_uniform(rng, 64, 16384) if rng.random() < 1 / 5 else queries
    return (batch, heads, heads // group, queries, keys) if batch * heads * queries * keys <= LARGEST else None
