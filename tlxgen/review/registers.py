"""The registers of a plan's tasks, for output: those by setmaxnreg or by the launch."""

from __future__ import annotations

from tlxgen.plan import Plan
from tlxgen.plan.budget import register_split


def granted(plan: Plan) -> dict[str, int]:
    """Role -> registers a thread."""
    split = register_split(plan)
    left = split.maxnreg if split.default is None else split.default
    return {r.name: left if r.default else (r.registers or split.maxnreg) for r in plan.roles}


def per_task(plan: Plan) -> str:
    """A text such as 'load 40, mma 232', or '168 a thread' if no task requests registers."""
    split = register_split(plan)
    if not split.applied:
        return f"{split.maxnreg} a thread"
    return ", ".join(f"{name} {registers}" for name, registers in granted(plan).items())
