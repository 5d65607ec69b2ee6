"""What a launch costs beside its work, in SM clocks: kernels with a CTA on each SM that do next to nothing.

    python -m benchmarks.launch_clocks --json FILE       # on a Hopper GPU, in less than a minute

Clocks between two stamps around a kernel, less those without one (see benchmarks.roofline_clocks): of a kernel that
does nothing, of one whose tasks meet once, of one that loads a tile by TMA, and of one that stores it, too. What is
loaded is in L2, or has been pushed out of it.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.roofline_clocks import between

ROWS, COLUMNS, FLUSHED = 128, 64, 1 << 28  # bytes that are written to push all else out of L2


@triton.jit  # type: ignore
def little(a_desc, c_desc, WORK: tl.constexpr, SLOTS: tl.constexpr):  # type: ignore
    if WORK != "nothing":
        tiles = tlx.local_alloc((128, 64), tl.bfloat16, SLOTS)
        full = tlx.alloc_barriers(1, arrive_count=1)
        done = tlx.alloc_barriers(1, arrive_count=1)
        row = tl.program_id(0) * 128
        with tlx.async_tasks():
            with tlx.async_task("default"):
                if WORK == "meet":
                    tlx.barrier_arrive(full[0])
                else:
                    tlx.barrier_expect_bytes(full[0], 16384)
                    tlx.async_descriptor_load(a_desc, tiles[0], [row, 0], full[0])
                tlx.barrier_wait(done[0], 0)
            with tlx.async_task(num_warps=4, registers=128):
                tlx.barrier_wait(full[0], 0)
                if WORK == "load, store":
                    tlx.async_descriptor_store(c_desc, tiles[0], [row, 0])
                    tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(done[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    sms = gpu.multi_processor_count
    a, c = (torch.randn(sms * ROWS, COLUMNS, device="cuda").bfloat16() for _ in range(2))
    descriptors = [TensorDescriptor.from_tensor(t, [ROWS, COLUMNS]) for t in (a, c)]
    flushed = torch.zeros(FLUSHED, dtype=torch.int8, device="cuda")
    rows: list[dict[str, Any]] = []
    for work in ("nothing", "meet", "load", "load, store"):
        for slots in (1, 12):
            call = partial(little[(sms,)], *descriptors, work, slots, num_warps=4)
            call()
            (alone, _), (warm, _) = between([lambda: None, call])
            ((cold, _),) = between([call], before=flushed.zero_)
            found = {"in L2": round(warm - alone), "not in L2": round(cold - alone)}
            rows.append({"work": work, "slots of 16 KiB": slots, **found})
            print(rows[-1], flush=True)
    about = {"command": "python -m benchmarks.launch_clocks", "device": gpu.name, "torch": torch.__version__}
    given.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
