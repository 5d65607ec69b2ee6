"""The work items of dQ alone: what `show --roofline` needs."""

from __future__ import annotations

import math
from typing import cast

from tlxgen.families.attention.common import Shape, probes_of
from tlxgen.families.attention_bwd.facts import GradientFacts
from tlxgen.families.attention_bwd.roofline import least_bytes
from tlxgen.families.attention_fwd.roofline import walks
from tlxgen.plan import Plan

__all__ = ["least_bytes", "probes", "work"]


def work(plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
    """Tiles of queries of all heads, the tiles of keys that they walk, and the most that one of them walks."""
    facts = cast(GradientFacts, plan.facts)
    if facts.mask not in ("none", "causal") or facts.blocks:
        return None
    return walks(facts, shape, facts.queries, facts.scores[0])


def probes(plan: Plan, shape: Shape) -> tuple[Shape, Shape, Shape]:
    """Three small problems, whatever the shape, whose items and rounds are not in proportion."""
    facts = cast(GradientFacts, plan.facts)
    return probes_of(math.lcm(facts.queries, facts.scores[0]))
