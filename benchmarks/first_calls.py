"""Host time of the first calls of new shapes of a GEMM package, without a GPU: Triton's own launcher over a stand-in.

    python -m benchmarks.first_calls [--tree DIR] [--tree OTHER] [--shapes 300] [--layout row_row] [--cold 32]

Tensors are on the CPU, no kernel is compiled, and the driver is tests/launch/libcuda.c; all else is what runs on a GPU.
The calls of a shape are its first, its second, which keeps what later ones need, and those after it. Shapes that import
a module or launch a kernel for the first time are left out. What is timed is generated/hopper_matmul of a checkout.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import cProfile
import ctypes
import importlib.util
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent
STREAM = 77
OTHER = [{"name": (i, [i] * 4, {str(i): float(i)})} for i in range(10)]


def stand_in(folder: Path) -> None:
    """Builds and loads a library in place of NVIDIA's driver, for this process."""
    import triton

    include = Path(triton.__file__).parent / "backends" / "nvidia" / "include"
    library, source = folder / "libcuda.so.1", HERE.parent / "tests" / "launch" / "libcuda.c"
    built = ["gcc", "-O1", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", f"-I{include}", source, "-o", library]
    subprocess.run(built, check=True, timeout=300)
    (folder / "libcuda.so").symlink_to(library)
    os.environ["TRITON_LIBCUDA_PATH"] = str(folder)
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    for parameter in (-1, -2, -3):  # memory that is freed is not the system's: no call of it is timed
        ctypes.CDLL("libc.so.6").mallopt(parameter, 1 << 30)


def pretend(told: list[Any] | None) -> dict[str, int]:
    """CUDA is the CPU, and Triton has compiled every kernel. Counts the launches that went through Triton."""
    import torch
    from triton.backends.nvidia import driver as nvidia
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction

    active = nvidia.CudaDriver()
    active.get_current_stream = lambda index: STREAM
    utils = active.utils
    utils.get_current_device = lambda: 0
    active.get_current_device = utils.get_current_device
    driver.set_active(active)
    count = {"by Triton": 0}

    def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        count["by Triton"] += 1
        types, metas, flat = [], [], []
        for x in arguments:
            if hasattr(x, "block_shape"):
                types += ["nvTmaDesc", *["i32"] * len(x.shape), *["i64"] * len(x.shape)]
                size = x.base.element_size()
                meta = {"swizzle": 3, "elem_size": size, "elem_type": 10, "fp4_padded": False, "is_im2col": False}
                metas.append(meta | {"block_size": [*x.block_shape]})
                flat += nvidia.make_tensordesc_arg(x, metas[-1], None)
            else:
                types.append("*bf16" if isinstance(x, torch.Tensor) else "i32" if isinstance(x, int) else "fp32")
                flat.append(x)
        annotations = [nvidia.PyKernelArg(nested_tuple=None, type=nvidia.ARG_KERNEL) for _ in types]
        signature = utils.build_signature_metadata(types)
        packed = options["num_warps"], 1, 200_000, 0, 0, 0
        pdl = bool(options.get("launch_pdl"))
        utils.launch(*grid, STREAM, 1, False, pdl, packed, *[None] * 5, annotations, signature, flat)
        made = SimpleNamespace(
            launch_cooperative_grid=False, launch_pdl=pdl, arg_annotations=annotations, kernel_signature=signature
        )
        metadata = SimpleNamespace(tensordesc_meta=metas, global_scratch_size=0, profile_scratch_size=0)
        return SimpleNamespace(run=made, metadata=metadata, packed_metadata=packed, function=1)

    jit: Any = JITFunction
    jit.run = run
    if told is not None:
        launch, fill = utils.launch, utils.fill_tma_descriptor_tiled
        utils.fill_tma_descriptor_tiled = lambda *given: (told.append([str(x) for x in given[1:]]), fill(*given))[1]
        utils.launch = lambda *given: (told.append([*given[:3], *map(scalar, given[-1])]), launch(*given))[1]
    torch.cuda.device, torch.cuda.device_count = contextlib.nullcontext, lambda: 1  # type: ignore
    torch.cuda.current_device, torch.cuda.is_current_stream_capturing = lambda: 0, lambda: False
    torch.cuda.current_stream, torch.cuda.stream = lambda *_: None, contextlib.nullcontext  # type: ignore
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=132)  # type: ignore
    torch.cuda.synchronize, torch.cuda.is_initialized = lambda *_: None, lambda: True  # type: ignore
    guards: Any = torch._C._dynamo.guards
    guards._empty_strided_cuda = guards._empty_strided_cpu
    return count


def scalar(value: Any) -> Any:
    """A number the launcher was told, but no address."""
    return value if isinstance(value, int) and value < 1 << 31 else "address"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, action="append", help="a checkout; given twice, both are timed in turns")
    parser.add_argument("--shapes", type=int, default=300, help="new ones, after as many that are not timed")
    parser.add_argument("--layout", default="row_row", choices=["row_row", "row_col", "col_row", "col_col"])
    parser.add_argument("--cold", type=int, default=32, help="MB of memory that are touched before a call; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="print where Python spends the time instead")
    parser.add_argument("--told", type=Path, help="a file for what the launcher was told, for comparing checkouts")
    given = parser.parse_args()
    told: list[Any] | None = [] if given.told else None
    with tempfile.TemporaryDirectory() as folder:
        stand_in(Path(folder))
        count = pretend(told)
        trees = given.tree or [HERE.parent]
        measure(given, [package(tree.resolve(), i) for i, tree in enumerate(trees)], count, told)
    if given.told:
        given.told.write_text("\n".join(map(json.dumps, told or [])) + "\n")


def package(tree: Path, number: int) -> Any:
    """The function of a checkout's package, which takes tensors on the CPU for those on a GPU."""
    folder, name = tree / "generated" / "hopper_matmul", f"matmul_{number}"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec and spec.loader, folder
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    host: Any = importlib.import_module(f"{name}._host")
    host.on_cuda = lambda tensor, name: tensor.device
    return module.hopper_matmul


def measure(given: argparse.Namespace, timed: list[Any], count: dict[str, int], told: list[Any] | None) -> None:
    import torch

    memory, random = torch.zeros(max(given.cold, 1) << 20, dtype=torch.int8), Random(given.seed)
    found: list[list[list[float]]] = [[] for _ in timed]
    profile = cProfile.Profile()
    for i in range(2 * given.shapes):
        m, n, k = random.randint(1, 512), random.randrange(8, 2049, 8), random.randrange(8, 2049, 8)
        m += -m % 8 if given.layout.startswith("col") else 0
        a, b = (lying(*size, how) for size, how in zip(((m, k), (k, n)), given.layout.split("_"), strict=True))
        before = count["by Triton"], len(sys.modules)
        if told is not None:
            told.append(["shape", m, n, k])
        if given.profile and i >= given.shapes:
            chill(memory, given.cold)
            profile.runcall(timed[0], a, b)
            continue
        turns = [*enumerate(timed)][:: 1 if i % 2 else -1]
        each = {j: [called(one, a, b, memory, given.cold * (x < 3)) for x in range(20)] for j, one in turns}
        if i >= given.shapes and (count["by Triton"], len(sys.modules)) == before:
            for j, us in each.items():
                found[j].append(us)
    if given.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(60)
        return
    print(f"{given.layout}, {given.cold} MB between calls, {len(found[0])} of {given.shapes} shapes, us:")
    for tree, shapes in zip(given.tree or ["."], found, strict=True):
        first, second, *_ = zip(*shapes, strict=True)
        later = statistics.median(statistics.median(us[4:]) for us in shapes)
        late = sorted(first)[len(first) * 95 // 100]
        print(
            f"{tree!s:<24} first {statistics.median(first):.0f} (95 %: {late:.0f}, least {min(first):.0f}), "
            f"second {statistics.median(second):.0f}, later {later:.1f}"
        )


def lying(rows: int, columns: int, how: str) -> Any:
    import torch

    size = (rows, columns) if how == "row" else (columns, rows)
    matrix = torch.empty(size, dtype=torch.bfloat16)
    return matrix if how == "row" else matrix.T


def called(multiply: Any, a: Any, b: Any, memory: Any, cold: int) -> float:
    chill(memory, cold)
    start = time.perf_counter()
    multiply(a, b)
    return (time.perf_counter() - start) * 1e6


def chill(memory: Any, cold: int) -> None:
    """Takes everything out of the caches but what Python itself and torch need most."""
    if cold:
        memory.add_(1)
        copy.deepcopy(OTHER)
        memory[:1000].clone().view(2, -1).sum(0)


if __name__ == "__main__":
    main()
