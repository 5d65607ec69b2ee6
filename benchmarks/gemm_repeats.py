"""Calls of hopper_matmul, 20 on the same operands by what it picks: do all give the same bits, near float64's product?

    python -m benchmarks.gemm_repeats --shapes few-tiles        (or few-rows; or 384x384x20488,8x1536x648)

Each shape in each layout. Prints how often each kind of kernel was picked. Exit status 1 where bits differ, or the
first rows are off by more than rounding to bf16 explains. Needs a Hopper GPU.
"""

from __future__ import annotations

import argparse
import importlib
from collections import Counter
from typing import Any

from benchmarks.gemm_random import LAYOUTS, PACKAGE, Shape, compile_ahead, operands

CALLS = 20
OFF = 3e-3  # of the norm of the product: rounding to bf16 is 1.7e-3
ROWS = 256  # that are held against float64
KNOWN: dict[str, tuple[Shape, ...]] = {
    "few-tiles": (
        *((1916, 296, 8064), (1516, 368, 13856), (149, 872, 11944), (520, 1096, 9032), (384, 384, 20488)),
        *((294, 10040, 13568), (904, 10992, 7232), (457, 1024, 7424)),
    ),
    "few-rows": (
        *((8, 1536, 648), (23, 3520, 320), (4, 12800, 320), (1, 640, 384), (16, 960, 384), (32, 280, 384)),
        *((128, 1152, 408), (3, 6344, 256)),
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="few-tiles", help="few-tiles, few-rows, or M x N x K")
    parser.add_argument("--seconds", type=float, default=45, help="for compiling ahead")
    options = parser.parse_args()
    shapes = KNOWN.get(options.shapes) or tuple(shape(text) for text in options.shapes.split(","))
    problems = [(x, layout) for x in shapes for layout in LAYOUTS]
    compile_ahead(PACKAGE, problems, options.seconds)
    bad, kinds = 0, Counter[str]()
    for problem in problems:
        wrong, picked = repeated(*problem)
        kinds[told(picked)] += 1
        bad += bool(wrong)
        if wrong:
            print(*problem, told(picked), wrong, flush=True)
    print(f"{bad} of {len(problems)} differ or are off")
    for kind, count in kinds.most_common():
        print(f"{count:4} {kind}")
    return int(bad > 0)


def shape(text: str) -> Shape:
    m, n, k = map(int, text.split("x"))
    return m, n, k


def repeated(of: Shape, layout: str) -> tuple[str, Any]:
    """What is wrong with the calls of a problem, and the kernel that was picked."""
    import torch

    package = importlib.import_module("generated.hopper_matmul")
    module = importlib.import_module("generated.hopper_matmul._hopper_matmul")
    if name := module.LAYOUTS[tuple(layout.split())]:
        module = importlib.import_module(f"generated.hopper_matmul.{name}")
    host = importlib.import_module("generated.hopper_matmul._host")
    a, b = operands(of, layout)
    index = module.best(of, host.gpu_of(a.device.index), module.pitches_of(a, b))
    first = package.hopper_matmul(a, b)
    same = all(torch.equal(first, package.hopper_matmul(a, b)) for _ in range(CALLS - 1))
    wanted = a[:ROWS].double() @ b.double()
    off = float((first[:ROWS].double() - wanted).norm() / wanted.norm())
    wrong = [*(["other bits"] if not same else []), *([f"off by {off:.1e}"] if not off < OFF else [])]
    return ", ".join(wrong), module.KERNELS[index][0]


def told(kernel: Any) -> str:
    cluster = "x".join(map(str, kernel.cluster))
    tasks = "" if kernel.specialized else " without tasks"
    return f"{kernel.tile} {kernel.tail} cluster {cluster}{' exchanged' if kernel.swap else ''}{tasks}"


if __name__ == "__main__":
    raise SystemExit(main())
