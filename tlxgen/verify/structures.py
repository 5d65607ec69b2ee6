"""A generated module: some configs and shapes of its structure, by its family's own inputs and reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tlxgen.cases.foreign import importing, shown
from tlxgen.check import numerics
from tlxgen.errors import Location, SpecError
from tlxgen.families import kernels_of
from tlxgen.sim import SMS, NoSuchConfig, Report, Script, Way, load_module, verify_case

from .verification import Case


@dataclass(frozen=True)
class Prepared:
    """What runs a structure's `cases`, on one schedule and seed or another way; `sms`: on how many SMs."""

    cases: Sequence[Case]
    sms: Sequence[int]
    run: Callable[[Way], Report]

    def __call__(self, way: Way) -> Report:
        return self.run(way)


def prepare(spec: Path, name: str, path: Path, config: int | None, given: Sequence[Case] | None = None) -> Prepared:
    """What runs the structure: the cases `given`; else every shape of `config`, or of the configs that show every
    constant. A list of decisions is for one case. Raises NoSuchConfig.
    """
    kernels = kernels_of(spec)
    structure = kernels.structure(name)
    with importing(path):  # somebody may have edited it
        problem, module = kernels.family.problem(), load_module(path, structure.plan.arch.name)
    count = len(rows_of(module, path))
    if config is not None and config >= count:
        raise NoSuchConfig(name, config, count)
    variants = [structure.variant_of(c.kwargs)[0].spec for c in module.CONFIGS]
    points = [(v, c.kwargs) for v, c in zip(variants, module.CONFIGS, strict=True)]
    cases = given if given is not None else [(i, tuple(s)) for i, s in cases_of(problem, points, config)]

    def run(way: Way) -> Report:
        report = Report()
        for number, (i, shape) in enumerate(cases):
            if not isinstance(way, Script) or way.part == number:
                case = (problem, module, variants[i], shape, module.CONFIGS[i], numerics.compare)
                report.add(verify_case(*case, (way,), arch=structure.plan.arch.name).of_part(number))
        return report

    return Prepared(cases, (SMS,), run)


def rows_of(module: ModuleType, path: Path) -> Sequence[Any]:
    """The rows of a module's CONFIGS. Raises SpecError where somebody's edit left none: nothing would be run."""
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
    """(Index of a config, shape) for all that is run of a structure, whose variants are (spec, constants)."""
    chosen = configs_of([constants for _, constants in points]) if config is None else [config]
    return [(i, shape) for i in chosen for shape in problem.simulated_shapes(*points[i], SMS)]


def configs_of(configs: Sequence[Mapping[str, int]]) -> list[int]:
    """For each value of the kept guards the first config, the last, and whichever first has a value of a constant that
    none of these has: so every constant is seen with all its values, on each side of each guard."""
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
