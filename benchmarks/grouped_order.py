"""In which order CTAs should take tiles of groups with a K of their own: an arithmetic model, which needs no GPU.

    python benchmarks/grouped_order.py [--sms 132]

Sizes are those of benchmarks/grouped_gemm.py, skewed: one group has half of all K, one none. A K tile takes as long as
its products or its bytes from L2 do, a tile some clocks beside, and a part of a cut tile those of its sums' way to
memory and back. Printed is when the last CTA ends, over the share of all clocks that a CTA has.

static: CTA i of n takes the tiles i, i + n and so on. drawn: each takes the next tile when it is done. longest: the
same, the longest tiles first. cut: tiles longer than half of a share in parts, static and drawn.
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Iterator, Sequence

import torch

from tlxgen.families.gemm.facts import LEAST_PART
from tlxgen.families.gemm.model import MOST_PARTS
from tlxgen.families.grouped_gemm import cost, problem

K_TILE = 64
PRODUCTS, L2_BYTES = 2048, 48  # a clock and SM


def static(tiles: Sequence[float], sms: int) -> float:
    return max(sum(tiles[i::sms]) for i in range(sms))


def drawn(tiles: Sequence[float], sms: int) -> float:
    ends = [0.0] * sms
    for clocks in tiles:
        heapq.heapreplace(ends, ends[0] + clocks)
    return max(ends)


def tiles_of(k_tiles: Sequence[int], across: int, block: tuple[int, int], part: int) -> Iterator[float]:
    """Clocks of each item in the kernel's order: group by group, the tiles of a part together."""
    m, n = block
    k_tile, beside = K_TILE * max(m * n / PRODUCTS, (m + n) * 2 / L2_BYTES), 1000 + m * n / 16
    for of_group in k_tiles:
        for first in range(0, max(of_group, 1), part):
            sums = 2 * m * n * 4 / L2_BYTES if of_group > part else 0
            yield from [max(min(part, of_group - first), 1) * k_tile + beside + sums] * across


def ratios(shape: tuple[int, ...], block: tuple[int, int], sms: int) -> dict[str, float]:
    """When the last CTA ends, over a CTA's share, for each order."""
    g, m, n, k = shape
    torch.manual_seed(0)
    k_tiles = [-(-size // K_TILE) for size in problem.sizes(g, g * k).tolist()]
    across = -(-m // block[0]) * -(-n // block[1])
    part = max(-(-sum(k_tiles) * across // (2 * sms)), -(-sum(k_tiles) // MOST_PARTS), LEAST_PART)
    whole, cut = (list(tiles_of(k_tiles, across, block, longest)) for longest in (max(k_tiles) + 1, part))
    share = sum(whole) / sms
    ends = {
        "static": static(whole, sms),
        "drawn": drawn(whole, sms),
        "longest": drawn(sorted(whole, reverse=True), sms),
        "cut, static": static(cut, sms),
        "cut, drawn": drawn(cut, sms),
    }
    return {order: end / share for order, end in ends.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sms", type=int, default=132)
    sms = parser.parse_args().sms
    for block in ((128, 128), (128, 256)):
        for shape in cost.SHAPES:
            found = "  ".join(f"{order} {ratio:.2f}" for order, ratio in ratios(shape, block, sms).items())
            print(f"{'x'.join(map(str, shape)):18} {block[0]} x {block[1]}  {found}")


if __name__ == "__main__":
    main()
