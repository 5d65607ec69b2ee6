"""How long TMA's loads take in a GEMM, by the order of its tiles and by the slots of its ring, in SM clocks.

    python -m benchmarks.load_latency --json FILE       # on a Hopper GPU, in less than a minute

A persistent CTA on each SM loads what a GEMM with tiles of 128 x 128 x 64 loads, in the same order, into a ring of
slots. Nothing is multiplied: a task holds each slot for the PRODUCT clocks of its product, one after the other, and
gives it back. Another notes when each slot is full. A load's latency is from its issue until then.
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

TILE, K_TILE, PRODUCT = 128, 64, 512
SHAPES = ((4096, 4096, 4096), (2048, 8192, 3072), (8192, 2048, 3072), (5120, 3072, 8192), (8192, 8192, 2048))
GROUPS = (1, 4, 8, 16, 64)
SLOTS = (3, 4, 6)


@triton.jit  # type: ignore
def paced(a_desc, b_desc, issued_ptr, came_ptr, took_ptr, M, N, K,
          GROUP_M: tl.constexpr, SLOTS: tl.constexpr, PRODUCT: tl.constexpr):  # type: ignore  # fmt: skip
    """Stores for each load of a CTA when it was issued and when it had come, and the clocks of all."""
    a_tiles = tlx.local_alloc((128, 64), tl.bfloat16, SLOTS)
    b_tiles = tlx.local_alloc((64, 128), tl.bfloat16, SLOTS)
    full = tlx.alloc_barriers(SLOTS, arrive_count=1)
    empty = tlx.alloc_barriers(SLOTS, arrive_count=1)
    rows, columns, k_tiles = tl.cdiv(M, 128), tl.cdiv(N, 128), tl.cdiv(K, 64)
    mine = tl.cdiv(rows * columns - tl.program_id(0), tl.num_programs(0)) * k_tiles
    start = tl.program_id(0) * (tl.cdiv(rows * columns, tl.num_programs(0)) * k_tiles)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            begin = clock()
            for use in range(mine):
                slot = use % SLOTS
                tlx.barrier_wait(full[slot], (use // SLOTS) & 1)
                end = clock() + PRODUCT
                while clock() < end:
                    pass
                tlx.barrier_arrive(empty[slot])
            tl.store(took_ptr + tl.program_id(0), (clock() - begin).to(tl.int32))
        with tlx.async_task(num_warps=1, registers=40):
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
                    tlx.async_descriptor_load(a_desc, a_tiles[slot], [row * 128, k * 64], full[slot])
                    tlx.async_descriptor_load(b_desc, b_tiles[slot], [k * 64, column * 128], full[slot])
                    use += 1
        with tlx.async_task(num_warps=1, registers=40):
            for use in range(mine):
                tlx.barrier_wait(full[use % SLOTS], (use // SLOTS) & 1)
                tl.store(came_ptr + start + use, clock().to(tl.int32))


def measured(shape: tuple[int, int, int], group: int, slots: int, sms: int) -> dict[str, Any]:
    m, n, k = shape
    a, b = (torch.randn(*size, device="cuda").bfloat16() for size in ((m, k), (k, n)))
    descriptors = [TensorDescriptor.from_tensor(a, [TILE, K_TILE]), TensorDescriptor.from_tensor(b, [K_TILE, TILE])]
    tiles = triton.cdiv(m, TILE) * triton.cdiv(n, TILE)
    each = triton.cdiv(tiles, sms) * triton.cdiv(k, K_TILE)
    issued, came = (torch.zeros(sms * each, dtype=torch.int32, device="cuda") for _ in range(2))
    took = torch.zeros(sms, dtype=torch.int32, device="cuda")
    for _ in range(3):
        paced[(sms,)](
            *descriptors, issued, came, took, m, n, k, GROUP_M=group, SLOTS=slots, PRODUCT=PRODUCT, num_warps=4
        )
    torch.cuda.synchronize()
    found = (came - issued)[came != 0].float()
    parts = torch.quantile(found[:: max(1, len(found) // 500_000)], torch.tensor([0.05, 0.5, 0.9, 0.99], device="cuda"))
    return {
        "shape": list(shape),
        "group_m": group,
        "slots": slots,
        "latency": {"mean": round(float(found.mean())), "p5, p50, p90, p99": [round(x) for x in parts.tolist()]},
        "clocks": int(took.max()),
        "least": PRODUCT * each,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    rows = []
    for shape in SHAPES:
        for slots in SLOTS:
            for group in GROUPS:
                rows.append(measured(shape, group, slots, gpu.multi_processor_count))
                print(*rows[-1].values(), flush=True)
    about = {"command": "python -m benchmarks.load_latency", "device": gpu.name, "torch": torch.__version__}
    given.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
