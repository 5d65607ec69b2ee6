"""Random shapes by the distribution that a family declares, and which of a spec's problems each is of.

A seed gives the same ones to everybody.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from tlxgen.errors import TlxgenError

from .spec import Bench, Shape

TRIES = 1000  # for each shape: a distribution may draw what is too large, or what it drew before


def shapes(bench: Bench, count: int, seed: int) -> list[Shape]:
    """`count` distinct shapes. Raises TlxgenError for a family that declares no distribution, or one too narrow."""
    drawn = getattr(bench.how, "drawn", None)
    if drawn is None:
        raise TlxgenError(
            f"the family {bench.family.name} declares no distribution of shapes", remedy="name them with --shapes"
        )
    rng = random.Random(seed)
    found: dict[Shape, None] = {}
    for _ in range(TRIES * count):
        shape = drawn(bench.first, rng)
        if shape is not None and not bench.family.wrong_shape(shape):
            found[tuple(shape)] = None
        if len(found) == count:
            return list(found)
    raise TlxgenError(f"only {len(found)} of {count} shapes could be drawn for {bench.family.name}")


def dealt(parts: Sequence[Bench], count: int, seed: int) -> list[Bench]:
    """For each of `count` shapes the part of a bench, which has a problem of its own, that is timed on it.

    Parts come equally often: each round has all of them, in an order of its own.
    """
    rng = random.Random(f"{seed}: parts")  # shapes are drawn as they would be for a single part
    return list(itertools.islice(_rounds(parts, rng), count))


def _rounds(parts: Sequence[Bench], rng: random.Random) -> Iterator[Bench]:
    while True:
        yield from rng.sample(parts, len(parts))
