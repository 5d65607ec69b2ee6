"""Run by test_launches.py in its own process: host functions of generated/ and of a package, on the same arguments.

Prints one JSON object, by the name of the calls. argv: for each spec the module of generated/, the package's folder and
the calls (a name in CALLS); at the end the folder of the stand-in driver.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime.driver import driver

from tests.package.pretend import Allocator, Driver, pretend, tensor
from tlxgen.compile.toolchain import name_cache
from tlxgen.loading import load_file

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def gemm() -> Iterator[Call]:
    for m, n, k in ((256, 384, 512), (1000, 1111, 520), (4096, 512, 1024), (1, 384, 512), (1, 8, 8)):
        a, b = tensor((m, k)), tensor((k, n), padding=-n % 8)
        yield f"{m}x{n}x{k}", (a, b), {}
    yield "out", (tensor((256, 512)), tensor((512, 384))), {"out": tensor((256, 384))}
    yield "strided", (tensor((256, 512), padding=64), tensor((512, 384), padding=8)), {}


def gemm_with_bias() -> Iterator[Call]:
    for what, (a, b), options in gemm():
        yield what, (a, b), {"bias": tensor((b.shape[1],)), **options}


def layer_norm() -> Iterator[Call]:
    for rows, columns, padding in (
        (1024, 256, 0),
        (1000, 200, 0),
        (77, 201, 0),
        (64, 200, 24),
        (1, 256, 0),
        (1, 201, 0),
    ):
        x, w, b = tensor((rows, columns), padding=padding), tensor((columns,)), tensor((columns,))
        yield f"{rows}x{columns}+{padding}", (x, w, b), {}


def attention() -> Iterator[Call]:
    """With one batch entry, one head of K and V, and both."""
    for b, h, kv, n in (
        (2, 8, 4, 512),
        (2, 8, 2, 1000),
        (3, 4, 2, 333),
        (1, 8, 4, 512),
        (2, 8, 1, 333),
        (1, 4, 1, 333),
    ):
        q, k, v = tensor((b, h, n, 32)), tensor((b, kv, n, 32)), tensor((b, kv, n, 32))
        yield f"{b},{h},{kv},{n}", (q, k, v), {}


def norm_bwd() -> Iterator[Call]:
    for rows, columns, padding in ((1024, 64, 0), (1000, 48, 0), (77, 33, 0), (64, 48, 16)):
        dy, x = tensor((rows, columns)), tensor((rows, columns), padding=padding)
        yield f"{rows}x{columns}+{padding}", (dy, x, tensor((columns,)), tensor((rows,), torch.float32)), {}


CALLS = {
    "gemm": gemm,
    "pdl": gemm_with_bias,
    "layer_norm": layer_norm,
    "attention": attention,
    "norm_bwd": norm_bwd,
}


def main() -> None:
    *specs, folder = sys.argv[1:]
    allocate = pretend()
    name_cache("tlxgen")
    active = CudaDriver()
    active.get_current_stream = lambda device: 77
    active.get_current_device = lambda: 0
    active.get_device_capability = lambda *_: (9, 0)
    driver.set_active(active)
    told = Driver(folder)
    threes = zip(specs[::3], specs[1::3], specs[2::3], strict=True)
    seen = {calls: heard(Path(generated), package, calls, told, allocate) for generated, package, calls in threes}
    json.dump(seen, sys.stdout)


def heard(generated: Path, package: str, calls: str, told: Driver, allocate: Allocator) -> dict[str, Any]:
    """What the driver is told at each call: three times by the package, and three times by the generated module."""
    sys.path.insert(0, package)
    by_triton = load_file(generated)
    packaged = importlib.import_module(f"{generated.parent.name}.{generated.stem}")
    launcher = importlib.import_module(f"{generated.parent.name}._launcher")
    told.heed(launcher)  # so the package comes first
    function = next(n for n in dir(by_triton) if not n.startswith("_") and hasattr(getattr(by_triton, n), "operator"))
    seen = {}
    for what, given, options in CALLS[calls]():
        runs = []
        elsewhere = [*map(moved, given)]
        turns = [(module, tensors) for module in (packaged, by_triton) for tensors in (given, given, elsewhere)]
        for module, tensors in turns:  # each at first, by what it kept, and at other addresses
            first = told.count("launched")
            allocate.again()
            getattr(module, function)(*tensors, **options)
            runs.append([*told.since(first)])
        seen[what] = runs
    return seen


def moved(value: Any) -> Any:
    """A tensor of the same layout at another address."""
    if not isinstance(value, torch.Tensor):
        return value
    elements = value.untyped_storage().nbytes() // value.element_size()
    memory = torch.zeros(elements, dtype=value.dtype)
    return memory.as_strided(value.shape, value.stride(), value.storage_offset()).as_subclass(type(value))


if __name__ == "__main__":
    main()
