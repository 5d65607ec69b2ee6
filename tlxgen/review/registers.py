"""Registers of a plan as people read them: what each task has, by setmaxnreg or by the launch."""

from __future__ import annotations

from tlxgen.plan import Plan
from tlxgen.plan.budget import register_split


def granted(plan: Plan) -> dict[str, int]:
    """Role -> registers a thread that it may use."""
    split = register_split(plan)
    left = split.maxnreg if split.default is None else split.default
    return {r.name: left if r.default else (r.registers or split.maxnreg) for r in plan.roles}


def per_task(plan: Plan) -> str:
    """'load 40, mma 232'; '168 a thread' where the tasks ask for none."""
    split = register_split(plan)
    if not split.applied:
        return f"{split.maxnreg} a thread"
    return ", ".join(f"{name} {registers}" for name, registers in granted(plan).items())


def register_file(plan: Plan) -> int:
    """Registers of an SM that a CTA is launched with; setmaxnreg moves them between its tasks, and adds none."""
    threads = next(b.used for b in plan.budgets if b.name == "threads")
    return register_split(plan).maxnreg * threads
