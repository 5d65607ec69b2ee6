"""The work items of backward attention, of sequences of any lengths: what `show --roofline` needs."""

from __future__ import annotations

import math
from typing import cast

from tlxgen.families.attention.common import Shape, probes_of
from tlxgen.families.attention.common import work as work_of
from tlxgen.families.attention_fwd.roofline import drawn, part_of_longest
from tlxgen.plan import Plan

from .cost import bytes_moved
from .facts import BackwardFacts
from .spec import BackwardSpec


def least_bytes(spec: BackwardSpec, shape: Shape) -> float:
    """Bytes that a launch moves at the least, by the lengths that its sequences have."""
    return bytes_moved(spec, shape) * part_of_longest(spec.lengths, shape)


def work(plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
    """Tiles of keys of all heads, the tiles of queries that they walk, and the most that one of them walks.

    None for masks whose tiles the arguments decide.
    """
    facts = plan.facts
    if not isinstance(facts, BackwardFacts) or facts.mask not in ("none", "causal") or facts.blocks:
        return None
    _, h, kv, _, longest = shape
    walked = []
    for n, m in drawn(facts.lengths, shape, facts.alpha):
        shift = m - n if facts.bottom_right else 0
        end = longest if facts.lengths == "keys" else m  # of these, keys past the end have CTAs that walk nothing
        # Of a cluster all CTAs begin where the first does.
        starts = [key for key in range(0, end, facts.keys * facts.ctas) for _ in range(facts.ctas)]
        hidden = [max(0, key - shift) if facts.mask == "causal" else 0 for key in starts]
        steps = [max(0, math.ceil(n / facts.queries) - first // facts.queries) for first in hidden]
        walked += [n if key < m else 0 for key, n in zip(starts, steps, strict=True)]
    return work_of(h, walked) if facts.apart else work_of(kv, [h // kv * steps for steps in walked])


def probes(plan: Plan, shape: Shape) -> tuple[Shape, Shape, Shape]:
    """Three small problems, whatever the shape, whose items and rounds are not in proportion."""
    facts = cast(BackwardFacts, plan.facts)
    return probes_of(math.lcm(facts.keys * facts.ctas, facts.queries))
