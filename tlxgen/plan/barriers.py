"""Derives the barriers of a ring from who fills and who drains it: the only place that knows an arrive count.

Facts from TLX: `alloc_barriers(n, arrive_count)` counts calls of barrier_arrive by tasks (the compiler elects a leader
after a task-wide sync), `barrier_expect_bytes` counts as one such call; `alloc_warp_barrier(n, num_warps,
num_arrivals)` counts every thread, needs no sync, and must never be the target of a TMA load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .model import Barrier, Drain, Ring, Role, total

WARP = 32


def derive(ring: Ring, roles: Mapping[str, Role]) -> Ring:
    """`ring` with its full and empty barriers.

    A ring that nobody drains is filled once, or its filler also stores it: nobody waits for a slot of it, and only for
    TMA loads does somebody wait until they are complete.
    """
    full = _full(ring, roles) if ring.drains or ring.fill.kind == "tma" else None
    empty = _empty(ring, roles) if ring.drains else None
    return replace(ring, full_barrier=full, empty_barrier=empty)


def _full(ring: Ring, roles: Mapping[str, Role]) -> Barrier:
    name, slots = f"{ring.name}_full", ring.slots * ring.banks
    if ring.fill.kind == "tma":
        who = f"the TMA loads of {ring.fill.role}"
        return Barrier(name, "tx", slots, 1, 1, 0, who, bytes=total([t.bytes for t in ring.tiles]))
    warps = roles[ring.fill.role].warps
    count = WARP * warps if ring.empty == "warp" else 1
    return Barrier(name, ring.empty, slots, count, 1, warps, f"{ring.fill.role}, after its stores")


def _empty(ring: Ring, roles: Mapping[str, Role]) -> Barrier:
    arrivals = sum(d.replicas * d.ctas * d.arrivals for d in ring.drains)
    warps = {roles[d.role].warps for d in ring.drains}
    if len(warps) != 1:
        raise ValueError(f"ring {ring.name}: drained by roles of different warp counts {sorted(warps)}")
    per_arrival = WARP * warps.copy().pop() if ring.empty == "warp" else 1
    who = ", ".join(_who(d) for d in ring.drains)
    name, slots = f"{ring.name}_empty", ring.slots * ring.banks
    return Barrier(name, ring.empty, slots, arrivals * per_arrival, arrivals, warps.pop(), who)


def _who(drain: Drain) -> str:
    replicas = f" x {drain.replicas} replicas" if drain.replicas > 1 else ""
    ctas = f" x {drain.ctas} CTAs" if drain.ctas > 1 else ""
    return f"{drain.role}{replicas}{ctas}"
