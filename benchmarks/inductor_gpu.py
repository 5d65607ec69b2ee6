"""torch.compile's max-autotune with a generated GEMM among its candidates, on a GPU: what it measures, what it takes.

    python benchmarks/inductor_gpu.py [--package DIR] [--json FILE] [--seconds 90]

First the GEMM and torch.mm are timed in turns on SHAPES. Then a model with such a product is compiled for the three
shapes where the GEMM gains most and for the one where it gains least, with cuBLAS as the only other candidate, and for
the first also with Triton templates. A row has Inductor's own times of its choices, the one in the code that it made,
and whether the result of the model agrees with float64. `--package`: a folder of `tlxgen package`, not generated/.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # its workers find no GPU through fbtriton

import package_gpu
import torch

from tlxgen.integrations.inductor import register_matmul

SPEC = "hopper_gemm_tuned"
SHAPES = (  # M, N, K
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 4096, 1024),
    (16384, 4096, 4096),
    (2048, 2048, 2048),
    (1024, 8192, 8192),
    (3072, 3072, 3072),
    (4096, 1000, 4096),
    (8192, 1024, 1001),
    (4096, 4096, 999),
)
NAME = "tlxgen_candidate"  # what Inductor's code calls it


def gemm(folder: Path | None) -> Any:
    found = package_gpu.under(SPEC, folder / SPEC) if folder else package_gpu.generated(SPEC)
    return getattr(found, SPEC)


def product(shape: tuple[int, ...]) -> tuple[Any, Any]:
    m, n, k = shape
    return torch.randn(m, k, device="cuda").bfloat16(), torch.randn(k, n, device="cuda").bfloat16()


def timed(function: Any, shape: tuple[int, ...]) -> tuple[float, float]:
    """Microseconds of the GEMM and of torch.mm, by graphs in turns."""
    a, b = product(shape)
    ours, theirs = package_gpu.kernel_us(functools.partial(function, a, b), functools.partial(torch.mm, a, b))
    return ours, theirs


class Model(torch.nn.Module):
    """A product whose weight lies as the shape says, and something to fuse behind it."""

    def __init__(self, weight: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight, requires_grad=False)

    def forward(self, x: Any) -> Any:
        return torch.relu(x @ self.weight) * 0.5


@contextlib.contextmanager
def heard() -> Iterator[list[dict[str, float]]]:
    """What Inductor measures: for each product the time of every choice, in microseconds."""
    from torch._inductor import select_algorithm

    told: list[dict[str, float]] = []

    def hear(timings: Any, *rest: Any) -> None:
        told.append({getattr(choice, "name", str(choice)): ms * 1e3 for choice, ms in timings.items()})

    select_algorithm.add_feedback_saver(hear)
    try:
        yield told
    finally:
        select_algorithm.clear_feedback_savers()


def compiled(shape: tuple[int, ...], backends: str) -> dict[str, Any]:
    """What max-autotune makes of the model."""
    from torch._inductor import config
    from torch._inductor.utils import run_and_get_code

    x, weight = product(shape)
    model = Model(weight)
    torch._dynamo.reset()
    options = {"max_autotune_gemm_backends": backends, "fx_graph_cache": False, "autotune_local_cache": False}
    start = time.monotonic()
    with config.patch({**options, "force_disable_caches": True}), torch.no_grad(), heard() as told:
        run = torch.compile(model, mode="max-autotune-no-cudagraphs")
        found, code = run_and_get_code(run, x)
        took = time.monotonic() - start
        [us, eager] = package_gpu.kernel_us(functools.partial(run, x), functools.partial(model, x))
    exact = torch.relu(x.double() @ weight.double()) * 0.5
    error = float(((found.double() - exact).abs().max() / exact.abs().max()).item())
    return {
        "shape": [*shape],
        "backends": backends,
        "us_of_choices": {name: round(us, 2) for measured in told for name, us in measured.items()},
        "picked": f"extern_kernels.{NAME}(" in "".join(code),
        "error": error,
        "right": error < 2**-7,
        "model_us": us,
        "eager_us": eager,
        "compile_s": round(took, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, help="a folder that `tlxgen package` made")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=90.0, help="compile no further model after so long")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    function = gemm(options.package)
    register_matmul(function, NAME)
    times = {shape: timed(function, shape) for shape in SHAPES}
    gain = {shape: theirs / ours for shape, (ours, theirs) in times.items()}
    print(f"{'M x N x K':20} {'GEMM us':>9} {'torch us':>9} {'speed':>6}")
    for shape, (ours, theirs) in times.items():
        print(f"{'x'.join(map(str, shape)):20} {ours:9.2f} {theirs:9.2f} {gain[shape]:6.3f}")
    best = sorted(SHAPES, key=lambda shape: -gain[shape])
    rows = []
    for shape, backends in [*((s, "ATEN") for s in (*best[:3], best[-1])), (best[0], "ATEN,TRITON")]:
        if time.monotonic() > end:
            break
        row = compiled(shape, backends)
        rows.append(row)
        first = sorted(row["us_of_choices"].items(), key=lambda item: item[1])[:3]
        choices = ", ".join(f"{name} {us:.1f}" for name, us in first)
        took = "picked" if row["picked"] else "not picked"
        print(f"{'x'.join(map(str, shape)):20} {backends:12} {took:10} right {row['right']}; {choices}", flush=True)
    if options.json:
        versions = {"torch": torch.__version__, "triton": importlib.import_module("triton").__version__}
        told = {
            "device": torch.cuda.get_device_name(),
            "versions": versions,
            "source": "package" if options.package else "generated",
            "us": [{"shape": [*s], "ours": ours, "torch": theirs} for s, (ours, theirs) in times.items()],
            "models": rows,
        }
        options.json.write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(0 if rows and all(row["right"] for row in rows) else 1)


if __name__ == "__main__":
    main()
