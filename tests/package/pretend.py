"""A GPU for host functions, in a process that has libcuda.c in place of NVIDIA's driver: tensors, calls of torch."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

DEVICE = torch.device("cuda", 0)
MOST = 16
_empty_strided = torch.empty_strided


class CudaLike(torch.Tensor):  # type: ignore[misc]
    """A CPU tensor that says it is on a GPU."""

    device = property(lambda self: DEVICE)  # type: ignore[assignment]
    __torch_function__ = torch._C._disabled_torch_function_impl

    def get_device(self) -> int:
        return 0

    def new_empty(self, size: Any, dtype: Any = None, device: Any = None) -> Any:
        return torch.empty(size, dtype=dtype or self.dtype).as_subclass(CudaLike)

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index).as_subclass(CudaLike)

    def as_strided(self, *arguments: Any) -> Any:
        return super().as_strided(*arguments).as_subclass(CudaLike)

    def view(self, *arguments: Any) -> Any:
        return super().view(*arguments).as_subclass(CudaLike)


class Allocator:
    """Memory of the same addresses each time after `again`, so that launches can be held against each other."""

    def __init__(self) -> None:
        self._made: list[Any] = []
        self._next = 0

    def again(self) -> None:
        self._next = 0

    def __call__(self, size: Any, stride: Any, dtype: Any = None, device: Any = None) -> Any:
        bytes_ = (sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1) * (dtype or torch.float32).itemsize
        if self._next == len(self._made):
            self._made.append(torch.empty(1 << 26, dtype=torch.uint8))
        memory = self._made[self._next]
        self._next += 1
        assert bytes_ <= memory.numel()
        whole = memory.view(dtype or torch.float32)
        return whole.as_strided(tuple(size), tuple(stride)).as_subclass(CudaLike)


def tensor(shape: Any, dtype: Any = torch.bfloat16, *, padding: int = 0, shift: int = 0) -> Any:
    """A tensor of zeros; `padding`: elements behind each row, `shift`: elements before the first."""
    wide = (*shape[:-1], shape[-1] + padding)
    count = torch.Size(wide).numel()
    flat = torch.zeros(count + shift, dtype=dtype)
    return flat[shift:].view(wide)[..., : shape[-1]].as_subclass(CudaLike)


def lasting(make: Any) -> Any:
    """`make` of torch, which on the GPU gives the same memory each time that one of that size is asked for."""
    kept: dict[Any, Any] = {}

    def made(*size: Any, device: Any = None, **options: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            return make(*size, device=device, **options)
        key = (*size, *options.items())
        if key not in kept:
            kept[key] = make(*size, **options).as_subclass(CudaLike)
        return kept[key]

    return made


def pretend(capability: tuple[int, int] = (9, 0)) -> Allocator:
    """Has torch say that there is one GPU."""
    allocate = Allocator()
    torch.empty_strided = allocate
    torch._C._dynamo.guards._empty_strided_cuda = allocate
    torch.empty, torch.zeros = lasting(torch.empty), lasting(torch.zeros)  # workspaces, which a module keeps
    torch.cuda.synchronize = lambda *_: None
    torch._C._cuda_getCurrentRawStream = lambda index: 77
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1
    torch.cuda.device = contextlib.nullcontext
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.cuda.get_device_capability = lambda *_: capability
    torch.cuda.get_device_name = lambda *_: "a GPU"
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=132, name="NVIDIA H200")
    return allocate


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("value", ctypes.c_ubyte * 64)]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("attributes", ctypes.c_uint),
        ("stream", ctypes.c_ulonglong),
        ("image", ctypes.c_ulonglong),
        ("name", ctypes.c_char * 128),
        ("attribute", _Attribute * 4),
        ("bytes", ctypes.c_uint),
        ("parameters", ctypes.c_ubyte * 4096),
    ]


class Driver:
    """What the stand-in was told."""

    def __init__(self, folder: str) -> None:
        self.library = ctypes.CDLL(f"{folder}/libcuda.so.1")

    def heed(self, launcher: Any) -> None:
        """Hears of each cubin that a package takes how large its parameters are, before it is launched."""
        function = launcher.Cubin.function

        def hearing(cubin: Any, index: int) -> Any:
            sizes = sizes_of(cubin)
            assert len(sizes) == len(cubin.layout.offsets)
            self.expect(cubin.kernel.name, sizes)
            return function(cubin, index)

        launcher.Cubin.function = hearing

    def expect(self, name: str, sizes: list[int]) -> None:
        """How large the parameters of a kernel are from now on."""
        self.library.expect(name.encode(), len(sizes), (ctypes.c_uint * len(sizes))(*sizes))

    def count(self, name: str) -> int:
        return ctypes.c_ulonglong.in_dll(self.library, name).value

    def get(self, name: str) -> int:
        return ctypes.c_int.in_dll(self.library, name).value

    def set(self, name: str, value: int) -> None:
        ctypes.c_int.in_dll(self.library, name).value = value

    def since(self, first: int) -> Iterator[dict[str, Any]]:
        """The launches from number `first` on."""
        kept = (_Launch * MOST).in_dll(self.library, "launches")
        for number in range(first, self.count("launched")):
            told = kept[number % MOST]
            yield {
                "kernel": told.name.decode(),
                "image": told.image,
                "grid": [*told.grid],
                "block": [*told.block],
                "shared": told.shared,
                "stream": told.stream,
                "attributes": [(a.id, a.value[0]) for a in told.attribute[: told.attributes]],
                "parameters": bytes(told.parameters[: told.bytes]).hex(),
            }


def sizes_of(cubin: Any) -> list[int]:
    """The bytes of each parameter of a package's cubin; two addresses of scratch memory come last."""
    sizes: list[int] = []
    for name, kind, _ in cubin.kernel.parameters:
        if name in cubin.ones:
            continue
        if kind.startswith("tensordesc"):
            rank = kind.count(",") + 1
            sizes += [128, *[4] * rank, *[8] * rank]
        else:
            sizes.append(8 if kind.startswith("*") else {"i1": 1, "i32": 4, "u32": 4, "fp32": 4}.get(kind, 8))
    return [*sizes, 8, 8]
