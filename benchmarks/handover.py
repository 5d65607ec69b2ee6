"""Clocks of a fence, and from an arrival at a barrier until the task that waits goes on, on one SM of a Hopper GPU.

    python -m benchmarks.handover [--json FILE]

Two tasks of a CTA wait for each other in turns, ROUNDS times. The figure is half of a round: an arrival, of a warpgroup
or of a warp, and the wait of the other task. Of a fence, the figure is what it adds to a store into SMEM.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

from benchmarks.clock import clock

ROUNDS = 2000


@triton.jit  # type: ignore
def by_mbarriers(found_ptr, ROUNDS: tl.constexpr, WARPS: tl.constexpr):  # type: ignore
    there = tlx.alloc_barriers(1, arrive_count=1)
    back = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            begin = clock()
            for turn in range(ROUNDS):
                tlx.barrier_arrive(there[0])
                tlx.barrier_wait(back[0], turn & 1)
            tl.store(found_ptr, clock() - begin)
        with tlx.async_task(num_warps=WARPS, registers=40):
            for turn in range(ROUNDS):
                tlx.barrier_wait(there[0], turn & 1)
                tlx.barrier_arrive(back[0])


@triton.jit  # type: ignore
def by_named_barriers(found_ptr, ROUNDS: tl.constexpr, WARPS: tl.constexpr):  # type: ignore
    with tlx.async_tasks():
        with tlx.async_task("default"):
            begin = clock()
            for _ in range(ROUNDS):
                tlx.named_barrier_arrive(4, 128 + 32 * WARPS)
                tlx.named_barrier_wait(5, 128 + 32 * WARPS)
            tl.store(found_ptr, clock() - begin)
        with tlx.async_task(num_warps=WARPS, registers=40):
            for _ in range(ROUNDS):
                tlx.named_barrier_wait(4, 128 + 32 * WARPS)
                tlx.named_barrier_arrive(5, 128 + 32 * WARPS)


@triton.jit  # type: ignore
def by_fences(found_ptr, ROUNDS: tl.constexpr, FENCED: tl.constexpr):  # type: ignore
    tiles = tlx.local_alloc((64, 128), tl.bfloat16, 2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(found_ptr + 1, 0)
        with tlx.async_task(num_warps=4, registers=120):
            x = tl.zeros((64, 128), tl.bfloat16)
            begin = clock()
            for turn in range(ROUNDS):
                tlx.local_store(tiles[turn & 1], x)
                if FENCED:
                    tlx.fence("async_shared")
            tl.store(found_ptr, clock() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for kernel in (by_mbarriers, by_named_barriers):
        for warps in (1, 4):
            found = torch.zeros(1, dtype=torch.int64, device="cuda")
            for _ in range(2):
                kernel[(1,)](found, ROUNDS, warps, num_warps=4, num_stages=1)
            clocks = int(found[0]) / (2 * ROUNDS)
            rows.append({"by": kernel.fn.__name__, "warps of the other task": warps, "clocks": round(clocks, 1)})
            print(rows[-1], flush=True)
    stored = []
    for fenced in (False, True):
        found = torch.zeros(2, dtype=torch.int64, device="cuda")
        for _ in range(2):
            by_fences[(1,)](found, ROUNDS, fenced, num_warps=4, num_stages=1)
        stored.append(int(found[0]) / ROUNDS)
    rows.append({"by": "by_fences", "a store": round(stored[0], 1), "clocks": round(stored[1] - stored[0], 1)})
    print(rows[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
