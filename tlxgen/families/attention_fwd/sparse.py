"""Which blocks of queries by keys the lists of a problem name: drawn for each shape, the same in every run of it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from tlxgen.families.attention.common import Shape

from .spec import AttentionSpec

NONE, PARTIAL, FULL = range(3)
Kinds = list[list[list[list[int]]]]  # of batch entry or 0, head or 0, row of blocks, column of blocks


def kinds(spec: AttentionSpec, shape: Shape) -> Kinds:
    """Of each block whether it is named, and as what. Rows have partial blocks, full ones, both, or none.

    One list is for all batch entries where queries are even, and for all heads where keys are.
    """
    blocks = spec.mask.blocks
    assert blocks
    b, h, _, n, m = shape
    rng = random.Random(repr((shape, blocks.m, blocks.n)))
    rows, columns = math.ceil(n / blocks.m), math.ceil(m / blocks.n)
    named = ((), (PARTIAL,), (FULL,), (PARTIAL, FULL)) if blocks.full else ((), (PARTIAL,))

    def row() -> list[int]:
        some = rng.choice(named)
        made = rng.choices(some, k=rng.randint(1, columns)) if some else []
        made += [NONE] * (columns - len(made))
        return rng.sample(made, columns)

    return [[[row() for _ in range(rows)] for _ in range(h if m % 2 else 1)] for _ in range(b if n % 2 else 1)]


def pairs(spec: AttentionSpec, shape: Shape, window: tuple[int, int]) -> int:
    """How many pairs of a query and a key are seen, over all batch entries and heads."""
    b, h, *_ = shape
    made = kinds(spec, shape)
    once = sum(n for entry in made for head in entry for n in _seen(spec, shape, head, window))
    return once * (b // len(made)) * (h // len(made[0]))


def _seen(spec: AttentionSpec, shape: Shape, head: list[list[int]], window: tuple[int, int]) -> Iterator[int]:
    """The pairs of each block that is named, of one head."""
    blocks, mask = spec.mask.blocks, spec.weights
    assert blocks
    *_, n, m = shape
    shift = m - n if mask["bottom_right"] else 0
    for i, row in enumerate(head):
        for j, kind in enumerate(row):
            rows, columns = min(blocks.m, n - i * blocks.m), min(blocks.n, m - j * blocks.n)
            if kind == FULL:
                yield rows * columns
            elif kind == PARTIAL:
                yield _cut(rows, columns, i * blocks.m + shift - j * blocks.n, mask["mask"], window)


def _cut(rows: int, columns: int, place: int, mask: str, window: tuple[int, int]) -> int:
    """Of a block those that the mask leaves; its first query stands so far from its first key."""
    if mask == "none":
        return rows * columns
    left, right = window if mask == "window" else (rows + columns + abs(place), 0)
    ends = ((max(0, place + i - left), min(columns, place + i + right + 1)) for i in range(rows))
    return sum(max(0, end - first) for first, end in ends)
