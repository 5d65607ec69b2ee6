"""How fast threads compute beside running products on one SM of a Hopper GPU, and products beside threads, in clocks.

    python -m benchmarks.beside_products [--json FILE] [--only REGEX]

One CTA: none, one or two warpgroups multiply tiles of 64 x 128 x 64, each waiting for a product before the next, the
left operand in SMEM or in registers; none, one or two others compute rounds of one kind on 64 x 128 floats. Clocks of a
round while all of them run, and then clocks of a product, for which the tensor cores need 256.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

from benchmarks.clock import clock

FEW, MANY = 64, 4000  # of what is measured, and of what goes on beside it


@triton.jit
def one_round(x, top, total, KIND: tl.constexpr):
    if KIND == "exp2":
        x = tl.exp2(x)
    elif KIND == "multiply-add":
        x = x * 0.5 + 0.25
    elif KIND == "maximum of rows, difference":
        top = tl.maximum(tl.max(x, 1), top)
        x = x - top[:, None]
    elif KIND == "sum of rows, product":
        total += tl.sum(x, 1)
        x = x * total[:, None]
    elif KIND == "multiply-add, exp2, sum of rows":
        x = tl.exp2(x * 0.125 - top[:, None])
        total += tl.sum(x, 1)
    elif KIND == "softmax, rounded":
        new = tl.maximum(tl.max(x, 1), top)
        x = tl.exp2(x * 0.125 - new[:, None])
        total = total * tl.exp2(top - new) + tl.sum(x, 1)
        x = x.to(tl.bfloat16).to(tl.float32)
        top = new
    elif KIND == "softmax":
        new = tl.maximum(tl.max(x, 1), top)
        p = tl.exp2(x * 0.125 - new[:, None])
        total = total * tl.exp2(top - new) + tl.sum(p, 1)
        x = x + (new * 1e-6)[:, None]
        top = new
    elif KIND == "rounded":
        x = (x + 0.25).to(tl.bfloat16).to(tl.float32)
    elif KIND == "addition":
        x = x + 0.25
    elif KIND == "tanh":
        x = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    elif KIND == "rounded to 8 bits":
        x = tl.inline_asm_elementwise(
            "{.reg .b16 h; cvt.rn.satfinite.e4m3x2.f32 h, $3, $2; cvt.u32.u16 $0, h; mov.b32 $1, $3;}",
            "=f,=f,f,f",
            [x],
            dtype=tl.float32,
            is_pure=True,
            pack=2,
        )
    elif KIND == "permuted":
        x = tl.inline_asm_elementwise(
            "prmt.b32 $0, $1, $1, 0x2103;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    elif KIND == "shuffled":
        x = tl.inline_asm_elementwise(
            "shfl.sync.bfly.b32 $0, $1, 1, 31, 0xffffffff;", "=f,f", [x], dtype=tl.float32, is_pure=False, pack=1
        )
    elif KIND == "gelu":
        inner = x * (0.7978845608 + 0.0356774081 * x * x)
        inner = tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [inner], dtype=tl.float32, is_pure=True, pack=1
        )
        x = 0.5 * x * (1.0 + inner)
    return x, top, total


@triton.jit
def beside(
    clocks_ptr,
    KIND: tl.constexpr,
    TASKS: tl.constexpr,
    MULTIPLIERS: tl.constexpr,
    REGISTERS: tl.constexpr,
    ROUNDS,
    PRODUCTS,
):
    a = tlx.local_alloc((64, 64), tl.bfloat16, 1)
    b = tlx.local_alloc((64, 128), tl.bfloat16, 1)
    results = tlx.local_alloc((64, 128), tl.bfloat16, 4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(a[0], tl.full((64, 64), 0.0, tl.bfloat16))
        if MULTIPLIERS:
            with tlx.async_task(num_warps=4, registers=112, replicate=MULTIPLIERS):
                replica: tl.constexpr = tlx.async_task_replica_id()
                acc = tl.zeros((64, 128), tl.float32)
                # As attention makes its probabilities: out of an accumulator, whose registers the left operand has.
                left = tlx.async_dot_wait(0, tlx.async_dot(a[0], tlx.local_slice(b[0], [0, 0], [64, 64])))
                left = tl.exp2(left).to(tl.bfloat16)
                tlx.named_barrier_wait(6, 128 * (TASKS + MULTIPLIERS))
                begin = clock()
                for _ in range(PRODUCTS):
                    acc = tlx.async_dot(left if REGISTERS else a[0], b[0], acc)
                    acc = tlx.async_dot_wait(0, acc)
                end = clock()
                tlx.local_store(results[replica], acc.to(tl.bfloat16))
                tl.store(clocks_ptr + replica, end - begin)
        if TASKS:
            with tlx.async_task(num_warps=4, registers=112, replicate=TASKS):
                own: tl.constexpr = tlx.async_task_replica_id()
                top = tl.zeros((64,), tl.float32)
                total = tl.zeros((64,), tl.float32)
                # The accumulators' layout, in which attention computes.
                y = tlx.async_dot_wait(0, tlx.async_dot(a[0], b[0])) * 0.0 + 0.5
                tlx.named_barrier_wait(6, 128 * (TASKS + MULTIPLIERS))
                start = clock()
                for _ in range(ROUNDS):
                    y, top, total = one_round(y, top, total, KIND)
                stop = clock()
                tlx.local_store(results[2 + own], (y + top[:, None] + total[:, None]).to(tl.bfloat16))
                tl.store(clocks_ptr + 2 + own, stop - start)


KINDS = (
    "exp2",
    "multiply-add",
    "maximum of rows, difference",
    "sum of rows, product",
    "multiply-add, exp2, sum of rows",
    "softmax, rounded",
    "softmax",
    "rounded",
    "addition",
    "tanh",
    "gelu",
    "rounded to 8 bits",
    "permuted",
    "shuffled",
)


def took(kind: str, tasks: int, multipliers: int, registers: int, rounds: int, products: int) -> list[int]:
    """Clocks of all products of each multiplier, then of all rounds of each task."""
    clocks = torch.zeros(4, dtype=torch.int64, device="cuda")
    for _ in range(2):
        beside[(1,)](clocks, kind, tasks, multipliers, registers, rounds, products, num_warps=4)
    torch.cuda.synchronize()
    return [int(c) for c in clocks.tolist()]


def row(kind: str, tasks: int, multipliers: int, registers: int) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": kind if tasks else "", "tasks": tasks, "multipliers": multipliers}
    if multipliers:
        made["left operand"] = "registers" if registers else "SMEM"
    if tasks:
        made["clocks"] = round(max(took(kind, tasks, multipliers, registers, FEW, MANY)[2:]) / FEW, 1)
    if multipliers:
        found = took(kind, tasks, multipliers, registers, 10 * MANY if "exp" not in kind else MANY, 3 * FEW)
        made["product"] = round(max(found[:2]) / (3 * FEW * multipliers), 1)
        if tasks and min(found[2 : 2 + tasks]) < max(found[:2]):
            made["product"] = None  # the products went on after all rounds had been computed
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", metavar="REGEX", help="kinds that it matches")
    options = parser.parse_args()
    ways = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]
    kinds = [kind for kind in KINDS if re.search(options.only, kind)]
    cases = [(kinds[0], 0, *way) for way in ways[1:]]
    cases += [(kind, tasks, *way) for kind in kinds for tasks in (1, 2) for way in ways]
    rows = []
    for case in cases:
        rows.append(row(*case))
        print(rows[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
