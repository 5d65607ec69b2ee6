"""Tensors that say they are on a GPU: the short way of facts, beside torch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tlxgen.cudalike import _FACTS, DEVICE, CudaLike

ASKED: tuple[Callable[[torch.Tensor], Any], ...] = (
    lambda t: t.shape, lambda t: t.dtype, lambda t: t.requires_grad, lambda t: t.size(), lambda t: t.size(1),
    lambda t: t.stride(), lambda t: t.stride(0), lambda t: t.dim(), lambda t: t.numel(), lambda t: t.element_size(),
    lambda t: t.data_ptr(), lambda t: t.storage_offset(), lambda t: t.is_contiguous(),
)  # fmt: skip


@pytest.mark.parametrize("ask", ASKED)
def test_a_fact_is_that_of_the_plain_tensor(
    ask: Callable[[torch.Tensor], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = torch.zeros(6, 4)[1::2, 1:]
    like = plain.as_subclass(CudaLike)
    assert ask(like) == ask(plain) and type(ask(like)) is type(ask(plain))
    monkeypatch.setattr(torch.Tensor, "__torch_function__", None)  # the long way
    assert ask(like) == ask(plain)


def test_what_makes_a_tensor_makes_one_on_the_gpu() -> None:
    like = torch.zeros(4, 4).as_subclass(CudaLike)
    made = (like + 1, like[1:], like.reshape(16), *like.split(2), like.clone())
    assert all(isinstance(m, CudaLike) and m.device == DEVICE and m.is_cuda for m in made)
    assert torch.Tensor.shape.__get__ in _FACTS and torch.Tensor.clone not in _FACTS
