"""The facts of a plan that a picture shows, as data for JSON.

It imports nothing of tlxgen, so that `tlxgen review` can load this file together with the tlxgen of an older revision,
and draw that one's plans. Attributes that an older plan does not have are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Facts = Mapping[str, Any]


def facts_of(plan: Any, registers: Mapping[str, int], readers: Callable[[Any, Any], list[str]]) -> dict[str, Any]:
    """The facts of a `Plan`. `registers` are those of a thread of each role, `readers` the tasks that read a ring."""
    return {
        "family": plan.family,
        "arch": plan.arch.name,
        "cluster": list(plan.cluster),
        "work": _work(getattr(plan, "work", None)),
        "roles": [_role(role, registers.get(role.name)) for role in plan.roles],
        "rings": [_ring(plan, ring, readers(plan, ring)) for ring in plan.rings],
        "turns": [_turn(turn) for turn in plan.turns],
        "meetings": [
            {"name": m.name, "role": m.role, "id": m.id, "threads": m.threads} for m in getattr(plan, "meetings", ())
        ],
        "signals": [
            {"name": s.name, "by": s.by, "to": s.to, "expected": str(s.expected), "words": s.words}
            for s in getattr(plan, "signals", ())
        ],
        "hand_out": [_barrier(barrier) for barrier in getattr(plan, "source_barriers", ())],
        "budgets": [
            {
                "name": b.name,
                "unit": b.unit,
                "limit": b.limit,
                "uses": [{"what": u.what, "amount": u.amount} for u in b.uses if u.amount],
            }
            for b in plan.budgets
        ],
        "tmem": [
            {"what": c.what, "first": c.first, "count": c.count, "over": getattr(c, "over", "")}
            for c in getattr(plan, "tmem", ())
        ],
    }


def _work(work: Any) -> dict[str, Any]:
    if work is None:
        return {"kind": "", "tail": "", "cluster": 1}
    kind = work.name if hasattr(work, "name") else work.kind  # as older plans call it
    return {"kind": kind, "tail": work.tail, "cluster": _number(work.cluster)}


def _role(role: Any, registers: int | None) -> dict[str, Any]:
    return {
        "name": role.name,
        "warps": role.warps,
        "replicas": role.replicas,
        "registers": registers,
        "default": role.default,
        "guard": role.guard or "",
        "steps": [str(step) for step in role.steps],
    }


def _ring(plan: Any, ring: Any, readers: list[str]) -> dict[str, Any]:
    of = ring
    if getattr(ring, "over", ""):  # it uses the barriers of the ring whose place it takes
        of = next((r for r in plan.rings if r.name == ring.alias), ring)
    full = getattr(ring, "full_barrier", None)
    return {
        "name": ring.name,
        "by": ring.fill.role,
        "kind": ring.fill.kind,
        "means": ring.fill.means,
        "ctas": _number(getattr(ring.fill, "ctas", 1)),
        "readers": list(dict.fromkeys(readers)),
        "slots": ring.slots.value,
        "banks": ring.banks,
        "copies": _number(getattr(ring, "copies", 1)),
        "space": ring.space,
        "guard": ring.guard or "",
        "tiles": [_tile(tile) for tile in ring.tiles],
        "bytes": ring.smem_bytes,
        "alias": ring.alias or "",
        "over": getattr(ring, "over", ""),
        "full": {**_barrier(full), "name": f"{of.name}_full"} if full else None,
        "empty": _barrier(of.empty_barrier) if of.empty_barrier else None,
        "ready": _barrier(ring.ready_barrier) if getattr(ring, "ready_barrier", None) else None,
        "returns": _returns(ring),
    }


def _returns(ring: Any) -> str:
    """A text that says how a slot is released without a barrier."""
    via = [d.via for d in ring.drains if getattr(d, "via", ())]
    if via:
        return f"by the barriers of {', '.join(via[0])}"
    if ring.drains:
        return ""
    return {
        "copy": "in order with its MMAs",
        "async": "its filler waits for the copies",
        "store": "by TMA store groups",
        "tma": "filled once",
        "commit": "filled once",
    }.get(ring.fill.kind, "its filler reads it")


def _tile(tile: Any) -> dict[str, Any]:
    return {
        "name": tile.name,
        "shape": [size.value for size in tile.shape],
        "groups": tile.groups,
        "dtype": tile.dtype.name,
        "bytes": tile.bytes.value,
        "smem": getattr(tile, "smem_bytes", tile.bytes.value),
    }


def _barrier(barrier: Any) -> dict[str, Any]:
    return {
        "name": barrier.name,
        "kind": barrier.kind,
        "how_many": barrier.slots.value,
        "count": barrier.count,
        "who": barrier.who,
        "bytes": barrier.bytes.value if barrier.bytes else 0,
    }


def _turn(turn: Any) -> dict[str, Any]:
    return {
        "name": turn.name,
        "role": turn.role,
        "kind": turn.kind,
        "replicas": turn.replicas,
        "first": turn.first_id,
        "threads": turn.threads,
    }


def _number(size: Any) -> int:
    return int(getattr(size, "value", size))
