"""What a GEMM package picks for random shapes in every layout, beside torch on an H200: the claim of "every shape".

    python -m benchmarks.gemm_random [PACKAGE] --json $OUT/gemm_random.json [--shapes 200] [--seed 0] [--seconds 300]

Shapes are those of `tlxgen bench --random`, layouts a quarter each. Time is that of a chain with another kernel between
two launches, less the chain without; below 8 us the chains themselves are compared. Both sides take turns on inputs
that are not in L2, torch twice, which gives the noise. Numbers are held against torch's. Child processes compile what
is picked beforehand. Needs a GPU.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import random
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.gemm_times import WRONG, Shape, drawn
from tlxgen.loading import load_file

LAYOUTS = ("row row", "row col", "col row", "col col")
SHORT_US = 8.0
TURNS = 9
PACKAGE = Path(__file__).parents[1] / "generated" / "hopper_matmul"


def problems(count: int, seed: int) -> list[tuple[Shape, str]]:
    shapes = drawn(count, seed)
    found = [(shape, LAYOUTS[i % len(LAYOUTS)]) for i, shape in enumerate(shapes)]
    random.Random(seed).shuffle(found)
    return found


def operands(shape: Shape, layout: str) -> tuple[Any, Any]:
    import torch

    def operand(rows: int, columns: int, how: str) -> Any:
        size = (rows, columns) if how == "row" else (columns, rows)
        made = torch.randn(size, device="cuda", dtype=torch.bfloat16)
        return made if how == "row" else made.T

    (m, n, k), (a, b) = shape, layout.split()
    return operand(m, k, a), operand(k, n, b)


def function(package: Path) -> Any:
    return getattr(load_file(package / f"_{package.name}.py"), package.name)


def kind(problem: tuple[Shape, str]) -> tuple[Any, ...]:
    """What Triton compiles kernels of their own for, beside the kernel that is picked."""
    shape, layout = problem
    return layout, *(1 if x == 1 else 16 if x % 16 == 0 else 8 for x in shape)


def compile_ahead(package: Path, found: list[tuple[Shape, str]], seconds: float) -> None:
    """Has child processes call the function on every problem, those alike by the same child."""
    alike = defaultdict(list)
    for problem in found:
        alike[kind(problem)].append(problem)
    jobs = [(package, some[i : i + 4]) for some in alike.values() for i in range(0, len(some), 4)]
    with multiprocessing.get_context("spawn").Pool(min(14, os.cpu_count() or 2)) as pool:
        waiting = [pool.apply_async(_called, job) for job in sorted(jobs, key=lambda job: -len(job[1]))]
        end = time.monotonic() + seconds
        for one in waiting:
            try:
                if text := one.get(max(0.1, end - time.monotonic())):
                    print(text, flush=True)
            except multiprocessing.TimeoutError:
                print("compiling ahead took too long", flush=True)
                break


@functools.cache
def _function(package: Path) -> Any:
    return function(package)


def _called(package: Path, some: list[tuple[Shape, str]]) -> str:
    import torch

    texts = []
    for shape, layout in some:
        try:
            _function(package)(*operands(shape, layout))
            torch.cuda.synchronize()
        except Exception as error:
            texts.append(f"{shape} {layout}: {type(error).__name__}: {error}"[:300])
    return "\n".join(texts)


def timed(host: Any, shape: Shape, layout: str, gpu: Any) -> dict[str, Any]:
    import torch

    from tlxgen.bench.timing import interleave

    m, n, k = shape
    inputs = [operands(shape, layout) for _ in range(gpu.sets(2.0 * (m * k + k * n)))]
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    right = torch.mm(*inputs[0]).float()
    off = float((host(*inputs[0]).float() - right).norm()) / max(float(right.norm()), 1e-30)
    ours = [functools.partial(host, a, b, **({"out": out} if n % 8 == 0 else {})) for a, b in inputs]
    theirs = [functools.partial(torch.mm, a, b, out=out) for a, b in inputs]
    looks = {name: max(5.0, gpu.roughly(runs[0])) for name, runs in (("ours", ours), ("torch", theirs))}
    timers = {"ours": gpu.chain(ours, looks["ours"]), "torch": gpu.chain(theirs, looks["torch"])}
    timers |= {"again": gpu.chain(theirs, looks["torch"]), "link": gpu.link()}
    figures = {name: figure.us for name, figure in interleave(timers, turns=TURNS).items()}
    link = figures.pop("link")
    short = figures["torch"] - link < SHORT_US
    us = {name: figure - (0 if short else link) for name, figure in figures.items()}
    del timers
    gpu.release()
    return {
        "shape": shape,
        "layout": layout,
        "us": round(figures["ours"] - link, 3),
        "torch_us": round(figures["torch"] - link, 3),
        "ratio": round(us["torch"] / us["ours"], 4),
        "noise": round(us["torch"] / us["again"], 4),
        "wrong": off > WRONG,
    }


def addressable(row: dict[str, Any]) -> bool:
    """Whether TMA can address the operands: rows of a multiple of 16 bytes, or one row."""
    (m, n, k), (a, b) = row["shape"], row["layout"].split()
    extents = ((m, k) if a == "row" else (k, m)), ((k, n) if b == "row" else (n, k))
    return all(rows == 1 or length % 8 == 0 for rows, length in extents)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = sorted(row["ratio"] for row in rows)
    return {
        "shapes": len(ratios),
        "geometric_mean": round(statistics.geometric_mean(ratios), 4),
        "fifth_percentile": ratios[len(ratios) // 20],
        "least": ratios[0],
        "at_least_as_fast": round(sum(x >= 1 for x in ratios) / len(ratios), 3),
        "wrong": sum(row["wrong"] for row in rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("package", type=Path, nargs="?", default=PACKAGE)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300)
    given = parser.parse_args()
    begin = time.monotonic()
    found = problems(given.shapes, given.seed)
    compile_ahead(given.package.resolve(), found, given.seconds / 2)
    print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
    from tlxgen.bench.gpu import Gpu

    gpu, host = Gpu(), function(given.package.resolve())
    rows: list[dict[str, Any]] = []
    for shape, layout in found:
        if time.monotonic() - begin > given.seconds:
            break
        try:
            rows.append(timed(host, shape, layout, gpu))
        except Exception as error:
            print(f"{shape} {layout}: {type(error).__name__}: {error}"[:300], flush=True)
            continue
        print(*rows[-1].values(), flush=True)
    parts = {"all": rows, "TMA can address": [*filter(addressable, rows)]}
    parts["TMA cannot address"] = [row for row in rows if not addressable(row)]
    parts |= {layout: [row for row in parts["TMA can address"] if row["layout"] == layout] for layout in LAYOUTS}
    about = {"command": f"gemm_random {given.package.name} --shapes {given.shapes} --seed {given.seed}"}
    record = about | {"device": gpu.name, "versions": gpu.versions(), "conditions": gpu.conditions()}
    record["summary"] = {name: summary(some) for name, some in parts.items() if some}
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    given.json.write_text(json.dumps(record, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n')
    for name, figures in record["summary"].items():
        print(name, figures)


if __name__ == "__main__":
    main()
