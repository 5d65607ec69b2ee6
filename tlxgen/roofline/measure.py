"""Counts what a generated module does in a round of its inner loop and in a work item, on two small problems.

Imports torch and the simulator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from .model import GPC, Launch, Sharing, Work, paced, separate
from .replay import replay
from .trace import Trace, Tracer

Shape = tuple[int, ...]
Ran = dict[int, tuple[Metered, Trace]]


@dataclass(frozen=True)
class Probed:
    """What the launches of a config do, as counted on small problems: that with the most products first, whose
    operations were traced on each of them."""

    plan: Plan
    work: Callable[[Plan, Shape], tuple[int, int, int]]  # of the family
    sharing: Callable[[Plan, Shape, int, int], tuple[float, ...]] | None  # of the family
    launches: tuple[Launch, ...]
    traces: tuple[Trace, ...]
    works: tuple[Work, ...]

    def at(self, shape: Shape, sms: int) -> list[Launch]:
        """The launches of a problem on so many SMs, the first one with the pace of its tasks, where that is known: not
        where an SM may have several CTAs, and the problems that were counted have one."""
        plan = self.plan
        if len(self.traces) < 3 or (not plan.specialized and plan.work.kind == "grid" and _resident(plan) > 1):
            return list(self.launches)
        sharing = Sharing(*self.sharing(plan, shape, GPC, plan.arch.l2_bytes)) if self.sharing else None
        few = self.work(plan, shape)[0] < sms
        clocks = [replay(trace, plan.arch, _resident(plan), sharing, few).clocks for trace in self.traces]
        ctas = math.prod(plan.cluster)  # of a cluster, with an SM each, share the work
        works = [Work(work.items // ctas, work.rounds // ctas, work.longest) for work in self.works]
        return [replace(self.launches[0], pace=paced(clocks, works)), *self.launches[1:]]


def measure(path: Path, family: Family, variant: Variant, config: Any, shape: Shape) -> Probed | None:
    """Runs one config of the module in `path` on problems like that of `shape`.

    None of a family, or a plan, that does not say what its work items are. Raises ReviewError where the simulator finds
    a fault.
    """
    plan, cost = variant.plan, items_of(family)
    if plan is None or not hasattr(cost, "probes") or cost.work(plan, shape) is None:
        return None
    probes = cost.probes(plan, shape)
    ran = [run(path, family, variant, config, probe) for probe in probes]
    works = tuple(Work(*cost.work(plan, probe)) for probe in probes)
    order = sorted(ran[0], key=lambda n: -ran[0][n][0].total.products)
    made: list[Launch] = []
    for number in order:
        parts = separate([one[number][0].total for one in ran[:2]], works[:2])
        each, item = (Counts(*(_clean(v) for v in part.values)) for part in parts)
        made.append(Launch(ran[0][number][0].kernel, each, item))
    traces = tuple(one[order[0]][1] for one in ran)
    return Probed(plan, cost.work, getattr(cost, "sharing", None), tuple(made), traces, works)


def _resident(plan: Plan) -> int:
    """CTAs that an SM has room for. Without tasks ptxas gives threads the registers that they need: no plan knows how
    many these are."""
    room = next(b for b in plan.budgets if b.name == "SMEM")
    by_smem = room.limit // max(room.used, 1)
    return max(1, min(by_smem, plan.arch.registers // register_file(plan)) if plan.specialized else by_smem)


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
