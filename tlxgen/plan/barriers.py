"""Derives the barriers of a ring from the roles that fill and drain it. No other module computes an arrive count.

Rules of TLX (reference: tlx-language.md): `alloc_barriers(n, arrive_count)` counts calls of barrier_arrive by tasks, as
the compiler elects a leader after a task-wide sync; `barrier_expect_bytes` and a tcgen05 commit count as one call each.
`alloc_warp_barrier(n, num_warps, num_arrivals)` counts every thread and needs no sync, but must not be the target of a
TMA load or a commit. A commit for two CTAs arrives once in each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .model import Parameter, Role
from .rings import Barrier, Drain, Ring
from .size import Size, total
from .work import Work

WARP = 32


def derive(ring: Ring, roles: Mapping[str, Role]) -> Ring:
    """Returns `ring` with its full, empty and ready barriers.

    A ring without drains is filled once, or its filler is also its reader. Such a ring has no empty barrier. It has a
    full barrier only if TMA loads, MMAs or the stores of several replicas fill it, since these must be waited for.
    """
    if ring.over:  # it uses the barriers of the ring whose slots it takes, with a byte count of its own
        shared = derive(replace(ring, name=str(ring.alias), over=""), roles)
        return replace(shared, name=ring.name, over=ring.over)
    read = ring.drains and ring.fill.kind != "copy"  # the task that issues a copy is its reader
    full = _full(ring, roles) if read or ring.fill.kind not in ("store", "copy", "async") else None
    empty = _empty(ring, roles) if ring.drains else None
    return replace(ring, full_barrier=full, empty_barrier=empty, ready_barrier=_ready(ring, roles))


def consumers(work: Work, roles: Sequence[Role], parameters: Sequence[Parameter]) -> Size:
    """How many tasks read each response of cluster launch control: all tasks, in all CTAs of the cluster.

    `roles` are those of the structure. A task whose guard is baked is counted if the guard is true. A guard that stays
    a constexpr parameter is added to the count by its name, as 0 or 1.
    """
    guards = {p.name: p for p in parameters}
    count = Size.literal(sum(r.replicas for r in roles if r.guard is None or _always(guards[r.guard])))
    for role in roles:
        if role.guard and not guards[role.guard].baked:
            count = count + Size.of(role.guard, int(guards[role.guard].value))
    return count * work.cluster


def _always(guard: Parameter) -> bool:
    return guard.baked and bool(guard.value)


def hand_out(work: Work) -> tuple[Barrier, ...]:
    """The barriers of cluster launch control. A response has 16 bytes, and each of `work.consumers` tasks reads it."""
    if not work.clc:
        return ()
    one, count = Size.literal(1), work.consumers.value
    who = "every task" + (f" of {work.cluster} CTAs" if work.cluster > 1 else "")
    full = Barrier("clc full", "tx", one, 1, 1, 0, "the response", bytes=Size.literal(16))
    return full, Barrier("clc empty", "leader", one, count, count, 0, who)


def _full(ring: Ring, roles: Mapping[str, Role]) -> Barrier:
    name, slots = f"{ring.name}_full", ring.slots * ring.banks * ring.parts
    if ring.fill.kind == "tma":
        who = f"the TMA loads of {ring.fill.role}" + (f" in {ring.fill.ctas} CTAs" if ring.fill.ctas > 1 else "")
        copied = len(ring.told) < len(ring.tiles)
        who += f", and {ring.fill.role} when its copies are there" if copied else ""
        size = total([t.bytes for t in ring.told])
        return Barrier(name, "tx", slots, 1 + copied, 1 + copied, 0, who, bytes=size * ring.fill.ctas)
    if ring.fill.kind in ("remote", "gather"):
        who = f"the stores of {ring.fill.role} x {ring.fill.ctas} CTAs"
        return Barrier(name, "tx", slots, 1, 1, 0, who, bytes=total([t.bytes for t in ring.tiles]) * ring.copies)
    if ring.fill.kind == "exchange":
        who = f"{ring.fill.role}, after its stores, and for the bytes of the other CTA"
        return Barrier(name, "tx", slots, 2, 2, 0, who, bytes=ring.tiles[0].group_bytes)
    if ring.fill.kind == "commit":
        both = f", in each of {ring.fill.ctas} CTAs" if ring.fill.ctas > 1 else ""
        return Barrier(name, "commit", slots, 1, 1, 0, f"a commit of {ring.fill.role}{both}")
    role = roles[ring.fill.role]
    count = WARP * role.warps if ring.empty == "warp" else 1
    if ring.fill.kind == "store" and (ctas := ring.fill.cta_count) > 1:
        who = f"{role.name} x {ctas} CTAs, after their stores, at the first"
        return Barrier(name, ring.empty, slots, count * ctas, ctas, role.warps, who)
    if ring.fill.kind == "parts":
        who = f"{role.name} x {role.replicas} replicas, after their stores"
        return Barrier(name, ring.empty, slots, count * role.replicas, role.replicas, role.warps, who)
    return Barrier(name, ring.empty, slots, count, 1, role.warps, f"{role.name}, after its stores")


def _empty(ring: Ring, roles: Mapping[str, Role]) -> Barrier | None:
    name, slots = f"{ring.name}_empty", ring.slots * ring.banks
    drains = [d for d in ring.drains if not d.via and d.by != "once"]
    if not drains:
        return None
    arrivals = sum(d.replicas * d.ctas * d.arrivals for d in drains)
    if all(d.by == "commit" for d in drains):
        who = ", ".join(f"a commit of {_who(d)}" for d in drains)
        return Barrier(name, "commit", slots, arrivals, arrivals, 0, who)
    if any(d.by == "commit" for d in drains) and ring.empty == "warp":
        raise ValueError(f"ring {ring.name}: a commit arrives once, a warp barrier counts threads")
    warps = {roles[d.role].warps for d in drains}
    if ring.empty == "warp" and len(warps) != 1:
        raise ValueError(f"ring {ring.name}: drained by roles of different warp counts {sorted(warps)}")
    per_arrival = WARP * max(warps) if ring.empty == "warp" else 1
    who = ", ".join(_who(d) for d in drains)
    return Barrier(name, ring.empty, slots, arrivals * per_arrival, arrivals, max(warps), who)


def _ready(ring: Ring, roles: Mapping[str, Role]) -> Barrier | None:
    if not ring.rendezvous:
        return None
    role = ring.relay or ring.drains[0].role
    who = f"{role} x {ring.rendezvous} CTAs, at the first"
    return Barrier(f"{ring.name}_ready", "leader", ring.slots, ring.rendezvous, ring.rendezvous, roles[role].warps, who)


def _who(drain: Drain) -> str:
    replicas = f" x {drain.replicas} replicas" if drain.replicas > 1 else ""
    ctas = f" x {drain.ctas} CTAs" if drain.ctas > 1 else ""
    return f"{drain.role}{replicas}{ctas}"
