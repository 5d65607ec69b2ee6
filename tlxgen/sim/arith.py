"""Arithmetic as the GPU does it: int32 that wraps, C's division and remainder; pointers.

Scalars are Python ints, tensors torch's. A Python int stands for an int32; what `.to(tl.int64)` gives is an Int64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from .findings import KernelFault


class Int64(int):
    """A scalar of 64 bits."""


def _wrapped(value: int, *operands: Any) -> int:
    if any(isinstance(x, Int64) for x in operands):
        return Int64((value + (1 << 63)) % (1 << 64) - (1 << 63))
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _binary(name: str, on_ints: Callable[[int, int], int], otherwise: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def operation(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return _wrapped(on_ints(a, b), a, b)
        return otherwise(a, b)

    operation.__name__ = name
    return operation


def _truncated(a: int, b: int) -> int:
    if b == 0:
        raise KernelFault("an integer is divided by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        raise KernelFault("// of floating-point numbers")
    return torch.div(a, b, rounding_mode="trunc")


def _remainder(a: Any, b: Any) -> Any:
    return torch.fmod(a, b) if isinstance(a, torch.Tensor) else torch.fmod(torch.as_tensor(a), b)


add = _binary("add", operator.add, operator.add)
sub = _binary("sub", operator.sub, operator.sub)
mul = _binary("mul", operator.mul, operator.mul)
floordiv = _binary("floordiv", _truncated, _divide)
mod = _binary("mod", lambda a, b: a - _truncated(a, b) * b, _remainder)
lshift = _binary("lshift", lambda a, b: a << b if b < 64 else 0, operator.lshift)
rshift = _binary("rshift", operator.rshift, operator.rshift)


def to(value: Any, dtype: Any, **options: Any) -> Any:
    """`value.to(dtype)` for scalars too."""
    if isinstance(value, int):
        if dtype == torch.int64:
            return Int64(value)
        return float(value) if dtype.is_floating_point else _wrapped(value)
    return torch.tensor(value, dtype=dtype) if isinstance(value, float) else value.to(dtype)


def minimum(*values: Any) -> Any:
    """`min` of scalars or tensors."""
    return _fold(values, torch.minimum, min)


def maximum(*values: Any) -> Any:
    """`max` of scalars or tensors."""
    return _fold(values, torch.maximum, max)


def _fold(values: tuple[Any, ...], on_tensors: Callable[..., Any], on_scalars: Callable[..., Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        if isinstance(result, torch.Tensor) or isinstance(value, torch.Tensor):
            result, value = same(result, value)
            result = on_tensors(result, value)
        else:
            result = on_scalars(result, value)
    return result


def same(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors of one type, from a tensor and a scalar in either order."""
    dtype = a.dtype if isinstance(a, torch.Tensor) and a.dim() else getattr(b, "dtype", None)
    return torch.as_tensor(a, dtype=dtype), torch.as_tensor(b, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Pointer:
    """A tensor's first element, or, after arithmetic, a block of pointers into the tensor's storage."""

    flat: torch.Tensor
    at: Any  # int or int64 tensor: indices into `flat`
    extent: tuple[int, int]  # the tensor's first index in `flat`, and the one after its last

    @property
    def dtype(self) -> torch.dtype:
        return self.flat.dtype

    def __add__(self, offset: Any) -> Pointer:
        return replace(self, at=self.at + offset)

    def __radd__(self, offset: Any) -> Pointer:
        return replace(self, at=self.at + offset)

    def __sub__(self, offset: Any) -> Pointer:
        return replace(self, at=self.at - offset)

    def __getitem__(self, index: Any) -> Pointer:
        return replace(self, at=self.at[index])
