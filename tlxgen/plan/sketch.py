"""The pipeline of a kernel as text: `load --ab (STAGES slots, TMA)--> mma x 2 --c (...)--> TMA store`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .model import Plan, Role
from .rings import Ring
from .size import Size

_BY = {
    "tma": "TMA",
    "store": "stores",
    "parts": "stores",
    "commit": "MMA",
    "copy": "copies",
    "remote": "DSMEM",
    "gather": "DSMEM",
    "exchange": "DSMEM",
    "async": "cp.async",
}
_STORED = "TMA store"  # what drains a ring that no role drains
INDENT = "    "


@dataclass(frozen=True)
class _Edge:
    """The role that fills, the role that reads, and the rings between them."""

    source: str
    target: str
    rings: tuple[Ring, ...]


def sketch(plan: Plan, width: int = 110) -> tuple[str, ...]:
    """Tasks and the rings between them, one path from task to task a line. A longer line is broken behind an arrow, and
    a longer arrow behind rings that are filled alike."""
    edges = _edges(plan)
    lines: list[str] = []
    while edges:
        targets = {e.target for e in edges if e.target != e.source}
        path = [next((e for e in edges if e.source not in targets), edges[0])]
        edges.remove(path[0])
        while following := next((e for e in edges if e.source == path[-1].target), None):
            edges.remove(following)
            path.append(following)
        lines += _broken(
            [_task(plan, path[0].source), *(f"{_arrow(plan, e)} {_task(plan, e.target)}" for e in path)], width
        )
    if plan.source_barriers:
        lines.append("cluster launch control --work items--> every task")
    return (*lines, *(f"The replicas of {turn.role} take turns." for turn in plan.turns[:1]))


def _edges(plan: Plan) -> list[_Edge]:
    """The edges, one for each pair of tasks, in the order of their rings."""
    between: dict[tuple[str, str], list[Ring]] = {}
    for ring in plan.rings:
        for reader in dict.fromkeys(readers(plan, ring)):
            between.setdefault((ring.fill.role, reader), []).append(ring)
    return [_Edge(source, target, tuple(rings)) for (source, target), rings in between.items()]


def readers(plan: Plan, ring: Ring) -> list[str]:
    """The names of those that read the slots of a ring.

    A ring that no role releases has one reader. The TMA engine reads a tile that was staged for a store, the MMA role
    reads what TMA has loaded, and the filler reads what its replicas or CTAs store for each other.
    """
    if ring.fill.kind == "copy":
        return [ring.fill.role]
    if ring.drains:
        return [d.after[0] if d.after else d.role for d in ring.drains]
    multiplies = [r.name for r in plan.possible_roles if r.holds.accumulator and r.name != ring.fill.role]
    if ring.fill.kind == "tma" and multiplies:
        return multiplies[:1]
    exchanged = ring.banks == 1 and any(m.role == ring.fill.role for m in plan.meetings)
    return [_STORED if ring.fill.kind == "store" and not exchanged else ring.fill.role]


def _task(plan: Plan, name: str) -> str:
    role: Role | None = next((r for r in plan.possible_roles if r.name == name), None)
    if role is None:
        return name
    replicas = f" x {role.replicas}" if role.replicas > 1 else ""
    return name + replicas + (f" (if {role.guard})" if role.guard else "")


def _arrow(plan: Plan, edge: _Edge) -> str:
    """The arrow of an edge. Rings of the same fill and the same number of slots share one pair of brackets."""
    alike: dict[str, list[str]] = {}
    replicas = {r.replicas for r in plan.possible_roles if r.name in (edge.source, edge.target)}
    for ring in edge.rings:
        slots = _shown(plan, ring.slots)
        slots += " slot" if slots == "1" else " slots"
        if ring.banks > 1:
            slots = f"{slots} a replica" if ring.banks in replicas else f"{ring.banks} banks of {slots}"
        by = _BY[ring.fill.kind] + (f" and {_BY['async']}" if len(ring.told) < len(ring.tiles) else "")
        alike.setdefault(f"({slots}, {by})", []).append(ring.name)
    return "--" + ", ".join(f"{', '.join(names)} {how}" for how, names in alike.items()) + "-->"


def _shown(plan: Plan, size: Size) -> str:
    """The text of a size, with numbers for the parameters that are baked."""
    names = set(re.findall(r"[A-Za-z_]\w*", size.text))
    kept = {p.name for p in plan.parameters if not p.baked}
    return size.text if names and names <= kept else str(size.value)


def _broken(parts: list[str], width: int) -> list[str]:
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines += _broken_arrow(INDENT + part, width)
    return lines


def _broken_arrow(line: str, width: int) -> list[str]:
    if len(line) <= width or (at := line.rfind("), ", 0, width)) < 0:
        return [line]
    return [line[: at + 2], *_broken_arrow(2 * INDENT + line[at + 3 :], width)]
