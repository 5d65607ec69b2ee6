"""The work items of forward attention, of sequences of any lengths: what `show --roofline` needs."""

from __future__ import annotations

import math
from itertools import chain
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
    return work_of(shape[1], list(chain.from_iterable(_of_sequences(facts, shape, block_m, block_n))))


def _of_sequences(facts: Weights, shape: Shape, block_m: int, block_n: int) -> list[list[int]]:
    """Tiles of keys that each tile of queries of each sequence walks."""
    found = []
    for n, m in drawn(facts.lengths, shape, facts.alpha):
        shift = m - n if facts.bottom_right else 0
        ends = range(block_m, n + block_m, block_m)  # the last tile is walked as a whole one is
        seen = [min(m, end + shift) if facts.mask == "causal" else m for end in ends]
        found.append([max(1, math.ceil(keys / block_n)) for keys in seen])
    return found


def order(plan: Plan, shape: Shape, sms: int) -> tuple[int, ...]:
    """Tiles of keys that each work item walks, by its number, where an SM takes items by their numbers alone. An item
    past the end of its sequence walks none. Empty where SMs have items as they get free, or the host gives them equal
    shares."""
    facts = cast(AttentionFacts, plan.facts)
    if facts.source != "persistent" or facts.evened:
        return ()
    b, h, kv, n, _ = shape
    size = {p.name: int(p.value) for p in plan.parameters}
    each = _of_sequences(facts, shape, size["BLOCK_M"], size["BLOCK_N"])
    together, tiles = h // kv, math.ceil(n / size["BLOCK_M"])
    if facts.causal or facts.window or (facts.strided and not 2 * min(b * h * tiles, sms) % tiles):
        # As many heads as heads_together of the module says.
        keys = math.ceil(sum(m for _, m in drawn(facts.lengths, shape, facts.alpha)) / b)
        bytes_of_key = (facts.head_dim + facts.head_dim_v) * facts.dtype.bytes
        together *= max(1, 2**25 // (keys * bytes_of_key))
    found = []
    for first in range(0, b * h, together):
        for tile in reversed(range(tiles)) if facts.causal else range(tiles):
            for head in range(first, min(first + together, b * h)):
                of_sequence = each[head // h]
                found.append(of_sequence[tile] if tile < len(of_sequence) else 0)
    return tuple(found)


def least_bytes(spec: ForwardSpec, shape: Shape) -> float:
    """Bytes that a launch moves at the least, by the lengths that its sequences have."""
    return bytes_moved(spec, shape) * part_of_longest(spec.problem.lengths, shape, "alpha" in spec.weights)


def probes(plan: Plan, shape: Shape) -> tuple[Shape, Shape, Shape]:
    """Three small problems, whatever the shape, whose items and rounds are not in proportion."""
    size = {p.name: int(p.value) for p in plan.parameters}
    causal = cast(AttentionFacts, plan.facts).causal  # then half of three tiles' rounds are an item's first or second
    return probes_of(math.lcm(size["BLOCK_M"], size["BLOCK_N"]) * (2 if causal else 1))
