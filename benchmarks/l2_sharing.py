"""How fast TMA loads tiles that CTAs share, by which SMs share them, and what the order of a GEMM's tiles changes.

    python -m benchmarks.l2_sharing --json FILE       # on a Hopper GPU, in about a minute

*Loads*: one CTA on each SM loads slots of 128 x 64 bfloat16 of A and of B from L2, six under way, and multiplies
nothing. Which rows of A, and which of B, a CTA loads is what a pattern says. Clocks a slot, the median of the CTAs; a
GEMM of 128 x 128 tiles needs one each 512 clocks. *Orders*: clocks of GEMM's kernels with other values of GROUP_M.
SMs of one cluster of eight are in one GPC; two of consecutive numbers are a TPC.
"""

from __future__ import annotations

import argparse
import functools
import json
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.clock import clock
from benchmarks.roofline_clocks import between
from tlxgen.loading import load_file

ROOT = Path(__file__).parent.parent
ROWS, K, SLOTS, TRIPS = 128, 512, 6, 1200
SHAPES = ((4096, 4096, 4096), (2048, 8192, 3072), (8192, 2048, 3072), (5120, 3072, 8192), (8192, 8192, 2048))
GROUPS = (1, 2, 4, 8, 16, 32, 64)


@triton.jit  # type: ignore
def fill(a_desc, b_desc, a_tile, b_tile, full, a_row, b_row, k, ROWS: tl.constexpr):  # type: ignore
    tlx.barrier_expect_bytes(full, ROWS * 256)
    tlx.async_descriptor_load(a_desc, a_tile, [a_row, k], full)
    tlx.async_descriptor_load(b_desc, b_tile, [b_row, k], full)


@triton.jit  # type: ignore
def loads(a_desc, b_desc, rows_ptr, found_ptr, trips, k_tiles, ROWS: tl.constexpr, SLOTS: tl.constexpr):  # type: ignore
    """Loads `trips` slots; stores the SM, and the clocks that all but the first SLOTS of them took."""
    a_tiles = tlx.local_alloc((ROWS, 64), tl.bfloat16, SLOTS)
    b_tiles = tlx.local_alloc((ROWS, 64), tl.bfloat16, SLOTS)
    full = tlx.alloc_barriers(SLOTS, arrive_count=1)
    pid = tl.program_id(0)
    a_row = tl.load(rows_ptr + pid * 2) * ROWS
    b_row = tl.load(rows_ptr + pid * 2 + 1) * ROWS
    for trip in range(SLOTS):
        fill(a_desc, b_desc, a_tiles[trip], b_tiles[trip], full[trip], a_row, b_row, trip % k_tiles * 64, ROWS)
    begin = clock()
    for trip in range(SLOTS, trips):
        slot = trip % SLOTS
        tlx.barrier_wait(full[slot], (trip // SLOTS - 1) & 1)
        fill(a_desc, b_desc, a_tiles[slot], b_tiles[slot], full[slot], a_row, b_row, trip % k_tiles * 64, ROWS)
    end = clock()
    for trip in range(trips, trips + SLOTS):
        tlx.barrier_wait(full[trip % SLOTS], (trip // SLOTS - 1) & 1)
    sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(found_ptr + pid * 2, sm)
    tl.store(found_ptr + pid * 2 + 1, (end - begin).to(tl.int32))


@triton.jit  # type: ignore
def where(found_ptr):  # type: ignore
    """Stores the SM of each CTA."""
    sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(found_ptr + tl.program_id(0), sm)


def gpcs(sms: int) -> list[int]:
    """For each SM the least number of an SM that was seen in a cluster with it, or with one that was."""
    of = list(range(sms))

    def root(sm: int) -> int:
        while of[sm] != sm:
            sm = of[sm]
        return sm

    found = torch.zeros(8 * 512, dtype=torch.int32, device="cuda")
    for _ in range(4):
        where[(8 * 512,)](found, num_warps=4, ctas_per_cga=(8, 1, 1))
        for cluster in found.view(-1, 8).tolist():
            for one, other in zip(cluster, cluster[1:], strict=False):
                low, high = sorted((root(one), root(other)))
                of[high] = low
    return [root(sm) for sm in range(sms)]


class Loads:
    """The kernel, and the SM of each CTA, which is the same in each launch."""

    def __init__(self, sms: int) -> None:
        self.sms = sms
        a, b = (torch.randn(sms * ROWS, K, device="cuda").bfloat16() for _ in range(2))
        self.descriptors = [TensorDescriptor(t, [sms * ROWS, K], [K, 1], [ROWS, 64]) for t in (a, b)]
        self.found = torch.zeros((sms, 2), device="cuda", dtype=torch.int32)
        self.sm_of = [0] * sms
        self(list(range(sms)), list(range(sms)))
        self.sm_of = self.found[:, 0].tolist()

    def __call__(self, a: list[int], b: list[int]) -> float:
        """Clocks a slot where CTA i loads the a[i]-th and b[i]-th rows of tiles."""
        rows = torch.tensor([a, b], dtype=torch.int32).T.contiguous().cuda()
        for _ in range(3):  # the first brings A and B into L2
            loads[(self.sms,)](*self.descriptors, rows, self.found, TRIPS, K // 64, ROWS=ROWS, SLOTS=SLOTS, num_warps=4)
        torch.cuda.synchronize()
        return float(self.found[:, 1].float().median()) / (TRIPS - SLOTS)


def patterns(sm_of: list[int], gpc_of: list[int]) -> dict[str, tuple[list[int], list[int]]]:
    """By name, which rows of A and of B each CTA loads."""
    sms = len(sm_of)
    each = list(range(sms))
    by_sm = sorted(each, key=lambda i: sm_of[i])  # CTAs in the order of their SMs
    by_gpc = sorted(each, key=lambda i: (gpc_of[sm_of[i]], sm_of[i]))
    seen: dict[int, int] = {}
    place = {}
    for i in by_gpc:  # a CTA's place in its GPC
        gpc = gpc_of[sm_of[i]]
        place[i] = seen.get(gpc, 0)
        seen[gpc] = place[i] + 1
    across = sorted(each, key=lambda i: (place[i], gpc_of[sm_of[i]]))  # neighbours are in different GPCs

    def groups(order: list[int], size: int) -> list[int]:
        rows = [0] * sms
        for at, i in enumerate(order):
            rows[i] = at // size
        return rows

    made: dict[str, tuple[list[int], list[int]]] = {"all apart": (each, each)}
    for size in (2, 4, 8, 16, 33, 66, 132):
        made[f"A by {size} of a GPC"] = groups(by_gpc, size), each
        made[f"A by {size} across GPCs"] = groups(across, size), each
    made["A by 2 of a TPC"] = groups(by_sm, 2), each
    made["A by 2, 3 SMs apart, of a GPC"] = groups([i for n in range(3) for i in by_gpc[n::3]], 2), each
    made["A and B by 2 of a TPC"] = groups(by_sm, 2), groups(by_sm, 2)
    made["A and B by 16 of a GPC"] = groups(by_gpc, 16), groups(by_gpc, 16)
    made["all A and B alike"] = [0] * sms, [0] * sms
    for group in (1, 2, 4, 8, 16, 32, 66):
        made[f"GEMM, GROUP_M {group}, by CTA"] = [i % group for i in each], [i // group for i in each]
        at = {i: n for n, i in enumerate(by_gpc)}
        made[f"GEMM, GROUP_M {group}, by SM in its GPC"] = (
            [at[i] % group for i in each],
            [at[i] // group for i in each],
        )
        at = {i: n for n, i in enumerate(across)}
        made[f"GEMM, GROUP_M {group}, across GPCs"] = ([at[i] % group for i in each], [at[i] // group for i in each])
    return made


def orders() -> list[dict[str, Any]]:
    """Clocks of GEMM's kernels of 128 x 128 by GROUP_M."""
    rows = []
    for name in ("hopper_gemm_pingpong", "hopper_gemm_cooperative"):
        module = load_file(ROOT / "generated" / "hopper_gemm" / f"{name}.py")
        function = module.hopper_gemm
        known = next(c for c in module.CONFIGS if (c.kwargs["BLOCK_N"], c.kwargs["STAGES"]) == (128, 6))
        configs = {}
        for group in GROUPS:
            kwargs = known.kwargs | {"GROUP_M": group}
            configs[group] = triton.Config(kwargs, num_warps=known.num_warps, num_stages=known.num_stages)
        module.CONFIGS = [*module.CONFIGS, *configs.values()]
        for m, n, k in SHAPES:
            a, b = (torch.randn(*size, device="cuda").bfloat16() for size in ((m, k), (k, n)))
            out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
            row: dict[str, Any] = {"structure": name, "shape": [m, n, k], "clocks": {}}
            calls = [functools.partial(function, a, b, out=out, config=config) for config in configs.values()]
            for call in calls:
                call()
            for _ in range(2):
                for group, (clocks, _) in zip(configs, between(calls), strict=True):
                    row["clocks"].setdefault(group, []).append(round(clocks))
            print(name, (m, n, k), row["clocks"], flush=True)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    sms = gpu.multi_processor_count
    kernel, gpc_of = Loads(sms), gpcs(sms)
    print("GPCs", sorted(gpc_of.count(g) for g in set(gpc_of)), "SMs of CTAs", kernel.sm_of, flush=True)
    found = {}
    for name, (a, b) in patterns(kernel.sm_of, gpc_of).items():
        found[name] = round(kernel(a, b), 1)
        print(f"{name:42} {found[name]:7.1f}  {max(a) + 1} of A, {max(b) + 1} of B", flush=True)
    rows = orders()
    about = {"command": "python -m benchmarks.l2_sharing", "device": gpu.name, "torch": torch.__version__}
    record = about | {"sm_of": kernel.sm_of, "gpc_of": gpc_of, "loads": found, "orders": rows}
    given.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
