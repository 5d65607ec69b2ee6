"""Counts what a simulated kernel does, operation by operation. Imports torch.

Every count is the least that the hardware can do for the operation: a product and the sum that takes it are one
multiply-add, an access is as wide as there are, rows that several threads hold count once. So a bound made of the
counts lies below what is measured.

What TMA brings to SMEM is counted for L2 and not for SMEM: on an H200 a GEMM of 128 x 128 x 64 tiles multiplies at the
rate of its tensor cores, 512 clocks a slot, while 48 KiB of reads and 32 KiB of writes through one port would need 640.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from tlxgen.sim.actors import Task
from tlxgen.sim.globalmem import Descriptor
from tlxgen.sim.memory import View

from .counts import Counts

ACCESS = 16  # bytes that a thread reads or writes by one instruction
WGMMA_ROWS = 64  # of one wgmma, each of which reads B
MMA_ROWS = 128  # of D that tcgen05 computes at a time: one of 64 rows takes as long, but for those of two CTAs
REMEMBERED = 64  # results of multiplications that a sum may take, and bits that a shift may
# What an element of a function takes where no branch is taken, as ptxas 12.9 compiles it for sm_90a: results of MUFU,
# multiplications and additions, results of the ALU, instructions in all.
FUNCTIONS = {
    "exp": (1, 3, 1, 5), "exp2": (1, 0, 0, 1), "log": (0, 14, 8, 24), "log2": (0, 17, 8, 26), "sqrt": (1, 0, 0, 1),
    "rsqrt": (1, 0, 0, 1), "sin": (0, 12, 8, 24), "cos": (0, 12, 8, 24), "sigmoid": (2, 6, 3, 11),
    "erf": (1, 9, 3, 27), "tanh": (2, 5, 3, 12), "fast_expf": (1, 1, 0, 2), "fast_logf": (1, 1, 0, 2),
    "fast_log2f": (1, 0, 0, 1), "rcp_rn": (1, 2, 2, 6), "div": (1, 5, 2, 8), "fdiv": (1, 5, 2, 8),
    "div_rn": (1, 6, 1, 9), "fast_dividef": (1, 1, 0, 2),
}  # fmt: skip
SELECTIONS = ("maximum", "minimum", "where", "eq", "ne", "lt", "le", "gt", "ge")
ASM_MUFU = ("ex2.", "lg2.", "rcp.", "rsqrt.", "sqrt.", "tanh.", "sin.", "cos.")


@dataclass
class Metered:
    """What a launch has done, and which task of the source did it: the line of its `async_task`, or 0."""

    kernel: str
    tasks: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))

    @property
    def total(self) -> Counts:
        return sum(self.tasks.values(), Counts())


class Meter:
    """Counts for a Session, launch by launch."""

    def __init__(self) -> None:
        self.launches: dict[int, Metered] = {}
        self._now = Metered("")
        self._products: OrderedDict[int, torch.Tensor] = OrderedDict()  # that no sum has taken; held, so that ids last
        self._bits: OrderedDict[int, torch.Tensor] = OrderedDict()  # of floats, that no shift has taken
        self._rounded: OrderedDict[int, torch.Tensor] = OrderedDict()  # to 8 bits, that no product has taken
        rules: dict[str, Callable[..., None]] = {
            "async_dot": self._dot, "async_dot_scaled": self._dot, "dot": self._mma_sync,
            "local_load": self._local, "local_store": self._local, "local_gather": self._local,
            "local_scatter": self._local, "async_descriptor_load": self._tma_load,
            "async_descriptor_store": self._tma_store, "async_store": self._bulk_store, "async_load": self._copy,
            "remote_shmem_store": self._remote, "async_remote_shmem_store": self._remote,
            "async_remote_shmem_copy": self._remote, "tmem_copy": self._tmem_copy,
            "load": self._load, "store": self._store,
            "mul": self._mul, "add": self._add, "sub": self._add, "fma": self._fma,
            "max": self._compared, "min": self._compared, "argmax": self._compared, "argmin": self._compared,
            "sum": self._summed, "to": self._converted, "cast": self._converted,
            "lshift": self._shifted, "inline_asm_elementwise": self._asm,
        }  # fmt: skip
        rules |= dict.fromkeys(SELECTIONS, self._selected)
        self._rules = rules
        self.names: Collection[str] = {*rules, *FUNCTIONS, "call"}

    def begin(self, launch: int, kernel: str) -> None:
        self._now = self.launches[launch] = Metered(kernel)
        self._products.clear()
        self._bits.clear()
        self._rounded.clear()

    def count(self, name: str, task: Task, arguments: tuple[Any, ...], options: Mapping[str, Any], result: Any) -> None:
        if name == "call":  # of a method
            name, *rest = arguments
            arguments = tuple(rest)
            if not isinstance(rest[0], (torch.Tensor, int, float)):
                return  # of a module, which counts for itself
        held = self._counted(task)
        if name in FUNCTIONS:
            if isinstance(result, torch.Tensor) and result.is_floating_point():
                mufu, fma, alu, instructions = (n * result.numel() for n in FUNCTIONS[name])
                counts = Counts(exponentials=mufu, fma=fma, alu=alu, instructions=instructions, operands=3 * fma)
                held.add(counts)
        elif name in self._rules:
            self._rules[name](held, task, arguments, options, result)

    def _held(self, task: Task) -> Counts:
        """What the task's lines of the source have done so far."""
        return self._now.tasks[task.name.partition(" task of ")[2].partition(" replica")[0]]

    def _counted(self, task: Task) -> Counts:
        """What an operation's counts are added to."""
        return self._held(task)

    # Arithmetic of threads.

    def _mul(self, held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        self._arithmetic(held, result)
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            _remember(self._products, result)

    def _add(self, held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        for operand in arguments:
            if self._products.pop(id(operand), None) is not None:
                held.operands += result.numel()  # a multiply-add, counted with its product
                return
        self._arithmetic(held, result)

    def _fma(self, held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        self._arithmetic(held, result, 3)

    @staticmethod
    def _arithmetic(held: Counts, result: Any, operands: int = 2) -> None:
        """Of floats: integers are addresses, most of which the compiler folds into accesses."""
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            held.instructions += result.numel()
            held.fma += result.numel()
            held.operands += operands * result.numel()

    def _shifted(self, held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        """Of integers that are a float's bits."""
        if self._bits.pop(id(arguments[0]), None) is not None:
            held.instructions += result.numel()
            held.alu += result.numel()

    @staticmethod
    def _selected(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        if isinstance(result, torch.Tensor):
            held.instructions += result.numel()
            held.alu += result.numel()

    @staticmethod
    def _compared(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        if isinstance(arguments[0], torch.Tensor):
            held.instructions += arguments[0].numel()
            held.alu += arguments[0].numel()

    @staticmethod
    def _summed(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        if isinstance(arguments[0], torch.Tensor):
            held.instructions += arguments[0].numel()
            if arguments[0].is_floating_point():
                held.add(Counts(fma=arguments[0].numel(), operands=2 * arguments[0].numel()))

    def _converted(self, held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        """Two results fit in a register, and come from one instruction, where the type becomes narrower."""
        value = arguments[0]
        if not isinstance(value, torch.Tensor) or value.dtype == result.dtype:
            return
        if options.get("bitcast"):
            if value.is_floating_point():
                _remember(self._bits, result)
            return
        held.instructions += result.numel() / (2 if result.dtype.itemsize < value.dtype.itemsize else 1)
        if result.dtype.itemsize == 1:
            _remember(self._rounded, result)

    @staticmethod
    def _asm(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        """Statements of PTX, each for `pack` elements of each argument."""
        given = dict(zip(("asm", "constraints", "args", "dtype", "is_pure", "pack"), arguments, strict=False))
        given |= options
        first = result[0] if isinstance(result, tuple) else result
        if not isinstance(first, torch.Tensor):
            return
        text: str = given["asm"]
        statements = [part.strip(" {}\n\t") for part in text.split(";")]
        real = [s for s in statements if s and not s.startswith((".reg", "mov", "//"))]
        times = first.numel() / int(given.get("pack") or 1)
        held.instructions += times * len(real)
        held.exponentials += times * sum(s.startswith(ASM_MUFU) for s in real)

    # Tensor cores.

    def _dot(self, held: Counts, task: Any, arguments: Any, options: Any, result: Any) -> None:
        names: tuple[str, ...] = ("A", "B", "acc", "use_acc", "pred")
        scaled = "A_format" in options or len(arguments) > 5 and isinstance(arguments[4], str)
        if scaled:
            names = ("A", "B", "acc", "A_scale", "A_format", "B_scale", "B_format", "use_acc", "pred")
        given = {**dict(zip(names, arguments, strict=False)), **options}
        pair = bool(given.get("two_ctas"))
        pred = given.get("pred")
        if pair and task.cta.rank % 2 or pred is not None and not pred:
            return
        a, b, ctas = given["A"], given["B"], 2 if pair else 1
        rows, columns, depth = a.shape[0], b.shape[1], a.shape[1]
        bits = 8 * max(x.dtype.itemsize for x in (a, b))
        if scaled:
            fp4 = [given[x] == "e2m1" for x in ("A_format", "B_format")]
            depth *= 2 if fp4[0] else 1
            bits = 4 if all(fp4) else 8
        in_tmem = isinstance(given.get("acc"), View)
        # Of two CTAs, 64 rows lie in all lanes, half of the columns each (sim/layouts.py).
        computed = max(rows, MMA_ROWS // ctas) if in_tmem else rows
        held.products += ctas * computed * columns * ctas * depth * bits / 16
        reads = 1 if in_tmem else -(-rows // WGMMA_ROWS)  # of B: by each instruction
        held.smem_bytes += ctas * reads * b.size
        if isinstance(a, View):
            if a.kind == "smem":
                held.smem_bytes += ctas * a.size
            else:
                held.tmem_bytes += ctas * a.size

    @staticmethod
    def _mma_sync(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        a, b = arguments[:2]
        held.products += a.numel() * b.shape[-1] * a.dtype.itemsize / 2

    # Memory.

    @staticmethod
    def _local(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        _touch(held, arguments[0])
        held.instructions += arguments[0].size / ACCESS

    @staticmethod
    def _tma_load(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        names = ("desc", "result", "offsets", "barrier", "pred")
        given = {**dict(zip(names, arguments, strict=False)), **options}
        if (pred := given.get("pred")) is not None and not pred:
            return
        desc: Descriptor = given["desc"]
        held.l2_bytes += desc.bytes

    @staticmethod
    def _tma_store(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        size = arguments[0].bytes
        added = size if options.get("store_reduce") == "add" else 0
        held.add(Counts(smem_bytes=size, l2_bytes=size, stored=size, added=added))

    @staticmethod
    def _bulk_store(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        size = int(arguments[2] if len(arguments) > 2 else options["size"])
        held.add(Counts(smem_bytes=size, l2_bytes=size, stored=size))

    @staticmethod
    def _copy(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        target = arguments[1] if len(arguments) > 1 else options["result"]
        size = options.get("bulk_size") or (target.size if isinstance(target, View) else target.unit)
        mask = arguments[2] if len(arguments) > 2 else options.get("mask")
        read = float(mask.float().mean()) if isinstance(mask, torch.Tensor) else 1.0  # else there are zeros
        held.l2_bytes += size * read
        held.instructions += 0 if options.get("bulk") else size / ACCESS

    @staticmethod
    def _remote(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        """Counts a read of the CTA's own memory, if the source is there. Stores to a peer's memory skip its port."""
        held.smem_bytes += arguments[0].size if isinstance(arguments[1], View) else 0

    @staticmethod
    def _tmem_copy(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        held.smem_bytes += arguments[0].size
        held.tmem_bytes += arguments[1].size

    @staticmethod
    def _load(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        mask = arguments[1] if len(arguments) > 1 else options.get("mask")
        held.add(Counts(**_accessed(result, mask)))

    @staticmethod
    def _store(held: Counts, task: Task, arguments: Any, options: Any, result: Any) -> None:
        value = arguments[1] if len(arguments) > 1 else options["value"]
        mask = arguments[2] if len(arguments) > 2 else options.get("mask")
        moved = _accessed(value, mask, arguments[0].dtype.itemsize)
        held.add(Counts(**moved, stored=moved.get("l2_bytes", 0.0)))


def _remember(known: OrderedDict[int, torch.Tensor], result: torch.Tensor) -> None:
    known[id(result)] = result
    if len(known) > REMEMBERED:
        known.popitem(last=False)


def _touch(held: Counts, view: View) -> None:
    if view.kind == "smem":
        held.smem_bytes += view.size
    else:
        held.tmem_bytes += view.size


def _accessed(value: Any, mask: Any, itemsize: int = 0) -> dict[str, float]:
    """What of `value` the mask lets through: bytes, and instructions for them."""
    if not isinstance(value, torch.Tensor):
        return {}
    kept = value.numel()
    if isinstance(mask, torch.Tensor):
        kept = int(mask.broadcast_to(value.shape).sum())
    elif mask is not None and not mask:
        kept = 0
    size = kept * (itemsize or value.dtype.itemsize)
    return {"l2_bytes": size, "instructions": size / ACCESS}
