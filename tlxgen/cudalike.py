"""Tensors that claim to be on a GPU, for host functions that check it. It imports torch and nothing of tlxgen."""

from __future__ import annotations

from typing import Any

import torch

DEVICE = torch.device("cuda", 0)
# Attributes of tensors that make no tensor. Host functions read little else, and often.
_FACTS = {
    torch.Tensor.shape.__get__, torch.Tensor.dtype.__get__, torch.Tensor.requires_grad.__get__,
    torch.Tensor.size, torch.Tensor.stride, torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.element_size,
    torch.Tensor.data_ptr, torch.Tensor.storage_offset, torch.Tensor.is_contiguous,
}  # fmt: skip


class CudaLike(torch.Tensor):  # type: ignore[misc]
    """A tensor that claims to be on `cuda:0`, wherever it is."""

    @property
    def device(self) -> torch.device:
        return DEVICE

    def get_device(self) -> int:
        return 0

    @property
    def is_cuda(self) -> bool:
        return True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """As in torch, but for speed the results of plain attributes are not searched for tensors to convert."""
        if func not in _FACTS:
            return super().__torch_function__(func, types, args, kwargs)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))
