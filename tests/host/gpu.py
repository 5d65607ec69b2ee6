"""What a launch needs of Triton and of torch, without a GPU: tensors on the CPU; a driver, kernels that take notes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

HANDLE = 4711  # of every compiled kernel
DEVICE = SimpleNamespace(index=0)  # empty_strided is told the CPU instead


class Compiled:
    """What Triton makes of a kernel. Its code is unloaded with it."""

    def __init__(self, descriptors: int, unload: Callable[[], None], scratch: int = 0) -> None:
        self.function, self.packed_metadata, self.unload = HANDLE, "packed", unload
        self.run = SimpleNamespace(
            launch_cooperative_grid=False, launch_pdl=True, arg_annotations="annotations", kernel_signature="signature"
        )
        self.metadata = SimpleNamespace(
            tensordesc_meta=[{"of": i} for i in range(descriptors)], global_scratch_size=scratch, profile_scratch_size=0
        )

    def __del__(self) -> None:
        self.unload()


@dataclass
class Kernel:
    """A jitted kernel with its cache of one entry, into which another thread may put what it has compiled."""

    descriptors: int = 0
    scratch: int = 0
    hooked: bool = False  # another has taken over the launch
    launches: list[tuple[Any, ...]] = field(default_factory=list)  # through Triton
    unloaded: int = 0
    cache: Compiled | None = None

    def compile(self) -> None:
        self.cache = Compiled(self.descriptors, self.unload, self.scratch)

    def unload(self) -> None:
        self.unloaded += 1

    def __getitem__(self, grid: Any) -> Callable[..., Compiled | None]:
        def launch(*arguments: Any, **options: Any) -> Compiled | None:
            if self.cache is None:
                self.compile()
            self.launches.append((grid, arguments, options))
            return None if self.hooked else self.cache

        return launch


class Gpu:
    """The notes: what Triton's launcher was told, which descriptors were encoded, how tensors were made."""

    def __init__(self, host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.encoded: list[Any] = []
        self.made: list[tuple[Any, ...]] = []
        self.asked: list[bool] = []  # for a context, which a thread may not have yet
        self.stream, self.current, self.entered = 7, 0, list[Any]()
        utils = SimpleNamespace(
            launch=lambda *told: self.told.append(told), get_current_device=lambda: self.asked.append(True)
        )
        active = SimpleNamespace(
            utils=utils, get_current_stream=lambda index: self.stream, get_current_device=lambda: self.current
        )
        monkeypatch.setattr(host.Launch, "compiled_before", {})
        monkeypatch.setattr(host, "driver", SimpleNamespace(active=active))
        monkeypatch.setattr(host, "make_tensordesc_arg", self.encode)
        monkeypatch.setattr(host, "empty_cuda", self.empty)
        monkeypatch.setattr(host, "_empty", lambda device, *what: torch.empty_strided(what[0], what[1], dtype=what[2]))
        monkeypatch.setattr(torch.cuda, "device", self.enter)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: self.current)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)

    @contextlib.contextmanager
    def enter(self, device: Any) -> Any:
        self.entered.append(device)
        yield

    def encode(self, described: Any, meta: Any, base: Any) -> list[Any]:
        self.encoded.append(described)
        return [("encoded", described, meta["of"])]

    def empty(self, shape: Any, stride: Any, dtype: torch.dtype) -> Any:
        self.made.append((shape, stride, dtype))
        return torch.empty_strided(shape, stride, dtype=dtype)
