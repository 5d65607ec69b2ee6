"""Tensors that claim to be on a GPU but have no memory, so that a host function can run up to its launches.

This module imports torch.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from tlxgen.cudalike import CudaLike

RANDOM = (torch.randn, torch.rand)  # their values do not matter without memory


PLACES: dict[int, int] = {}  # storage -> its number


class OnGpu(CudaLike):
    """A tensor on `meta`. Each storage has an address of its own, 64 GiB from the next, aligned like an allocator's."""

    def data_ptr(self) -> int:
        plain = torch.Tensor.as_subclass(self, torch.Tensor)
        number = PLACES.setdefault(int(plain.untyped_storage()._cdata), len(PLACES) + 1)
        return (number << 36) + int(plain.storage_offset()) * int(plain.element_size())

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Computes with the plain meta tensor, so that torch's own code does not look for a GPU."""
        plain = tree_map_only(cls, lambda t: torch.Tensor.as_subclass(t, torch.Tensor), (args, dict(kwargs or {})))
        with torch._C.DisableTorchFunctionSubclass():
            made = func(*plain[0], **plain[1])
            return tree_map_only(torch.Tensor, lambda t: t.as_subclass(cls), made)


class WithoutMemory(TorchFunctionMode):  # type: ignore[misc]
    """A mode in which every tensor made for a CUDA device is an OnGpu."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is None or torch.device(kwargs["device"]).type != "cuda":
            return func(*args, **kwargs)
        if func in RANDOM:  # on `meta` their imports take a second
            func = torch.empty
        made = func(*args, **{**kwargs, "device": "meta"})
        return made.as_subclass(OnGpu)


def properties(sms: int) -> SimpleNamespace:
    """The properties of a GPU that a host function reads."""
    return SimpleNamespace(multi_processor_count=sms)
