"""Turns a spec variant into a plan: roles, rings, derived barriers, budgets and reasons.

The package is pure: it does no I/O and reads neither the clock nor the environment.
"""

from __future__ import annotations

from dataclasses import replace

from . import barriers, budget
from .arguments import Host, HostArgument, KernelArgument
from .model import (
    Budget,
    Columns,
    Holds,
    Launch,
    Meeting,
    Parameter,
    Plan,
    Reason,
    Role,
    Turn,
    Use,
)
from .order import Order, Product
from .rings import Barrier, Cursor, Drain, Fill, Ring, Sharing, Tile
from .rule import Condition, Rule
from .size import Size
from .steps import Step
from .work import Signal, Work


def complete(plan: Plan) -> Plan:
    """Returns `plan` with all that follows from its roles and rings: barriers, turns, columns, budgets, reasons."""
    roles = {r.name: r for r in plan.roles}
    rings, work = tuple(barriers.derive(r, roles) for r in plan.rings), plan.work
    if work.clc:
        work = replace(work, consumers=barriers.consumers(work, plan.possible_roles, plan.parameters))
    plan = replace(plan, rings=rings, work=work, source_barriers=barriers.hand_out(work))
    plan = replace(plan, turns=budget.assign_turns(plan), tmem=budget.tmem_columns(plan))
    plan = replace(plan, meetings=(*plan.meetings, *budget.warps_meet(plan)))
    plan = replace(plan, meetings=budget.assign_meetings(plan))
    plan = replace(plan, budgets=budget.budgets(plan))
    broken = (Reason(r.rule, r.text) for r in plan.rules if not r.condition.holds)
    return replace(plan, reasons=(*broken, *plan.reasons, *budget.over_budget(plan)))


__all__ = [
    "Barrier",
    "Budget",
    "Columns",
    "Condition",
    "Cursor",
    "Drain",
    "Fill",
    "Holds",
    "Host",
    "HostArgument",
    "KernelArgument",
    "Launch",
    "Meeting",
    "Order",
    "Parameter",
    "Plan",
    "Product",
    "Reason",
    "Ring",
    "Role",
    "Rule",
    "Sharing",
    "Signal",
    "Size",
    "Step",
    "Tile",
    "Turn",
    "Use",
    "Work",
    "complete",
]
