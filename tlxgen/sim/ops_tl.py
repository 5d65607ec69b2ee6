"""`tl`: the operations of triton.language that kernels use, on Python ints and torch tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import arith, ops_random
from .arith import Pointer
from .findings import KernelFault, UnsupportedOp
from .machine import machine


class PropagateNan:
    """Values for `propagate_nan`."""

    ALL = "all"
    NONE = "none"


class Language:
    """What `tl` is in a simulated kernel. A name that is not here is an error that names it."""

    constexpr = int
    PropagateNan = PropagateNan
    float8e4nv, float8e5 = torch.float8_e4m3fn, torch.float8_e5m2
    float16, bfloat16, float32, float64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
    int1, int8, int16, int32, int64 = torch.bool, torch.int8, torch.int16, torch.int32, torch.int64
    uint8 = torch.uint8

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedOp(f"tl.{name}", machine().here())

    # The program and its loops.

    @staticmethod
    def program_id(axis: int) -> int:
        return machine().worker.cta.program[axis]

    @staticmethod
    def num_programs(axis: int) -> int:
        return machine().worker.cta.grid[axis]

    @staticmethod
    def range(*bounds: int, **options: Any) -> Sequence[int]:
        return range(*bounds)

    static_range = range

    @staticmethod
    def static_assert(condition: bool, message: str = "") -> None:
        if not condition:
            raise KernelFault(f"tl.static_assert: {message}")

    @staticmethod
    def assume(condition: bool) -> None:
        if not condition:
            raise KernelFault("tl.assume of what is false")

    @staticmethod
    def multiple_of(value: Any, values: Any) -> Any:
        return value

    max_contiguous = multiple_of

    # Making and shaping tensors.

    @staticmethod
    def cdiv(a: int, b: int) -> int:
        return arith.floordiv(arith.add(a, b - 1), b)  # type: ignore[no-any-return]

    @staticmethod
    def arange(start: int, end: int) -> torch.Tensor:
        if (end - start) & (end - start - 1) or end <= start:
            raise KernelFault(f"tl.arange({start}, {end}): the length must be a power of two")
        return torch.arange(start, end, dtype=torch.int32)

    @staticmethod
    def zeros(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(tuple(shape), dtype=dtype)

    @staticmethod
    def full(shape: Sequence[int], value: float, dtype: torch.dtype) -> torch.Tensor:
        return torch.full(tuple(shape), value, dtype=dtype)

    @staticmethod
    def reshape(x: torch.Tensor, *shape: Any) -> torch.Tensor:
        return x.reshape(_flat(shape))

    @staticmethod
    def permute(x: torch.Tensor, *order: Any) -> torch.Tensor:
        return x.permute(_flat(order))

    @staticmethod
    def trans(x: torch.Tensor, *order: Any) -> torch.Tensor:
        return x.permute(_flat(order)) if order else x.mT

    @staticmethod
    def split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if x.shape[-1] != 2:
            raise KernelFault(f"tl.split of shape {tuple(x.shape)}: the last dimension must be 2")
        return x[..., 0], x[..., 1]

    @staticmethod
    def join(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.stack((a, b), dim=-1)

    @staticmethod
    def broadcast_to(x: torch.Tensor, *shape: Any) -> torch.Tensor:
        return x.broadcast_to(_flat(shape))

    @staticmethod
    def expand_dims(x: torch.Tensor, axis: int) -> torch.Tensor:
        return x.unsqueeze(axis)

    # Element by element, and reductions.

    @staticmethod
    def cast(x: Any, dtype: torch.dtype) -> Any:
        return arith.to(x, dtype)

    @staticmethod
    def maximum(a: Any, b: Any, propagate_nan: str = PropagateNan.NONE) -> Any:
        if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
            return max(a, b)
        a, b = arith.same(a, b)
        return torch.maximum(a, b) if propagate_nan == PropagateNan.ALL else torch.fmax(a, b)

    @staticmethod
    def minimum(a: Any, b: Any, propagate_nan: str = PropagateNan.NONE) -> Any:
        if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
            return min(a, b)
        a, b = arith.same(a, b)
        return torch.minimum(a, b) if propagate_nan == PropagateNan.ALL else torch.fmin(a, b)

    @staticmethod
    def where(condition: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
        return torch.where(condition, a, b)

    exp, exp2, log, sqrt, rsqrt = map(staticmethod, (torch.exp, torch.exp2, torch.log, torch.sqrt, torch.rsqrt))
    erf, sigmoid, abs = map(staticmethod, (torch.erf, torch.sigmoid, torch.abs))

    randint = staticmethod(ops_random.randint)

    @staticmethod
    def sum(x: torch.Tensor, axis: int) -> torch.Tensor:
        return x.sum(dim=axis, dtype=x.dtype)

    @staticmethod
    def max(x: torch.Tensor, axis: int) -> torch.Tensor:
        return x.amax(dim=axis)

    # Memory.

    @staticmethod
    def load(pointer: Pointer, mask: Any = None, other: Any = None, **options: Any) -> torch.Tensor:
        at, kept = addresses(pointer, mask, "tl.load")
        values = pointer.flat[at.clamp(0, pointer.flat.numel() - 1)]
        # Where the mask is false and `other` absent, anything may come: NaN shows whether it matters.
        fill = other if other is not None else (float("nan") if values.is_floating_point() else -1)
        return torch.where(kept, values, torch.as_tensor(fill).to(values.dtype))

    @staticmethod
    def store(pointer: Pointer, value: Any, mask: Any = None, **options: Any) -> None:
        at, kept = addresses(pointer, mask, "tl.store")
        values = torch.as_tensor(value).to(pointer.dtype).broadcast_to(at.shape)
        m = machine()
        m.memory.record(pointer.flat, at[kept], m.worker.cta.number, m.here())
        pointer.flat[at[kept]] = values[kept]


def addresses(pointer: Any, mask: Any, what: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices into the pointers' storage, and which of them the mask keeps; those must lie inside."""
    m = machine()
    place = m.here()
    if not isinstance(pointer, Pointer):
        raise KernelFault(f"{what} of {type(pointer).__name__}")
    at = torch.as_tensor(pointer.at, dtype=torch.int64)
    kept = torch.as_tensor(True if mask is None else mask)
    at, kept = torch.broadcast_tensors(at, kept)
    outside = kept & ((at < 0) | (at >= pointer.flat.numel()))
    if bool(outside.any()):
        text = f"{what} of {int(outside.sum())} elements outside of a tensor of {pointer.flat.numel()}"
        m.findings.stop("out-of-bounds", text, (place,))
    return at, kept


def _flat(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
