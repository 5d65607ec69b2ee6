"""Tensors that say they are on a GPU, for host functions that look. LEAF module; imports torch."""

from __future__ import annotations

import torch

DEVICE = torch.device("cuda", 0)


class CudaLike(torch.Tensor):  # type: ignore[misc]
    """A tensor that says it is on `cuda:0`, wherever it lies."""

    @property
    def device(self) -> torch.device:
        return DEVICE

    def get_device(self) -> int:
        return 0

    @property
    def is_cuda(self) -> bool:
        return True
