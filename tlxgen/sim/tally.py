"""Counts what a launch has exercised, at its end: barriers, rings, work items and ranks."""

from __future__ import annotations

from collections import defaultdict

from tlxgen.coverage import Coverage, Kernel, Uses

from .findings import Place
from .footprint import Footprint
from .machine import Cta, Machine, Worker
from .memory import Ring


def tally(machine: Machine, coverage: Coverage, kernel: Kernel) -> None:
    """Adds a launch to the coverage of its kernel."""
    items: dict[Cta, int | None] = {}
    for task in machine.hub.tasks:
        if isinstance(task, Worker):
            taken = items.setdefault(task.cta, None)
            if task.items:
                items[task.cta] = max(taken or 0, *task.items.values())
    kernel.launches += 1
    kernel.ctas += len(items)
    kernel.has_items |= any(taken is not None for taken in items.values())
    kernel.asks |= machine.asks
    kernel.steals = [a + b for a, b in zip(kernel.steals, machine.steals, strict=True)]
    for cta, taken in items.items():
        if taken is not None:
            kernel.items[min(taken, 2)] += 1
        ranks = kernel.ranks.setdefault(len(cta.cluster), [0] * len(cta.cluster))
        ranks[cta.rank] += taken is None or taken > 0
        _barriers(cta, coverage)
        _rings(cta, coverage)


def _barriers(cta: Cta, coverage: Coverage) -> None:
    for array in cta.barriers:
        first = array.barriers[0]
        phases, looped = [b.phase for b in array.barriers], any(b.looped for b in array.barriers)
        coverage.use(Uses("barrier", array.name, first.place.path, first.place.line, phases, looped))


def _rings(cta: Cta, coverage: Coverage) -> None:
    """Counts uses of slots. A slot's uses are the largest number of fills of the same bytes by one line."""
    fills: dict[tuple[Ring, int, Place, Footprint], int] = {}
    for storage in cta.storages:
        fills |= storage.fills
    used: dict[Ring, list[int]] = {}
    places: dict[Ring, set[Place]] = defaultdict(set)
    for (ring, slot, place, _), count in fills.items():
        slots = used.setdefault(ring, [0] * ring.slots)
        slots[slot] = max(slots[slot], count)
        places[ring].add(place)
    for ring, slots in used.items():
        looped = any(coverage.in_loop(place.path, place.line) for place in places[ring])
        coverage.use(Uses("ring", ring.name, ring.place.path, ring.place.line, slots, looped))
