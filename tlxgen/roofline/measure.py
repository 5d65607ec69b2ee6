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
from tlxgen.sim import Session, load_module

from .counts import Counts
from .meter import Meter, Metered
from .model import Launch, Work, separate

Shape = tuple[int, ...]


def measure(path: Path, family: Family, variant: Variant, config: Any, shape: Shape) -> list[Launch] | None:
    """The launches of one config of the module in `path`, for problems like that of `shape`: the one with the most
    products first. None of a family, or a plan, that does not say what its work items are.

    Raises ReviewError where the simulator finds a fault.
    """
    plan, cost = variant.plan, family.part("cost")
    if plan is None or not hasattr(cost, "probes") or cost.work(plan, shape) is None:
        return None
    ran = [_run(path, family, variant, config, probe) for probe in cost.probes(plan, shape)]
    works = [Work(*cost.work(plan, probe)) for probe in cost.probes(plan, shape)]
    made = []
    for number in sorted(ran[0], key=lambda n: -ran[0][n].total.products):
        parts = separate([each[number].total for each in ran], works)
        made.append(Launch(ran[0][number].kernel, *(Counts(*(_clean(v) for v in part.values)) for part in parts)))
    return made


def _clean(value: float) -> float:
    """Without what division leaves of a zero."""
    return 0.0 if abs(value) < 1e-6 else value


def _run(path: Path, family: Family, variant: Variant, config: Any, shape: Shape) -> dict[int, Metered]:
    plan, problem = variant.plan, family.problem()
    assert plan is not None
    sms, meter = math.prod(plan.cluster), Meter()
    session = Session(schedule="eager", sms=sms, arch=plan.arch.name, races=False, meter=meter)
    module = load_module(path, plan.arch.name, sms)
    with session.active():
        torch.manual_seed(0)
        tensors = problem.inputs(variant.spec, shape, DEVICE)
        problem.launch(module, variant.spec, shape, tensors, module.CONFIGS[config])
    errors = [f for f in session.findings.all if f.severity == "error"]
    if errors:
        raise ReviewError(f"{plan.name} on {'x'.join(map(str, shape))}: {errors[0]}", remedy="tlxgen verify says more")
    return meter.launches
