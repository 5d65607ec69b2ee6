"""Spec variant to plan: rings, roles, derived barriers, budgets and reasons. Pure: no I/O, no clock, no environment."""

from __future__ import annotations

from dataclasses import replace

from . import barriers, budget
from .barriers import hand_out
from .model import (
    Barrier,
    Budget,
    Columns,
    Drain,
    Fill,
    Launch,
    Meeting,
    Parameter,
    Plan,
    Reason,
    Ring,
    Role,
    Size,
    Tile,
    Turn,
    Use,
)


def complete(plan: Plan) -> Plan:
    """`plan` with everything that follows from its roles and rings: barriers, turns, columns, budgets, reasons."""
    roles = {r.name: r for r in plan.roles}
    plan = replace(plan, rings=tuple(barriers.derive(r, roles) for r in plan.rings))
    plan = replace(plan, turns=budget.assign_turns(plan))
    plan = replace(plan, meetings=budget.assign_meetings(plan))
    plan = replace(plan, tmem=budget.tmem_columns(plan))
    plan = replace(plan, budgets=budget.budgets(plan))
    return replace(plan, reasons=(*plan.reasons, *budget.over_budget(plan)))


__all__ = [
    "Barrier",
    "Budget",
    "Columns",
    "Drain",
    "Fill",
    "Launch",
    "Meeting",
    "Parameter",
    "Plan",
    "Reason",
    "Ring",
    "Role",
    "Size",
    "Tile",
    "Turn",
    "Use",
    "complete",
    "hand_out",
]
