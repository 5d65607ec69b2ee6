"""Run by test_launch.py in a process of its own: a generated host function on Triton's real launcher, over libcuda.c.

Prints one JSON object. argv: the generated module, its host function's name, the folder of the stand-in library.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from triton import knobs
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime.driver import driver

from tlxgen.compile.toolchain import name_cache
from tlxgen.loading import load_file

DEVICE = torch.device("cuda", 0)
stream, made = 77, 0  # current; by how many calls torch's inner allocator was asked
empty_strided = torch.empty_strided


class CudaLike(torch.Tensor):  # type: ignore[misc]
    """A CPU tensor that says it is on a GPU."""

    device = property(lambda self: DEVICE)  # type: ignore[assignment]
    __torch_function__ = torch._C._disabled_torch_function_impl


def matrix(rows: int, columns: int) -> Any:
    return torch.zeros(rows, columns, dtype=torch.bfloat16).as_subclass(CudaLike)


def empty(size: Any, stride: Any, dtype: torch.dtype) -> Any:
    """In place of what Inductor's code allocates with."""
    global made
    made += 1
    return empty_strided(size, stride, dtype=dtype).as_subclass(CudaLike)


def pretend() -> None:
    active = CudaDriver()
    active.get_current_stream = lambda device: stream
    active.get_current_device = lambda: 0
    active.get_device_capability = lambda *_: (9, 0)
    driver.set_active(active)
    name_cache("tlxgen")
    torch.empty_strided = lambda *a, device=None, **k: empty_strided(*a, **k).as_subclass(CudaLike)
    torch._C._dynamo.guards._empty_strided_cuda = empty
    torch.cuda.current_device = lambda: 0
    torch.cuda.device = contextlib.nullcontext
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=132)


class Told:
    """What the stand-in was told by the last launch."""

    def __init__(self, folder: Path) -> None:
        self.library = ctypes.CDLL(str(folder / "libcuda.so.1"))

    def count(self, name: str) -> int:
        return ctypes.c_ulonglong.in_dll(self.library, name).value

    @property
    def grid(self) -> int:
        return int((ctypes.c_uint * 3).in_dll(self.library, "grid")[0])

    def words(self, parameter: int) -> list[int]:
        raw = (ctypes.c_ulonglong * 48).in_dll(self.library, "parameters")
        return [int(w) for w in raw[16 * parameter : 16 * parameter + 16]]


def main() -> None:
    global stream
    pretend()
    module, told = load_file(Path(sys.argv[1])), Told(Path(sys.argv[3]))
    gemm = getattr(module, sys.argv[2])
    seen: dict[str, Any] = {}

    def call(name: str, a: Any, b: Any, **options: Any) -> None:
        before = told.count("launches"), told.count("encodes"), made
        out = gemm(a, b, **options)
        seen[name] = {
            "launches": told.count("launches") - before[0],
            "encodes": told.count("encodes") - before[1],
            "made": made - before[2],
            "c": [*out.shape, *out.stride(), str(out.dtype)],
            "grid": told.grid,
            "stream": told.count("stream"),
            "addresses": [told.words(i)[0] for i in range(3)] == [t.data_ptr() for t in (a, b, out)],
            "extents": [told.words(i)[2:4] for i in range(3)],
            "box": [told.words(i)[8:10] for i in range(3)],
        }

    a, b, out = matrix(256, 512), matrix(512, 384), matrix(256, 384)
    call("first", a, b, out=out)
    call("second", a, b, out=out)
    call("third", a, b, out=out)
    call("other pointer", matrix(256, 512), b, out=out)
    call("back", a, b, out=out)
    call("other config", a, b, out=out, config=module.CONFIGS[-1])
    call("other shape", matrix(1024, 512), b)
    call("allocated", matrix(1024, 512), b)
    call("padded", a, odd := matrix(512, 384)[:, :377].as_subclass(CudaLike))
    call("padded again", a, odd)
    stream = 78
    call("other stream", a, b, out=out)
    stream = 77
    several = list(module.CALLS.values())
    for one in several:
        one.one_of_several = True
    call("one of several", matrix(1024, 512), b)
    torch.cuda.current_device = lambda: 1
    call("not the current one", matrix(1024, 512), b)
    torch.cuda.current_device = lambda: 0
    for one in several:
        one.one_of_several = False
    knobs.runtime.launch_enter_hook.add(lambda metadata: seen.setdefault("hooked", []).append(True))
    call("profiled", a, b, out=out)
    knobs.runtime.launch_enter_hook.calls.clear()
    aside = torch.zeros(1 + 256 * 512, dtype=torch.bfloat16)[1:].view(256, 512).as_subclass(CudaLike)
    wrong = a.float().as_subclass(CudaLike)
    for name, operand, into in (("misaligned", aside, None), ("like others", aside, out), ("wrong type", wrong, None)):
        for _ in range(2):  # an error is not remembered as a launch
            try:
                gemm(operand, b, out=into)
            except (ValueError, TypeError) as error:
                seen.setdefault(name, []).append(str(error))
    room = matrix(1, 256 * 384 + 8 * 1100)
    for i in range(1100):  # as many addresses, 16 bytes apart
        gemm(a, b, out=room.as_strided((256, 384), (384, 1), 8 * i).as_subclass(CudaLike))
    tables = [(one.known, *one.launches[0].encoded) for one in module.CALLS.values()]
    seen["kept"] = max(len(known) for both in tables for known in both)
    start = time.perf_counter()
    for _ in range(2000):
        gemm(a, b, out=out)
    seen["us"] = (time.perf_counter() - start) / 2000 * 1e6
    json.dump(seen, sys.stdout)


main()
