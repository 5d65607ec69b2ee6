"""Clocks of wgmmas on one SM of a Hopper GPU, by how the sums that they add to depend on each other.

    python -m benchmarks.products_alone [--json FILE]

One CTA whose warpgroups multiply tiles in SMEM, nothing else. A wgmma has 64 rows, N columns and a K of 16. The figure
is clocks a wgmma; N / 2 is what the tensor cores need for it.
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

from benchmarks.clock import clock

ROUNDS = 500


@triton.jit
def alone(
    clocks_ptr,
    SUMS: tl.constexpr,
    SLICE: tl.constexpr,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    TASKS: tl.constexpr,
    ROUNDS: tl.constexpr,
    REGISTERS: tl.constexpr,
):
    """Each of TASKS warpgroups: SUMS sums of ROWS x N; K is 64 and comes in slices, sum after sum within a slice."""
    a = tlx.local_alloc((ROWS, 64), tl.bfloat16, SUMS)
    b = tlx.local_alloc((64, N), tl.bfloat16, SUMS)
    results = tlx.local_alloc((ROWS, N), tl.bfloat16, SUMS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(clocks_ptr, clock())
        with tlx.async_task(num_warps=4, registers=REGISTERS, replicate=TASKS):
            replica: tl.constexpr = tlx.async_task_replica_id()
            sums = (tl.zeros((ROWS, N), tl.float32),)
            for _ in tl.static_range(SUMS - 1):
                sums = sums + (tl.zeros((ROWS, N), tl.float32),)
            if TASKS > 1:
                tlx.named_barrier_wait(6, 128 * TASKS)
            begin = clock()
            for _ in range(ROUNDS):
                for k in tl.static_range(64 // SLICE):
                    for i in tl.static_range(SUMS):
                        left = tlx.local_slice(a[i], [0, k * SLICE], [ROWS, SLICE])
                        right = tlx.local_slice(b[i], [k * SLICE, 0], [SLICE, N])
                        sums = sums[:i] + (tlx.async_dot(left, right, sums[i]),) + sums[i + 1 :]
                for i in tl.static_range(SUMS):
                    sums = sums[:i] + (tlx.async_dot_wait(SUMS * (64 // SLICE), sums[i]),) + sums[i + 1 :]
            for i in tl.static_range(SUMS):
                sums = sums[:i] + (tlx.async_dot_wait(0, sums[i]),) + sums[i + 1 :]
            end = clock()
            for i in tl.static_range(SUMS):
                tlx.local_store(results[i], sums[i].to(tl.bfloat16))
            tl.store(clocks_ptr + 2 + replica * 2, begin)
            tl.store(clocks_ptr + 3 + replica * 2, end)


# Sums, slice of K, rows of a sum, N, warpgroups, registers.
CASES = (
    (1, 64, 64, 128, 1, 200),
    (1, 16, 64, 128, 1, 200),
    (2, 64, 64, 128, 1, 200),
    (2, 16, 64, 128, 1, 200),
    (1, 64, 64, 128, 2, 200),
    (1, 64, 64, 64, 1, 200),
    (2, 64, 64, 64, 1, 200),
    (2, 16, 64, 64, 1, 200),
    (3, 16, 64, 64, 1, 200),
    (1, 64, 64, 64, 2, 200),
    (1, 64, 64, 64, 3, 160),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for sums, part, height, n, tasks, registers in CASES:
        clocks = torch.zeros(16, dtype=torch.int64, device="cuda")
        for _ in range(2):
            alone[(1,)](clocks, sums, part, height, n, tasks, ROUNDS, registers, num_warps=4, num_stages=1)
        torch.cuda.synchronize()
        c = clocks.tolist()
        took = max(c[3 + 2 * i] for i in range(tasks)) - min(c[2 + 2 * i] for i in range(tasks))
        each = took / (ROUNDS * 4 * sums * height // 64 * tasks)
        row = {"sums": sums, "slice": part, "rows": height, "n": n, "warpgroups": tasks}
        rows.append(row | {"clocks": round(each, 1), "ideal": n // 2})
        print(rows[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
