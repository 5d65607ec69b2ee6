"""How a kernel's tiles are cut along K where it is simulated: wherever they can be, and not where that saves time.

So no verdict depends on measurements, by which the model of time decides, and problems with tiles that are cut are
small.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any


class Cuts:
    """In place of a generated module's `TIMES`, whose estimates it has otherwise."""

    def __init__(self, times: Any) -> None:
        self.times, self.model = times, sys.modules[type(times).__module__]

    def __call__(self, *given: Any) -> list[float]:
        return self.times(*given)  # type: ignore[no-any-return]

    def cut(self, index: int, shape: tuple[int, int, int], gpu: Any, pitches: Any = None) -> Any:
        """The first way in which some tiles of the shape have several parts; if there is none, they are whole."""
        kernel, (m, n, k) = self.times.kernels[index], shape
        blocks, ctas = kernel.tile, kernel.cluster[:2]
        if kernel.swap:  # the tile is one of the transpose of C
            blocks = (blocks[1], blocks[0], blocks[2])
        tiles = math.prod(-(-x // (block * c)) * c for x, block, c in zip((m, n), blocks, ctas, strict=False))
        slots, together = -(-k // blocks[2]), math.prod(ctas)
        at_once = max(gpu.sms // together, 1) * together
        ways = self._ways(tiles, slots, at_once, min(self.model.MOST_PARTS, kernel.ahead))
        return self.model.Cut(*next(ways, (tiles, 1, slots)))

    def _ways(self, tiles: int, slots: int, ctas: int, most: int) -> Iterator[tuple[int, int, int]]:
        """How many tiles are whole, and the parts and slots of each other tile. These are those of the last round of
        the CTAs or of the last two, and their parts make as few rounds as possible."""
        last = tiles // ctas * ctas
        for whole in (last, last - ctas):
            cut = tiles - whole
            for rounds in range(1, self.model.MOST_ROUNDS + 1):
                if whole >= 0 < cut and 2 * cut <= rounds * ctas:
                    part = -(-slots // min(rounds * ctas // cut, most))
                    if part < slots:
                        yield whole, -(-slots // part), part
