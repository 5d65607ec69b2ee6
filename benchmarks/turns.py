"""Clocks of what CTAs tell each other in global memory: words that one waits for and another counts, sums by TMA.

    python -m benchmarks.turns [--json FILE]        # on a Hopper GPU, in less than a minute

A CTA on each SM, or one alone. A warpgroup does the same ROUNDS times; each round waits for the one before. Nobody
else has the word, or the tiles: a wait for another CTA is not part of it.
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

ROUNDS = 300
WORDS = ("acquire", "acquire, fence", "meet", "meet, count", "meet, count, release")
TILES = (1, 2, 4)  # of 64 x 64 in fp32, that are added or stored in a round


@triton.jit  # type: ignore
def words(found_ptr, word_ptr, ROUNDS: tl.constexpr, KIND: tl.constexpr):  # type: ignore
    tlx.local_alloc((64, 128), tl.bfloat16, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(found_ptr + tl.num_programs(0) + tl.program_id(0), 0)
        with tlx.async_task(num_warps=4, registers=120):
            word = word_ptr + tl.program_id(0) * 64
            begin = clock()
            for _ in range(ROUNDS):
                if KIND < 2:
                    found = 0
                    while found < 1:
                        found = tl.inline_asm_elementwise(
                            "ld.acquire.gpu.b32 $0, [$1];", "=r,l", [word], tl.int32, is_pure=False, pack=1
                        )
                if KIND == 1:
                    tl.inline_asm_elementwise(
                        "fence.proxy.async; mov.b32 $0, 0;", "=r", [], tl.int32, is_pure=False, pack=1
                    )
                if KIND >= 2:
                    tl.debug_barrier()
                if KIND == 3:
                    tl.atomic_add(word + 32, 1, sem="relaxed", scope="gpu")
                if KIND == 4:
                    tl.atomic_add(word + 32, 1, sem="release", scope="gpu")
            tl.store(found_ptr + tl.program_id(0), clock() - begin)


@triton.jit  # type: ignore
def sums(found_ptr, desc, ROUNDS: tl.constexpr, TILES: tl.constexpr, ADDS: tl.constexpr, DONE: tl.constexpr):  # type: ignore
    tiles = tlx.local_alloc((64, 64), tl.float32, TILES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(found_ptr + tl.num_programs(0) + tl.program_id(0), 0)
        with tlx.async_task(num_warps=4, registers=120):
            for tile in tl.static_range(TILES):
                tlx.local_store(tiles[tile], tl.zeros((64, 64), tl.float32))
            tlx.fence("async_shared")
            row = tl.program_id(0) * 64 * TILES
            begin = clock()
            for _ in range(ROUNDS):
                for tile in tl.static_range(TILES):
                    if ADDS:
                        tlx.async_descriptor_store(desc, tiles[tile], [row + tile * 64, 0], store_reduce="add")
                    else:
                        tlx.async_descriptor_store(desc, tiles[tile], [row + tile * 64, 0])
                if DONE:
                    tl.inline_asm_elementwise(
                        "cp.async.bulk.wait_group 0; mov.b32 $0, 0;", "=r", [], tl.int32, is_pure=False, pack=1
                    )
                else:
                    tlx.async_descriptor_store_wait(0)
                tl.debug_barrier()  # one thread has issued them
            tl.store(found_ptr + tl.program_id(0), clock() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    rows: list[dict[str, Any]] = []
    found = torch.zeros(2 * sms, dtype=torch.int64, device="cuda")
    word = torch.ones(64 * sms, dtype=torch.int32, device="cuda")
    into = torch.zeros((64 * max(TILES) * sms, 64), device="cuda")
    desc = TensorDescriptor.from_tensor(into, [64, 64])
    for ctas in (1, sms):

        def note(ctas: int = ctas, **what: Any) -> None:
            clocks = statistics.median(found[:ctas].tolist()) / ROUNDS
            rows.append({"ctas": ctas, **what, "clocks": round(clocks, 1)})
            print(rows[-1], flush=True)

        for kind, name in enumerate(WORDS):
            for _ in range(2):
                words[(ctas,)](found, word, ROUNDS, kind, num_warps=4, num_stages=1)
            note(what=name)
        for adds in (False, True):
            for done in (False, True):
                for tiles in TILES:
                    for _ in range(2):
                        sums[(ctas,)](found, desc, ROUNDS, tiles, adds, done, num_warps=4, num_stages=1)
                    note(what="add" if adds else "store", KiB=16 * tiles, waited_for="done" if done else "read")
    if options.json:
        about = {"command": "python -m benchmarks.turns", "device": torch.cuda.get_device_name()}
        options.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
