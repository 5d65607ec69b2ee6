"""Host time of an eager launch: a generated GEMM, torch.matmul and Meta's tutorial, called in turns on the GPU at hand.

    python benchmarks/launch_cost.py specs/hopper_gemm.yaml --json benchmarks/results/NAME.json

A figure is microseconds a call while the GPU's queue takes all that it is given: a burst of calls, its wall time shared
out, the median of many bursts (tlxgen.bench.gpu). The problem is small, so that the queue is short. The tutorial is
called with one config of its own, since its autotuner would be timed with it otherwise.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tlxgen import families
from tlxgen.bench.gpu import Gpu
from tlxgen.build import build
from tlxgen.check.child import import_file
from tlxgen.families.gemm.benchmark import tutorial
from tlxgen.spec import load

ROUNDS = 15
BAR_US = 12.0
TUTORIAL_CONFIG = {
    "BM": 128,
    "BN": 256,
    "BK": 64,
    "GROUP_SIZE_M": 8,
    "NUM_STAGES": 3,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True,
    "NUM_CTAS": 1,
}
Run = Callable[[], Any]


def calls(spec: Path, extent: int) -> dict[str, Run]:
    """What to time, by name; each with an output that is there already, and with one that it allocates."""
    family = families.of(load(spec))
    structures = family.kernels(load(spec)).some().structures
    folder = build(spec).folder
    a, b, out = (torch.randn(extent, extent, device="cuda").to(torch.bfloat16) for _ in range(3))
    found: dict[str, Run] = {
        "torch.matmul, out given": lambda: torch.matmul(a, b, out=out),
        "torch.matmul": lambda: torch.matmul(a, b),
    }
    for structure in structures:
        host = getattr(import_file(folder / f"{structure.name}.py"), structure.plan.name)
        found[f"{structure.name}, out given"] = lambda host=host: host(a, b, out=out)  # type: ignore[misc]
        found[structure.name] = lambda host=host: host(a, b)  # type: ignore[misc]
    if (path := tutorial("hopper_gemm_ws")) is not None:
        matmul = import_file(path).matmul
        half_a, half_b = a.half(), b.half()
        found["tutorial hopper_gemm_ws"] = lambda: matmul(half_a, half_b, config=TUTORIAL_CONFIG)
    return found


def measure(gpu: Gpu, runs: dict[str, Run], seed: int) -> dict[str, float]:
    """Microseconds a call: the median over rounds, each in another order."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        for name in rng.sample(list(runs), len(runs)):
            times[name].append(gpu.host_us(runs[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--extent", type=int, default=1024, help="M, N and K.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    gpu = Gpu()
    found = measure(gpu, calls(options.spec, options.extent), options.seed)
    for name, us in found.items():
        print(f"{us:8.2f} us  {name}")
    ours = max(us for name, us in found.items() if not name.startswith(("torch", "tutorial")))
    print(f"the slowest generated launch takes {ours:.2f} us; the bar is {BAR_US:g} us")
    if options.json:
        record = {
            "command": " ".join(["python", "benchmarks/launch_cost.py", *sys.argv[1:]]),
            "device": gpu.name,
            "versions": gpu.versions(),
            "extent": options.extent,
            "us": found,
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(ours > BAR_US)


if __name__ == "__main__":
    sys.exit(main())
