"""How fast threads compute beside running products on one SM of a Hopper GPU, in clocks.

    python benchmarks/beside_products.py [--json FILE]

One CTA: a warpgroup multiplies 64 x N tiles from SMEM all the time, or not; one or two others each do ROUNDS rounds of
one kind of arithmetic on 64 x 128 floats. Clocks a round, and the products' clocks beside it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

ROUNDS = 64


@triton.jit
def clock():
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def one_round(x, top, total, KIND: tl.constexpr):
    if KIND == "exp2":
        x = tl.exp2(x)
    elif KIND == "multiply-add":
        x = x * 0.5 + 0.25
    elif KIND == "multiply":
        x = x * 0.999
    elif KIND == "maximum of rows, difference":
        top = tl.maximum(tl.max(x, 1), top)
        x = x - top[:, None]
    elif KIND == "sum of rows, product":
        total += tl.sum(x, 1)
        x = x * total[:, None]
    elif KIND == "multiply-add, exp2":
        x = tl.exp2(x * 0.125 - top[:, None])
    elif KIND == "multiply-add, exp2, sum of rows":
        x = tl.exp2(x * 0.125 - top[:, None])
        total += tl.sum(x, 1)
    return x, top, total


@triton.jit
def beside(
    clocks_ptr,
    KIND: tl.constexpr,
    MULTIPLY: tl.constexpr,
    TASKS: tl.constexpr,
    N: tl.constexpr,
    ROUNDS: tl.constexpr,
    PRODUCTS: tl.constexpr,
):
    a = tlx.local_alloc((64, 64), tl.bfloat16, 1)
    b = tlx.local_alloc((64, N), tl.bfloat16, 1)
    results = tlx.local_alloc((64, 128), tl.bfloat16, 2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            begin = clock()
            tl.store(clocks_ptr, begin)
        with tlx.async_task(num_warps=4, registers=200, replicate=TASKS):
            replica: tl.constexpr = tlx.async_task_replica_id()
            top = tl.zeros((64,), tl.float32)
            total = tl.zeros((64,), tl.float32)
            # The accumulators' layout, in which attention computes.
            acc = tlx.async_dot(a[0], tlx.local_slice(b[0], [0, 0], [64, 128]))
            acc = tlx.async_dot_wait(0, acc)
            y = acc * 0.0 + 0.5
            tlx.named_barrier_wait(6, 128 * (TASKS + MULTIPLY))
            start = clock()
            for _ in range(ROUNDS):
                y, top, total = one_round(y, top, total, KIND)
            end = clock()
            tlx.local_store(results[replica], (y + top[:, None] + total[:, None]).to(tl.bfloat16))
            tl.store(clocks_ptr + 2 + replica * 2, start)
            tl.store(clocks_ptr + 3 + replica * 2, end)
        if MULTIPLY:
            with tlx.async_task(num_warps=4, registers=200):
                acc2 = tl.zeros((64, N), tl.float32)
                tlx.named_barrier_wait(6, 128 * (TASKS + MULTIPLY))
                begin2 = clock()
                for _ in range(PRODUCTS):
                    acc2 = tlx.async_dot(a[0], b[0], acc2)
                    acc2 = tlx.async_dot_wait(1, acc2)
                acc2 = tlx.async_dot_wait(0, acc2)
                end2 = clock()
                tlx.local_store(b[0], acc2.to(tl.bfloat16))
                tl.store(clocks_ptr + 8, begin2)
                tl.store(clocks_ptr + 9, end2)


KINDS = (
    "exp2",
    "multiply-add",
    "multiply",
    "maximum of rows, difference",
    "sum of rows, product",
    "multiply-add, exp2",
    "multiply-add, exp2, sum of rows",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        for tasks in (1, 2):
            for multiply, n in ((0, 128), (1, 128)):
                clocks = torch.zeros(16, dtype=torch.int64, device="cuda")
                products = 4000 if multiply else 0
                for _ in range(2):
                    beside[(1,)](clocks, kind, multiply, tasks, n, ROUNDS, products, num_warps=4)
                torch.cuda.synchronize()
                c = clocks.tolist()
                took = max(c[3 + 2 * i] - c[2 + 2 * i] for i in range(tasks)) / ROUNDS
                each = (c[9] - c[8]) / products if multiply else 0.0
                rows.append(
                    {
                        "kind": kind,
                        "tasks": tasks,
                        "multiply": multiply,
                        "n": n,
                        "clocks": round(took, 1),
                        "product": round(each, 1),
                    }
                )
                print(rows[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
