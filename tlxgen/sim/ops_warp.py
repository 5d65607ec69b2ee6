"""Operations on the lanes of a warp, thread ids, and stochastic rounding.

The simulator has no threads. Where lanes matter, 32 rows of a tensor are the lanes of a warp. This is the layout of a
load from tensor memory, and the one that kernels with these operations need.
"""

from __future__ import annotations

from typing import Any

import torch

from .arith import Int64, scalar
from .findings import KernelFault
from .machine import machine

_LANES = 32
_REDUX = {"max": torch.amax, "min": torch.amin}
_FORMATS = {torch.float8_e5m2: "e5m2", torch.float8_e4m3fn: "e4m3"}
# type -> (bits of the mantissa, smallest exponent of a normal number, largest number)
_ROUNDED = {
    torch.bfloat16: (7, -126, torch.finfo(torch.bfloat16).max),
    torch.float16: (10, -14, torch.finfo(torch.float16).max),
    torch.float8_e4m3fn: (3, -6, 448.0),
    torch.float8_e5m2: (2, -14, 57344.0),
}


def thread_id(axis: int) -> int:
    """The first thread of the task, since the simulator runs a task as one thread."""
    if axis not in (0, 1, 2):
        raise KernelFault(f"tlx.thread_id({axis})")
    return 0


def clock64() -> Int64:
    """The number of steps of the run, which only grows."""
    return Int64(machine().hub.steps)


def _lanes(x: torch.Tensor, what: str) -> torch.Tensor:
    if not x.dim() or x.shape[0] % _LANES:
        raise KernelFault(f"{what} of shape {tuple(x.shape)}: its first dimension is no multiple of {_LANES} lanes")
    return x.reshape(-1, _LANES, *x.shape[1:])


def vote_ballot_sync(mask: int, pred: Any) -> Any:
    """The predicates of a warp's lanes in `mask`, as bits, for each lane. A scalar is the predicate of all lanes."""
    mask &= 0xFFFFFFFF
    if not isinstance(pred, torch.Tensor):
        return scalar(torch.tensor(mask if pred else 0).to(torch.int32))
    lanes = _lanes(pred != 0, "tlx.vote_ballot_sync")
    weights = torch.tensor([mask & 1 << lane for lane in range(_LANES)]).reshape(1, _LANES, *[1] * (pred.dim() - 1))
    ballot = (lanes * weights).sum(dim=1, keepdim=True)
    return ballot.expand(lanes.shape).reshape(pred.shape).to(torch.int32)


def warp_redux(x: torch.Tensor, op: str) -> torch.Tensor:
    """Replaces each element by the largest or smallest one at its position over the lanes of its warp."""
    kind = op.removeprefix("abs_")
    if kind not in _REDUX:
        raise KernelFault(f"tlx.warp_redux with {op!r}")
    lanes = _lanes(x.abs() if kind != op else x, "tlx.warp_redux")
    return _REDUX[kind](lanes, dim=1, keepdim=True).expand(lanes.shape).reshape(x.shape)


def get_fp8_format_name(dtype: torch.dtype) -> str:
    """The name of an fp8 type that async_dot_scaled accepts."""
    if dtype not in _FORMATS:
        raise KernelFault(f"get_fp8_format_name of {dtype}")
    return _FORMATS[dtype]


def stoch_round(src: Any, dst_ty: torch.dtype, rand_bits: Any) -> Any:
    """Rounds float32 to a smaller type: adds as many random bits as are dropped, then truncates. It saturates.

    The compiler mixes the random bits of 2 or 4 neighbours; here each element has its own.
    """
    x, bits = torch.as_tensor(src, dtype=torch.float32), torch.as_tensor(rand_bits).to(torch.int64)
    if dst_ty not in _ROUNDED or x.shape != bits.shape:
        raise KernelFault(f"tlx.stoch_round of {tuple(x.shape)} to {dst_ty} with bits {tuple(bits.shape)}")
    mantissa, smallest, largest = _ROUNDED[dst_ty]
    magnitude = x.abs().view(torch.int32).to(torch.int64)
    exponent = (magnitude >> 23) - 127
    fraction = torch.where(exponent > -127, magnitude & 0x7FFFFF | 0x800000, magnitude & 0x7FFFFF)
    low = exponent.clamp(min=-126)
    dropped = (23 - mantissa + (smallest - low).clamp(min=0)).clamp(max=31)  # more below the smallest normal number
    kept = fraction + (bits & (1 << dropped) - 1) >> dropped
    value = torch.ldexp(kept.double(), low - 23 + dropped).clamp(max=largest)
    rounded = torch.where(x.isnan(), float("nan"), torch.copysign(value, x.double()))
    return scalar(rounded.float().to(dst_ty))


def no_effect(*_: Any, **options: Any) -> None:
    """Diagnostics of the compiler, which have no effect."""
