"""`tl`: the operations of triton.language that kernels use, on Python numbers and torch tensors."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from . import arith, ops_atomic, ops_barrier, ops_block, ops_memory, ops_random, ops_reduce, ops_tma, ptx
from .addresses import addresses
from .arith import Pointer, PointerType, scalar
from .findings import KernelFault, UnsupportedOp
from .machine import machine
from .ops_descriptor import DeviceDescriptor, make_tensor_descriptor


class PropagateNan:
    """Values for `propagate_nan`."""

    ALL = "all"
    NONE = "none"


def _elementwise(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], Any]:
    """An elementwise function of tensors, and of scalars as float32."""

    def operation(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return function(x)
        return scalar(function(torch.tensor(float(x))))

    return operation


# The program and its loops.


def program_id(axis: int) -> int:
    return machine().worker.cta.program[axis]


def num_programs(axis: int) -> int:
    return machine().worker.cta.grid[axis]


def range_(*bounds: Any, **options: Any) -> Iterable[int]:
    """`tl.range` and `tl.static_range`. Bounds are scalars, and options are hints."""
    steps = builtins.range(*map(int, bounds))
    return map(arith.Int64, steps) if any(isinstance(b, arith.Int64) for b in bounds) else steps


def device_print(prefix: str, *values: Any, hex: bool = False) -> None:
    """Prints values behind the name of the task: one line for all threads of the task."""
    m = machine()
    m.here()
    said = [str(v.tolist() if torch.is_tensor(v) and v.numel() == 1 else v) for v in values]
    print(f"{m.worker.name}: {prefix}", *said)


def static_assert(condition: Any, message: str = "") -> None:
    if not condition:
        raise KernelFault(f"tl.static_assert: {message}")


def device_assert(condition: Any, message: str = "", mask: Any = None) -> None:
    """Stops the run if the condition is false where the mask, if there is one, is true."""
    wrong = ~torch.as_tensor(condition, dtype=torch.bool)
    if mask is not None:
        wrong = wrong & torch.as_tensor(mask)
    if bool(wrong.any()):
        raise KernelFault(f"tl.device_assert: {message}")


def assume(condition: Any) -> None:
    if not condition:
        raise KernelFault("tl.assume of what is false")


def nothing(*_: Any, **options: Any) -> None:
    """Prints, and permissions for the next launch to start. They have no effect."""


def gdc_wait() -> None:
    """Waits for the end of the preceding launch, under `launch_pdl`."""
    m = machine()
    m.here()
    m.await_grid()


def debug_barrier() -> None:
    """Waits for all warps of the task."""
    machine().worker.rendezvous()


def hint(value: Any, values: Any = None) -> Any:
    """`tl.multiple_of` and similar hints."""
    return value


# Making and shaping tensors.


def cdiv(a: Any, b: Any) -> Any:
    return arith.floordiv(arith.add(a, arith.sub(b, 1)), b)


def arange(start: int, end: int) -> torch.Tensor:
    if (end - start) & (end - start - 1) or end <= start:
        raise KernelFault(f"tl.arange({start}, {end}): the length must be a power of two")
    return torch.arange(start, end, dtype=torch.int32)


def zeros(shape: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(_shape(shape), dtype=dtype)


def zeros_like(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)


def full(shape: Any, value: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.full(_shape(shape), value, dtype=dtype)


def reshape(x: Any, *shape: Any, can_reorder: bool = False) -> Any:
    return scalar(torch.as_tensor(x).reshape(_shape(*shape)))


def ravel(x: torch.Tensor, can_reorder: bool = False) -> torch.Tensor:
    return x.reshape(-1)


def permute(x: torch.Tensor, *order: Any) -> torch.Tensor:
    return x.permute(_shape(*order))


def trans(x: torch.Tensor, *order: Any) -> torch.Tensor:
    return x.permute(_shape(*order)) if order else x.mT


def split(x: torch.Tensor) -> tuple[Any, Any]:
    if x.shape[-1] != 2:
        raise KernelFault(f"tl.split of shape {tuple(x.shape)}: the last dimension must be 2")
    return scalar(x[..., 0]), scalar(x[..., 1])


def join(a: Any, b: Any) -> torch.Tensor:
    return torch.stack(torch.broadcast_tensors(*arith.same(a, b)), dim=-1)


def interleave(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return join(a, b).flatten(-2)


def cat(a: torch.Tensor, b: torch.Tensor, can_reorder: bool = False, dim: int = 0) -> torch.Tensor:
    return torch.cat((a, b), dim=dim)


def flip(x: torch.Tensor, dim: int | None = None) -> torch.Tensor:
    return x.flip(-1 if dim is None else dim)


def gather(src: torch.Tensor, index: torch.Tensor, axis: int) -> torch.Tensor:
    return src.gather(axis, index.to(torch.int64))


def broadcast_to(x: Any, *shape: Any) -> torch.Tensor:
    return torch.as_tensor(x).broadcast_to(_shape(*shape))


def broadcast(a: Any, b: Any) -> tuple[torch.Tensor, ...]:
    return tuple(torch.broadcast_tensors(torch.as_tensor(a), torch.as_tensor(b)))


def expand_dims(x: Any, axis: Any) -> torch.Tensor:
    """Adds one axis or several, given as axes of the result."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    x = torch.as_tensor(x)
    rank = x.dim() + len(axes)
    for at in sorted(a % rank for a in axes):
        x = x.unsqueeze(at)
    return x


def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    """The new indices of (i, j), with rows in groups of `size_g`, and column after column in each group."""
    index = arith.add(arith.mul(i, size_j), j)
    group = arith.mul(size_g, size_j)
    first = arith.mul(arith.floordiv(index, group), size_g)
    rows = arith.minimum(arith.sub(size_i, first), size_g)
    index = arith.mod(index, group)
    return arith.add(first, arith.mod(index, rows)), arith.floordiv(index, rows)


# Element by element.


def maximum(a: Any, b: Any, propagate_nan: str = PropagateNan.NONE) -> Any:
    if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
        return max(a, b)
    a, b = arith.same(a, b)
    return torch.maximum(a, b) if propagate_nan == PropagateNan.ALL else torch.fmax(a, b)


def minimum(a: Any, b: Any, propagate_nan: str = PropagateNan.NONE) -> Any:
    if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
        return min(a, b)
    a, b = arith.same(a, b)
    return torch.minimum(a, b) if propagate_nan == PropagateNan.ALL else torch.fmin(a, b)


def clamp(x: Any, min: Any, max: Any, propagate_nan: str = PropagateNan.NONE) -> Any:
    return minimum(maximum(x, min, propagate_nan), max, propagate_nan)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`tl.where`. A scalar takes the type of a tensor operand; two scalars are int32 or float32."""
    if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
        whole = isinstance(a, int) and isinstance(b, int)
        wide = isinstance(a, arith.Int64) or isinstance(b, arith.Int64)
        dtype = (torch.int64 if wide else torch.int32) if whole else torch.float32
        a = torch.tensor(a, dtype=dtype)
    return scalar(torch.where(torch.as_tensor(condition, dtype=torch.bool), *arith.same(a, b)))


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""
    a, b, c = map(torch.as_tensor, (a, b, c))
    return scalar(ptx.fma(a, b, c) if a.dtype == torch.float32 else a * b + c)


def umulhi(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The upper 32 bits of the product of two unsigned 32-bit integers."""
    wide = [torch.as_tensor(x).to(torch.int64) & 0xFFFFFFFF for x in (a, b)]
    low = [x & 0xFFFF for x in wide]
    high = [x >> 16 for x in wide]
    middle = high[0] * low[1] + (low[0] * low[1] >> 16)
    result = high[0] * high[1] + (middle >> 16) + ((middle & 0xFFFF) + low[0] * high[1] >> 16)
    return result.to(torch.as_tensor(a).dtype)


def inline_asm_elementwise(
    asm: str, constraints: str, args: Sequence[Any], dtype: Any, is_pure: bool, pack: int, **options: Any
) -> Any:
    """PTX for `pack` elements of each argument at a time. `dtype` is a type, or a tuple with a type for each result."""
    machine().here()
    if any(isinstance(x, Pointer) for x in args):
        tensors: Sequence[Any] = [x if isinstance(x, Pointer) else _as_argument(x) for x in args]
    else:
        tensors = torch.broadcast_tensors(*(_as_argument(x) for x in args)) if args else ()
    dtypes = [dtype] if isinstance(dtype, torch.dtype) else list(dtype)
    made = [
        scalar(x)
        for x in ptx.elementwise(asm, constraints, tensors, dtypes, pack, _EFFECTS, (*ops_atomic.PTX, *_PLAIN))
    ]
    return made[0] if isinstance(dtype, torch.dtype) else tuple(made)


_EFFECTS: dict[str, ptx.Effect] = {
    "barrier.cluster.arrive.relaxed.aligned": ops_barrier.cluster_arrive_relaxed,
    "barrier.cluster.wait.aligned": ops_barrier.cluster_wait,
    "cp.async.bulk.wait_group": ops_tma.bulk_wait_group,
    "fence.proxy.async": ops_memory.fence_async_shared,
    "nanosleep.u32": nothing,
}


# Accesses of inline PTX that are those of tl.store.
_PLAIN: tuple[tuple[str, Any], ...] = (
    (r"st(?:\.weak)?\.global\.[busf]32", lambda found, pointer, value: store(pointer, value)),
)


def _as_argument(x: Any) -> torch.Tensor:
    if isinstance(x, torch.Tensor):
        return x
    kind = torch.float32 if isinstance(x, float) else torch.int64 if isinstance(x, arith.Int64) else torch.int32
    return torch.tensor(x, dtype=kind)


def dot(a: torch.Tensor, b: torch.Tensor, acc: Any = None, input_precision: Any = None, allow_tf32: Any = None,
        max_num_imprecise_acc: Any = None, out_dtype: torch.dtype = torch.float32) -> torch.Tensor:  # fmt: skip
    """A @ B (+ acc), complete when it returns. Products are exact and summed in float32."""
    if a.dim() != b.dim() or a.shape[-1] != b.shape[-2] or a.dtype != b.dtype:
        raise KernelFault(f"tl.dot of {tuple(a.shape)} {a.dtype} and {tuple(b.shape)} {b.dtype}")
    machine().worker.rendezvous()
    if not a.is_floating_point():
        product = torch.matmul(a.to(torch.int32), b.to(torch.int32))
        return product if acc is None else product + acc
    product = torch.matmul(a.float(), b.float())
    return (product if acc is None else product + acc).to(out_dtype)


# Memory.


def load(
    pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (), padding_option: Any = "",
    **options: Any,
) -> Any:  # fmt: skip
    """A tensor, or a scalar from one pointer."""
    m = machine()
    if isinstance(pointer, ops_block.BlockPointer):
        pointer, mask = pointer.pointers(boundary_check)
        other = {"zero": 0, "nan": float("nan")}.get(padding_option)
    at, kept = addresses(pointer, mask, "tl.load")
    m.memory.observe(pointer.flat, at[kept], m.worker.cta.number, m.here())
    values = pointer.flat[at.clamp(0, pointer.flat.numel() - 1)]
    # Without `other`, masked elements have any value. NaN shows whether that matters.
    fill = other if other is not None else (float("nan") if values.is_floating_point() else -1)
    return scalar(torch.where(kept, values, torch.as_tensor(fill).to(values.dtype)))


def store(pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), **options: Any) -> None:
    if isinstance(pointer, ops_block.BlockPointer):
        pointer, mask = pointer.pointers(boundary_check)
    at, kept = addresses(pointer, mask, "tl.store")
    values = torch.as_tensor(value).to(pointer.dtype).broadcast_to(at.shape)
    m = machine()
    m.memory.record(pointer.flat, at[kept], m.worker.cta.number, m.here(), values=values[kept])
    pointer.flat[at[kept]] = values[kept]


def new_descriptor(
    base: Pointer,
    shape: Sequence[int],
    strides: Sequence[int],
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> DeviceDescriptor:
    """`tl.make_tensor_descriptor`."""
    return make_tensor_descriptor(None, base, shape, strides, block_shape, padding_option)


def _shape(*shape: Any) -> tuple[int, ...]:
    """A shape from separate numbers, or from one tuple, list or number."""
    many = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return tuple(int(n) for n in many)


_OPS: dict[str, Any] = {
    f.__name__.rstrip("_"): f
    for f in (
        program_id, num_programs, range_, static_assert, device_assert, assume, debug_barrier, cdiv, arange, zeros,
        zeros_like, full, reshape, ravel, permute, trans, split, join, interleave, cat, flip, gather, broadcast_to,
        broadcast, expand_dims, swizzle2d, maximum, minimum, clamp, where, fma, umulhi, inline_asm_elementwise, dot,
        load, store, ops_reduce.sum, ops_reduce.max, ops_reduce.min, ops_reduce.argmax, ops_reduce.argmin,
        ops_reduce.xor_sum, ops_reduce.reduce_or, ops_reduce.reduce, ops_reduce.map_elementwise,
        ops_atomic.atomic_add, ops_atomic.atomic_max, ops_atomic.atomic_min, ops_atomic.atomic_and,
        ops_atomic.atomic_or, ops_atomic.atomic_xor, ops_atomic.atomic_xchg, ops_atomic.atomic_cas,
        ops_random.randint,
    )
} | {
    "static_range": range_, "device_print": device_print, "static_print": print, "multiple_of": hint,
    "max_contiguous": hint, "max_constancy": hint, "view": reshape, "cast": arith.to, "to": arith.to,
    "fdiv": arith.div, "div_rn": arith.div,
    "gdc_wait": gdc_wait, "gdc_launch_dependents": nothing,
    "make_tensor_descriptor": new_descriptor, "make_block_ptr": ops_block.make_block_ptr,
    "advance": ops_block.advance, "pointer_type": PointerType,
}  # fmt: skip
for _name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "sigmoid", "abs", "floor", "ceil"):
    _OPS[_name] = _elementwise(getattr(torch, _name))
_OPS["sqrt_rn"] = _OPS["sqrt"]
# Methods of Triton's tensors and scalars that torch's do not have, or have with another meaning.
METHODS = {
    "abs", "argmax", "argmin", "broadcast_to", "cast", "cdiv", "ceil", "cos", "dot", "erf", "exp", "exp2",
    "expand_dims", "flip", "floor", "gather", "log", "log2", "max", "min", "permute", "ravel", "reduce",
    "reduce_or", "reshape", "rsqrt", "sigmoid", "sin", "split", "sqrt", "sum", "trans", "view", "xor_sum",
    "atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min", "atomic_or", "atomic_xchg", "atomic_xor",
}  # fmt: skip


class Language:
    """The module `tl` of a simulated kernel. An unknown name is an error that names it."""

    PropagateNan = PropagateNan
    float8e4nv, float8e5 = torch.float8_e4m3fn, torch.float8_e5m2
    float16, bfloat16, float32, float64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
    int1, int8, int16, int32, int64 = torch.bool, torch.int8, torch.int16, torch.int32, torch.int64
    uint8, uint16, uint32, uint64 = torch.uint8, torch.uint16, torch.uint32, torch.uint64

    @staticmethod
    def constexpr(value: Any) -> Any:
        """Returns the value, since constants are plain Python values here."""
        return value

    @property
    def math(self) -> Language:
        """`tl.math`: the same names."""
        return self

    @property
    def extra(self) -> Language:
        """`tl.extra`."""
        return self

    @property
    def cuda(self) -> Language:
        """`tl.extra.cuda`: the same names."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in _OPS:
            raise UnsupportedOp(f"tl.{name}", machine().here())
        return _OPS[name]


def call(name: str, value: Any, *arguments: Any, **options: Any) -> Any:
    """`value.name(...)`: tl's operation when `value` is a tensor, a number or a pointer of the kernel."""
    if isinstance(value, (torch.Tensor, int, float, Pointer)):
        return _OPS[name](value, *arguments, **options)
    return getattr(value, name)(*arguments, **options)
