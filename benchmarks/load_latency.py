"""How long TMA's loads take in a GEMM, by the order of its tiles, its slots and who holds them, in SM clocks.

    python -m benchmarks.load_latency --json FILE [--ctas N] [--shapes N]    # on a Hopper GPU, in about a minute

A persistent CTA on each SM loads what a GEMM with tiles of 128 x 128 x 64 loads, in the same order, into a ring of
slots. Two warpgroups multiply what is in a slot, or one holds each slot for so many clocks, one after the other, and
they give it back. Another task notes when each slot is full. A load's latency is from its issue until then.
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
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.clock import clock

SHAPES = ((4096, 4096, 4096), (3072, 12288, 4096), (5120, 3072, 8192), (8192, 8192, 2048))
GROUPS = (2, 8, 16)
SLOTS = (2, 3, 4, 5, 6)
HOLDS = (0, 128, 256, 384)  # clocks, to which come some 190 for waiting and giving back


@triton.jit  # type: ignore
def load(a_desc, b_desc, a_tiles, b_tiles, full, empty, issued_ptr, start, M, N, K, GROUP_M, SLOTS: tl.constexpr):  # type: ignore  # fmt: skip
    """Loads the tiles of a CTA, and stores when each slot was asked for."""
    rows, columns, k_tiles = tl.cdiv(M, 128), tl.cdiv(N, 128), tl.cdiv(K, 64)
    use = 0
    for index in range(tl.program_id(0), rows * columns, tl.num_programs(0)):
        group = index // (GROUP_M * columns)
        height = min(rows - group * GROUP_M, GROUP_M)
        row = group * GROUP_M + index % (GROUP_M * columns) % height
        column = index % (GROUP_M * columns) // height
        for k in range(k_tiles):
            slot = use % SLOTS
            tlx.barrier_wait(empty[slot], (use // SLOTS & 1) ^ 1)
            tl.store(issued_ptr + start + use, clock().to(tl.int32))
            tlx.barrier_expect_bytes(full[slot], 32768)
            tlx.async_descriptor_load(a_desc, a_tiles[slot * 2], [row * 128, k * 64], full[slot])
            tlx.async_descriptor_load(b_desc, b_tiles[slot], [k * 64, column * 128], full[slot])
            tlx.async_descriptor_load(a_desc, a_tiles[slot * 2 + 1], [row * 128 + 64, k * 64], full[slot])
            use += 1


@triton.jit  # type: ignore
def note(full, came_ptr, mine, SLOTS: tl.constexpr):  # type: ignore
    for use in range(mine):
        tlx.barrier_wait(full[use % SLOTS], (use // SLOTS) & 1)
        tl.store(came_ptr + use, clock().to(tl.int32))


@triton.jit  # type: ignore
def held(a_desc, b_desc, issued_ptr, came_ptr, took_ptr, M, N, K, GROUP_M, HOLD, SLOTS: tl.constexpr):  # type: ignore
    """Stores for each load of a CTA when it was issued and when it had come, and the clocks of all."""
    a_tiles = tlx.local_alloc((64, 64), tl.bfloat16, SLOTS * 2)
    b_tiles = tlx.local_alloc((64, 128), tl.bfloat16, SLOTS)
    full = tlx.alloc_barriers(SLOTS, arrive_count=1)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=1)
    tiles = tl.cdiv(M, 128) * tl.cdiv(N, 128)
    mine = tl.cdiv(tiles - tl.program_id(0), tl.num_programs(0)) * tl.cdiv(K, 64)
    start = tl.program_id(0) * (tl.cdiv(tiles, tl.num_programs(0)) * tl.cdiv(K, 64))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            begin = clock()
            for use in range(mine):
                tlx.barrier_wait(full[use % SLOTS], (use // SLOTS) & 1)
                end = clock() + HOLD
                while clock() < end:
                    pass
                tlx.barrier_arrive(empty[use % SLOTS])
            tl.store(took_ptr + tl.program_id(0), (clock() - begin).to(tl.int32))
        with tlx.async_task(num_warps=1, registers=40):
            load(a_desc, b_desc, a_tiles, b_tiles, full, empty, issued_ptr, start, M, N, K, GROUP_M, SLOTS)
        with tlx.async_task(num_warps=1, registers=40):
            note(full, came_ptr + start, mine, SLOTS)


@triton.jit  # type: ignore
def multiplied(a_desc, b_desc, issued_ptr, came_ptr, took_ptr, M, N, K, GROUP_M, HOLD, SLOTS: tl.constexpr):  # type: ignore  # fmt: skip
    """The same with the products of a GEMM, which are summed up over all tiles of a CTA, and stored nowhere."""
    a_tiles = tlx.local_alloc((64, 64), tl.bfloat16, SLOTS * 2)
    b_tiles = tlx.local_alloc((64, 128), tl.bfloat16, SLOTS)
    full = tlx.alloc_barriers(SLOTS, arrive_count=1)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=2)
    tiles = tl.cdiv(M, 128) * tl.cdiv(N, 128)
    mine = tl.cdiv(tiles - tl.program_id(0), tl.num_programs(0)) * tl.cdiv(K, 64)
    start = tl.program_id(0) * (tl.cdiv(tiles, tl.num_programs(0)) * tl.cdiv(K, 64))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            load(a_desc, b_desc, a_tiles, b_tiles, full, empty, issued_ptr, start, M, N, K, GROUP_M, SLOTS)
        with tlx.async_task(num_warps=4, registers=200, replicate=2):
            replica: tl.constexpr = tlx.async_task_replica_id()
            begin = clock()
            acc = tl.zeros((64, 128), tl.float32)
            for use in range(mine):
                slot = use % SLOTS
                tlx.barrier_wait(full[slot], (use // SLOTS) & 1)
                acc = tlx.async_dot(a_tiles[slot * 2 + replica], b_tiles[slot], acc)
                acc = tlx.async_dot_wait(1, acc)
                if use > 0:
                    tlx.barrier_arrive(empty[(use - 1) % SLOTS])
            acc = tlx.async_dot_wait(0, acc)
            tlx.barrier_arrive(empty[(mine - 1) % SLOTS])
            took = (clock() - begin).to(tl.int32)
            if tl.sum(tl.sum(acc, 1), 0) == 12345.0:  # so that the products are needed
                took = took + 1
            if replica == 0:
                tl.store(took_ptr + tl.program_id(0), took)
        with tlx.async_task(num_warps=1, registers=40):
            note(full, came_ptr + start, mine, SLOTS)


def measured(shape: tuple[int, int, int], sms: int) -> list[dict[str, Any]]:
    """A row for each order, number of slots and holder on one problem, of so many CTAs, an SM each."""
    m, n, k = shape
    a, b = (torch.randn(*size, device="cuda").bfloat16() for size in ((m, k), (k, n)))
    descriptors = [TensorDescriptor.from_tensor(a, [64, 64]), TensorDescriptor.from_tensor(b, [64, 128])]
    each = triton.cdiv(triton.cdiv(m, 128) * triton.cdiv(n, 128), sms) * triton.cdiv(k, 64)
    issued, came = (torch.zeros(sms * each, dtype=torch.int32, device="cuda") for _ in range(2))
    took = torch.zeros(sms, dtype=torch.int32, device="cuda")
    rows, launch = [], {"num_warps": 4, "num_stages": 1}  # more stages, and Triton waits for each product
    for kernel, holds in ((multiplied, (0,)), (held, HOLDS)):
        for slots in SLOTS:
            for group in GROUPS:
                for hold in holds:
                    came.zero_()
                    for _ in range(2):  # the first brings what fits into L2
                        kernel[(sms,)](*descriptors, issued, came, took, m, n, k, group, hold, SLOTS=slots, **launch)
                    found = (came - issued)[came != 0].float()
                    some = found[:: max(1, len(found) // 500_000)]
                    parts = torch.quantile(some, torch.tensor([0.05, 0.5, 0.9, 0.99], device="cuda")).tolist()
                    row = {
                        "shape": list(shape),
                        "group_m": group,
                        "slots": slots,
                        "held": "by products" if kernel is multiplied else hold,
                        "clocks of a slot": round(float(took.max()) / each, 1),
                        "latency": {"mean": round(float(found.mean())), "p5, p50, p90, p99": [round(x) for x in parts]},
                    }
                    rows.append(row)
                    print(*row.values(), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--ctas", type=int, help="fewer than one on each SM")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="the first so many of SHAPES")
    given = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    ctas = given.ctas or gpu.multi_processor_count
    rows = [row for shape in SHAPES[: given.shapes] for row in measured(shape, ctas)]
    about = {"command": "python -m benchmarks.load_latency", "device": gpu.name, "torch": torch.__version__}
    given.json.write_text(json.dumps(about | {"ctas": ctas, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
