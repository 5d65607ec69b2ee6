"""A GEMM problem with numbers in it: inputs, reference and tolerance.

Imports torch; the rest of the family does not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any
from unittest import mock

import torch

from tlxgen.arch import DTYPES, DType, Sm100
from tlxgen.coverage import Waiver
from tlxgen.families.kit.unseen import GRID, SPIN

from .spec import GemmSpec

GAP = 64  # elements of NaN after each row of what a kernel writes, where the shape allows it

Shape = tuple[int, int, int]
Tensors = dict[str, torch.Tensor]

# Aligned, ragged, and smaller than a tile; K tiles fewer than stages; up to a few tiles a CTA on 132 SMs.
SHAPES: tuple[Shape, ...] = (
    (256, 512, 256),
    (2048, 1024, 512),
    (1, 1, 8),
    (1, 264, 40),
    (300, 1, 72),
    (77, 129, 200),
    (129, 257, 64),
    (65, 136, 77),
    (130, 72, 33),
    (640, 1032, 1000),
    (1000, 1111, 520),
    (2600, 2700, 96),
)


def shapes(spec: GemmSpec) -> tuple[Shape, ...]:
    """The shapes to check: the spec's own, and those that catch the usual faults."""
    own = tuple((int(m), int(n), int(k)) for m, n, k in spec.check.shapes)
    return tuple(dict.fromkeys(_runnable(spec, shape) for shape in (*own, *SHAPES)))


def _runnable(spec: GemmSpec, shape: Shape) -> Shape:
    """The shape, with K as the spec's operands can have it: a multiple of 32 where they have MX scales, of 128 where
    fp4 meets fp8."""
    m, n, k = shape
    if spec.problem.scaling == "none":
        return shape
    a, b = (DTYPES[o.dtype].values for o in (spec.problem.a, spec.problem.b))
    step = Sm100.mx_block if a == b else Sm100.padded_k
    return m, n, (k + step - 1) // step * step


def simulated_shapes(spec: GemmSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs at once on `sms` SMs: one element of C; ragged ones of some tiles a CTA, K shorter than
    a tile and longer than the ring, of each part too; and whole tiles, in two groups of tile rows. The tile's sizes
    come from the config, or are what bakes them in usually has."""
    m, n, k = (constants.get(f"BLOCK_{axis}", size) for axis, size in (("M", 128), ("N", 128), ("K", 64)))
    stages, parts = constants.get("STAGES", 4), constants.get("SPLIT_K", 1)
    columns = max(2, (2 if n < 256 else 1) * sms // parts)  # of tiles: parts of K are work for the CTAs, too
    yield _runnable(spec, (1, 1, k))
    yield _runnable(spec, (3 * m - 3, n + 8, k + k // 2))
    share = min(parts, 2) * spec.cluster.k  # of K, that a CTA has, so many times its own
    yield _runnable(spec, (m + 1, columns * n - 16, share * (stages + 1) * k - 8))
    if spec.schedule.tail == "split":  # one tile more than the CTAs get; and fewer than there are CTAs, K ending early
        slot = k * (m + n) * DTYPES[spec.problem.a.dtype].bytes / 48  # clocks, at least
        many, more = max(24, math.ceil(26000 / slot)), max(33, math.ceil(39000 / slot))  # enough to be cut
        for rounds in (1, 2):
            yield _runnable(spec, ((rounds * sms + 1) * m - 3, n, many * k - 8))
        yield _runnable(spec, (m, 2 * n - 8, more * k))
    if spec.schedule.tail == "helped":  # all help or are helped; some have nothing in the last round; one helps all
        yield _runnable(spec, ((sms + sms // 2) * m - 3, n, 31 * k - 8))
        yield _runnable(spec, ((2 * sms + 1) * m - 3, n, 33 * k))
        yield _runnable(spec, ((sms - 1) * m - 3, n - 8, 60 * k - 8))
    group = constants.get("GROUP_M", 8)
    rows = 2 * group if parts * group <= 16 and n < 256 else 2  # larger ones take long, and show nothing else
    yield _runnable(spec, (rows * m, 2 * n, parts * k))


def unseen(spec: GemmSpec) -> Iterator[Waiver]:
    """What no run can exercise, and why."""
    yield from (GRID, SPIN)
    yield Waiver(
        ("no-round",),
        r"for k in range\((1, |min\(STAGES - 1, )?k_tiles\)",
        "of an empty sum nothing is launched: K is at least 1",
    )
    if spec.schedule.tail != "whole":
        yield Waiver(("no-round",), r"for k in range\(trips_of", "a part of K is cut no smaller than a tile of it")
    if spec.schedule.tail == "helped":
        yield Waiver(("ring",), "rest", "a CTA lends or borrows in the last round only: once a launch")


def inputs(spec: GemmSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. What lies between rows is NaN."""
    m, n, k = shape
    a, b = spec.problem.a, spec.problem.b
    made = {
        "a": _operand(m, k, DTYPES[a.dtype], a.layout == "row", device),
        "b": _operand(k, n, DTYPES[b.dtype], b.layout == "row", device),
    }
    if spec.problem.scaling == "mx":
        made |= {"a_scale": _scales(m, k, device), "b_scale": _scales(n, k, device)}
    for op in spec.epilogue.ops:
        made |= operands(op, m, n, device)
    return made


def _operand(rows: int, columns: int, dtype: DType, row_major: bool, device: torch.device) -> torch.Tensor:
    if not row_major:
        return _operand(columns, rows, dtype, True, device).T
    if dtype.values > 1:
        return torch.randint(256, (rows, columns // dtype.values), device=device).to(torch.uint8)
    return matrix(rows, columns, dtype, device, torch.randn(rows, columns, device=device))


def matrix(
    rows: int, columns: int, dtype: DType, device: torch.device, values: torch.Tensor | None = None
) -> torch.Tensor:
    """A row-major matrix whose row stride TMA can address, NaN wherever `values` does not write."""
    step = 16 // dtype.bytes
    stride = (columns + step - 1) // step * step
    kind = getattr(torch, dtype.torch)
    whole = torch.full((rows, stride), float("nan"), device=device, dtype=torch.float32).to(kind)
    view = whole[:, :columns]
    if values is not None:
        view.copy_(values.to(kind))
    return view


def _scales(rows: int, k: int, device: torch.device) -> torch.Tensor:
    """MX scales of 2**-4 to 2**3, a byte for each 32 elements of K."""
    return torch.randint(123, 131, (rows, k // 32), device=device).to(torch.uint8)


E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)


def _scaled(stored: torch.Tensor, dtype: str, scales: torch.Tensor) -> torch.Tensor:
    """Values (rows, K) times their scales, in float64. Of two in a byte the one of lower K is in the low half."""
    if DTYPES[dtype].values > 1:
        codes = torch.stack((stored & 15, stored >> 4), dim=-1).flatten(1)
        values = torch.tensor(E2M1, dtype=torch.float64, device=stored.device)[codes.int()]
    else:
        values = stored.double()
    return values * torch.exp2(scales.double() - 127).repeat_interleave(32, dim=1)


def _vector(size: int, device: torch.device) -> torch.Tensor:
    return torch.rand(size, device=device) + 0.5


def operands(op: str, rows: int, columns: int, device: torch.device) -> Tensors:
    """The tensors that an operation of the epilogue takes."""
    found: Tensors = _OPERANDS[op](rows, columns, device) if op in _OPERANDS else {}
    return found


_OPERANDS: dict[str, Any] = {
    "bias": lambda m, n, device: {"bias": torch.randn(n, device=device).to(torch.bfloat16) * 4},
    "residual": lambda m, n, device: {"residual": torch.randn(m, n, device=device).to(torch.bfloat16) * 4},
    "scale": lambda m, n, device: {"scale": _vector(1, device)},
    "scale_rowwise": lambda m, n, device: {"scale_a": _vector(m, device), "scale_b": _vector(n, device)},
}


def arguments(module: ModuleType, tensors: Tensors) -> Tensors:
    """The host function's: the problem's tensors, MX scales packed as the hardware takes them."""
    return {n: module.pack_scales(t) if n in ("a_scale", "b_scale") else t for n, t in tensors.items()}


def launch(
    module: ModuleType, spec: GemmSpec, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the generated host function; returns C and the number of elements written where nothing may write."""
    m, n, _ = shape
    result, strays = launched(module, spec, arguments(module, tensors), (m,), n, config)
    return {"c": result}, strays


def launched(
    module: ModuleType,
    spec: GemmSpec,
    given: Tensors,
    rows: tuple[int, ...],
    columns: int,
    config: Any,
    kept: torch.Tensor | None = None,
) -> tuple[torch.Tensor, int]:
    """C of the host function called with `given`, and how many elements were written where nothing may write.

    C has `rows`, in one dimension or two, of so many `columns`; of these the kernel writes those that the mask
    `kept` has, or all.

    Every buffer is NaN before: C, given as `out`, or, where TMA cannot store rows of this length exactly, C and the
    workspace as the host function allocates them. TMA writes chunks of 16 bytes: up to the end of the last one of a row
    is the kernel's to write. Words that the kernel has to leave zero count where it does not.
    """
    device, all_rows = given["a"].device, math.prod(rows)
    buffers: list[tuple[torch.Tensor, torch.Tensor]] = []
    zeros: list[torch.Tensor] = []
    asked: dict[tuple[int], tuple[int, int, int]] = {}  # what `empty_rows` gives, by how the host function allocates it

    def stride(columns: int, dtype: torch.dtype) -> int:
        return columns + -columns % (16 // int(dtype.itemsize)) + GAP

    def poisoned(rows: int, columns: int, length: int, dtype: torch.dtype, exact: bool = False) -> torch.Tensor:
        whole = torch.full((rows + 3, length), float("nan"), device=device, dtype=dtype)
        buffers.append((whole, whole[:rows, : columns if exact else length - GAP]))
        return whole[:rows, :columns]

    def rows_apart(like: torch.Tensor, rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
        length = stride(columns, dtype)
        asked[(rows * length,)] = rows, columns, length
        return like.new_empty((rows, length), dtype=dtype)[:, :columns]

    def empty(_: torch.device, shape: tuple[int], strides: tuple[int], dtype: torch.dtype) -> torch.Tensor:
        poisoned(*asked[shape], dtype)
        return buffers[-1][0].view(-1)

    def workspace(_: torch.device, elements: int, words: int) -> tuple[torch.Tensor, torch.Tensor]:
        zeros.append(torch.zeros(words, dtype=torch.int32, device=device))
        return poisoned(1, elements, elements + GAP, torch.float32)[0], zeros[-1]

    host, shared = getattr(module, spec.name), sys.modules[module.Call.__module__]
    dtype = DTYPES[spec.problem.c.dtype]
    kind = getattr(torch, dtype.torch)
    exact = spec.epilogue.store == "direct" or spec.schedule.split_k > 1 or columns * dtype.bytes % 16 == 0
    with (
        mock.patch.dict(
            module.__dict__, {"empty_rows": rows_apart, "CALLS": type(module.CALLS)()}
        ),  # what is known is of other rows
        mock.patch.dict(shared.__dict__, {"_empty": empty, "workspace": workspace}),
    ):
        out = poisoned(all_rows, columns, stride(columns, kind), kind, exact=True).unflatten(0, rows) if exact else None
        result: torch.Tensor = host(**given, out=out, config=config)
        torch.cuda.synchronize()
    left = sum(int(words.count_nonzero()) for words in zeros)
    return result, left + sum(_strays(whole, inside, kept) for whole, inside in buffers)


def _strays(whole: torch.Tensor, inside: torch.Tensor, kept: torch.Tensor | None) -> int:
    """Elements of `whole` that are no longer NaN, outside of its part `inside`, or of what of that is `kept`."""
    rows, columns = inside.shape
    written = ~torch.isnan(whole)
    if kept is None:
        written[:rows, :columns] = False
    else:
        width = kept.shape[1]  # what follows in a row is written with its last chunk
        written[:rows, :width] &= ~kept
        written[:rows, width:columns] &= ~kept.any(1, keepdim=True)
    return int(written.sum())


def reference(spec: GemmSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """(C in float64 from the very values that the kernel reads, the norm that an error is relative to).

    That norm is C's, or that of the largest term that went into C: where terms cancel, or GELU takes the tail of a
    negative number, fp32 keeps the accuracy of what it started from and no more.
    """
    if spec.problem.scaling == "mx":
        a = _scaled(t["a"], spec.problem.a.dtype, t["a_scale"])
        b = _scaled(t["b"].T, spec.problem.b.dtype, t["b_scale"]).T
    else:
        a, b = t["a"].double(), t["b"].double()
    return {"c": after(spec, a @ b, t)}


def after(spec: GemmSpec, value: torch.Tensor, t: Tensors) -> tuple[torch.Tensor, float]:
    """What the epilogue makes of a product in float64, and the norm that an error is relative to."""
    scale = float(value.norm())
    for op in spec.epilogue.ops:
        before = float(value.norm()) or 1.0
        value = _REFERENCE[op](value, t)
        added = [float(t[op].double().norm())] if op in ("bias", "residual") else []
        grown = scale * float(value.norm()) / before if op.startswith("scale") else scale
        scale = max(grown, float(value.norm()), *added)
    return value, scale


_REFERENCE: dict[str, Any] = {
    "bias": lambda x, t: x + t["bias"].double(),
    "relu": lambda x, t: x.clamp(min=0),
    "gelu": lambda x, t: torch.nn.functional.gelu(x),
    "silu": lambda x, t: torch.nn.functional.silu(x),
    "residual": lambda x, t: x + t["residual"].double(),
    "scale": lambda x, t: x * t["scale"].double(),
    "scale_rowwise": lambda x, t: x * t["scale_a"].double()[:, None] * t["scale_b"].double()[None, :],
}


def tolerance(spec: GemmSpec, output: str) -> float:
    """The largest ||C - reference||, relative to the norm that `reference` gives, that is right.

    What rounding to C's type costs (bf16 1.7e-3, fp16 2.1e-4, both measured), doubled, and once more for rounding by
    chance, whose error has twice the variance; fp32 accumulation; and for fp8
    operands that wgmma accumulates with about 14 bits of mantissa.
    """
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    rounding = (2 if spec.epilogue.rounding == "stochastic" else 1) * {"bf16": 4e-3, "fp16": 5e-4, "fp32": 2e-6}[
        spec.problem.c.dtype
    ]
    narrow = any(DTYPES[o.dtype].is_mx for o in (spec.problem.a, spec.problem.b))
    return rounding + (2e-3 if narrow else 4e-6)
