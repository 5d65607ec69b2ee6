"""Runs every generated kernel many times on many orders, and counts what is found: there is nothing to find.

    python benchmarks/false_alarms.py --json benchmarks/results/simulator_false_alarms.json [--seeds 16] [NAME ...]

A module runs with its first config and its last, on the smallest problem of `tlxgen verify` and the smallest of several
tiles, that on 1, 2, 3 and 4 SMs (clusters). Each case has a run for each seed of `random` and of `starved`, one on
`lazy` and one on `eager`; each delay has one run a module; a case of many steps has a single run. A run is one call of
the host function, on one order. The first module of each spec comes first, then the second of each. Results are kept
module by module beside the record, in NAME.part, so that a run which was cut off goes on; --minutes ends it sooner, and
the record has what was run by then. Exit status 1 for a finding.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.sim.support import SPECS, kernels  # noqa: E402
from tlxgen.check import numerics  # noqa: E402
from tlxgen.families import Structure  # noqa: E402
from tlxgen.files import write_atomic  # noqa: E402
from tlxgen.sim import SMS, Delays, Report, Way, load_module, verify_case  # noqa: E402

SM_COUNTS = (SMS, 1, 2, 3)  # clusters of the simulated GPU
MOST_STEPS = 2_000  # of a case that runs often: longer ones have one run
Row = dict[str, Any]


def modules(names: Sequence[str]) -> Iterator[tuple[str, Structure]]:
    """The first structure of each spec, the second of each, and so on."""
    for number in count():
        some = [(name, found[number]) for name in names if number < len(found := kernels(name).structures)]
        if not some:
            return
        yield from some


def cases(name: str, structure: Structure) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """(config, shape, SMs): a small problem of several tiles, and the smallest, for the first config and the last."""
    problem, cluster = kernels(name).family.problem(), math.prod(structure.plan.cluster)
    for config in dict.fromkeys((0, len(structure.variants) - 1)):
        variant = structure.variants[config]
        assert variant.plan is not None
        constants = dict(variant.plan.launches[0].constants)
        for clusters in SM_COUNTS:
            sms = max(SMS, cluster) if clusters == SMS else clusters * cluster
            shapes = sorted(problem.simulated_shapes(variant.spec, constants, sms), key=math.prod)
            wide = [s for s in shapes if min(s[-2:]) > 1] or shapes
            for shape in dict.fromkeys((wide[0], shapes[0]) if clusters == SMS else wide[:1]):
                yield config, shape, sms


def runs_of(sms: int, seeds: int, delays: Delays) -> tuple[Way, ...]:
    """The orders of a case; those of other numbers of SMs are few."""
    several = seeds if sms >= SMS else max(1, seeds // 4)
    chance = [(kind, seed) for kind in ("random", "starved") for seed in range(several)]
    return (*chance, ("lazy", 0), ("eager", 0), delays)  # type: ignore[return-value]


def module(name: str, structure: Structure, seeds: int) -> Row:
    """All runs of one module."""
    family, arch = kernels(name).family, structure.plan.arch.name
    path, total, delays = ROOT / "generated" / name / f"{structure.name}.py", Report(), Delays()
    shapes = []
    for config, shape, sms in cases(name, structure):
        loaded = load_module(path, arch, sms)
        arguments = (family.problem(), loaded, structure.variants[config].spec, shape, loaded.CONFIGS[config])
        runs, *others = runs_of(sms, seeds, delays)
        first = verify_case(*arguments, numerics.compare, (runs,), sms=sms, arch=arch)
        total.add(first)
        if first.steps <= MOST_STEPS:
            total.add(verify_case(*arguments, numerics.compare, others, sms=sms, arch=arch))
        shapes.append(f"{'x'.join(map(str, shape))} config {config} on {sms} SMs")
    seen = [str(s) for s in total.seen]
    return {"module": structure.name, "cases": shapes, "runs": total.runs, "steps": total.steps, "findings": seen}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--minutes", type=float)
    options = parser.parse_args()
    torch.set_num_threads(1)
    part, start = options.json.with_suffix(".part"), time.monotonic()
    rows = {r["module"]: r for r in map(json.loads, part.read_text().splitlines() if part.exists() else ())}
    for name, structure in modules([n for n in SPECS if not options.names or any(t in n for t in options.names)]):
        if structure.name in rows:
            continue
        if options.minutes and time.monotonic() - start > 60 * options.minutes:
            break
        row = rows[structure.name] = module(name, structure, options.seeds)
        with part.open("a") as file:
            file.write(json.dumps(row) + "\n")
        runs = sum(r["runs"] for r in rows.values())
        print(f"{structure.name}: {runs} runs, {time.monotonic() - start:.0f} s", flush=True)
        if row["findings"]:
            print("    ", *row["findings"], sep="\n    ", flush=True)
    found = sum(len(row["findings"]) for row in rows.values())
    head = {"command": f"python benchmarks/false_alarms.py --seeds {options.seeds}", "modules": len(rows)}
    head |= {key: sum(row[key] for row in rows.values()) for key in ("runs", "steps")} | {"findings": found}
    lines = ",\n  ".join(json.dumps(row) for row in rows.values())
    write_atomic(options.json, f'{json.dumps(head)[:-1]}, "rows": [\n  {lines}\n]}}\n'.encode())
    part.unlink()
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
