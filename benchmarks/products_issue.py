"""How long a warpgroup takes to issue the wgmmas of a tile on a Hopper GPU, and how long until they have ended.

    python -m benchmarks.products_issue --json FILE     # on a Hopper GPU, in seconds

One CTA whose warpgroups multiply tiles of 64 rows in SMEM, nothing else, each tile when the one before it has ended.
A wgmma has a K of 16, and N / 2 clocks are what the tensor cores need for it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

from benchmarks.clock import clock

ROUNDS = 500
REGISTERS = {1: 240, 2: 240, 3: 160}
# Left operand, N, K, warpgroups, tiles that may be under way when the next one is issued.
CASES = (
    *itertools.product(("SMEM",), (128,), (16, 32, 64, 128), (1, 2, 3), (0, 1)),
    *itertools.product(("SMEM",), (64, 256), (64, 128), (1, 2), (0, 1)),
    *itertools.product(("registers",), (64, 128), (64, 128), (1, 2), (0, 1)),
)


@triton.jit
def issued(found_ptr, N: tl.constexpr, K: tl.constexpr, LEFT: tl.constexpr, AHEAD: tl.constexpr, TASKS: tl.constexpr,
           ROUNDS: tl.constexpr, REGISTERS: tl.constexpr):  # fmt: skip
    """Sums, for each warpgroup: clocks until a tile's wgmmas have been issued, and until all but AHEAD tiles ended."""
    a = tlx.local_alloc((64, K), tl.bfloat16, TASKS)
    b = tlx.local_alloc((K, N), tl.bfloat16, 1)
    square = tlx.local_alloc((K, K), tl.bfloat16, 1)
    results = tlx.local_alloc((64, N), tl.bfloat16, TASKS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(found_ptr, 0)
        with tlx.async_task(num_warps=4, registers=REGISTERS, replicate=TASKS):
            replica: tl.constexpr = tlx.async_task_replica_id()
            acc = tl.zeros((64, N), tl.float32)
            left = a[replica]
            # As attention has its probabilities: what is loaded from SMEM would be loaded in each round.
            if LEFT == "registers":
                left = tlx.async_dot_wait(0, tlx.async_dot(a[replica], tlx.local_slice(square[0], [0, 0], [K, K])))
                left = tl.exp2(left).to(tl.bfloat16)
            issue = clock() * 0
            whole = issue
            if TASKS > 1:
                tlx.named_barrier_wait(6, 128 * TASKS)
            for _ in range(ROUNDS):
                begin = clock()
                acc = tlx.async_dot(left, b[0], acc)
                between = clock()
                acc = tlx.async_dot_wait(AHEAD, acc)
                end = clock()
                issue += between - begin
                whole += end - begin
            acc = tlx.async_dot_wait(0, acc)
            tlx.local_store(results[replica], acc.to(tl.bfloat16))
            tl.store(found_ptr + 2 + replica * 2, issue)
            tl.store(found_ptr + 3 + replica * 2, whole)


@triton.jit
def behind(found_ptr, FIRST: tl.constexpr, SECOND: tl.constexpr, LATER: tl.constexpr, ROUNDS: tl.constexpr):
    """The sum of clocks that a warpgroup takes for SECOND wgmmas of 64 x 128, which it begins LATER clocks after
    another one has begun FIRST of them."""
    a = tlx.local_alloc((64, 128), tl.bfloat16, 2)
    b = tlx.local_alloc((128, 128), tl.bfloat16, 2)
    results = tlx.local_alloc((64, 128), tl.bfloat16, 2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(found_ptr, 0)
        with tlx.async_task(num_warps=4, registers=200):
            acc = tl.zeros((64, 128), tl.float32)
            left = tlx.local_slice(a[0], [0, 0], [64, FIRST * 16])
            right = tlx.local_slice(b[0], [0, 0], [FIRST * 16, 128])
            for _ in range(ROUNDS):
                tlx.named_barrier_wait(6, 256)
                acc = tlx.async_dot_wait(0, tlx.async_dot(left, right, acc))
            tlx.local_store(results[0], acc.to(tl.bfloat16))
        with tlx.async_task(num_warps=4, registers=200):
            other = tl.zeros((64, 128), tl.float32)
            second = tlx.local_slice(a[1], [0, 0], [64, SECOND * 16])
            factor = tlx.local_slice(b[1], [0, 0], [SECOND * 16, 128])
            took = clock() * 0
            for _ in range(ROUNDS):
                tlx.named_barrier_wait(6, 256)
                start = clock()
                while clock() < start + LATER:
                    pass
                start = clock()
                other = tlx.async_dot_wait(0, tlx.async_dot(second, factor, other))
                took += clock() - start
            tlx.local_store(results[1], other.to(tl.bfloat16))
            tl.store(found_ptr + 2, took)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for left, n, k, tasks, ahead in CASES:
        found = torch.zeros(16, dtype=torch.int64, device="cuda")
        for _ in range(2):
            issued[(1,)](found, n, k, left, ahead, tasks, ROUNDS, REGISTERS[tasks], num_warps=4, num_stages=1)
        torch.cuda.synchronize()
        issue, whole = (max(found[at::2][:tasks].tolist()) / ROUNDS for at in (2, 3))
        row = {"left": left, "n": n, "k": k, "wgmmas": k // 16, "warpgroups": tasks, "ahead": ahead}
        row |= {"issue": round(issue, 1), "end": round(whole, 1), "ideal": n // 2 * (k // 16) * tasks}
        rows.append(row)
        print(row, flush=True)
    for first, second, later in itertools.product((2, 4, 8), (2, 4, 8), (50, 150)):
        found = torch.zeros(16, dtype=torch.int64, device="cuda")
        for _ in range(2):
            behind[(1,)](found, first, second, later, ROUNDS, num_warps=4, num_stages=1)
        rows.append({"wgmmas": [first, second], "later": later, "end": round(found[2].item() / ROUNDS, 1)})
        print(rows[-1], flush=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
