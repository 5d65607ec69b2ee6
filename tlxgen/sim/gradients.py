"""Runs gradients that host code defines inside of a session. torch calls them from its own loop with plain tensors and
without an active mode, so this module adds both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.autograd.function import BackwardCFunction

from tlxgen.cudalike import CudaLike


@contextlib.contextmanager
def on_gpu(mode: Callable[[], contextlib.AbstractContextManager[Any]]) -> Iterator[None]:
    """A context in which the `backward` of every torch.autograd.Function runs in a mode of its own, with incoming
    gradients and saved tensors that claim to be on a GPU."""
    plain = BackwardCFunction.apply

    def apply(function: Any, *gradients: Any) -> Any:
        given = function._forward_cls
        if given.backward is torch.autograd.Function.backward:  # it defines vjp, or no gradient
            return plain(function, *gradients)
        with torch._C._EnableTorchFunction(), mode():
            return given.backward(_Context(function), *map(_there, gradients))

    with mock.patch.object(BackwardCFunction, "apply", apply):
        yield


class _Context:
    """The `ctx` of a gradient. Its saved tensors claim to be on a GPU."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return tuple(map(_there, self._context.saved_tensors))


def _there(value: Any) -> Any:
    return value.as_subclass(CudaLike) if isinstance(value, torch.Tensor) else value
