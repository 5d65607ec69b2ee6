"""The work items of forward attention, of sequences of any lengths: what `show --roofline` needs."""

from __future__ import annotations

import math
from typing import cast

from tlxgen.families.attention.common import Shape, probes_of
from tlxgen.families.attention.common import work as work_of
from tlxgen.families.attention.sequences import lengths
from tlxgen.families.attention.weights import Weights
from tlxgen.plan import Plan

from .cost import bytes_moved
from .facts import AttentionFacts
from .spec import ForwardSpec


def drawn(kind: str, shape: Shape, last: bool = False) -> list[tuple[int, int]]:
    """Queries and keys of each sequence of a problem, as `problem` makes them for lengths of that kind. `last`: queries
    are the last of the keys."""
    b, _, _, n, m = shape
    if kind == "dense":
        return [(n, m)] * b
    keys = lengths(b, m, 1)
    if last:  # the third sequence of some has none
        return [(0 if i == 2 and n < m else min(length, n), length) for i, length in enumerate(keys)]
    return list(zip([n] * b if kind == "keys" else lengths(b, n, 0), keys, strict=True))


def part_of_longest(kind: str, shape: Shape, last: bool = False) -> float:
    """How many of the queries, or keys, there are of those that sequences as long as the longest would have."""
    found = drawn(kind, shape, last)
    return min(sum(n for n, _ in found) / (shape[0] * shape[3]), sum(m for _, m in found) / (shape[0] * shape[4]))


def work(plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
    """Tiles of queries of all heads, the tiles of keys that they walk, and the most that one of them walks.

    None for masks whose tiles the arguments decide.
    """
    facts = cast(AttentionFacts, plan.facts)
    if facts.mask not in ("none", "causal") or facts.blocks or math.prod(plan.cluster) > 1:
        return None
    size = {p.name: int(p.value) for p in plan.parameters}
    return walks(facts, shape, size["BLOCK_M"], size["BLOCK_N"])


def walks(facts: Weights, shape: Shape, block_m: int, block_n: int) -> tuple[int, int, int]:
    """The same of tiles of so many queries and keys."""
    tiles = []
    for n, m in drawn(facts.lengths, shape, facts.alpha):
        shift = m - n if facts.bottom_right else 0
        ends = range(block_m, n + block_m, block_m)  # the last tile is walked as a whole one is
        seen = [min(m, end + shift) if facts.mask == "causal" else m for end in ends]
        tiles += [max(1, math.ceil(keys / block_n)) for keys in seen]
    return work_of(shape[1], tiles)


def least_bytes(spec: ForwardSpec, shape: Shape) -> float:
    """Bytes that a launch moves at the least, by the lengths that its sequences have."""
    return bytes_moved(spec, shape) * part_of_longest(spec.problem.lengths, shape, "alpha" in spec.weights)


def probes(plan: Plan, shape: Shape) -> tuple[Shape, Shape, Shape]:
    """Three small problems, whatever the shape, whose items and rounds are not in proportion."""
    size = {p.name: int(p.value) for p in plan.parameters}
    return probes_of(math.lcm(size["BLOCK_M"], size["BLOCK_N"]))
