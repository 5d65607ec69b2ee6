"""What the host does in a call of a package and of the generated module, without a GPU: real launchers, no driver.

    python benchmarks/host_package.py [--packages .packages] [--packages OTHER] [--rounds 9] [--json FILE]

The tests' stand-in for NVIDIA's driver hears the launches of Triton's launcher and of the packages' launchers; gcc
builds it. Tensors are on the CPU, and all are called in turns in one process. `--packages` is a folder in which `tlxgen
package` has put the specs below; given twice, it compares two launchers. Microseconds of the thread a call, the least
of the rounds: of calls with the same memory, and of calls with results at new addresses, which need new descriptors.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CALLS, NEW = 2000, 1000
MADE = "TLXGEN_STANDIN"  # the folder of the stand-in, in the environment of the process that measures

Function = Callable[..., Any]


def stand_in(folder: Path) -> None:
    """Builds the driver of tests/package."""
    import importlib.util

    triton = importlib.util.find_spec("triton")
    assert triton and triton.origin
    include = Path(triton.origin).parent / "backends" / "nvidia" / "include"
    for name in ("libcuda.so.1", "libcuda.so"):
        options = ["-O2", "-w", "-shared", "-fPIC", "-Wl,-Bsymbolic", f"-I{include}", "-o", str(folder / name)]
        subprocess.run(["gcc", str(ROOT / "tests" / "package" / "libcuda.c"), *options], check=True)


def pretend() -> None:
    """CUDA is the CPU, with one H200, whose current stream is 7."""
    import torch
    from triton.backends.nvidia.driver import CudaDriver
    from triton.runtime.driver import driver

    cuda: Any = torch.cuda
    cuda.device, cuda.device_count, cuda.current_device = lambda _: contextlib.nullcontext(), lambda: 1, lambda: 0
    cuda.is_current_stream_capturing, cuda.synchronize = lambda: False, lambda *_: None
    cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=132, name="NVIDIA H200")
    cuda.get_device_capability = lambda *_: (9, 0)
    guards: Any = torch._C._dynamo.guards
    guards._empty_strided_cuda = guards._empty_strided_cpu
    torch._C._cuda_getCurrentRawStream = lambda index: 7
    active: Any = CudaDriver()
    active.get_current_stream, active.get_current_device = lambda device: 7, lambda: 0  # the latter in C, 0.1 us
    active.get_device_capability = lambda *_: (9, 0)
    driver.set_active(active)


def loaded(name: str, folder: Path, module: str) -> Any:
    """A module of a generated folder or of a package, which takes tensors on the CPU for those on a GPU."""
    import package_gpu

    found = package_gpu.under(name, folder, module)
    for other in [m for n, m in sys.modules.items() if n.startswith(f"{name}.") and hasattr(m, "on_cuda")]:
        other.on_cuda = lambda tensor, name: tensor.device
    return found


def calls() -> dict[str, tuple[str, str, str, tuple[Any, ...]]]:
    """By what it is: spec, module, function, arguments."""
    import torch

    def tensor(*shape: int) -> Any:
        return torch.randn(*shape, dtype=torch.bfloat16)

    a, x, w, bias = (
        tensor(64, 64),
        tensor(64, 256),
        tensor(256),
        tensor(256),
    )  # small, so that malloc asks the system for nothing
    q, k, v, out, dout = (tensor(1, 2, 32, 128) for _ in range(5))
    back = (q, k, v, out, torch.randn(1, 2, 32), dout)
    fwd, bwd, gemm, norm = "hopper_attention_fwd", "hopper_attention_bwd", "hopper_gemm", "hopper_layer_norm"
    return {
        "GEMM": (gemm, f"{gemm}_cooperative", gemm, (a, a.clone())),
        "attention forward": (fwd, f"{fwd}_causal", fwd, (q, k, v)),
        "attention backward": (bwd, f"{bwd}_causal", bwd, back),
        "layer norm": (norm, f"{norm}_grid", norm, (x, w, bias)),
    }


def timed(run: Callable[[], Any], count: int) -> float:
    begin = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - begin) / count * 1e6


def at_new_addresses(function: Function, given: tuple[Any, ...]) -> float:
    """Microseconds of a call whose results lie where none have been: those before are kept."""
    kept: list[Any] = []
    return timed(lambda: kept.append(function(*given)), NEW)


def measured(folders: dict[str, Path], rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {}
    for what, (spec, module, name, given) in calls().items():
        functions: dict[str, Function] = {}
        for of, folder in folders.items():
            inside = folder / spec / spec if of != "module" else folder / spec
            if inside.is_dir():
                functions[of] = getattr(
                    loaded(f"{of.replace('.', '_').replace('/', '_')}_{spec}", inside, module), name
                )
        for function in functions.values():
            timed(functools.partial(function, *given), 50)
        rows = [{of: timed(functools.partial(f, *given), CALLS) for of, f in functions.items()} for _ in range(rounds)]
        new = [{of: at_new_addresses(f, given) for of, f in functions.items()} for _ in range(rounds)]
        found[what] = {
            "warm": {of: min(row[of] for row in rows) for of in functions},
            "new addresses": {of: min(row[of] for row in new) for of in functions},
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, action="append", help="folders of packages; default: .packages")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if MADE not in os.environ:
        with tempfile.TemporaryDirectory() as temporary:
            stand_in(Path(temporary))
            places = {"LD_LIBRARY_PATH": temporary, "TRITON_LIBCUDA_PATH": temporary, MADE: temporary}
            environment = os.environ | places | {"TRITON_CACHE_DIR": f"{temporary}/cache"}
            sys.exit(subprocess.run([sys.executable, __file__, *sys.argv[1:]], env=environment).returncode)
    pretend()
    packages = options.packages or [ROOT / ".packages"]
    folders = {"module": ROOT / "generated", **{str(p).strip("/."): p.resolve() for p in packages}}
    found = measured(folders, options.rounds)
    print(f"{'call':20} {'':14} " + " ".join(f"{of[-22:]:>22}" for of in folders))
    for what, kinds in found.items():
        for kind, us in kinds.items():
            print(f"{what:20} {kind:14} " + " ".join(f"{us.get(of, math.nan):22.2f}" for of in folders))
    if options.json:
        options.json.write_text(json.dumps({"us": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
