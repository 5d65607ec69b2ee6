"""Gradients that host code defines, inside of a session. torch calls them from its own loop, where no tensor says that
it is on a GPU and no mode is active; this gives them both."""

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
    """While it lasts, the `backward` of every torch.autograd.Function runs in a mode of its own, on tensors that say
    they are on a GPU: the gradients that come, and those that have been saved."""
    plain = BackwardCFunction.apply

    def apply(function: Any, *gradients: Any) -> Any:
        given = function._forward_cls
        if given.backward is torch.autograd.Function.backward:  # it defines vjp, or nothing
            return plain(function, *gradients)
        with torch._C._EnableTorchFunction(), mode():
            return given.backward(_Context(function), *map(_there, gradients))

    with mock.patch.object(BackwardCFunction, "apply", apply):
        yield


class _Context:
    """The `ctx` of a gradient, whose saved tensors say that they are on a GPU."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return tuple(map(_there, self._context.saved_tensors))


def _there(value: Any) -> Any:
    return value.as_subclass(CudaLike) if isinstance(value, torch.Tensor) else value
