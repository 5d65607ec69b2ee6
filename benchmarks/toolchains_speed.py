"""Kernels as stock Triton with triton-utlx compiles them beside fbtriton's, in one process on a GPU: bits, kernel time.

    python benchmarks/toolchains_speed.py --make               with no GPU: packages by both in .packages/
    python benchmarks/toolchains_speed.py [--json FILE]        on the GPU; needs no Triton there; under 60 s

Each config of a function is compiled by both. The launcher of packages launches the cubins of both, in CUDA graphs that
are replayed in turns. A third graph is of fbtriton's cubins again: how far its ratio is from 1 is what the measurement
cannot tell. A row has the config that is fastest with fbtriton, and the ratio of that config's times.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import package_gpu as packages

OTHER = packages.PACKAGES / "utlx"
SPECS = ("hopper_gemm", "hopper_attention_fwd", "hopper_attention_bwd")
Make = Callable[[], tuple[Any, ...]]


def cases() -> Iterator[tuple[str, str, str, Make]]:
    """Spec, module, shape, and what makes the arguments."""
    import torch

    def randn(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    def matrices(m: int, n: int, k: int) -> tuple[Any, ...]:
        return randn(m, k), randn(k, n)

    def attention(b: int, h: int, kv: int, n: int) -> tuple[Any, ...]:
        return randn(b, h, n, 128), randn(b, kv, n, 128), randn(b, kv, n, 128)

    for sizes in ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 1024)):
        for split in ("cooperative", "pingpong"):
            yield "hopper_gemm", f"hopper_gemm_{split}", str(sizes), functools.partial(matrices, *sizes)
    for heads in ((4, 16, 16, 4096), (4, 32, 8, 2048), (1, 16, 16, 16384)):
        for mask in ("none", "causal"):
            name = f"hopper_attention_fwd_{mask}"
            yield "hopper_attention_fwd", name, str(heads), functools.partial(attention, *heads)
    for mask in ("none", "causal"):
        name = f"hopper_attention_bwd_{mask}"
        yield "hopper_attention_bwd", name, "(4, 16, 16, 2048)", functools.partial(backward, mask)


def backward(mask: str) -> tuple[Any, ...]:
    import torch

    q, k, v, dout = (torch.randn(4, 16, 2048, 128, device="cuda", dtype=torch.bfloat16) for _ in "qkvd")
    scores = q.float() @ k.float().mT / math.sqrt(128)
    if mask == "causal":
        scores.masked_fill_(torch.ones(2048, 2048, dtype=torch.bool, device="cuda").triu(1), -math.inf)
    lse = scores.logsumexp(-1)
    out = ((scores - lse[..., None]).exp_() @ v.float()).to(torch.bfloat16)
    return q, k, v, out, lse, dout


def make() -> None:
    for spec in SPECS:
        for extra, folder in (((), packages.PACKAGES), (("--toolchain", "utlx"), OTHER)):
            if not (folder / spec).is_dir():
                command = [sys.executable, "-m", "tlxgen", "package", f"specs/{spec}.yaml", "--out", str(folder / spec)]
                subprocess.run([*command, *extra], cwd=packages.ROOT, check=True)


def measured(spec: str, module: str, shape: str, make: Make) -> dict[str, Any]:
    import torch

    torch.manual_seed(0)
    given = make()
    both = [packages.under(f"{of}_{spec}", folder / spec / spec, module) for of, folder in FOLDERS.items()]
    rows = []
    for number, configs in enumerate(zip(*(m.CONFIGS for m in both), strict=True)):
        runs = [functools.partial(getattr(m, spec), *given, config=c) for m, c in zip(both, configs, strict=True)]
        kept = [packages.each(run()) for run in runs]
        same = all(torch.equal(x, y) for x, y in zip(*kept, strict=True))
        us, other, again = packages.kernel_us(*runs, runs[0])
        rows.append({"config": number, "same_bits": same, "fbtriton": us, "utlx": other, "fbtriton_again": again})
    best = min(rows, key=lambda row: row["fbtriton"])
    least = min(row["utlx"] for row in rows)
    return {
        "what": f"{module} {shape}",
        **best,
        "speed": best["fbtriton"] / best["utlx"],
        "utlx_least": least,
        "rows": rows,
    }


FOLDERS = {"fbtriton": packages.PACKAGES, "utlx": OTHER}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", action="store_true", help="make the packages that are not there; needs no GPU")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.make:
        make()
        return
    packages.refuse()
    import torch

    there = [case for case in cases() if (OTHER / case[0]).is_dir()]
    print(f"{'call':44} {'config':>6} {'fbtriton us':>11} {'utlx us':>9} {'speed':>6} {'again':>6}  bits")
    found = []
    for case in there:
        row = measured(*case)
        found.append(row)
        again = row["fbtriton"] / row["fbtriton_again"]
        bits = "same" if row["same_bits"] else "other"
        figures = f"{row['fbtriton']:11.2f} {row['utlx']:9.2f} {row['speed']:6.3f} {again:6.3f}"
        print(f"{row['what']:44} {row['config']:6} {figures}  {bits}", flush=True)
    if options.json:
        about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
        options.json.write_text(json.dumps(about | {"rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
