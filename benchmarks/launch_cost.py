"""Host time of an eager launch: a generated GEMM, torch.matmul and Meta's tutorial, called in turns on the GPU at hand.

    python benchmarks/launch_cost.py specs/hopper_gemm.yaml --shapes 1024x1024x1024 --json benchmarks/results/NAME.json

Of a tuned spec it is the function that chooses among the modules, else each module's own. A figure is microseconds a
call while the GPU's queue takes all that it is given: a burst of calls, its wall time shared out, the median of many
bursts (tlxgen.bench.gpu). The second figure is of bursts that begin right after a wait for the GPU: of their 40 calls
the first finds the thread asleep and its caches cold, whoever is called, the more so the longer the kernels. The
tutorial is called with one config of its own, since its autotuner would be timed with it otherwise.
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
from tlxgen.build import DISPATCHER, build
from tlxgen.check.child import import_file
from tlxgen.families.gemm.benchmark import tutorial
from tlxgen.spec import load

ROUNDS = 7
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


def hosts(spec: Path) -> dict[str, Callable[..., torch.Tensor]]:
    """The generated host functions that a user would call, by name."""
    document = load(spec)
    structures = families.of(document).kernels(document).some().structures
    folder, name = build(spec).folder, structures[0].plan.name
    if (folder / DISPATCHER).is_file():
        return {name: getattr(import_file(folder / DISPATCHER), name)}
    return {s.name: getattr(import_file(folder / f"{s.name}.py"), name) for s in structures}


def calls(functions: dict[str, Callable[..., torch.Tensor]], shape: tuple[int, int, int]) -> dict[str, Run]:
    """What to time, by name; each with an output that is there already, and with one that it allocates."""
    m, n, k = shape
    a, b, out = (torch.randn(*size, device="cuda").to(torch.bfloat16) for size in ((m, k), (k, n), (m, n)))
    found: dict[str, Run] = {
        "torch.matmul, out given": lambda: torch.matmul(a, b, out=out),
        "torch.matmul": lambda: torch.matmul(a, b),
    }
    for name, host in functions.items():
        found[f"{name}, out given"] = lambda host=host: host(a, b, out=out)  # type: ignore[misc]
        found[name] = lambda host=host: host(a, b)  # type: ignore[misc]
    if (path := tutorial("hopper_gemm_ws")) is not None:
        matmul = import_file(path).matmul
        half_a, half_b = a.half(), b.half()
        found["tutorial hopper_gemm_ws"] = lambda: matmul(half_a, half_b, config=TUTORIAL_CONFIG)
    return found


def measure(gpu: Gpu, runs: dict[str, Run], seed: int) -> dict[str, tuple[float, float]]:
    """Microseconds a call, and a call of bursts that begin after a wait: medians over rounds, each in another order."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        for name in rng.sample(list(runs), len(runs)):
            times[name].append((gpu.host_us(runs[name]), gpu.host_us(runs[name], lead=0)))
    return {name: (statistics.median(u for u, _ in v), statistics.median(w for _, w in v)) for name, v in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--shapes", default="1024x1024x1024", help="Comma-separated MxNxK.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    gpu, functions = Gpu(), hosts(options.spec)
    found = {}
    for shape in options.shapes.split(","):
        m, n, k = map(int, shape.split("x"))
        found[shape] = measure(gpu, calls(functions, (m, n, k)), options.seed)
        for name, (us, woken) in found[shape].items():
            print(f"{shape:>18}  {us:8.2f} us  {woken:8.2f} us after a wait  {name}", flush=True)
        torch.cuda.empty_cache()
    mine = [both for of in found.values() for name, both in of.items() if not name.startswith(("torch", "tutorial"))]
    ours, woken = map(max, zip(*mine, strict=True))
    print(f"the slowest generated launch takes {ours:.2f} us ({woken:.2f} after a wait); the bar is {BAR_US:g} us")
    if options.json:
        record = {
            "command": " ".join(["python", "benchmarks/launch_cost.py", *sys.argv[1:]]),
            "device": gpu.name,
            "versions": gpu.versions(),
            "us": {shape: {name: us for name, (us, _) in of.items()} for shape, of in found.items()},
            "us_after_a_wait": {shape: {name: us for name, (_, us) in of.items()} for shape, of in found.items()},
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(ours > BAR_US)


if __name__ == "__main__":
    sys.exit(main())
