"""Calls operators that host code defines with torch.library.custom_op, inside of a session.

torch's dispatcher selects by the real device of tensors, and calls an operator without an active mode. So the
operator's function for a GPU is called directly. An operator whose gradient is needed is called by torch, as autograd
requires it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch._library.custom_ops import CustomOpDef


@contextlib.contextmanager
def direct() -> Iterator[None]:
    """A context in which such operators are called without the dispatcher."""
    plain = CustomOpDef.__call__

    def call(operator: Any, *arguments: Any, **options: Any) -> Any:
        if operator._backward_fn is not None and torch.is_grad_enabled() and _wants_gradient(arguments, options):
            return plain(operator, *arguments, **options)
        functions = operator._backend_fns
        return functions.get("cuda", functions.get(None, operator._init_fn))(*arguments, **options)

    with mock.patch.object(CustomOpDef, "__call__", call):
        yield


def _wants_gradient(arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    given = (*arguments, *options.values())
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in given)
