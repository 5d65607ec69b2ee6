"""Runs of a generated module: configs and shapes of its structure, with its family's inputs and reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tlxgen.cases.foreign import importing, shown
from tlxgen.check import numerics
from tlxgen.coverage import Waiver
from tlxgen.errors import Location, SpecError
from tlxgen.families import Variant, kernels_of
from tlxgen.sim import SMS, Delays, Limits, NoSuchConfig, Report, Script, Way, load_module, verify_case

from .sms import counts_for, turn_of
from .verification import Case


@dataclass(frozen=True)
class Prepared:
    """Runs a structure's `cases` on one schedule and seed, or in another way. `sms` are the numbers of SMs so far."""

    cases: Sequence[Case]
    sms: set[int]
    run: Callable[[Way], Report]

    def __call__(self, way: Way) -> Report:
        return self.run(way)


def prepare(
    spec: Path, name: str, path: Path, config: int | None, given: Sequence[Case] | None = None
) -> tuple[Prepared, Sequence[Waiver]]:
    """Prepares the runs of a structure. Returns also waivers for what they need not exercise, with reasons.

    A run has the cases `given`, or every shape of `config`, or of the configs that show every constant; each shape is
    run on the number of SMs of its turn. A list of decisions is for one shape and one number of SMs. Raises
    NoSuchConfig.
    """
    kernels = kernels_of(spec)
    structure = kernels.structure(name)
    with importing(path):  # it may have been edited, so its import may fail
        problem, arch = kernels.family.problem(), structure.plan.arch.name
        modules = {SMS: loaded(path, arch, SMS)}  # by SMs, since host code asks for them once
    configs = rows_of(modules[SMS], path)
    count = len(configs)
    if config is not None and config >= count:
        raise NoSuchConfig(name, config, count)
    alike = [structure.variant_of(c.kwargs)[0] for c in configs]
    leave = any(signal.looks for signal in structure.plan.signals)
    variants, clusters = [v.spec for v in alike], [cluster_of(v) for v in alike]
    points = [(v, c.kwargs) for v, c in zip(variants, configs, strict=True)]
    cases = given if given is not None else [(i, tuple(s)) for i, s in cases_of(problem, points, config)]
    used: set[int] = set()

    def run_one(way: Way, number: int, sms: int) -> Report:
        if sms not in modules:
            with importing(path):
                modules[sms] = loaded(path, arch, sms)
        used.add(sms)
        i, shape = cases[number]
        case = (problem, modules[sms], variants[i], shape, modules[sms].CONFIGS[i], numerics.compare)
        turn = counts_for(clusters[i]).index(sms)
        limits = limits_of(sms, clusters[i]) if leave else Limits()
        return verify_case(*case, (way,), sms=sms, limits=limits, arch=arch).of_part(number + len(cases) * turn)

    def run(way: Way) -> Report:
        report = Report()
        if isinstance(way, Script):
            turn, number = divmod(way.part, len(cases))
            counts = counts_for(clusters[cases[number][0]])
            return run_one(way, number, counts[turn]) if turn < len(counts) else report
        sizes = [math.prod(shape) for _, shape in cases]
        for number in middle_first(sizes) if isinstance(way, Delays) else range(len(cases)):
            cluster = clusters[cases[number][0]]
            sms = turn_of(way, number, cluster) if isinstance(way, tuple) else counts_for(cluster)[0]
            report.add(run_one(way, number, sms))
        return report

    return Prepared(cases, used, run), list(dict.fromkeys(w for v in variants for w in waivers_of(problem, v)))


def loaded(path: Path, arch: str, sms: int) -> ModuleType:
    """The module on a simulated GPU of so many SMs.

    On fewer than SMS, L2 counts as small, too: attention works on as few heads at a time as with the longest sequences.
    Otherwise no problem small enough to be simulated has more than one group of heads.
    """
    module = load_module(path, arch, sms)
    together = getattr(module, "heads_together", None)
    if together is not None and sms < SMS:
        module.heads_together = lambda _, *heads: together(1 << 40, *heads)  # type: ignore[attr-defined]
    return module


def limits_of(sms: int, cluster: int) -> Limits:
    """Of a kernel whose CTAs do not wait for long for others: where there is room for two or three clusters, these run
    one after the other, as if another kernel had the other SMs. On other numbers of SMs all run at once."""
    return Limits(resident=1) if sms // cluster in (2, 3) else Limits()


def cluster_of(variant: Variant) -> int:
    """The CTAs of a variant's cluster. The variants of a structure may differ in it."""
    assert variant.plan  # a variant that is run fits
    return math.prod(variant.plan.cluster)


def middle_first(sizes: Sequence[int]) -> list[int]:
    """The indices of problems in the order in which delays are made: medium sizes first, then larger and smaller ones.

    The smallest problems have hardly any concurrency, and those of many tiles repeat the same orders.
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    return sorted(order, key=lambda number: abs(order.index(number) - len(order) // 2))


def waivers_of(problem: Any, spec: Any) -> Sequence[Waiver]:
    """The family's waivers for what no run of a variant can exercise, with reasons."""
    unseen = getattr(problem, "unseen", None)
    return tuple(unseen(spec)) if unseen else ()


def rows_of(module: ModuleType, path: Path) -> Sequence[Any]:
    """The rows of a module's CONFIGS. Raises SpecError if there are none, since nothing would be run."""
    rows = getattr(module, "CONFIGS", None)
    if not isinstance(rows, list | tuple) or not all(isinstance(getattr(row, "kwargs", None), dict) for row in rows):
        text = "this generated module has no table CONFIGS of triton.Config({...})"
    elif not rows:
        text = "the table CONFIGS is empty: nothing to run"
    else:
        return rows
    raise SpecError(text, location=Location(shown(str(path)), 1, 1))


def cases_of(
    problem: Any, points: Sequence[tuple[Any, Mapping[str, int]]], config: int | None = None
) -> list[tuple[int, Any]]:
    """(Index of a config, shape) for all runs of a structure, whose variants are (spec, constants)."""
    chosen = configs_of([constants for _, constants in points]) if config is None else [config]
    return [(i, shape) for i in chosen for shape in problem.simulated_shapes(*points[i], SMS)]


def configs_of(configs: Sequence[Mapping[str, int]]) -> list[int]:
    """For each value of the kept guards the first and the last config, and the first configs with further values of a
    constant. So every constant is run with all its values, on each side of each guard."""
    sides: dict[tuple[bool, ...], list[int]] = {}
    for i, config in enumerate(configs):
        sides.setdefault(tuple(v for v in config.values() if isinstance(v, bool)), []).append(i)
    chosen: set[int] = set()
    for side in sides.values():
        seen: set[tuple[str, int]] = set()
        for i in dict.fromkeys((side[0], side[-1], *side)):
            if not seen.issuperset(configs[i].items()):
                seen.update(configs[i].items())
                chosen.add(i)
    return sorted(chosen)
