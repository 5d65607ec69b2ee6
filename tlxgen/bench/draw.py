"""Draws random shapes by the distribution that a family declares, and assigns each to one of a spec's problems.

The result depends on the seed only.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from tlxgen.errors import TlxgenError

from .spec import Bench, Shape

TRIES = 1000  # limit for each shape, as a draw may be too large, or a repetition


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
    """For each of `count` shapes, the part of a bench (with a problem of its own) that is timed on it.

    All parts are used equally often: each round has all of them, in a random order.
    """
    rng = random.Random(f"{seed}: parts")  # its own generator, so that the shapes are those of a bench with one part
    return list(itertools.islice(_rounds(parts, rng), count))


def _rounds(parts: Sequence[Bench], rng: random.Random) -> Iterator[Bench]:
    while True:
        yield from rng.sample(parts, len(parts))
