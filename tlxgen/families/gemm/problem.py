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
from tlxgen.cudalike import CudaLike
from tlxgen.families.kit.unseen import GRID, SPIN
from tlxgen.plan.pieces import form

from .cuts import Cuts
from .ops import OPS
from .sizes import POINTERS, SCALE_BLOCK
from .spec import GemmSpec

GAP = 64  # elements of NaN after each row of what a kernel writes, where the shape allows it

ALONG_K, ACROSS_K = ("row", "col"), ("col", "row")  # layouts of A and B whose neighbours in memory lie so

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
    return tuple(dict.fromkeys(runnable(spec, shape) for shape in (*own, *SHAPES)))


def c_columns(spec: GemmSpec, n: int) -> int:
    """How many columns C has, for so many of B."""
    return n // 2 if any(OPS[op].halves for op in spec.epilogue.ops) else n


def runnable(spec: GemmSpec, shape: Shape) -> Shape:
    """The shape, with K as the spec's operands can have it: a multiple of 32 where they have MX scales, of 128 where
    fp4 meets fp8. N is even where C has a column for two."""
    m, n, k = shape
    n += n % 2 if c_columns(spec, 2) == 1 else 0
    if spec.problem.scaling != "mx":
        return m, n, k
    a, b = (DTYPES[o.dtype].values for o in (spec.problem.a, spec.problem.b))
    step = Sm100.mx_block if a == b else Sm100.padded_k
    return m, n, (k + step - 1) // step * step


def simulated_shapes(spec: GemmSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs at once on `sms` SMs: one element of C; ragged ones of some tiles a CTA, K shorter than
    a tile and longer than the ring, of each part too; where products are promoted, a K of three slots, the last two of
    which may be under way together; and whole tiles, in two groups of tile rows. The tile's sizes come from the config,
    or are what bakes them in usually has."""
    m, n, k = (constants.get(f"BLOCK_{axis}", size) for axis, size in (("M", 128), ("N", 128), ("K", 64)))
    stages, parts = constants.get("STAGES", 4), constants.get("SPLIT_K", 1)
    columns = max(2, (2 if n < 256 else 1) * sms // parts)  # of tiles: parts of K are work for the CTAs, too
    yield runnable(spec, (1, 1, k))
    yield runnable(spec, (3 * m - 3, n + 8, k + k // 2))
    if spec.tasks.mma.promote:
        yield runnable(spec, (m - 3, n - 8, 3 * k))
    share = min(parts, 2) * spec.cluster.k  # of K, that a CTA has, so many times its own
    around = stages + 1 if spec.tasks.specialized else 2 * stages  # loads before the first product are others
    yield runnable(spec, (m + 1, columns * n - 16, share * around * k - 8))
    if spec.schedule.fix_up != "after":
        yield from (runnable(spec, shape) for shape in _cut_shapes(spec, m, n, k, sms))
    elif spec.schedule.tail == "split":  # one tile more than CTAs get; and fewer than there are CTAs, K ending early
        slot = k * (m + n) * DTYPES[spec.problem.a.dtype].bytes / 48  # clocks, at least
        more, each = max(33, math.ceil(39000 / slot)), max(2, math.ceil(20000 / (15 * slot)))  # enough to be cut
        yield runnable(spec, ((sms + 1) * m - 3, n, more * k - 8))
        yield runnable(spec, (m, 2 * n - 8, more * k))
        for count in (16, 17):  # of parts, where there are many SMs: they are added up 8 at a time
            yield runnable(spec, (m, n - 8, count * each * k - 8))
    if spec.schedule.tail == "helped":  # all help or are helped; some have nothing in the last round; one helps all
        yield runnable(spec, ((sms + sms // 2) * m - 3, n, 31 * k - 8))
        yield runnable(spec, ((2 * sms + 1) * m - 3, n, 33 * k))
        yield runnable(spec, ((sms - 1) * m - 3, n - 8, 60 * k - 8))
    if spec.tasks.load.by != "tma":  # rows of which a copy takes an element, or 2 or 4, of A and of B apart
        odd = (m + 1, n + 1, k + 3), (m - 1, 2 * n + 4, 2 * k + 2), (m + 6, n - 1, (stages + 1) * k + 4)
        yield from (runnable(spec, shape) for shape in odd)
    group = constants.get("GROUP_M", 8)
    pair = spec.cluster.m if spec.arch == "sm100" else 1  # CTAs that share a tile of twice the rows
    rows = 2 * group * pair if parts * group <= 16 and n < 256 else 2  # larger ones take long, and show nothing else
    yield runnable(spec, (rows * m, 2 * n, parts * k))


def _cut_shapes(spec: GemmSpec, m: int, n: int, k: int, sms: int) -> Iterator[Shape]:
    """Problems some of whose tiles are cut, to be added up by consumers: one tile more than the CTAs get;
    and one, two or three in all, for as many parts as are added up each way, of one row and of all rows of a tile; of
    the three a CTA may have several parts. The CTAs of a cluster take a tile each, and what is one for a CTA alone is
    as many for these: of fewer, there is one item, which is cut in one way."""
    item = n * spec.cluster.n  # columns of the tiles that a cluster takes together
    long = 20  # K tiles, which `Cuts` shares out among 2 to 10 parts
    yield ((sms + 1) * m - 3, n, long * k - 8)
    each = spec.schedule.fix_up == "each"  # with shares: of 5 parts some have more than 4 stripes, of 8 none has
    for rows, tiles in ((1, 1), (m, 1), (m, 3 if each else 2), (1, 3)):
        yield (rows, tiles * item - 8, long * k - 8)
    if each:  # 15 parts where there are SMs for 16: shares differ; and fewer rows than shares
        yield (m, item - 8, 15 * k - 8)
        if spec.tasks.mma.replicate == 1 or spec.tasks.mma.exchange:
            yield (1, 4 * item - 8, long * k - 8)


def unseen(spec: GemmSpec) -> Iterator[Waiver]:
    """What no run can exercise, and why."""
    yield from (GRID, SPIN)
    yield Waiver(
        ("no-round",),
        r"for k in (tl\.)?range\((min\(STAGES - 1, )?k_tiles\b",
        "of an empty sum nothing is launched: K is at least 1",
    )
    tail, tile = spec.schedule.tail, spec.tile
    if tail != "whole":
        yield Waiver(
            ("no-round",), r"for k in (tl\.)?range\(trips_of", "a part of K is cut no smaller than a tile of it"
        )
    after = tail == "split" and spec.schedule.fix_up == "after"
    if after and tile.m * tile.n >= 2**14:
        why = "of at most 32 parts, at most 16 CTAs share the 32 stripes of a tile, or more, or two CTAs an even number"
        yield Waiver(("no-round", "one-round"), r"for stripe in range\(start, end", why)
        yield Waiver(("branch",), r"stripe \+ i < end", why)
    if spec.schedule.fix_up == "last" and (spec.tasks.mma.replicate == 1 or spec.tasks.mma.split == "pingpong"):
        why = "of a tile that one consumer has some row is in C"
        yield Waiver(("no-round",), r"for stripe in range\(0, end", why)
    if spec.schedule.fix_up == "last":  # 512 elements of sums are a stripe
        stripes = tile.m * tile.n // 512 // (spec.tasks.mma.replicate if spec.tasks.mma.split == "cooperative" else 1)
        for step in (step for step in (2, 4) if stripes <= step):
            why = "a tile so small is fixed up in one round"
            yield Waiver(("second-round",), rf"for stripe in range\(0, end, {step}\)", why)
    if spec.tasks.mma.exchange and tail == "whole" and not form(tile.m):
        yield Waiver(("empty",), "", "a tile is stored in one piece, of which some element is in C")
    if tail == "helped":
        yield Waiver(("ring",), "rest", "a CTA lends or borrows in the last round only: once a launch")
    if after:
        why = "a tile has at most 32 parts, of which 16 have been added up before"
        yield Waiver(("second-round",), r"for part in range\(16, tail_parts, 16\)", why)
    why = "each worker of the first wave asks for 128 lines at a time, and there are no more"
    for layouts, lines in ((ALONG_K, r"rows \* LINES"), (ACROSS_K, "lines")):
        if spec.tasks.specialized and spec.schedule.prefetch and _lines_of_a_worker(spec, layouts) <= 128:
            yield Waiver(("second-round",), rf"for first in range\(worker \* 128, {lines}, workers", why)


def _lines_of_a_worker(spec: GemmSpec, layouts: tuple[str, str]) -> float:
    """How many lines of an operand a consumer prefetches, of those of A and B that have these layouts: of as many tiles
    as there are CTAs, at most."""
    tile, cluster, (a, b) = spec.tile, spec.cluster, (spec.problem.a, spec.problem.b)
    # A CTA with one consumer asks for A or for B: of three, one for B. CTAs of clusters are even in number.
    alone = spec.tasks.mma.replicate == 1 and cluster.m * cluster.n == 1
    begin, line = spec.schedule.prefetch * tile.k, 128 // DTYPES[a.dtype].bytes
    shares = (2 * tile.m / cluster.n, a.layout), ((3 if alone else 2) * tile.n / cluster.m, b.layout)
    extent = max((share for (share, has), wanted in zip(shares, layouts, strict=True) if has == wanted), default=0.0)
    # Rows, or columns, that several CTAs of a cluster with two axes ask for together are rounded up once.
    together = cluster.m * cluster.n / 2 if cluster.m > 1 and cluster.n > 1 else 1
    across = begin * math.ceil(extent * together / line) / together
    lines = extent * math.ceil(begin / line) if layouts == ALONG_K else across
    return lines / spec.tasks.mma.replicate


def inputs(spec: GemmSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. What lies between rows is NaN."""
    m, n, k = shape
    a, b = spec.problem.a, spec.problem.b
    copied = POINTERS[spec.tasks.load.by]
    made = {
        "a": _operand(m, k, DTYPES[a.dtype], a.layout == "row", device, "a" not in copied),
        "b": _operand(k, n, DTYPES[b.dtype], b.layout == "row", device, "b" not in copied),
    }
    if spec.problem.scaling == "mx":
        made |= {"a_scale": scales(m, k, device), "b_scale": scales(n, k, device)}
    if spec.problem.scaling == "block":
        made |= block_scales((m,), (n,), k, device)
    for op in spec.epilogue.ops:
        made |= operands(op, m, n, device)
    return made


def _operand(
    rows: int, columns: int, dtype: DType, row_major: bool, device: torch.device, by_tma: bool = True
) -> torch.Tensor:
    if not row_major:
        return _operand(columns, rows, dtype, True, device, by_tma).T
    if dtype.values > 1:
        return torch.randint(256, (rows, columns // dtype.values), device=device).to(torch.uint8)
    values = torch.randn(rows, columns, device=device)
    return matrix(rows, columns, dtype, device, values) if by_tma else _odd_rows(values, dtype)


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


def _odd_rows(values: torch.Tensor, dtype: DType) -> torch.Tensor:
    """The same with rows that begin at multiples of what divides their length, and of no more than 16 bytes."""
    rows, columns = values.shape
    gap = min(columns & -columns, 16 // dtype.bytes)
    whole = torch.full((rows, columns + gap), float("nan"), device=values.device).to(getattr(torch, dtype.torch))
    whole[:, :columns] = values.to(whole.dtype)
    return whole[:, :columns]


def scales(rows: int, k: int, device: torch.device) -> torch.Tensor:
    """MX scales of 2**-4 to 2**3, a byte for each 32 elements of K."""
    return torch.randint(123, 131, (rows, k // 32), device=device).to(torch.uint8)


def block_scales(a: tuple[int, ...], b: tuple[int, ...], k: int, device: torch.device) -> Tensors:
    """Scales of 1 x 128 of A and of 128 x 128 of B. `a`: A's rows, `b`: B's columns, groups before them."""
    (*a_lead, m), (*b_lead, n) = a, b
    rows, columns = (math.ceil(extent / SCALE_BLOCK) for extent in (n, k))
    return {
        "a_scale": (
            torch.rand(*a_lead, columns, m, device=device) + 0.5
        ).mT,  # as DeepGEMM has them: rows are neighbours
        "b_scale": torch.rand(*b_lead, rows, columns, device=device) + 0.5,
    }


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
    packed = ("a_scale", "b_scale") if hasattr(module, "pack_scales") else ()
    return {n: module.pack_scales(t) if n in packed else t for n, t in tensors.items()}


def launch(
    module: ModuleType, spec: GemmSpec, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the generated host function; returns C and the number of elements written where nothing may write."""
    m, n, _ = shape
    result, strays = launched(module, spec, arguments(module, tensors), (m,), c_columns(spec, n), config)
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
    buffers: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]] = []  # all, C in it, and what of that
    zeros: list[torch.Tensor] = []
    asked: dict[tuple[int], tuple[int, int, int]] = {}  # what `empty_rows` gives, by how the host function allocates it

    def stride(columns: int, dtype: torch.dtype) -> int:
        return columns + -columns % (16 // int(dtype.itemsize)) + GAP

    def poisoned(
        rows: int, columns: int, length: int, dtype: torch.dtype, exact: bool = False, of: torch.Tensor | None = kept
    ) -> torch.Tensor:
        whole = torch.full((rows + 3, length), float("nan"), device=device, dtype=dtype)
        buffers.append((whole, whole[:rows, : columns if exact else length - GAP], of))
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
        return poisoned(1, elements, elements + GAP, torch.float32, of=None)[0], zeros[-1]

    host, shared = getattr(module, spec.name), sys.modules[module.Call.__module__]
    dtype = DTYPES[spec.problem.c.dtype]
    kind = getattr(torch, dtype.torch)
    exact = spec.epilogue.store == "direct" or spec.schedule.split_k > 1 or columns * dtype.bytes % 16 == 0
    here: dict[str, Any] = {"empty_rows": rows_apart, "CALLS": type(module.CALLS)()}  # what is known is of other rows
    times = module.__dict__.get("TIMES")  # without kernels where a test has said how tiles are cut
    if spec.schedule.fix_up != "after" and isinstance(given["a"], CudaLike) and hasattr(times, "kernels"):
        here["TIMES"] = Cuts(times)
    with (
        mock.patch.dict(module.__dict__, here),
        mock.patch.dict(shared.__dict__, {"_empty": empty, "workspace": workspace}),
    ):
        out = poisoned(all_rows, columns, stride(columns, kind), kind, exact=True).unflatten(0, rows) if exact else None
        result: torch.Tensor = host(**given, out=out, config=config)
        torch.cuda.synchronize()
    left = sum(int(words.count_nonzero()) for words in zeros)
    return result, left + sum(_strays(*buffer) for buffer in buffers)


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
    return {"c": after(spec, product(spec, t), t)}


def product(spec: GemmSpec, t: Tensors) -> torch.Tensor:
    """A B in float64."""
    if spec.problem.scaling == "mx":
        a = _scaled(t["a"], spec.problem.a.dtype, t["a_scale"])
        return a @ _scaled(t["b"].T, spec.problem.b.dtype, t["b_scale"]).T
    a, b = t["a"].double(), t["b"].double()
    if spec.problem.scaling == "block":
        k, n = b.shape
        a = a * t["a_scale"].double().repeat_interleave(SCALE_BLOCK, 1)[:, :k]
        b_scale = t["b_scale"].double().repeat_interleave(SCALE_BLOCK, 0).repeat_interleave(SCALE_BLOCK, 1)
        b = b * b_scale[:n, :k].T
    return a @ b


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
    "swiglu": lambda x, t: torch.nn.functional.silu(x[..., ::2]) * x[..., 1::2],
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
