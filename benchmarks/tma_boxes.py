"""How long TMA takes for boxes of rows, some of which lie beyond the end of a tensor, on a Hopper GPU.

    python -m benchmarks.tma_boxes --json $OUT/tma_boxes.json

A kernel does nothing but load slots of 128 rows of 64 bf16 from L2, into a ring that it never reads, by some boxes.
All CTAs load the same rows, with all SMs at work or with 16. Clocks are those of a CTA a slot, the median of CTAs.
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

ROWS, K, SLOTS, TRIPS = 128, 4096, 8, 512
BOXES = (128, 64, 32, 16, 8)  # rows of a box
WITHIN = (128, 120, 96, 64, 16, 1)  # rows that lie within the tensor
FEW = 16  # CTAs


@triton.jit
def fill(desc, tile, full, k, BOX: tl.constexpr, BOXES: tl.constexpr):
    tlx.barrier_expect_bytes(full, BOX * BOXES * 128)
    for box in tl.static_range(BOXES):
        tlx.async_descriptor_load(desc, tlx.local_slice(tile, [box * BOX, 0], [BOX, 64]), [box * BOX, k], full)


@triton.jit
def loads(desc, clocks_ptr, trips, k_tiles, BOX: tl.constexpr, BOXES: tl.constexpr, SLOTS: tl.constexpr):
    """Loads `trips` slots, and stores the clocks that all but the first SLOTS of them took."""
    tiles = tlx.local_alloc((BOX * BOXES, 64), tl.bfloat16, SLOTS)
    full = tlx.alloc_barriers(SLOTS, arrive_count=1)
    for trip in range(SLOTS):
        fill(desc, tiles[trip], full[trip], trip % k_tiles * 64, BOX, BOXES)
    begin = clock()
    for trip in range(SLOTS, trips):
        slot = trip % SLOTS
        tlx.barrier_wait(full[slot], (trip // SLOTS - 1) & 1)
        fill(desc, tiles[slot], full[slot], trip % k_tiles * 64, BOX, BOXES)
    end = clock()
    for trip in range(trips, trips + SLOTS):
        tlx.barrier_wait(full[trip % SLOTS], (trip // SLOTS - 1) & 1)
    tl.store(clocks_ptr + tl.program_id(0), (end - begin).to(tl.int32))


def clocks(box: int, within: int, ctas: int) -> float:
    a = torch.randn(within, K, device="cuda").bfloat16()
    desc = TensorDescriptor(a, [within, K], [K, 1], [box, 64])
    found = torch.zeros(ctas, device="cuda", dtype=torch.int32)
    for _ in range(2):  # the first brings A into L2
        loads[(ctas,)](desc, found, TRIPS, K // 64, BOX=box, BOXES=ROWS // box, SLOTS=SLOTS, num_warps=4)
    torch.cuda.synchronize()
    return float(found.float().median()) / (TRIPS - SLOTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    rows: list[dict[str, Any]] = []
    for box in BOXES:
        for within in WITHIN:
            all_sms, few = (round(clocks(box, within, ctas)) for ctas in (gpu.multi_processor_count, FEW))
            rows.append({"box": box, "within": within, "clocks": all_sms, f"clocks_of_{FEW}_ctas": few})
            print(*rows[-1].values(), flush=True)
    about = {"command": "python -m benchmarks.tma_boxes", "device": gpu.name, "torch": torch.__version__}
    text = ",\n".join("  " + json.dumps(row) for row in rows)
    given.json.write_text(json.dumps(about, indent=1)[:-2] + f',\n "rows": [\n{text}\n ]\n}}\n')


if __name__ == "__main__":
    main()
