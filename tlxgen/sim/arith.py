"""Arithmetic as on the GPU: int32 that wraps, C's division and remainder, unsigned types, and pointers.

Scalars are Python numbers, and tensors are torch's. A Python int is an int32. A Python float is a literal, which takes
the type of the tensor that it is combined with. `.to(tl.int64)` gives an Int64, and computed float32 scalars are Float.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from .findings import KernelFault
from .machine import machine

_UNSIGNED = {torch.uint16: 0xFFFF, torch.uint32: 0xFFFFFFFF}  # torch has no arithmetic for these
_WIDER = {torch.int64, torch.uint64}
_HALF = (torch.float16, torch.bfloat16)


class Int64(int):
    """A scalar of 64 bits."""

    def __neg__(self) -> Int64:
        return Int64(-int(self))

    def __invert__(self) -> Int64:
        return Int64(~int(self))


class Float(float):
    """A float32 scalar of the kernel. Combined with a half-precision tensor it gives float32, unlike a literal."""

    def __new__(cls, value: float) -> Float:
        return super().__new__(cls, _single(value))

    def __neg__(self) -> Float:
        return Float(-float(self))

    def __abs__(self) -> Float:
        return Float(abs(float(self)))


class Scalar:
    """A scalar that can be indexed: `x[None, :]` has a dimension of size 1 for each None, as by tl.expand_dims."""

    def __init__(self, value: Any) -> None:
        dtype = torch.float32 if isinstance(value, float) else torch.int64 if isinstance(value, Int64) else None
        self._value = torch.tensor(value, dtype=dtype or (torch.bool if isinstance(value, bool) else torch.int32))

    def __getitem__(self, index: Any) -> torch.Tensor:
        indices = index if isinstance(index, tuple) else (index,)
        return self._value.reshape([1] * sum(i is None for i in indices))


def ranked(value: Any) -> Any:
    """The value to which an index with None is applied."""
    return Scalar(value) if isinstance(value, (bool, int, float)) else value


def _single(value: float) -> float:
    """The value rounded to float32."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def scalar(value: Any) -> Any:
    """Turns a tensor without dimensions into a Python number, and returns anything else unchanged."""
    if not isinstance(value, torch.Tensor) or value.dim():
        return value
    if value.dtype == torch.float32:
        return Float(value.item())
    if value.dtype == torch.int64:
        return Int64(value.item())
    if value.dtype in (torch.bool, torch.int8, torch.int16, torch.int32, torch.uint8, torch.uint16):
        return value.item()
    return value


def _wrapped(value: int, a: Any = 0, b: Any = 0) -> int:
    """The result of an operation on `a` and `b`, wrapped to their common type."""
    if isinstance(a, Int64) or isinstance(b, Int64):
        return Int64((value + (1 << 63)) % (1 << 64) - (1 << 63))
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _rounded(value: float, a: Any, b: Any) -> float:
    return Float(value) if isinstance(a, Float) or isinstance(b, Float) else value


Operation = Callable[[Any, Any], Any]


def _binary(name: str, on_ints: Operation, on_floats: Operation, on_tensors: Operation) -> Operation:
    def operation(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return _wrapped(on_ints(a, b), a, b)
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return _of_tensors(on_tensors, a, b)
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            return _rounded(on_floats(a, b), a, b)
        return on_floats(a, b)

    operation.__name__ = name
    return operation


def _of_tensors(operation: Operation, a: Any, b: Any) -> Any:
    a, b = _joined(a, b), _joined(b, a)
    mask = _unsigned(a, b)
    if mask is None:
        return operation(a, b)
    dtype = torch.uint32 if mask == _UNSIGNED[torch.uint32] else torch.uint16
    result = operation(_as_long(a), _as_long(b))
    return result if result.dtype == torch.bool else (result & mask).to(dtype)


def _joined(value: Any, other: Any) -> Any:
    """`value` converted to Triton's common type with `other`, where torch's would differ."""
    if not isinstance(value, torch.Tensor):
        return value
    if isinstance(other, Float) and value.dtype in _HALF:
        return value.float()
    if isinstance(other, Int64) and not value.dtype.is_floating_point and value.dtype.itemsize < 8:
        return value.to(torch.int64)
    return value


def _unsigned(a: Any, b: Any) -> int | None:
    """The mask of the common unsigned type of two integers, if torch cannot compute in it; else None."""
    found = None
    for x in (a, b):
        if isinstance(x, torch.Tensor):
            dtype = x.dtype
            if dtype.is_floating_point or dtype in _WIDER:
                return None
            if dtype in _UNSIGNED:
                found = max(found or 0, _UNSIGNED[dtype])
    return found


def _as_long(value: Any) -> Any:
    return value.to(torch.int64) if isinstance(value, torch.Tensor) else value


def _truncated(a: int, b: int) -> int:
    if b == 0:
        raise KernelFault("an integer is divided by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _refuse_floats(a: Any, b: Any) -> Any:
    raise KernelFault("// of floating-point numbers")


def _truncate(a: Any, b: Any) -> Any:
    if any(isinstance(x, float) or isinstance(x, torch.Tensor) and x.is_floating_point() for x in (a, b)):
        _refuse_floats(a, b)
    return torch.div(a, b, rounding_mode="trunc")


def _remainder(a: Any, b: Any) -> Any:
    return torch.fmod(a, b) if isinstance(a, torch.Tensor) else torch.fmod(torch.as_tensor(a, dtype=b.dtype), b)


def _ratio(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a != a or a == 0 else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _quotient(a: Any, b: Any) -> Any:
    """The quotient. Half-precision numbers are divided in float32."""
    a, b = (x.float() if isinstance(x, torch.Tensor) and x.dtype in _HALF else x for x in (a, b))
    return a / b


def _shifted(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def _shift_left(a: Any, b: Any) -> Any:
    """The left shift. Counts of at least the width shift everything out, as in PTX."""
    a, b = _integers(a, b)
    kept = (b >= 0) & (b < 8 * a.dtype.itemsize)
    return torch.where(kept, a << torch.where(kept, b, 0), 0)


def _shift_right(a: Any, b: Any) -> Any:
    a, b = _integers(a, b)
    return a >> b.clamp(0, 8 * a.dtype.itemsize - 1)


def _integers(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Both operands as tensors of one type. A Python int is an int32, or has the other's type if that is wider."""
    dtypes = [x.dtype for x in (a, b) if isinstance(x, torch.Tensor)]
    dtype = torch.int64 if torch.int64 in dtypes or isinstance(a, Int64) or isinstance(b, Int64) else torch.int32
    if len(dtypes) == 2 or isinstance(a, torch.Tensor):
        dtype = torch.promote_types(dtype, dtypes[0]) if isinstance(a, torch.Tensor) and len(dtypes) == 2 else dtypes[0]
    return torch.as_tensor(a, dtype=dtype), torch.as_tensor(b, dtype=dtype)


add = _binary("add", operator.add, operator.add, operator.add)
sub = _binary("sub", operator.sub, operator.sub, operator.sub)
mul = _binary("mul", operator.mul, operator.mul, operator.mul)
floordiv = _binary("floordiv", _truncated, _refuse_floats, _truncate)
mod = _binary("mod", lambda a, b: a - _truncated(a, b) * b, math.fmod, _remainder)
lshift = _binary("lshift", _shifted, operator.lshift, _shift_left)
rshift = _binary("rshift", lambda a, b: a >> min(b, 63), operator.rshift, _shift_right)


def div(a: Any, b: Any) -> Any:
    """`a / b`, also for integers."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return _of_tensors(_quotient, a, b)
    return _rounded(_ratio(a, b), a, b)


def _bitwise(on_both: Operation) -> Operation:
    def operation(a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return _of_tensors(on_both, a, b)
        result = on_both(a, b)
        return Int64(result) if isinstance(a, Int64) or isinstance(b, Int64) else result

    return operation


bitand, bitor, bitxor = _bitwise(operator.and_), _bitwise(operator.or_), _bitwise(operator.xor)


def _comparison(on_both: Operation) -> Operation:
    def operation(a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return _of_tensors(on_both, a, b)
        return on_both(a, b)

    return operation


eq, ne = _comparison(operator.eq), _comparison(operator.ne)
lt, le = _comparison(operator.lt), _comparison(operator.le)
gt, ge = _comparison(operator.gt), _comparison(operator.ge)
_FP8_LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


def to(value: Any, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Any:
    """`value.to(dtype)`, also for scalars. Floats become integers toward zero; fp8 saturates; `bitcast` keeps bits."""
    if isinstance(dtype, PointerType):  # an integer as a pointer is an address
        flat, index = machine().memory.find(int(value), dtype.element_ty, machine().here())
        return Pointer(flat, index, (0, flat.numel()))
    if fp_downcast_rounding not in (None, "rtne", "rtz"):
        raise KernelFault(f"fp_downcast_rounding {fp_downcast_rounding!r}")
    if isinstance(value, torch.Tensor):
        return value.view(dtype) if bitcast else _cast(value, dtype, fp_downcast_rounding == "rtz")
    if isinstance(value, (int, float)) and not bitcast:
        return _cast_scalar(value, dtype)
    if isinstance(value, (int, float)):
        kind = torch.int64 if isinstance(value, Int64) else torch.int32 if isinstance(value, int) else torch.float32
        return scalar(torch.tensor(value, dtype=kind).view(dtype))
    return value.to(dtype)


def _cast(value: torch.Tensor, dtype: torch.dtype, toward_zero: bool) -> torch.Tensor:
    if toward_zero and dtype in _HALF and value.dtype == torch.float32:
        return _truncated_to(value, dtype)
    if dtype in _FP8_LARGEST and value.is_floating_point():
        # PTX converts to fp8 only with satfinite: too large values and infinities become the largest number
        return value.clamp(-_FP8_LARGEST[dtype], _FP8_LARGEST[dtype]).to(dtype)
    return value.to(dtype)


def _truncated_to(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Rounds float32 to a half-precision type toward zero: to the nearest, or the one before it if that is larger."""
    near = value.to(dtype)
    return torch.where(near.float().abs() > value.abs(), (near.view(torch.int16) - 1).view(dtype), near)


def _cast_scalar(value: int | float, dtype: torch.dtype) -> Any:
    if dtype == torch.bool:
        return value != 0
    if dtype == torch.int64:
        return Int64(int(value))
    if dtype == torch.int32:
        return _wrapped(int(value))
    if dtype == torch.float32:
        return Float(value)
    return scalar(_cast(torch.tensor(value), dtype, False))


def minimum(*values: Any) -> Any:
    """`min` of scalars or tensors."""
    return _fold(values, torch.fmin, min)


def maximum(*values: Any) -> Any:
    """`max` of scalars or tensors."""
    return _fold(values, torch.fmax, max)


def _fold(values: tuple[Any, ...], on_tensors: Callable[..., Any], on_scalars: Callable[..., Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        if isinstance(result, torch.Tensor) or isinstance(value, torch.Tensor):
            result = on_tensors(*same(result, value))
        else:
            result = on_scalars(result, value)
    return result


def same(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Converts two tensors, or a tensor and a scalar in either order, to tensors of one type."""
    a, b = _joined(a, b), _joined(b, a)
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a, b
    known = a.dtype if isinstance(a, torch.Tensor) else b.dtype
    if not known.is_floating_point and (isinstance(a, float) or isinstance(b, float)):
        known = torch.float32
    return torch.as_tensor(a, dtype=known), torch.as_tensor(b, dtype=known)


@dataclass(frozen=True)
class PointerType:
    """`tl.pointer_type(element_ty)`."""

    element_ty: torch.dtype


@dataclass(frozen=True, eq=False)
class Pointer:
    """The address of a tensor's first element or, after arithmetic, a block of pointers into the tensor's storage."""

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
