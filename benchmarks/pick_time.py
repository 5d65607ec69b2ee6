"""How long a package of GEMMs takes for a shape that is new to it: to pick a kernel, and for a whole call on a GPU.

    python -m benchmarks.pick_time [--shapes 400] [--seed 1] [--calls]

Each layout of generated/hopper_matmul picks for random shapes, by the part of its model that is in C and by Python
alone. Both must pick alike. This needs no GPU.

With --calls, which needs one: host time of the first and the later calls of random shapes, outputs allocated. First
calls in which Triton compiles or loads a kernel are left out.
"""

from __future__ import annotations

import argparse
import importlib
import math
import statistics
import time
from random import Random

LAYOUTS = ("", "_b_col", "_a_col", "_a_col_b_col")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", type=int, default=400, help="of M from 1 to 16,384, N and K from 256 to 16,384")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", action="store_true", help="also time whole calls, on a GPU")
    options = parser.parse_args()
    random = Random(options.seed)
    shapes = [tuple(drawn(random, low) for low in (1, 256, 256)) for _ in range(options.shapes)]
    model = importlib.import_module("generated.hopper_matmul._model")
    gpu = model.Gpu("NVIDIA H200", 132)
    in_c = model.compiled
    if in_c() is None:
        print("no C compiler: all in Python")
    print(f"{'layout':<14}{'kernels':>8}{'C us':>9}{'Python us':>11}   (median of {options.shapes})")
    for layout in LAYOUTS:
        times = importlib.import_module(f"generated.hopper_matmul._hopper_matmul{layout}").TIMES
        found = []
        for form in (in_c, lambda: None):
            model.compiled = form
            times.least(shapes[0], gpu)
            found.append([timed(times, shape, gpu) for shape in shapes])
        assert [pick for pick, _ in found[0]] == [pick for pick, _ in found[1]]
        us = [statistics.median(us for _, us in one) for one in found]
        print(f"{layout or '_':<14}{len(times.kernels):>8}{us[0]:>9.0f}{us[1]:>11.0f}")
    model.compiled = in_c
    if options.calls:
        calls(shapes)


def calls(shapes: list[tuple[int, int, int]]) -> None:
    """Prints microseconds of calls: the first of each shape, and the median of 20 later ones."""
    import torch
    from triton.compiler.compiler import CompiledKernel

    loaded = []
    load = CompiledKernel._init_handles

    def counted(kernel: CompiledKernel) -> None:
        if kernel.module is None:
            loaded.append(kernel)
        load(kernel)

    CompiledKernel._init_handles = counted
    package = importlib.import_module("generated.hopper_matmul")
    # Small extents, so that the GPU keeps up; what a call does on the host does not depend on them.
    small = sorted({(m % 512 + 1, n % 2048 // 8 * 8 + 8, k % 2048 // 8 * 8 + 8) for m, n, k in shapes})
    Random(len(small)).shuffle(small)
    first, later, seen = [], [], 0
    for m, n, k in small:
        a, b = (torch.randn(size, device="cuda", dtype=torch.bfloat16) for size in ((m, k), (k, n)))
        torch.cuda.synchronize()
        times = [called(package.hopper_matmul, a, b) for _ in range(21)]
        if len(loaded) == seen:
            first.append(times[0])
        seen = len(loaded)
        later.append(statistics.median(times[1:]))
    late = sorted(first)[len(first) * 95 // 100]
    print(f"first calls without a load, {len(first)} of {len(small)} shapes: ", end="")
    print(f"median {statistics.median(first):.0f} us, 95th percentile {late:.0f} us")
    print(f"later calls: median {statistics.median(later):.1f} us")


def called(function, a, b) -> float:
    start = time.perf_counter()
    function(a, b)
    return (time.perf_counter() - start) * 1e6


def drawn(random: Random, low: int) -> int:
    """Log-uniform from `low` to 16,384; N and K in multiples of 8."""
    extent = int(math.exp(random.uniform(math.log(low), math.log(16384))))
    return extent if low == 1 else extent // 8 * 8


def timed(times, shape, gpu) -> tuple[int, float]:
    start = time.perf_counter()
    pick = times.least(shape, gpu)
    return pick, (time.perf_counter() - start) * 1e6


if __name__ == "__main__":
    main()
