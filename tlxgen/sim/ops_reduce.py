"""Reductions along an axis, and scalar functions mapped over tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .arith import scalar
from .findings import KernelFault
from .machine import machine

_HALF = (torch.float16, torch.bfloat16)


def _meet(axis: int | None) -> None:
    """Notes that the warps of a task meet if a reduction crosses them, since the compiler then joins them.

    Rows are spread over 4 warps and, in a task of 8 warps, the halves of the first dimension of columns over two
    warpgroups. All other elements are in one thread.
    """
    if axis is None or axis < 2:
        machine().worker.rendezvous()


def _axis(x: torch.Tensor, axis: int | None) -> int | None:
    if axis is None:
        return None
    if not -x.dim() <= axis < x.dim():
        raise KernelFault(f"a reduction along axis {axis} of {tuple(x.shape)}")
    return axis % int(x.dim())


def _laid_out(x: Any, axis: int | None) -> tuple[torch.Tensor, int, int | None]:
    """The tensor, the dimension to reduce, and the axis that was meant. Without an axis the tensor is flattened."""
    x = torch.as_tensor(x)
    axis = _axis(x, axis)
    _meet(axis)
    return (x.flatten(), 0, None) if axis is None else (x, axis, axis)


def _kept(result: torch.Tensor, x: Any, axis: int | None, keep_dims: bool) -> Any:
    if keep_dims:
        return result.unsqueeze(axis) if axis is not None else result.reshape([1] * torch.as_tensor(x).dim())
    return scalar(result)


def sum(x: Any, axis: int | None = None, keep_dims: bool = False, dtype: Any = None, **options: Any) -> Any:
    """`tl.sum`. Small integers are summed as 32 bits, and bfloat16 as float32, unless `dtype` is given."""
    flat, dim, axis = _laid_out(x, axis)
    if dtype is None:
        small = not flat.is_floating_point() and flat.dtype.itemsize < 4
        dtype = torch.int32 if small else torch.float32 if flat.dtype == torch.bfloat16 else flat.dtype
    return _kept(flat.to(dtype).sum(dim=dim, dtype=dtype), x, axis, keep_dims)


def _comparable(x: torch.Tensor) -> torch.Tensor:
    """The values that `tl.max` compares: half precision as float32, small integers as int32."""
    if x.dtype in _HALF:
        return x.float()
    return x.to(torch.int32) if not x.is_floating_point() and x.dtype.itemsize < 4 else x


def _extreme(x: torch.Tensor, dim: int, largest: bool) -> torch.Tensor:
    """The largest or smallest value. NaN is the result only if all values are NaN."""
    reduce = torch.amax if largest else torch.amin
    result = reduce(x, dim=dim)
    if not x.is_floating_point() or not bool(result.isnan().any()):
        return result
    none = float("-inf") if largest else float("inf")
    known = reduce(torch.where(x.isnan(), none, x), dim=dim)
    return torch.where(x.isnan().all(dim=dim), float("nan"), known)


def _minmax(x: Any, axis: int | None, keep_dims: bool, largest: bool, indices: bool) -> Any:
    flat, dim, axis = _laid_out(x, axis)
    flat = _comparable(flat)
    value = _kept(_extreme(flat, dim, largest), x, axis, keep_dims)
    if not indices:
        return value
    where = (torch.argmax if largest else torch.argmin)(flat, dim=dim).to(torch.int32)  # the first of equal values
    return value, _kept(where, x, axis, keep_dims)


def max(x: Any, axis: int | None = None, return_indices: bool = False, return_indices_tie_break_left: bool = True,
        keep_dims: bool = False, **options: Any) -> Any:  # fmt: skip
    """`tl.max`, with the indices if requested."""
    return _minmax(x, axis, keep_dims, largest=True, indices=return_indices)


def min(x: Any, axis: int | None = None, return_indices: bool = False, return_indices_tie_break_left: bool = True,
        keep_dims: bool = False, **options: Any) -> Any:  # fmt: skip
    """`tl.min`, with the indices if requested."""
    return _minmax(x, axis, keep_dims, largest=False, indices=return_indices)


def argmax(x: Any, axis: int, tie_break_left: bool = True, keep_dims: bool = False, **options: Any) -> Any:
    """The index of the largest."""
    return _minmax(x, axis, keep_dims, largest=True, indices=True)[1]


def argmin(x: Any, axis: int, tie_break_left: bool = True, keep_dims: bool = False, **options: Any) -> Any:
    """The index of the smallest."""
    return _minmax(x, axis, keep_dims, largest=False, indices=True)[1]


def xor_sum(x: Any, axis: int | None = None, keep_dims: bool = False) -> Any:
    """The exclusive or of all elements."""
    return reduce(x, axis, torch.bitwise_xor, keep_dims)


def reduce_or(x: Any, axis: int | None = None, keep_dims: bool = False) -> Any:
    """The or of all elements."""
    return reduce(x, axis, torch.bitwise_or, keep_dims)


def reduce(x: Any, axis: int | None, combine_fn: Callable[..., Any], keep_dims: bool = False, **options: Any) -> Any:
    """`tl.reduce` of a tensor or a tuple of tensors. Halves are combined until one element is left."""
    many = isinstance(x, tuple)
    parts = x if many else (x,)
    laid = [_laid_out(part, axis) for part in parts]
    state, dim, kept = [flat for flat, _, _ in laid], laid[0][1], laid[0][2]
    while (length := state[0].shape[dim]) > 1:
        if length % 2:
            raise KernelFault(f"a reduction of {length} elements: no power of two")
        halves = [part.split(length // 2, dim=dim) for part in state]
        made = over_tensors(combine_fn, [h[0] for h in halves] + [h[1] for h in halves])
        state = list(made) if many else [made]
    results = tuple(_kept(part.squeeze(dim), whole, kept, keep_dims) for part, whole in zip(state, parts, strict=True))
    return results if many else results[0]


def map_elementwise(scalar_fn: Callable[..., Any], *arguments: Any, pack: int = 1) -> Any:
    """`scalar_fn` of each element of tensors that broadcast together."""
    if pack != 1:
        raise KernelFault(f"tl.map_elementwise with pack={pack}: the simulator has it for 1")
    return over_tensors(scalar_fn, torch.broadcast_tensors(*map(torch.as_tensor, arguments)))


def over_tensors(function: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
    """Applies a scalar function to tensors of one shape: at once or, if it branches on values, element by element."""
    try:
        return function(*tensors)
    except RuntimeError as error:
        if "ambiguous" not in str(error):
            raise
    rows = [function(*map(scalar, elements)) for elements in zip(*(t.flatten() for t in tensors), strict=True)]
    shape = tensors[0].shape
    if not isinstance(rows[0], tuple):
        return _gathered(rows, tensors[0].dtype, shape)
    types = itertools.cycle(t.dtype for t in tensors)
    return tuple(_gathered(column, dtype, shape) for column, dtype in zip(zip(*rows, strict=True), types, strict=False))


def _gathered(values: Sequence[Any], dtype: torch.dtype, shape: torch.Size) -> torch.Tensor:
    """Collects the results in a tensor. Floats stay floats, since a function may return another type than it takes."""
    plain = [v.item() if isinstance(v, torch.Tensor) else v for v in values]
    if any(isinstance(v, float) for v in plain) and not dtype.is_floating_point:
        dtype = torch.float32
    return torch.tensor(plain, dtype=dtype).reshape(shape)
