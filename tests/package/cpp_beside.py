"""Run by test_cpp.py in its own process: host functions of a package in Python and in C++, on the same arguments.

Prints one JSON object, by the name of the calls. argv: for each spec the package's folder, its name, the module of the
package, the library in C++ and the calls (a name in CALLS); at the end the folder of the stand-in driver.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import tvm_ffi
from torch.utils.dlpack import to_dlpack

from tests.package.pretend import CudaLike, Driver, pretend, tensor

Call = tuple[str, list[Any], int]  # what it is, all arguments in the order of the C++ form, how many are results
CUDA, STREAM = 2, 77


def gemm() -> Iterator[Call]:
    for m, n, k in ((256, 384, 512), (1000, 1112, 520), (4096, 512, 1024), (1, 8, 8)):
        yield f"{m}x{n}x{k}", [tensor((m, k)), tensor((k, n)), tensor((m, n))], 1
    yield "strided", [tensor((256, 512), padding=64), tensor((512, 384), padding=8), tensor((256, 384), padding=8)], 1
    yield "no columns of a", [tensor((256, 0)), tensor((0, 384)), tensor((256, 384), padding=8)], 1
    yield "other shape", [tensor((256, 512)), tensor((128, 384)), tensor((256, 384))], 1
    yield "other shape of out", [tensor((256, 512)), tensor((512, 384)), tensor((256, 128))], 1
    yield "other type", [tensor((256, 512), torch.float32), tensor((512, 384)), tensor((256, 384))], 1
    yield (
        "column-major",
        [tensor((512, 256)).view((512, 256)).t().as_subclass(CudaLike), tensor((512, 384)), tensor((256, 384))],
        1,
    )
    yield "misaligned", [tensor((64, 64), shift=1), tensor((64, 64)), tensor((64, 64))], 1
    yield "odd stride", [tensor((64, 64), padding=1), tensor((64, 64)), tensor((64, 64))], 1
    yield "odd rows of out", [tensor((64, 64)), tensor((64, 63), padding=1), tensor((64, 63))], 1
    one = tensor((64, 64))
    yield "out is a", [one, tensor((64, 64)), one], 1
    yield "expanded out", [tensor((64, 64)), tensor((64, 64)), tensor((1, 64)).expand(64, 64).as_subclass(CudaLike)], 1


def pdl() -> Iterator[Call]:
    for m, n, k in ((256, 384, 512), (1000, 1112, 520), (64, 8, 8)):
        yield f"{m}x{n}x{k}", [tensor((m, k)), tensor((k, n)), tensor((n,)), tensor((m, n))], 1
    yield "bias", [tensor((64, 64)), tensor((64, 64)), tensor((32,)), tensor((64, 64))], 1


def layer_norm() -> Iterator[Call]:
    for shape, padding, eps in (
        ((1024, 256), 0, 1e-5),
        ((1000, 200), 0, 1e-6),
        ((77, 201), 0, 1e-5),
        ((4, 16, 200), 24, 1e-5),
    ):
        x, w, b = tensor(shape, padding=padding), tensor(shape[-1:]), tensor(shape[-1:])
        stats = [tensor(shape[:-1], torch.float32) for _ in range(2)]
        yield f"{shape}+{padding}", [x, w, b, eps, tensor(shape), *stats], 3
    x, w, y = tensor((8, 512)), tensor((512,)), tensor((8, 512))
    stats = [tensor((8,), torch.float32) for _ in range(2)]
    yield "long rows", [x, w, w, 1e-5, y, *stats], 3
    yield "statistics of another type", [x, w, w, 1e-5, y, tensor((8,)), stats[0]], 3
    yield "no finite eps", [x, w, w, float("inf"), y, *stats], 3


def attention() -> Iterator[Call]:
    for (b, h, kv, n), scale in (((2, 8, 4, 512), None), ((2, 8, 2, 1000), 0.125), ((3, 4, 2, 333), None)):
        q, k, v = tensor((b, h, n, 32)), tensor((b, kv, n, 32)), tensor((b, kv, n, 32))
        yield f"{b},{h},{kv},{n}", [q, k, v, scale, tensor((b, h, n, 32)), tensor((b, h, n), torch.float32)], 2
    q, k, lse = tensor((1, 4, 64, 32)), tensor((1, 3, 64, 32)), tensor((1, 4, 64), torch.float32)
    yield "heads", [q, k, k, None, tensor((1, 4, 64, 32)), lse], 2
    yield "scale", [q, q, q, -1.5, tensor((1, 4, 64, 32)), lse], 2
    none = tensor((1, 4, 0, 32))
    yield "no keys", [q, none, none, None, tensor((1, 4, 64, 32)), lse], 2


CALLS: dict[str, Callable[[], Iterator[Call]]] = {
    "gemm": gemm,
    "pdl": pdl,
    "layer_norm": layer_norm,
    "attention": attention,
}


class _Exported:
    """A tensor of tvm-ffi's protocol that says it is on a GPU, as `CudaLike` does."""

    def __init__(self, given: Any) -> None:
        self.capsule = to_dlpack(given.as_subclass(torch.Tensor))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        at = get(self.capsule, b"dltensor")
        ctypes.c_int32.from_address(at + ctypes.sizeof(ctypes.c_void_p)).value = CUDA  # behind the address of its data

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0


def in_cpp(given: Any) -> Any:
    return tvm_ffi.from_dlpack(_Exported(given)) if isinstance(given, torch.Tensor) else given


def main() -> None:
    *specs, folder = sys.argv[1:]
    pretend()
    told = Driver(folder)
    fives = zip(*(specs[place::5] for place in range(5)), strict=True)
    json.dump({calls: heard(*others, calls, told) for *others, calls in fives}, sys.stdout)


def heard(package: str, name: str, module: str, library: str, calls: str, told: Driver) -> dict[str, Any]:
    """What becomes of each call with each config: of the package in Python, and twice of the library."""
    sys.path.insert(0, package)
    packaged = importlib.import_module(f"{name}.{module}")
    launcher = importlib.import_module(f"{name}._launcher")
    told.heed(launcher)
    by_cpp = tvm_ffi.load_module(library)
    function = next(n for n in dir(packaged) if not n.startswith("_") and hasattr(getattr(packaged, n), "operator"))
    names = [n for n in inspect.signature(packaged.prepare).parameters if n not in ("config", "outputs")]
    parameters = inspect.signature(getattr(packaged, function)).parameters.values()
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    seen = {}
    for what, arguments, results in CALLS[calls]():
        for i, config in enumerate(packaged.CONFIGS):

            def in_python(arguments: list[Any] = arguments, config: Any = config) -> None:
                named = dict(zip(names, arguments, strict=True))
                first = [named.pop(n) for n in positional]
                getattr(packaged, function)(*first, config=config, **named)

            def in_c(arguments: list[Any] = arguments, i: int = i) -> None:
                with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), STREAM):
                    getattr(by_cpp, f"{module}_{i}")(*map(in_cpp, arguments))

            runs = []
            for call in (in_python, in_c, in_c):
                launched, filled = told.count("launched"), told.count("filled")
                error = ""
                if what.startswith("no "):
                    for result in arguments[-results:]:
                        result.fill_(1)
                try:
                    call()
                except (ValueError, TypeError, RuntimeError) as raised:
                    error = f"{type(raised).__name__}: {raised}"
                written = [a.as_subclass(torch.Tensor).float().sum().item() for a in arguments[-results:]]
                runs.append(
                    {
                        "launches": [*told.since(launched)],
                        "filled": told.count("filled") - filled,
                        "written": written,
                        "error": error,
                    }
                )
            seen[f"{what}, config {i}"] = runs
    return seen


if __name__ == "__main__":
    main()
