"""A generated module: some configs and shapes of its structure, by its family's own inputs and reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tlxgen.check import numerics
from tlxgen.review.show import kernels_of
from tlxgen.sim import SMS, NoSuchConfig, Report, Run, load_module, verify_case


def prepare(spec: Path, name: str, path: Path, config: int | None) -> Callable[[Run], Report]:
    """What runs the structure on one schedule and seed: every shape of its first and last config, or of `config`.

    Raises NoSuchConfig.
    """
    kernels = kernels_of(spec)
    structure = next(s for s in kernels.structures if s.name == name)
    problem, module = kernels.family.problem(), load_module(path, structure.plan.arch.name)
    count = len(structure.variants)
    if config is not None and config >= count:
        raise NoSuchConfig(name, config, count)
    chosen = (0, count - 1) if config is None else (config,)
    cases = [
        (i, shape)
        for i in dict.fromkeys(chosen)
        for shape in problem.simulated_shapes(structure.variants[i].spec, module.CONFIGS[i].kwargs, SMS)
    ]

    def run(once: Run) -> Report:
        report = Report()
        for i, shape in cases:
            variant = structure.variants[i].spec
            case = (problem, module, variant, shape, module.CONFIGS[i], numerics.compare)
            report.add(verify_case(*case, (once,), arch=structure.plan.arch.name))
        return report

    return run
