"""`tlxgen verify` for people: runs each structure of a spec in the simulator and prints what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tlxgen import families, lock
from tlxgen.build import build
from tlxgen.check import numerics
from tlxgen.errors import ToolchainError
from tlxgen.families import Structure
from tlxgen.files import write_atomic
from tlxgen.review.show import kernels_of
from tlxgen.sim import SCHEDULES, SMS, Report, Run, Schedule, load_module, verify_case

SUPPORTED = ("sm90", "sm100")


def run(specs: list[Path], seeds: int, schedule: Schedule | None, results: Path | None) -> int:
    """Builds what is stale, runs every structure's first and last config; 0 when nothing was found, else 1."""
    runs = runs_of(seeds, (schedule,) if schedule else SCHEDULES)
    total, record = Report(), []
    for spec in specs:
        built = build(spec)
        kernels = kernels_of(spec).some()
        problem = families.of(kernels.document).problem()
        names = set(lock.read(built.folder)["structures"])
        for structure in (s for s in kernels.structures if s.name in names):
            if structure.plan.arch.name not in SUPPORTED:
                raise ToolchainError(f"the simulator knows {', '.join(SUPPORTED)}, not {structure.plan.arch.name}")
            report = _structure(problem, built.folder / f"{structure.name}.py", structure, runs)
            total.add(report)
            record.append({"structure": structure.name, **_json(report)})
            print(f"{structure.name}: {_covered(report)}", flush=True)
            for seen in report.seen:
                print(f"  {seen}", flush=True)
    if results:
        write_atomic(results, (json.dumps({"runs": runs, "structures": record}, indent=1) + "\n").encode())
    print(f"{len(total.seen)} findings in {_covered(total)}; what was not run (other orders and shapes) is not proven")
    return int(bool(total.seen))


def runs_of(seeds: int, schedules: Sequence[Schedule]) -> list[Run]:
    """Seeds of each schedule; lazy and eager have no chance in them: once is all."""
    return [(s, seed) for s in schedules for seed in range(seeds if s in ("random", "starved") else 1)]


def _structure(problem: Any, path: Path, structure: Structure, runs: Sequence[Run]) -> Report:
    arch = structure.plan.arch.name
    module, report = load_module(path, arch), Report()
    for i in dict.fromkeys((0, len(structure.variants) - 1)):
        for shape in shapes_of(module.CONFIGS[i].kwargs):
            spec = structure.variants[i].spec
            shape = problem.runnable(spec, shape)
            report.add(verify_case(problem, module, spec, shape, module.CONFIGS[i], numerics.compare, runs, arch=arch))
    return report


def shapes_of(constants: dict[str, int]) -> Iterator[tuple[int, int, int]]:
    """Problems that a CPU runs at once: one element of C, and ragged ones of some tiles a CTA, K shorter and longer
    than the ring. The tile's sizes come from the config, or are what bakes them in usually has."""
    m, n, k = (constants.get(f"BLOCK_{axis}", size) for axis, size in (("M", 128), ("N", 128), ("K", 64)))
    stages = constants.get("STAGES", 4)
    yield 1, 1, k
    yield 2 * m + m // 2 - 3, n + 8, k + k // 2
    yield m + 1, 2 * SMS * n - 16 if n < 256 else SMS * n - 16, (stages + 1) * k - 8


def _covered(report: Report) -> str:
    return f"{report.runs} runs, {report.steps} steps, {report.seconds:.1f} s"


def _json(report: Report) -> dict[str, Any]:
    seen = [
        {
            **asdict(s.finding),
            "severity": s.finding.severity,
            "fix": s.finding.fix,
            "schedule": s.schedule,
            "seed": s.seed,
        }
        for s in report.seen
    ]
    return {"runs": report.runs, "steps": report.steps, "seconds": round(report.seconds, 2), "findings": seen}
