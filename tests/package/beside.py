"""Run by test_launches.py in its own process: host functions of generated/ and of a package, on the same arguments.

Prints one JSON object. argv: the module of generated/, the package's folder, the calls (a name in CALLS), the folder of
the stand-in driver.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime.driver import driver

from tests.package.pretend import Driver, pretend, tensor
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
        (1024, 2048, 0),
        (1000, 1000, 0),
        (77, 1001, 0),
        (64, 1000, 24),
        (1, 2048, 0),
        (1, 1001, 0),
    ):
        x, w, b = tensor((rows, columns), padding=padding), tensor((columns,)), tensor((columns,))
        yield f"{rows}x{columns}+{padding}", (x, w, b), {}


def attention() -> Iterator[Call]:
    for b, h, kv, n in ((2, 8, 4, 512), (2, 8, 2, 1000), (3, 4, 2, 333)):
        q, k, v = tensor((b, h, n, 64)), tensor((b, kv, n, 64)), tensor((b, kv, n, 64))
        yield f"{b},{h},{kv},{n}", (q, k, v), {}


def attention_bwd() -> Iterator[Call]:
    for b, h, kv, n in (
        (2, 8, 4, 512),
        (2, 8, 2, 1000),
        (3, 4, 2, 333),
        (1, 8, 4, 512),
        (2, 8, 1, 333),
        (1, 1, 1, 333),
    ):
        q, k, v = tensor((b, h, n, 128)), tensor((b, kv, n, 128)), tensor((b, kv, n, 128))
        out, lse, dout = tensor((b, h, n, 128)), tensor((b, h, n), torch.float32), tensor((b, h, n, 128))
        yield f"{b},{h},{kv},{n}", (q, k, v, out, lse, dout), {"scale": 1 / math.sqrt(128)}


CALLS = {
    "gemm": gemm,
    "pdl": gemm_with_bias,
    "layer_norm": layer_norm,
    "attention": attention,
    "attention_bwd": attention_bwd,
}


def main() -> None:
    generated, package, calls, folder = sys.argv[1:]
    allocate = pretend()
    active = CudaDriver()
    active.get_current_stream = lambda device: 77
    active.get_current_device = lambda: 0
    active.get_device_capability = lambda *_: (9, 0)
    driver.set_active(active)
    told = Driver(folder)
    sys.path.insert(0, package)
    name = Path(generated).stem
    by_triton = load_file(Path(generated))
    packaged = importlib.import_module(f"{Path(generated).parent.name}.{name}")
    launcher = importlib.import_module(f"{Path(generated).parent.name}._launcher")
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
    json.dump({"function": function, "seen": seen}, sys.stdout)


def moved(value: Any) -> Any:
    """A tensor of the same layout at another address."""
    if not isinstance(value, torch.Tensor):
        return value
    elements = value.untyped_storage().nbytes() // value.element_size()
    memory = torch.zeros(elements, dtype=value.dtype)
    return memory.as_strided(value.shape, value.stride(), value.storage_offset()).as_subclass(type(value))


if __name__ == "__main__":
    main()
