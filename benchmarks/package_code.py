"""Whether packages run the code that Triton would compile for the same arguments, call by call. Needs no GPU.

    python benchmarks/package_gpu.py --make                  makes .packages/ (git ignores it)
    python benchmarks/package_code.py [SPEC ..] [--json FILE]

The generated module launches on the CPU, where what it launches is recorded: kernel, constants, which arguments are
multiples of 16 and which are 1. Each is compiled as Triton compiles it, and compared with the cubin that the package
chooses. A package that runs the same cubin takes the same time, which benchmarks/package_gpu.py measures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from package_gpu import PACKAGES, SPECS, generated

from tlxgen.launched.recorder import Recorder
from tlxgen.package.specialise import Compiling, Row, compiled_for
from tlxgen.sim import DEVICE
from tlxgen.verbs.compile import all_kernels
from tlxgen.verbs.package import row_of
from tlxgen.working import of_spec

ROOT = Path(__file__).resolve().parents[1]
MATRICES = ((4096, 4096, 4096), (64, 8192, 4096), (1, 8192, 4096), (1000, 1001, 999), (1, 7, 9), (300, 4097, 4096))
ROWS = ((8192, 8192), (3000, 5000), (999, 1001), (77, 20000), (1, 8192), (1, 77))
HEADS = ((4, 32, 8, 2048), (1, 1, 1, 333), (1, 8, 8, 512), (2, 4, 2, 333), (2, 16, 16, 1000), (1, 4, 1, 777))

Call = Callable[[Any], object]  # of the generated folder


def zeros(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """A matrix in rows of a multiple of 16 bytes."""
    return torch.zeros(*shape[:-1], shape[-1] + -shape[-1] % 8, dtype=dtype, device=DEVICE)[..., : shape[-1]]


def calls(spec: str) -> Iterator[tuple[str, Call]]:
    if "gemm" in spec:
        for m, n, k in MATRICES:
            yield f"{m}x{n}x{k}", lambda of, m=m, n=n, k=k: getattr(of, spec)(zeros(m, k), zeros(k, n))  # type: ignore[misc]
    elif "norm" in spec:
        for m, n in ROWS:
            yield f"{m}x{n}", lambda of, m=m, n=n: getattr(of, spec)(zeros(m, n), zeros(n), zeros(n))  # type: ignore[misc]
    else:
        for shape in HEADS:
            for mask in ("none", "causal"):
                yield (
                    f"{mask} {shape}",
                    lambda of, name=f"{spec}_{mask}", shape=shape: attend(getattr(of, name), *shape),  # type: ignore[misc]
                )


def attend(function: Callable[..., object], b: int, h: int, kv: int, n: int) -> object:
    q, k = zeros(b, h, n, 128), zeros(b, kv, n, 128)
    if "bwd" not in function.__name__:
        return function(q, k, k)
    return function(q, k, k, q, torch.zeros(b, h, n, device=DEVICE), q)


def compared(spec: str) -> Iterator[dict[str, Any]]:
    """For each launch of each call: its kernel, and whether the package has another cubin for it."""
    module = generated(spec)
    told = json.loads((PACKAGES / spec / spec / "manifest.json").read_text())["kernels"]
    with of_spec(ROOT / "specs" / f"{spec}.yaml") as work, TemporaryDirectory(prefix="tlxgen-") as keep:
        rows, compiling = [row_of(kernel) for kernel in all_kernels(work)], Compiling(Path(keep))
        for what, call in calls(spec):
            recorder = Recorder()
            with recorder.active():
                call(module)
            for found in recorder.recorded.values():
                kernel = found.kernel
                row = next(row for row in rows if is_of(row, kernel))
                ones = {name for name, value in kernel.constants.items() if name in row.specialized and value == 1}
                aligned = {*kernel.divisible} & {*row.specialized}
                launches = told[row.job.kernel]["launches"]
                cubins = next(x["cubins"] for x in launches if x["constants"] == row.job.constants)
                chosen = next(c for c in cubins if {*c["divisible"]} <= aligned and {*c["ones"]} <= ones)
                [exact] = compiling([compiled_for(row, frozenset(aligned), frozenset(ones))])
                yield {"call": what, "kernel": row.job.kernel, "same": exact.sha256 == chosen["sha256"]}  # type: ignore[union-attr]


def is_of(row: Row, kernel: Any) -> bool:
    given = kernel.constants
    return row.job.kernel == kernel.name and all(given.get(n, v) == v for n, v in row.job.constants.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", default=[spec for spec in SPECS if (PACKAGES / spec).is_dir()])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    for spec in options.specs:
        found[spec] = list(compared(spec))
        others = [row for row in found[spec] if not row["same"]]
        print(f"{spec}: {len(found[spec])} launches, {len(others)} by other code", flush=True)
        for row in others:
            print(f"  {row['call']} {row['kernel']}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
