"""A plan made by hand: a producer, consumers and one ring, with nothing of a kernel family in it."""

from __future__ import annotations

from typing import Any

from tlxgen.arch import DTYPES, Sm90
from tlxgen.plan import Drain, Fill, Plan, Ring, Role, Size, Tile
from tlxgen.plan.steps import steps

LOAD = Role("load", 4, steps(": load"), default=True)
MMA = Role("mma", 4, steps(": multiply"), replicas=2)
STORE = Role("store", 1, steps(": store"))
ROLES = {r.name: r for r in (LOAD, MMA, STORE)}


def size(name: str, value: int) -> Size:
    return Size.of(name, value)


def ring(**changes: Any) -> Ring:
    """Four slots of a 128 x 64 bf16 tile (16384 B), filled by TMA and drained once by the mma role."""
    tile = Tile("a", (size("M", 128), size("K", 64)), DTYPES["bf16"])
    fields: dict[str, Any] = {
        "name": "ab",
        "tiles": (tile,),
        "slots": size("STAGES", 4),
        "fill": Fill("load", "tma"),
        "drains": (Drain("mma"),),
    }
    return Ring(**fields | changes)


def plan(**changes: Any) -> Plan:
    """A plan, not completed, of the roles load and mma and the ring `ab`."""
    roles = changes.get("roles", (LOAD, MMA))
    fields: dict[str, Any] = {
        "name": "toy",
        "family": "toy",
        "arch": Sm90,
        "roles": roles,
        "possible_roles": roles,
        "rings": (ring(),),
        "turns": (),
        "parameters": (),
    }
    return Plan(**fields | changes)
