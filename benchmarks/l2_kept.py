"""How fast a kernel reads, and reads and writes, what it moved the last time too: how much of that L2 keeps.

    python -m benchmarks.l2_kept [--json FILE]      # on a Hopper GPU, in less than 30 s

Clocks and microseconds between two stamps around a kernel that is replayed alone (see benchmarks.roofline_clocks), less
those without one, by the bytes that it moves. CTAs walk them from the first to the last, all of them together.
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

from benchmarks.roofline_clocks import between

MIB = (4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192, 384, 768)  # moved, in both directions together


@triton.jit  # type: ignore
def move(x_ptr, y_ptr, n, WRITES: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore
    total = tl.zeros((BLOCK,), tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        places = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + places)
        if WRITES:
            tl.store(y_ptr + places, x + 1)
        else:
            total += x
    if not WRITES:
        tl.store(y_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), total)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    ctas = 4 * torch.cuda.get_device_properties(0).multi_processor_count
    rows: list[dict[str, Any]] = []
    for writes in (False, True):
        for mib in MIB:
            n = mib * 2**18 // (2 if writes else 1)
            x, y = (torch.zeros(max(n, ctas * 4096), dtype=torch.int32, device="cuda") for _ in range(2))
            call = partial(move[(ctas,)], x, y, n, writes, 4096, num_warps=8)
            call()
            (none, alone), (clocks, us) = between([lambda: None, call])
            rate = mib * 2**20 / (us - alone) / 1e6
            rows.append({"writes": writes, "MiB": mib, "clocks": round(clocks - none), "us": round(us - alone, 2)})
            rows[-1] |= {"TB/s": round(rate, 2)}
            print(rows[-1], flush=True)
    if given.json:
        about = {"command": "python -m benchmarks.l2_kept", "device": torch.cuda.get_device_name()}
        given.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
