"""Counts what a generated module does in a round of its inner loop and in a work item, on two small problems.

Imports torch and the simulator.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from tlxgen.cudalike import DEVICE
from tlxgen.errors import ReviewError
from tlxgen.families import Family, Variant
from tlxgen.plan import Plan
from tlxgen.plan.budget import register_file
from tlxgen.sim import Session, load_module

from .counts import Counts
from .items import items_of
from .meter import Metered
from .model import Launch, Pace, Work, paced, separate
from .replay import replay
from .trace import Trace, Tracer

Shape = tuple[int, ...]
Ran = dict[int, tuple[Metered, Trace]]


def measure(path: Path, family: Family, variant: Variant, config: Any, shape: Shape) -> list[Launch] | None:
    """The launches of one config of the module in `path`, for problems like that of `shape`: the one with the most
    products first. None of a family, or a plan, that does not say what its work items are.

    Raises ReviewError where the simulator finds a fault.
    """
    plan, cost = variant.plan, items_of(family)
    if plan is None or not hasattr(cost, "probes") or cost.work(plan, shape) is None:
        return None
    probes = cost.probes(plan, shape)
    ran = [run(path, family, variant, config, probe) for probe in probes]
    works = [Work(*cost.work(plan, probe)) for probe in probes]
    made: list[Launch] = []
    for number in sorted(ran[0], key=lambda n: -ran[0][n][0].total.products):
        parts = separate([one[number][0].total for one in ran[:2]], works[:2])
        each, item = (Counts(*(_clean(v) for v in part.values)) for part in parts)
        traces = [one[number][1] for one in ran]
        pace = _pace(plan, traces, works) if not made and len(probes) > 2 else None  # of the first, which counts
        made.append(Launch(ran[0][number][0].kernel, each, item, pace))
    return made


def _pace(plan: Plan, traces: list[Trace], works: list[Work]) -> Pace | None:
    """Clocks of CTAs that run one after the other on an SM, or as many at a time as fit."""
    room = next(b for b in plan.budgets if b.name == "SMEM")
    resident = max(1, min(room.limit // max(room.used, 1), plan.arch.registers // register_file(plan)))
    return paced([replay(trace, plan.arch, resident).clocks for trace in traces], works)


def _clean(value: float) -> float:
    """Without what division leaves of a zero."""
    return 0.0 if abs(value) < 1e-6 else value


def run(path: Path, family: Family, variant: Variant, config: Any, shape: Shape) -> Ran:
    """What each launch of a call did, and in which order, on as many SMs as a cluster has CTAs.

    Raises ReviewError where the simulator finds a fault.
    """
    plan, problem = variant.plan, family.problem()
    assert plan is not None
    sms, tracer = math.prod(plan.cluster), Tracer()
    session = Session(schedule="eager", sms=sms, arch=plan.arch.name, races=False, meter=tracer)
    module = load_module(path, plan.arch.name, sms)
    with session.active():
        torch.manual_seed(0)
        tensors = problem.inputs(variant.spec, shape, DEVICE)
        problem.launch(module, variant.spec, shape, tensors, module.CONFIGS[config])
    errors = [f for f in session.findings.all if f.severity == "error"]
    if errors:
        raise ReviewError(f"{plan.name} on {'x'.join(map(str, shape))}: {errors[0]}", remedy="tlxgen verify says more")
    return {number: (tracer.launches[number], tracer.traces[number]) for number in tracer.launches}
