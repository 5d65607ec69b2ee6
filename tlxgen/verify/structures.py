"""A generated module: some configs and shapes of its structure, by its family's own inputs and reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        (i, problem.runnable(structure.variants[i].spec, shape))
        for i in dict.fromkeys(chosen)
        for shape in shapes_of(module.CONFIGS[i].kwargs)
    ]

    def run(once: Run) -> Report:
        report = Report()
        for i, shape in cases:
            variant = structure.variants[i].spec
            case = (problem, module, variant, shape, module.CONFIGS[i], numerics.compare)
            report.add(verify_case(*case, (once,), arch=structure.plan.arch.name))
        return report

    return run


def shapes_of(constants: dict[str, int]) -> Iterator[tuple[int, int, int]]:
    """Problems that a CPU runs at once: one element of C, and ragged ones of some tiles a CTA, K shorter and longer
    than the ring. The tile's sizes come from the config, or are what bakes them in usually has."""
    m, n, k = (constants.get(f"BLOCK_{axis}", size) for axis, size in (("M", 128), ("N", 128), ("K", 64)))
    stages = constants.get("STAGES", 4)
    yield 1, 1, k
    yield 2 * m + m // 2 - 3, n + 8, k + k // 2
    yield m + 1, 2 * SMS * n - 16 if n < 256 else SMS * n - 16, (stages + 1) * k - 8
