"""Times a generated bf16 GEMM against torch.matmul on the GPU at hand, every config of every structure.

    python benchmarks/gemm.py specs/hopper_gemm.yaml [more specs] --json benchmarks/results/NAME.json

One process, one run: each candidate is captured in a CUDA graph of several launches; the graphs of a shape, the
baseline's among them, are replayed in turns, in an order that rotates. A figure is the median over the turns of the
time a launch; a ratio is baseline over candidate, so more than 1 is faster than torch.matmul. Inputs are normal random
numbers. Host time is not in it.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tlxgen import families
from tlxgen.build import folder_of
from tlxgen.loading import load_file
from tlxgen.spec import load

ANCHORS = [
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 1024, 8192),
    (1024, 8192, 8192),
    (512, 4096, 16384),
    (16384, 4096, 4096),
]
GRAPH_MS = 3.0  # how long one replay should take: long against the launch of a graph, short against a change of clocks
TURNS = 15
WARM_TURNS = 3


def capture(run: Callable[[], Any], launches: int) -> torch.cuda.CUDAGraph:
    """A graph of `launches` runs."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            run()
    return graph


def measure(graphs: dict[str, torch.cuda.CUDAGraph], launches: int) -> dict[str, float]:
    """Median milliseconds a launch, for each graph, all replayed in turns."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    names = list(graphs)
    for turn in range(WARM_TURNS + TURNS):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if turn >= WARM_TURNS:
                times[name].append(begin.elapsed_time(end) / launches)
    return {name: statistics.median(values) for name, values in times.items()}


def modules(specs: list[Path]) -> dict[str, ModuleType]:
    """The generated modules of the specs, by structure name."""
    found = {}
    for spec in specs:
        document = load(spec)
        for structure in families.of(document).kernels(document).structures:
            found[structure.name] = load_file(folder_of(spec, None) / f"{structure.name}.py")
    return found


def label(config: Any) -> str:
    short = {
        "BLOCK_M": "m",
        "BLOCK_N": "n",
        "BLOCK_K": "k",
        "STAGES": "s",
        "C_STAGES": "c",
        "GROUP_M": "g",
        "SPLIT_K": "/",
    }
    return " ".join(f"{short.get(k, k)}{v}" for k, v in config.kwargs.items())


def time_shape(found: dict[str, ModuleType], names: dict[str, str], shape: tuple[int, int, int]) -> dict[str, Any]:
    """The figures of one shape: milliseconds of every candidate that gave the right numbers."""
    m, n, k = shape
    a, b = (torch.randn(*s, device="cuda", dtype=torch.bfloat16) for s in ((m, k), (k, n)))
    reference = a @ b
    launches = max(3, math.ceil(GRAPH_MS / (2 * m * n * k / 6e14 * 1e3 + 0.004)))
    out, c = torch.empty_like(reference), torch.empty_like(reference)  # both must outlive the graphs
    graphs = {"torch.matmul": capture(lambda: torch.matmul(a, b, out=out), launches)}
    picks = {}
    for name, module in found.items():
        function = getattr(module, names[name])
        picks[name] = f"{name} | {label(module.pick_config(m, n, k, sys.modules[module.Call.__module__].gpu_of(0)))}"
        for config in module.CONFIGS:
            c.fill_(float("nan"))
            function(a, b, out=c, config=config)
            error = ((c.double() - reference.double()).norm() / reference.double().norm()).item()
            if not error < 1e-2:
                print(f"WRONG {name} {label(config)} {shape}: {error}", flush=True)
                continue
            run = lambda f=function, g=config: f(a, b, out=c, config=g)  # noqa: E731
            graphs[f"{name} | {label(config)}"] = capture(run, launches)
    return {"shape": shape, "ms": measure(graphs, launches), "picks": picks}


def report(row: dict[str, Any], top: int) -> tuple[float, float]:
    """Prints one shape; returns the ratios of the best candidate and of the best structure's own pick."""
    m, n, k = row["shape"]
    base = row["ms"]["torch.matmul"]
    ratios = {name: base / ms for name, ms in row["ms"].items() if name != "torch.matmul"}
    best = sorted(ratios, key=lambda name: -ratios[name])[:top]
    pick = max(row["picks"].values(), key=lambda name: ratios.get(name, 0.0))
    print(f"{m}x{n}x{k}: torch.matmul {2 * m * n * k / base / 1e9:.0f} TFLOP/s; pick {ratios[pick]:.3f} ({pick})")
    for name in best:
        print(f"    {ratios[name]:.3f} {name}", flush=True)
    return ratios[best[0]], ratios[pick]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("specs", nargs="+", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--top", type=int, default=3)
    arguments = parser.parse_args()
    found = modules(arguments.specs)
    names = {name: next(n for n in vars(m) if f"{n}_kernel" in vars(m)) for name, m in found.items()}
    rows, best, picked = [], [], []
    for shape in ANCHORS:
        rows.append(time_shape(found, names, shape))
        ratios = report(rows[-1], arguments.top)
        best.append(ratios[0])
        picked.append(ratios[1])
    print(f"geometric mean over {len(rows)} shapes: best config {statistics.geometric_mean(best):.3f}, ", end="")
    print(f"config picked by the module {statistics.geometric_mean(picked):.3f}")
    if arguments.json:
        head = {
            "command": " ".join(["python", *(Path(a).name if a.startswith("/") else a for a in sys.argv)]),
            "device": torch.cuda.get_device_name(),
            "torch": torch.__version__,
        }
        arguments.json.write_text(json.dumps({**head, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
