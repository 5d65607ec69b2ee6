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

SUPPORTED = ("sm90",)


def run(specs: list[Path], seeds: int, schedule: Schedule | None, results: Path | None) -> int:
    """Builds what is stale, runs every structure on `cases_of`; 0 when nothing was found, else 1."""
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
    module, report = load_module(path), Report()
    for i, shape in cases_of([config.kwargs for config in module.CONFIGS]):
        spec = structure.variants[i].spec
        report.add(verify_case(problem, module, spec, shape, module.CONFIGS[i], numerics.compare, runs))
    return report


def cases_of(configs: Sequence[dict[str, int]]) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """(Index of a config, shape) for all that is run of a structure."""
    for i in configs_of(configs):
        for shape in shapes_of(configs[i]):
            yield i, shape


def configs_of(configs: Sequence[dict[str, int]]) -> list[int]:
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


def shapes_of(constants: dict[str, int]) -> Iterator[tuple[int, int, int]]:
    """Problems that a CPU runs at once: one element of C; ragged ones of some tiles a CTA, K shorter than a tile and
    longer than the ring, of each part too; and whole tiles, in two groups of tile rows. The tile's sizes come from the
    config, or are what bakes them in usually has."""
    m, n, k = (constants.get(f"BLOCK_{axis}", size) for axis, size in (("M", 128), ("N", 128), ("K", 64)))
    stages, parts = constants.get("STAGES", 4), constants.get("SPLIT_K", 1)
    columns = max(2, (2 if n < 256 else 1) * SMS // parts)  # of tiles: parts of K are work for the CTAs, too
    yield 1, 1, k
    yield 3 * m - 3, n + 8, k + k // 2
    yield m + 1, columns * n - 16, min(parts, 2) * (stages + 1) * k - 8
    group = constants.get("GROUP_M", 8)
    rows = 2 * group if parts * group <= 16 and n < 256 else 2  # larger ones take long, and show nothing else
    yield rows * m, 2 * n, parts * k


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
