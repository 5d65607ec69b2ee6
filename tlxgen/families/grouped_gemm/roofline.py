"""The work items of a grouped GEMM, of groups of the sizes that its problems have: what `show --roofline` needs."""

from __future__ import annotations

from typing import cast

from tlxgen.families.gemm import cost as gemm
from tlxgen.families.gemm.facts import GemmFacts
from tlxgen.plan import Plan

Shape = tuple[int, ...]


def drawn(groups: int, total: int) -> list[int]:
    """The sizes of so many groups, as `problem` draws them first. Imports torch."""
    import torch

    from .problem import sizes

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return [int(size) for size in sizes(groups, total).tolist()]


def work(plan: Plan, shape: Shape) -> tuple[int, int, int] | None:
    """Tiles of C of all groups, the tiles of K that they have, and the most that one of them has.

    None where CTAs share a K, and where problems draw how much there is of all groups.
    """
    walked = _walked(plan, shape)
    return None if walked is None else (len(walked), sum(walked), max(walked))


def order(plan: Plan, shape: Shape, sms: int) -> tuple[int, ...]:
    """The tiles of K of each tile of C, by its number, where an SM takes them by their numbers alone."""
    by_number = cast(GemmFacts, plan.facts).source == "persistent"
    return tuple(_walked(plan, shape) or ()) if by_number else ()


def _walked(plan: Plan, shape: Shape) -> list[int] | None:
    """The tiles of K of each tile of C, group by group."""
    groups = cast(GemmFacts, plan.facts).groups
    assert groups
    g, extents = shape[0], dict(zip("mnk", shape[1:], strict=True))
    if groups.given == "masked_m":
        return None
    vary, begin = str(groups.vary), 0
    walked: list[int] = []
    for size in drawn(g, g * extents[vary]) if vary in extents else [0] * g:
        own = dict(extents)
        if vary in extents:  # loads begin before the group does, and an empty one along K has a tile of zeros
            own[vary] = begin % groups.chunk + size if size else int(vary == "k")
        if all(own.values()):
            found = gemm.whole(plan, (own["m"], own["n"], own["k"]))
            if found is None:
                return None
            walked += [found[2]] * found[0]
        begin += size
    return walked


def probes(plan: Plan, shape: Shape) -> tuple[Shape, ...]:
    """Those of gemm, as one group."""
    return tuple((1, *probe) for probe in gemm.probes(plan, shape[1:]))


def sharing(plan: Plan, shape: Shape, sms: int, l2: int) -> tuple[float, float, float, float]:
    """That of gemm of one group, since no two groups load the same."""
    return gemm.sharing(plan, shape[1:], sms, l2)
