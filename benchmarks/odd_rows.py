"""How fast TMA loads the tiles of a GEMM whose rows begin amid lines of L2, in SM clocks a slot.

    python -m benchmarks.odd_rows [--json FILE]     # on a Hopper GPU, in less than a minute

A persistent CTA on each SM loads tiles of 128 x 64 of A and of 64 x 128 of B, both row-major in bf16, as a GEMM does,
into a ring of SLOTS slots, and gives each back when it is full. Rows of an operand are `pitch` bytes apart beyond a
multiple of 128, and its tiles begin `start` elements behind where they would. TMA loads from multiples of 16 bytes on.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.clock import clock

M, N, K = 4096, 5120, 4096
SLOTS = (4, 6)
# Bytes beyond a multiple of 128 from row to row, and elements that tiles begin later.
CASES = ((0, 0), (64, 0), (32, 0), (16, 0), (0, 32), (0, 16), (0, 8), (16, 8))


@triton.jit  # type: ignore
def loads(a_desc, b_desc, took_ptr, START_A, START_B, M, N, K, SLOTS: tl.constexpr):  # type: ignore
    a_tiles = tlx.local_alloc((64, 64), tl.bfloat16, SLOTS * 2)
    b_tiles = tlx.local_alloc((64, 128), tl.bfloat16, SLOTS)
    full = tlx.alloc_barriers(SLOTS, arrive_count=1)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=1)
    rows, columns, k_tiles = tl.cdiv(M, 128), tl.cdiv(N, 128), tl.cdiv(K, 64)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            mine = tl.cdiv(rows * columns - tl.program_id(0), tl.num_programs(0)) * k_tiles
            begin = clock()
            for use in range(mine):
                tlx.barrier_wait(full[use % SLOTS], (use // SLOTS) & 1)
                tlx.barrier_arrive(empty[use % SLOTS])
            tl.store(took_ptr + tl.program_id(0), (clock() - begin) // mine)
        with tlx.async_task(num_warps=1, registers=40):
            use = 0
            for index in range(tl.program_id(0), rows * columns, tl.num_programs(0)):
                group = index // (8 * columns)
                height = min(rows - group * 8, 8)
                row = group * 8 + index % (8 * columns) % height
                column = index % (8 * columns) // height
                for k in range(k_tiles):
                    slot = use % SLOTS
                    tlx.barrier_wait(empty[slot], (use // SLOTS & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], 32768)
                    at = k * 64 + START_A
                    tlx.async_descriptor_load(a_desc, a_tiles[slot * 2], [row * 128, at], full[slot])
                    tlx.async_descriptor_load(b_desc, b_tiles[slot], [k * 64, column * 128 + START_B], full[slot])
                    tlx.async_descriptor_load(a_desc, a_tiles[slot * 2 + 1], [row * 128 + 64, at], full[slot])
                    use += 1


def matrix(rows: int, columns: int, pitch: int) -> torch.Tensor:
    wide = torch.zeros((rows, columns + 64 + pitch // 2), dtype=torch.bfloat16, device="cuda")
    return wide[:, : columns + 48]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    found: list[dict[str, Any]] = []
    took = torch.zeros(sms, dtype=torch.int64, device="cuda")
    for slots in SLOTS:
        for operand in "ab":
            for pitch, start in CASES:
                given = {"a": (0, 0), "b": (0, 0)} | {operand: (pitch, start)}
                a = TensorDescriptor.from_tensor(matrix(M, K, given["a"][0]), [64, 64])
                b = TensorDescriptor.from_tensor(matrix(K, N, given["b"][0]), [64, 128])
                clocks = []
                for _ in range(5):
                    loads[(sms,)](a, b, took, given["a"][1], given["b"][1], M, N, K, slots, num_warps=4, num_stages=1)
                    clocks.append(statistics.mean(took.tolist()))
                row = {"slots": slots, "operand": operand, "pitch": pitch, "start": start}
                found.append(row | {"clocks": round(statistics.median(clocks[1:]), 1)})
                print(found[-1], flush=True)
    if options.json:
        about = {"command": "python -m benchmarks.odd_rows", "device": torch.cuda.get_device_name()}
        options.json.write_text(json.dumps(about | {"rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
