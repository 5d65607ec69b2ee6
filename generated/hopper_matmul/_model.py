"""A model of time: how many microseconds a GEMM kernel takes for a shape, by arithmetic alone.

It is what picks a kernel. The same text serves `tlxgen tune`, which orders its candidates by it, and every generated
folder, where it lies as `_model.py`, followed by the rates that were fitted to measurements (`RATES`). It imports the
standard library only, and works out in advance what a shape does not change.

The part that depends on the shape is there in C too (model.c, or `_model.c` in a folder), and gives the same bits. It
runs where Triton has been imported and there is a C compiler, which Triton needs itself.

A CTA walks over tiles of C, in rounds. A tile is a walk over slots of the ring, and a slot takes as long as the slowest
of what it needs: tensor cores, L2 and memory. Around the slots lie the start of a launch, the way from one tile to the
next, and the store of C where nothing hides it.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from math import gcd, inf, log, log2
from pathlib import Path
from typing import Any, NamedTuple

LINE, SECTOR, ROW = 128, 32, 64  # bytes of a line of L2, and of a sector of it; rows of an instruction of wgmma
SPARE = 24  # columns of one wgmma, of two kernels that may do as well
COPY = 4  # bytes that an asynchronous copy takes at least; others pass through registers, a slot at a time
SUM = 4  # bytes of a sum
COPIERS = 256  # threads that copy
MOST_HELD = 24  # single elements of a slot that each of them holds: with more, compiles begin to spill
MOST_PARTS = 16  # of a tile whose last CTA adds them up
MOST_ROUNDS = 4  # of such parts, which a workspace has room for
STRIPE = 512  # sums that a consumer adds up at a time, of each part
CUT = ("last", "each")  # tails whose host function cuts any tiles
TAILS = ("whole", "helped", "split", *CUT)
LIKELY = 1.2  # times the least estimate: kernels that may be the fastest all the same
MOST_LIKELY = 16  # of those
MOST_OFF = 0.25  # by which no logarithm of an estimate is corrected more


class Types(NamedTuple):
    """What all kernels of a function have in common: the operands, and what tensor cores do with them."""

    a: float  # bytes of a value of A
    b: float
    c: int
    a_along_k: bool  # whether neighbours in memory are neighbours along K
    b_along_k: bool
    rows: int = ROW  # of one instruction
    promote: bool = False  # products of a slot are added outside of the tensor cores


class Kernel(NamedTuple):
    """One config of one kernel, by all that its time depends on."""

    tile: tuple[int, int, int]  # rows and columns of C, and extent along K of a slot
    stages: int
    group_m: int = 8  # tile rows that CTAs go down before the next column
    consumers: int = 2  # warpgroups that multiply; those of one tile share its rows
    overlap: bool = False  # another tile is multiplied while this one is stored
    persistent: bool = True
    cluster: tuple[int, int, int] = (1, 1, 1)  # CTAs along M, N and K: they share tiles of B, of A, and sums
    split: int = 1  # parts of K
    tail: str = "whole"  # or "split", "helped", "last", "each": how tiles that do not fill a round are shared out
    swap: bool = False  # C is made as the transpose of B^T A^T, and `tile` is one of that: its rows lie along N
    load_by: str = "tma"  # or "pointers", "pointers_a", "pointers_b": threads copy both operands, A or B themselves
    pdl: bool = True  # it starts before the kernel before it has ended
    in_flight: bool = True  # a wgmma is issued before the one before it has ended
    direct: bool = False  # C is stored from registers
    ahead: int = 16  # blocks of sums on their way, where a tail is cut
    whole: bool = False  # columns that are no power of two have one product
    edge: int = 0  # rows of the boxes that load the last tiles of an operand along whose rows K lies, and no zeros
    specialized: bool = True  # a task of its own loads, or else the warps that multiply do


class Rates(NamedTuple):
    """What was measured: clocks where nothing else is said, of an SM."""

    ghz: float  # clock of the device that all this was measured on, where tensor cores idle
    memory: float  # bytes a microsecond that reach it from memory
    peak: float  # the same, by its data sheet: clock and width of the bus
    l2_bytes: float  # of L2, what operands can count on
    throttle: float  # by how much of itself the clock falls where tensor cores are always busy
    launch: float  # microseconds of a launch in a stream
    start: float  # from the first load of a CTA to its first product, and from its last store to its end
    start_alone: float  # the same where the warps that multiply load, too: no task begins
    gap: float  # more, of a kernel that may not start before the one before it has ended
    tile: float  # from one tile of a CTA to the next
    store: float  # bytes of C a clock, from registers until the next tile begins
    hidden: float  # what is left of a store beside another tile's products
    alone: float  # times that it takes longer where one warpgroup stores all rows
    issue: float  # of one instruction, at least, however few columns it has
    blunt: float  # how that bound and the columns add up: the exponent of a sum of powers
    slot: float  # barriers of a slot
    narrow: float  # more, of a slot whose consumer has the rows of one instruction
    loading: float  # more, where the warps that multiply load, too
    wait: float  # more, where no wgmma is left in flight
    adding: float  # more, where products are added outside of the tensor cores, while another consumer multiplies
    adding_alone: float  # when none does
    added: float  # products a clock
    l2: float  # bytes a clock from L2
    all: float  # bytes a clock that L2 delivers to all SMs
    line: float  # share of its time that a second line of a row of a box takes
    sector: float  # times that a row takes that begins amid a sector
    blend: float  # how tensor cores and L2 add up to a slot
    mix: float  # how these and memory do
    page: float  # bytes that memory could have read besides, of each run of neighbours that a tile reads
    latency: float  # from a load to its arrival from L2
    cold: float  # more, from memory
    meeting: float  # of the CTAs of a cluster, at begin and end
    pair: float  # more, of a slot that a cluster shares
    parts: float  # to store the sums of a part of a tile, and to add up a share of it
    few: float  # the same, with half of the blocks on their way
    helped: float  # to add what a helper has stored
    second: float  # microseconds of a second kernel
    mark: float  # from a store of sums until another CTA reads them
    stripe: float  # to add up a stripe of sums: as many blocks of it, or of several, as a consumer has on their way
    producing: float  # of a slot, of the task that asks TMA for it, beside its boxes of one wgmma's columns
    counting: float  # more, of a launch whose last CTA of a tile adds up its parts
    along_k: float  # times that a kernel takes longer whose clusters lie along K
    remote: float  # until the sums of other CTAs of a cluster are there, of which
    exchange: float  # a consumer stores so many bytes a clock into their shared memory
    pointers: float  # copies a clock that threads make themselves, as wide as rows allow
    copied: float  # bytes a clock of such copies, at most
    needless: float  # times that a kernel takes longer which copies rows along K that TMA could load
    beyond: float  # lines of rows beyond the end of an operand that all SMs fill with zeros, a clock
    box: float  # of a TMA load, beside what it brings
    hot: float  # of a request for a line of L2 that all CTAs ask for, once for each row of a box that lies in it


class Gpu(NamedTuple):
    """A device; what is None is as on the one that the rates were measured on."""

    name: str
    sms: int
    ghz: float | None = None
    memory: float | None = None  # bytes a microsecond, by clock and width of the bus
    l2: int | None = None  # bytes


class Correction(NamedTuple):
    """Logarithms of time over estimate, up to what kernels for one shape have in common, learned of measurements.

    A network of rectified linear units, whose inputs are `Clocks.about` and what `Clocks.facts` says besides.
    """

    widths: tuple[int, ...]  # how many inputs, and units of each layer; the last has one, which is not rectified
    weights: tuple[float, ...]  # of each layer a bias for each unit, then for each input a factor for each unit

    def __call__(self, values: Sequence[float]) -> float:
        """At most MOST_OFF up or down."""
        at = 0
        for units in self.widths[1:]:
            made, at = [*self.weights[at : at + units]], at + units
            for x in values:
                if x:
                    made = [y + w * x for y, w in zip(made, self.weights[at : at + units], strict=True)]
                at += units
            values = made if units == 1 else [y if y > 0 else 0.0 for y in made]
        return min(max(values[0], -MOST_OFF), MOST_OFF)


Shape = tuple[int, int, int]  # M, N and K
Pitches = tuple[float, float]  # bytes from one row of A, and of B, to the next, modulo a line of L2
Estimate = Callable[[int, int, int, float, float], float]  # by M, N, K, and what a row of A, and of B, costs


class Times:
    """How long each of some kernels takes for a shape; what the shape does not change is worked out once a device."""

    def __init__(
        self, kernels: Sequence[Kernel], types: Types, rates: Rates, correction: Correction | None = None
    ) -> None:
        self.kernels, self.types, self.rates = kernels, types, rates
        learned = types.a == types.b == 2 and types.rows == ROW and not types.promote
        self.correction = correction if learned else None
        there = {(x.swap, x.cluster, x.tail, *x.tile) for x in kernels if x.whole}
        narrower = [(x.swap, x.cluster, x.tail, x.tile[0], x.tile[1] - SPARE, x.tile[2]) for x in kernels]
        self.widths = [x.tile[1] if x.whole and y in there else 0 for x, y in zip(kernels, narrower, strict=True)]
        self.clocks: dict[tuple[Gpu, int, int], list[Clocks]] = {}  # by the widths of copies, too
        self.arrays: dict[tuple[Gpu, int, int], Any] = {}  # the same, for C
        self.cutting: dict[tuple[int, Gpu, int, int], tuple[Clocks, Any]] = {}  # of kernels whose host functions asked
        self.in_c: tuple[Any, Any] | None = None

    def __call__(self, shape: Shape, gpu: Gpu, pitches: Pitches | None = None) -> list[float]:
        """In microseconds, in the order of the kernels; infinite where one cannot load such rows. Without `pitches`
        operands are contiguous, or padded as TMA needs them."""
        extents, costs, key = self.given(shape, gpu, pitches)
        if (in_c := compiled()) is not None:
            made = (ctypes.c_double * len(self.kernels))()
            in_c.times(self.numbers(*key), len(made), *extents, *costs, made)
            return list(made)
        m, n, k = extents
        # Of the widths of one wgmma, those that leave much of a tile empty need no estimate: narrower ones have as few
        # tiles.
        return [
            inf if w and _alike(m if clocks.kernel.swap else n, w) else clocks.microseconds(m, n, k, *costs)
            for clocks, w in zip(self.of(*key), self.widths, strict=True)
        ]

    def least(self, shape: Shape, gpu: Gpu, pitches: Pitches | None = None) -> int:
        """The index of the kernel that is expected to take least, the first of several.

        It is one of the LIKELY ones, by estimates that are corrected. C estimates only those that may be it.
        """
        extents, costs, key = self.given(shape, gpu, pitches)
        if (in_c := compiled()) is not None:
            room = (ctypes.c_double * (2 * len(self.kernels)))()
            return in_c.least_of(self.numbers(*key), len(self.kernels), *extents, *costs, room, *self.network())  # type: ignore[no-any-return]
        times = self(shape, gpu, pitches)
        order = sorted(range(len(times)), key=times.__getitem__)
        if self.correction is None or times[order[0]] == inf:
            return order[0]
        likely = [i for i in order[:MOST_LIKELY] if times[i] <= LIKELY * times[order[0]]]
        return min(likely, key=lambda i: (self.corrected(i, extents, costs, key), i))

    def corrected(self, index: int, extents: Shape, costs: Pitches, key: tuple[Gpu, int, int]) -> float:
        """Logarithm of the microseconds that a kernel is expected to take, up to what all have in common."""
        assert self.correction is not None
        clocks = self.of(*key)[index]
        us, facts = clocks.facts(*extents, *costs)
        return log(us) + self.correction([*clocks.about(self.types), *facts])

    def network(self) -> tuple[Any, Any]:
        """The correction for C: how many inputs and units, and weights; no inputs where there is none."""
        if self.in_c is None:
            widths, weights = self.correction or ((0,), ())
            self.in_c = (ctypes.c_longlong * (len(widths) + 1))(*widths), (ctypes.c_double * len(weights))(*weights)
        return self.in_c

    def given(self, shape: Shape, gpu: Gpu, pitches: Pitches | None) -> tuple[Shape, Pitches, tuple[Gpu, int, int]]:
        """Extents of at least 1, what a row of A and of B costs, and the key of what the shape does not change."""
        m, n, k = (max(1, extent) for extent in shape)  # of 0, some kernel is picked, which launches nothing
        a_pitch, b_pitch = pitches or contiguous(self.types, m, n, k)
        costs = row_cost(a_pitch, self.rates), row_cost(b_pitch, self.rates)
        return (m, n, k), costs, (gpu, widest(a_pitch), widest(b_pitch))

    def of(self, gpu: Gpu, a_bytes: int, b_bytes: int) -> list[Clocks]:
        """What the shape does not change, of each kernel."""
        key = gpu, a_bytes, b_bytes
        if key not in self.clocks:
            self.clocks[key] = [Clocks(x, self.types, gpu, self.rates, a_bytes, b_bytes) for x in self.kernels]
        return self.clocks[key]

    def numbers(self, gpu: Gpu, a_bytes: int, b_bytes: int) -> Any:
        """The same for C, an array."""
        key = gpu, a_bytes, b_bytes
        if key not in self.arrays:
            rows = [x.numbers(w, self.types) for x, w in zip(self.of(*key), self.widths, strict=True)]
            self.arrays[key] = (ctypes.c_double * (len(rows) * len(NUMBERS)))(*sum(rows, []))
        return self.arrays[key]

    def cut(self, index: int, shape: Shape, gpu: Gpu, pitches: Pitches | None = None) -> Cut:
        """How the kernel at `index`, whose tail is one of CUT, cuts the tiles of a shape; its host function asks."""
        a_pitch, b_pitch = pitches or contiguous(self.types, *shape)
        given = (*shape, row_cost(a_pitch, self.rates), row_cost(b_pitch, self.rates))
        key = index, gpu, *(widths := (widest(a_pitch), widest(b_pitch)))
        if key not in self.cutting:
            clocks = Clocks(self.kernels[index], self.types, gpu, self.rates, *widths)
            numbers = clocks.numbers(self.widths[index], self.types)
            self.cutting[key] = clocks, (ctypes.c_double * len(NUMBERS))(*numbers)
        clocks, numbers = self.cutting[key]
        if (in_c := compiled()) is None:
            return clocks.cut(*given)
        made = (ctypes.c_longlong * len(Cut._fields))()
        in_c.cut(numbers, *given, made)
        return Cut(*made)

    def are_contiguous(self, shape: Shape, pitches: Pitches | None) -> bool:
        """Whether rows begin in lines of L2 where those of contiguous operands do, which tables were measured with."""
        return pitches is None or pitches == contiguous(self.types, *shape)


def _alike(extent: int, width: int) -> bool:
    """Whether there are as few tiles of a width that is narrower by SPARE."""
    return -(-extent // width) == -(-extent // (width - SPARE))


class Cut(NamedTuple):
    """How tiles are shared out where consumers add them up."""

    whole: int  # tiles that are not cut, the first ones
    parts: int  # of each other tile
    slots: int  # of a part


def estimate(kernel: Kernel, types: Types, gpu: Gpu, rates: Rates, a_bytes: int = 16, b_bytes: int = 16) -> Estimate:
    """Microseconds of a launch, as a function of the shape and of what rows of the operands cost (`row_cost`).

    Rows of A and of B begin at multiples of so many bytes; TMA addresses those of 16 alone.
    """
    return Clocks(kernel, types, gpu, rates, a_bytes, b_bytes).microseconds


# What C is given of a kernel: attributes of `Clocks`, of the kernel and of the rates, and what `Clocks.numbers` adds.
# fmt: off
OF_CLOCKS = (
    "rows", "columns", "cluster_m", "cluster_n", "parts", "block_m", "block_n", "block_k", "reach", "ctas", "group",
    "multiply", "barriers", "fastest", "ideal", "a", "b", "a_read", "b_read", "a_fill", "b_fill", "a_slot",
    "b_slot", "a_beyond", "b_beyond", "a_lines", "b_lines", "boxes", "producing", "latency", "cold", "between",
    "around", "most_parts", "parts_sums", "sums", "adder_rows", "adder_columns", "blend", "root", "mix", "mix_root",
    "memory", "l2_bytes", "can_load", "longer", "mhz", "fixed",
)
OF_KERNEL = (
    "swap", "split", "ahead", "edge",
)
OF_RATES = (
    "all", "hot", "box", "l2", "helped", "mark", "stripe", "throttle",
)
ADDED = (
    "width", "tail", "a_width", "b_width", "sum", "stripe_sums", "limit_parts", "limit_rounds", "spare",
    "likely", "most_likely", "most_off",
)
# fmt: on
ABOUT = tuple(f"about_{i}" for i in range(22))
NUMBERS = OF_CLOCKS + OF_KERNEL + OF_RATES + ADDED + ABOUT


@functools.cache
def compiled() -> ctypes.CDLL | None:
    """The functions of model.c; None where they cannot be compiled, or nothing runs kernels here."""
    if "triton" not in sys.modules:
        return None
    kernel = f"#include <math.h>\n\ntypedef struct {{ double {', '.join(NUMBERS)}; }} Kernel;\n\n"
    try:
        from triton.runtime.build import compile_so_from_src  # which keeps what it has compiled

        text = kernel + Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
        flags = ["-O3", "-ffp-contract=off", "-lm"]
        library = ctypes.CDLL(compile_so_from_src(text, "gemm_times", ccflags=flags))
    except (ImportError, OSError, RuntimeError, subprocess.CalledProcessError):
        return None
    number, count, array = ctypes.c_double, ctypes.c_longlong, ctypes.POINTER(ctypes.c_double)
    library.times.restype, library.least_of.restype, library.cut.restype = None, count, None
    given: list[Any] = [array, count, count, count, count, number, number, array]
    library.times.argtypes, library.least_of.argtypes = given, [*given, ctypes.POINTER(count), array]
    library.cut.argtypes = [array, count, count, count, number, number, ctypes.POINTER(count)]
    return library


class Clocks:
    """Clocks of a launch, and for how many of these the tensor cores of an SM have products, as `estimate` has them."""

    def __init__(
        self, kernel: Kernel, types: Types, gpu: Gpu, rates: Rates, a_bytes: int = 16, b_bytes: int = 16
    ) -> None:
        block_m, block_n, block_k = kernel.tile
        cluster_m, cluster_n, cluster_k = kernel.cluster
        if kernel.swap:
            cluster_m, cluster_n = cluster_n, cluster_m
        self.kernel, self.rates = kernel, rates
        self.block_m, self.block_n, self.block_k = kernel.tile
        self.cluster_m, self.cluster_n = cluster_m, cluster_n
        cluster = cluster_m * cluster_n * cluster_k
        self.rows, self.columns = block_m * cluster_m, block_n * cluster_n
        self.parts = kernel.split * cluster_k
        self.a, self.b = (types.b, types.a) if kernel.swap else (types.a, types.b)
        # A cluster lies within a GPC, and SMs of a GPC are left over that do not make a whole one.
        self.ctas = (gpu.sms if cluster <= 2 else gpu.sms * 15 // 16) // cluster * cluster or gpu.sms
        self.group = kernel.group_m * cluster_m

        # Of a slot: what tensor cores take for it, each row and column of it from L2, and barriers.
        instructions = block_m / types.rows * block_k * max(self.a, self.b) / 32
        self.ideal = instructions * block_n / 2
        widths = [block_n & 1 << i for i in range(9) if block_n & 1 << i]  # of the products that share the columns
        widths = [block_n] if kernel.whole else widths
        each = [((w / 2) ** rates.blunt + rates.issue**rates.blunt) ** (1 / rates.blunt) for w in widths]
        multiply = instructions * sum(each)
        self.multiply = multiply**rates.blend
        barriers = rates.slot + rates.pair * (cluster > cluster_k) + rates.narrow * (kernel.consumers == 1)
        barriers += (0 if kernel.in_flight else rates.wait) + (0 if kernel.specialized else rates.loading)
        if types.promote:
            alone = kernel.overlap or kernel.consumers == 1
            barriers += rates.adding_alone + block_m * block_n / rates.added if alone else rates.adding
        self.barriers, self.fastest = barriers, multiply + barriers
        widths = [width if x else 0 for x, width in zip(copies(kernel), (a_bytes, b_bytes), strict=True)]
        self.widths = widths[:: -1 if kernel.swap else 1]  # of what threads copy, in bytes
        copied = (min(rates.copied, rates.pointers * width) for width in self.widths)
        a_rate, b_rate = (min(rates.l2, rate or rates.l2) for rate in copied)
        self.a_fill, self.b_fill = block_k * self.a / cluster_n / a_rate, block_k * self.b / cluster_m / b_rate
        ahead = kernel.stages // 2 if any(widths) else kernel.stages - 1  # slots on their way
        if any(0 < width < COPY for width in widths):
            ahead = 1
        self.a_slot, self.b_slot = block_k * self.a, block_k * self.b
        along_k = (types.b_along_k, types.a_along_k) if kernel.swap else (types.a_along_k, types.b_along_k)
        runs = (self.a * (block_k if along_k[0] else self.rows), self.b * (block_k if along_k[1] else self.columns))
        self.a_read, self.b_read = (x * (1 + rates.page / run) for x, run in zip((self.a, self.b), runs, strict=True))
        self.blend, self.root, self.mix, self.mix_root = rates.blend, 1 / rates.blend, rates.mix, 1 / rates.mix
        ghz = gpu.ghz or rates.ghz
        self.memory = rates.memory * ((gpu.memory or rates.peak) / rates.peak) / (ghz * 1e3)  # a clock
        self.l2_bytes = rates.l2_bytes if gpu.l2 is None else gpu.l2 * 0.8
        # Rows of a tile beyond the end of an operand whose rows lie along K: TMA fills lines of them with zeros.
        lines = (block_k * self.a / cluster_n / LINE, block_k * self.b / cluster_m / LINE)
        self.a_beyond, self.b_beyond = (
            x / rates.beyond if rows_of and not any(widths) else 0.0 for x, rows_of in zip(lines, along_k, strict=True)
        )
        # Bytes of what lies along a line of L2 beside: rows of an operand along which K does not lie share lines of it.
        self.a_lines, self.b_lines = (
            LINE / x if not rows_of and not any(widths) else 0.0
            for x, rows_of in zip((self.a, self.b), along_k, strict=True)
        )
        # Of one wgmma of all columns: those come in boxes of 64, and of the powers of two that are left; or, where they
        # are neighbours in memory, in boxes of 64 alone, the last of which reaches beyond the tile.
        over = -block_n % ROW if kernel.whole and not along_k[1] else 0
        self.reach = block_n + over
        boxes = self.reach // ROW + (self.reach % ROW).bit_count()
        self.boxes = (boxes - 1) * rates.box if kernel.whole else 0.0
        self.producing = rates.producing + boxes * rates.box * kernel.whole
        if not kernel.specialized or kernel.load_by != "tma":
            self.producing = 0.0
        self.latency, self.cold = rates.latency / ahead, rates.cold / ahead

        # Of a tile: from one to the next, and around them all.
        store = block_m * block_n * types.c / rates.store * (rates.alone if kernel.overlap or kernel.direct else 1)
        # Sums of a cluster along K: each consumer sends its rows, and nothing hides that.
        groups = 1 if kernel.overlap else kernel.consumers
        send = rates.remote + block_m // groups * block_n * SUM / rates.exchange if cluster_k > 1 else 0
        self.between = rates.tile + (rates.hidden if kernel.overlap and kernel.persistent else 1) * store + send
        start = rates.start if kernel.specialized else rates.start_alone
        # Nobody has loaded for the next tile, which waits for memory once more.
        self.between += 0 if kernel.specialized else start + rates.latency + rates.cold
        around = start + store + (0 if kernel.pdl else rates.gap) + (rates.meeting if cluster > 1 else 0)
        self.around = around + send + (rates.counting if kernel.tail == "last" else 0)
        self.most_parts = min(MOST_PARTS, kernel.ahead)
        self.parts_sums = rates.parts if kernel.ahead >= 16 else rates.few
        self.sums = block_m * block_n * SUM / rates.store
        self.adder_rows, self.adder_columns = (
            (block_n, block_m // groups) if kernel.swap else (block_m // groups, block_n)
        )

        # From clocks to microseconds.
        self.can_load = can_load(kernel, a_bytes, b_bytes)
        self.mhz = ghz * 1e3
        self.fixed = rates.launch + (rates.second if kernel.split > 1 else 0)
        operands = zip(copies(kernel), (types.a_along_k, types.b_along_k), (a_bytes, b_bytes), strict=True)
        self.longer = rates.needless if any(x and along and width >= 16 for x, along, width in operands) else 1.0
        self.longer *= rates.along_k if cluster_k > 1 else 1.0

    def numbers(self, width: int, types: Types) -> list[float]:
        """What model.c is given, in the order of NUMBERS; `width`: columns, if a narrower kernel may do as well."""
        found = [getattr(self, x) for x in OF_CLOCKS]
        found += [getattr(self.kernel, x) for x in OF_KERNEL] + [getattr(self.rates, x) for x in OF_RATES]
        found += [width, TAILS.index(self.kernel.tail), *self.widths, SUM, STRIPE, MOST_PARTS, MOST_ROUNDS, SPARE]
        found += [LIKELY, MOST_LIKELY, MOST_OFF]
        return [float(x) for x in found] + self.about(types)

    def microseconds(self, m: int, n: int, k: int, a_cost: float, b_cost: float) -> float:
        """Of a launch; infinite where the kernel cannot load such rows."""
        if not self.can_load:
            return inf
        total, busy = self(m, n, k, a_cost, b_cost)
        return total * self.longer / (self.mhz * (1 - self.rates.throttle * busy / total)) + self.fixed

    def __call__(
        self, m: int, n: int, k: int, a_cost: float, b_cost: float, given: Cut | None = None
    ) -> tuple[float, float]:
        kernel, ctas = self.kernel, self.ctas
        rows = m
        m, n, tiles, slots, slot_of = self.of(m, n, k, a_cost, b_cost)
        items = tiles * self.parts
        if kernel.tail in CUT:
            total, _ = self.shared_out(rows, tiles, slots, slot_of, given)
        else:
            slot = slot_of(min(items, ctas), self.parts)
            rounds, left = items // ctas, items % ctas
            total = rounds * (slots * slot + self.between)
            if left:
                total += self.last_round(left, slots, slot_of) + self.between
        total += self.around - self.between
        if kernel.split > 1:
            total += SUM * m * n * (self.parts + 1) / (ctas * self.rates.l2 / 2)
        return total, items * slots * self.ideal / ctas

    def about(self, types: Types) -> list[float]:
        """What the correction is told of the kernel itself: extents as powers of two, and what it has or has not."""
        kernel, swap = self.kernel, self.kernel.swap
        along_k = (types.b_along_k, types.a_along_k) if swap else (types.a_along_k, types.b_along_k)
        sizes = (self.block_m, self.block_n, self.block_k, kernel.stages, self.cluster_m, self.cluster_n)
        slot = self.a_slot * self.block_m / self.cluster_n + self.b_slot * self.block_n / self.cluster_m
        flags = (swap, kernel.whole, kernel.overlap, kernel.specialized, *along_k, *map(bool, self.widths))
        found = [*map(log2, sizes), log2(kernel.cluster[2]), log2(slot), kernel.consumers, self.boxes]
        return [*map(float, found), *map(float, flags), *(float(kernel.tail == x) for x in TAILS[1:])]

    def facts(self, m: int, n: int, k: int, a_cost: float, b_cost: float) -> tuple[float, list[float]]:
        """Microseconds of a launch, and what the correction is told of it beside `about`."""
        total, busy = self(m, n, k, a_cost, b_cost)
        us = total * self.longer / (self.mhz * (1 - self.rates.throttle * busy / total)) + self.fixed
        rows, across, tiles, slots, slot_of = self.of(m, n, k, a_cost, b_cost)
        whole, parts, part = (
            self.shared_out(m, tiles, slots, slot_of)[1] if self.kernel.tail in CUT else Cut(tiles, 1, slots)
        )
        items = (whole + (tiles - whole) * parts) * self.parts
        rounds = -(-items // self.ctas)
        if self.kernel.swap:
            a_cost, b_cost = b_cost, a_cost
        return us, [
            *(log2(rows), log2(across), log2(k), a_cost, b_cost),
            *(log2(items), log2(items / self.ctas), items / (rounds * self.ctas), log2(parts * self.parts)),
            *(log2(rounds * (slots if whole else part)), log2(us), busy / total),
            rows * across / (tiles * self.block_m * self.block_n),
            *(rows % self.block_m / self.block_m, across % self.block_n / self.block_n),
            k % self.block_k / self.block_k,
            *(log2(tiles), log2(slots), 1 / rounds, min(log2(rows), log2(across))),
            *(items / self.ctas if items < 8 * self.ctas else 8.0, float(parts * self.parts)),
        ]

    def cut(self, m: int, n: int, k: int, a_cost: float, b_cost: float) -> Cut:
        """How a shape's tiles are shared out, of a kernel whose tail is one of CUT."""
        _, _, tiles, slots, slot_of = self.of(m, n, k, a_cost, b_cost)
        return self.shared_out(m, tiles, slots, slot_of)[1]

    def of(
        self, m: int, n: int, k: int, a_cost: float, b_cost: float
    ) -> tuple[int, int, int, int, Callable[[int, int], float]]:
        """Rows and columns as tiles have them, tiles, slots of each, and clocks of a slot.

        These depend on how many CTAs are at work, and how many of them multiply other parts of K of one tile.
        """
        if self.kernel.swap:
            m, n, a_cost, b_cost = n, m, b_cost, a_cost
        if any(self.widths):  # threads copy at their own pace
            a_cost, b_cost = (1.0 if x else cost for x, cost in zip(self.widths, (a_cost, b_cost), strict=True))
        block_m, block_n = self.block_m, self.block_n
        tiles_m, tiles_n = -(-m // self.rows) * self.cluster_m, -(-n // self.columns) * self.cluster_n
        slots = -((k // -self.block_k) // self.parts)
        high, wide = block_m if block_m < m else m, self.reach if self.reach < n else n  # of a tile, what there is
        fill = self.a_fill * high * a_cost + self.b_fill * wide * b_cost
        # Rows beyond M and columns beyond N: of the last tile where the launch waits for it, else of a tile on average.
        some_m, some_n = (tiles_m, tiles_n) if tiles_m * tiles_n > self.ctas else (1, 1)
        a_zeros, a_boxes = self.edge(tiles_m * block_m - m, m, block_m, self.a_beyond)
        b_zeros, b_boxes = self.edge(tiles_n * block_n - n, n, block_n, self.b_beyond)
        boxes = self.boxes + a_boxes / some_m + b_boxes / some_n
        zeros = a_zeros / (some_m * tiles_m) + b_zeros / (some_n * tiles_n)  # times the CTAs at work: a share fills
        loaded = self.a_slot * high + self.b_slot * wide
        delivered = self.a_slot * high * a_cost / self.cluster_n + self.b_slot * wide * b_cost / self.cluster_m
        delivered /= self.rates.all
        operands = (self.a * m + self.b * n) * k
        read = (self.a_read * m + self.b_read * n) * k
        down_most = self.group if self.group < tiles_m else tiles_m
        # Requests for each line of an operand by each cluster that reads it: one of each row that lies in the line.
        a_asked, b_asked = max(1.0, self.a_lines / m) / self.cluster_n, max(1.0, self.b_lines / n) / self.cluster_m
        a_asked, b_asked = a_asked * self.rates.hot, b_asked * self.rates.hot
        read_once = read / (tiles_m * tiles_n * self.parts * slots) if operands < self.l2_bytes else None

        def slot_of(at_work: int, spread: int) -> float:
            """What all CTAs at work take from memory between them is what they do not find in L2."""
            down = down_most
            across = -(-at_work // (down * spread))
            if across > tiles_n:  # the CTAs at work have more than one group
                across, down = tiles_n, -(-at_work // (tiles_n * spread))
            unique = self.a_read * (down * block_m if down * block_m < m else m)
            unique = spread * self.block_k * (unique + self.b_read * (across * block_n if across * block_n < n else n))
            if read_once is not None and read_once * at_work < unique:  # everything stays: it is read once
                unique = read_once * at_work
            latency = self.latency + self.cold * unique / (at_work * loaded)
            asked = max(across * a_asked, down * b_asked)
            mix = self.mix
            loads = (fill + boxes + zeros * at_work) ** self.blend
            inner = ((self.multiply + loads) ** self.root + self.barriers) ** mix
            waits = (unique / self.memory) ** mix + latency**mix + asked**mix + (delivered * at_work) ** mix
            waits += self.producing**mix
            return float((inner + waits) ** self.mix_root)

        return m, n, tiles_m * tiles_n, slots, slot_of

    def edge(self, beyond: int, extent: int, block: int, line: float) -> tuple[float, float]:
        """Of a tile that an operand ends in: clocks for its rows of zeros if all SMs fill them, and for more boxes."""
        if not beyond or not line:
            return 0.0, 0.0
        edge = self.kernel.edge
        if 0 < edge < block and edge <= extent:
            return -extent % edge * line, (block // edge - 1) * self.rates.box
        return min(beyond, block) * line, 0.0

    def shared_out(
        self, rows: int, tiles: int, slots: int, slot_of: Callable[[int, int], float], given: Cut | None = None
    ) -> tuple[float, Cut]:
        """Clocks, of tiles the last of which may be cut into parts along K, and how they are best cut, or as `given`.

        Cut are the tiles of the last round, or of the last two, into parts that fill up to 4 rounds; or none. The last
        CTA of a tile adds its parts up, or each that has one a share; C has so many rows.
        """
        ctas = self.ctas
        whole_tile = slots * slot_of(min(tiles, ctas), 1) + self.between
        best, chosen = -(-tiles // ctas) * whole_tile, Cut(tiles, 1, slots)
        for whole, parts, part in self.cuts(tiles, slots) if given is None else (given,):
            if parts > 1:
                trips = -(-(tiles - whole) * parts // ctas)
                clocks = whole // ctas * whole_tile + trips * (self.between + self.sums)
                clocks += self.rates.mark + self.stripes(rows, parts, trips) * self.rates.stripe
                if given or clocks + trips * part * self.fastest < best:
                    clocks += trips * part * slot_of(min((tiles - whole) * parts, ctas), parts)
                    if given or clocks < best:
                        best, chosen = clocks, Cut(whole, parts, part)
        return best, chosen

    def stripes(self, rows: int, parts: int, trips: int) -> int:
        """How many times a consumer waits for sums to add up, of so many parts of a tile; with `each`, of its tiles."""
        stripes = -(-min(rows, self.adder_rows) * self.adder_columns // STRIPE)
        at_once = max(1, self.kernel.ahead // (4 if parts <= 4 else 8 if parts <= 8 else MOST_PARTS))
        if self.kernel.tail == "each":
            stripes = -(-stripes // parts)
            return trips * -(-stripes // at_once)
        return -(-stripes // at_once)

    def cuts(self, tiles: int, slots: int) -> Iterator[tuple[int, int, int]]:
        """What is possible: as in `Cut`."""
        full = tiles // self.ctas
        for rounds_whole in (full, full - 1) if full else (0,):
            whole = rounds_whole * self.ctas
            for rounds in range(1, MOST_ROUNDS + 1):
                if 2 * (tiles - whole) <= rounds * self.ctas and whole < tiles:
                    part = -(-slots // min(rounds * self.ctas // (tiles - whole), self.most_parts))
                    yield whole, -(-slots // part), part

    def last_round(self, left: int, slots: int, slot_of: Callable[[int, int], float]) -> float:
        """Clocks of a round of so few work items that some CTAs have none; of a tail, these share in K."""
        if self.kernel.tail == "helped":
            lent = lent_slots(left, slots, self.ideal, self.ctas)
            if lent:
                at_work = min(2 * left, self.ctas)
                return (slots - lent) * slot_of(at_work, -(-at_work // left)) + self.rates.helped
        elif self.kernel.tail == "split":
            part = part_slots(left, slots, self.ideal, self.ctas, self.kernel.ahead)
            if part < slots:
                parts = -(-slots // part)
                return part * slot_of(min(left * parts, self.ctas), parts) + self.parts_sums
        return slots * slot_of(left, self.parts)


def copies(kernel: Kernel) -> tuple[bool, bool]:
    """Whether threads copy A, and B, themselves."""
    return kernel.load_by in ("pointers", "pointers_a"), kernel.load_by in ("pointers", "pointers_b")


def can_load(kernel: Kernel, a_bytes: int, b_bytes: int) -> bool:
    """Whether the kernel can load rows that begin at multiples of so many bytes.

    TMA needs 16. Single elements pass through registers, which must have room for a thread's share of a slot.
    """
    across = kernel.tile[1::-1] if kernel.swap else kernel.tile[:2]
    held = 0
    for extent, copied, width in zip(across, copies(kernel), (a_bytes, b_bytes), strict=True):
        if not copied and width < 16:
            return False
        held += extent if copied and width < COPY else 0
    return held * kernel.tile[2] <= MOST_HELD * COPIERS


def widest(pitch: float) -> int:
    """Bytes of the widest copies that rows of such a pitch allow."""
    return gcd(int(pitch), 16)


def row_cost(pitch: float, rates: Rates) -> float:
    """Time of a row of a box, 128 bytes wide, over that of one which begins with a line of L2."""
    over = pitch % LINE
    if not over:
        return 1.0
    crossing = 1 - gcd(int(over), LINE) / LINE  # share of the rows that lie in two lines
    return (1 + rates.line * crossing) * (rates.sector if over % SECTOR else 1.0)


def part_slots(left: int, slots: int, slot: float, sms: int, ahead: int) -> int:
    """Slots of K of each part of the tiles that are left over; the host function chooses likewise."""
    part = -(-slots // min(sms // left, 32))
    return part if (slots - part) * slot > (10000 if ahead >= 16 else 19000) else slots


def lent_slots(left: int, slots: int, slot: float, sms: int) -> int:
    """Slots of K that each tile of the last round lends to CTAs without one; the host function chooses likewise."""
    helpers = min(left, sms - left)
    if helpers <= 0:
        return 0
    pieces = -(-left // helpers)
    lent = int((slots * slot - 2700 - 2400 * pieces) / ((pieces + 1) * slot))
    return lent if lent * slot >= 5000 else 0


def contiguous(types: Types, m: int, n: int, k: int) -> Pitches:
    """The pitches of contiguous operands, whose rows are filled up to 16 bytes."""
    a, b = (k if types.a_along_k else m) * types.a, (k if types.b_along_k else n) * types.b
    return (a + -a % 16) % LINE, (b + -b % 16) % LINE


# What NVIDIA H200 was measured to do.
RATES = Rates(
    ghz=1.98,
    memory=4.463e+06,
    peak=4.917e+06,
    l2_bytes=4.1943e+07,
    throttle=0.3353,
    launch=2.401,
    start=794.3,
    start_alone=550,
    gap=1500,
    tile=389.2,
    store=25.82,
    hidden=0.08513,
    alone=1,
    issue=27.14,
    blunt=4.21,
    slot=4.147,
    narrow=7.829,
    loading=20,
    wait=60,
    adding=85.4,
    adding_alone=144.3,
    added=128,
    l2=130,
    all=10990,
    line=1.168,
    sector=1.33,
    blend=9.189,
    mix=4.087,
    page=9.673,
    latency=1279,
    cold=1177,
    meeting=502.7,
    pair=80,
    parts=16430,
    few=17000,
    helped=725.1,
    second=3,
    mark=2334,
    stripe=929.3,
    producing=120,
    counting=600,
    along_k=1.05,
    remote=265.3,
    exchange=13.48,
    pointers=4.5,
    copied=24,
    needless=1.5,
    beyond=10.7,
    box=33,
    hot=2.2,
)
CORRECTION = Correction((44, 24, 12, 1), tuple(map(float, """
1.924 2.884 2.265 -2.973 1.248 -1.18 3.897 -5.572 -5.708 -6.501 4.862 6.254 0.6513 -0.8293 3.956 2.337 -3.242 0.6729
0.8308 -6.162 0.6955 14.17 -3.86 -4.81 0.1784 -0.1822 0.2368 -0.1355 -0.1138 0.09538 -0.1389 0.07431 -0.02862 0.2339
-0.4786 -0.1552 0.01176 -0.1928 -0.1612 -0.4124 -0.09832 -0.07028 0.06674 -0.0979 0.1701 -0.03129 0.1657 0.3871
0.04705 -0.1692 -0.1487 0.07208 -0.02742 0.1696 -0.003525 -0.02702 0.1577 -0.06454 -0.06265 0.1015 -0.1073 -0.00508
0.1719 0.006011 -0.1735 -0.125 0.04129 0.1543 -0.08821 -0.1157 0.04411 0.2467 -0.2491 0.2358 0.1244 0.3128 0.626
0.05814 -0.1617 -0.1476 0.2418 -0.06041 -0.1307 0.02286 0.2168 -0.1517 0.08143 -0.1323 0.4204 -0.1774 -0.03934
0.5246 -0.1464 -0.1184 0.2577 -0.1068 -0.3433 0.07333 0.203 0.07187 -0.9639 -0.3681 -0.009432 0.04945 0.2883 0.06193
0.3035 -0.03535 0.4125 0.1353 0.007122 -0.06324 0.2046 -0.1713 -0.0484 -0.3833 0.2438 -0.6732 0.02105 -0.1675 0.497
-0.08424 0.1131 0.1554 -0.03856 -0.1565 0.3674 0.2399 0.06186 0.06904 -0.2139 0.4313 -0.1595 -0.06715 0.1244 0.09655
0.1325 0.3375 -0.1036 0.07787 0.4207 0.2212 0.2108 0.1993 -0.05109 0.07707 0.1034 0.1726 0.1324 0.06825 -0.7646
0.06206 0.1347 -0.2692 0.6255 0.7528 -0.2119 -0.3337 0.7055 0.2828 0.2682 0.2419 0.1868 0.1983 0.4254 -0.09011
0.1496 0.04196 -0.6555 0.1515 -0.308 0.09905 0.6393 -0.03418 -0.6846 0.3208 -0.002964 0.1307 0.09656 -0.08692 -0.545
0.4483 0.6033 0.4649 -0.2153 0.0868 0.3522 0.2685 0.3842 0.4845 -0.2469 -1.168 0.002265 0.06787 -0.1958 0.02547
0.0221 -0.07809 0.02169 0.2944 0.06925 0.4226 -0.0522 -0.3142 -0.06066 0.1897 -0.2772 -0.02094 -0.0968 0.1103
-0.06257 0.2411 -0.2795 -0.5261 0.0394 0.05454 0.04791 -0.06343 0.1333 0.1561 -0.09629 -0.09834 -0.02511 0.1638
0.02766 0.01464 0.02798 -0.02905 0.4265 -0.1954 -0.04487 -0.2722 -0.1724 -0.135 0.06598 0.1565 0.257 -0.2804 0.08944
-0.0859 -0.002863 -0.002577 0.0003479 0.003238 -0.0004723 0.002223 -0.00212 0.0001568 -0.01068 0.003114 0.003555
-0.001553 0.0009535 -0.001495 -0.0005182 0.002343 -0.005261 -0.001426 -0.003657 -0.002767 0.003772 0.0002109
0.004387 -0.001963 0.07787 0.0703 -0.1717 0.1708 0.00172 0.05617 -0.4224 0.132 -0.1321 0.1113 0.05849 0.5561
-0.04624 0.316 -0.02618 0.1527 0.5126 -0.05143 0.2355 0.05275 0.02505 0.4502 -0.1515 -0.1136 -0.225 -0.2229 -0.3396
-0.04359 -0.3385 -0.03256 -0.2131 0.06883 -0.2471 0.5521 0.4234 -0.2347 0.03332 0.09535 0.04204 -0.515 -0.3499
-0.04444 -0.07765 0.302 0.4017 0.0431 0.0281 -0.1266 -0.3986 0.1452 0.3754 0.3852 -0.0138 0.2483 0.1953 -0.1935
0.4548 -0.06086 0.4503 -0.4409 -0.5195 0.4124 0.1199 -0.1455 0.4589 0.2892 0.1136 -0.3344 -0.2682 0.4731 -0.4536
0.4612 -0.1989 -0.8622 0.5036 -0.1377 0.009454 0.6189 -0.3792 -0.3116 0.8853 0.3468 0.8268 -0.3176 -0.3566 -0.3096
0.3736 0.7966 0.2581 0.5746 1.589 -0.2018 1.295 -0.5745 -0.8921 -0.5762 -0.03864 -0.2609 -0.09028 -0.04832 -0.1054
-0.007773 0.03136 0.04047 0.1845 -0.1642 -0.1865 0.03451 -0.0338 -0.0486 0.007026 0.09037 0.08113 -0.009054 0.05853
-0.1225 -0.1243 -0.1595 0.02425 -0.1003 -0.01472 -0.2225 -0.02158 0.008201 0.02941 -0.302 -0.07936 0.08059 -0.1009
-0.09082 0.225 0.07699 -0.04834 -0.1268 0.0001649 0.04496 0.3946 0.2234 -0.01781 0.2196 0.03712 -0.5156 -0.117
-0.04517 1.202 1.888 -1.207 0.09916 -0.391 0.1077 0.3982 0.7965 -1.76 0.9266 -0.07081 -1.714 0.4333 1.761 0.2765
-1.555 0.05697 0.5339 0.3994 -2.23 -3.594 -1.058 0.1798 -0.8538 0.9753 0.1372 0.4135 0.4056 0.4642 -1.956 -0.1309
1.496 0.456 1.585 0.7445 1.589 0.3835 1.862 -0.3637 -0.7792 -0.2121 -1.586 0.1453 -0.9406 -0.1155 -0.9355 -0.9377
0.6613 -0.2084 -0.6031 -0.165 -0.7346 -0.514 0.6015 -0.2249 0.008622 -0.5171 -0.5265 -0.2037 0.9918 0.3741 -0.2015
0.1534 0.5555 -0.2156 -0.337 -0.3051 0.1509 0.6142 -0.04792 0.01954 -0.131 -1.617 0.1891 -1.602 -0.7716 -0.9485
0.7604 0.4957 0.02857 -0.1864 -0.5301 -0.1117 1.426 1.015 -1.883 -0.1393 0.6569 -0.6998 0.7551 -0.7945 -1.729
-0.3855 1.92 0.44 0.09678 0.08414 0.2166 0.169 0.009929 -0.04791 -0.1136 0.2155 0.07342 -0.0257 -0.2393 -0.121
0.4875 -0.01928 0.2103 -0.02882 0.03415 -0.1328 -0.1941 0.2787 -0.02683 0.0537 0.0509 -0.01685 0.04937 0.2968 0.2729
0.2169 0.4181 0.08499 0.3758 0.1728 -0.1336 0.4197 0.533 -0.1771 -0.1936 0.3709 0.501 -0.2916 -0.7031 -0.2656
-0.02714 -0.5674 -0.1463 0.5835 -0.2347 0.2959 -0.2747 -0.01847 -0.03749 -0.01903 0.01388 -0.05657 0.007943 -0.01913
-0.03622 -0.02763 0.02603 0.01914 -0.0201 -0.05609 0.004023 -0.06044 -0.03922 0.00725 0.04164 0.005582 -0.009469
0.04049 -0.02561 0.01434 0.05434 0.03443 -0.01477 0.02009 -0.02407 0.009463 -0.0162 -0.01081 -0.03305 -0.01047
0.001344 -0.03556 0.007402 -0.03543 0.04154 -0.01586 0.0328 0.003665 -0.04779 0.01094 0.02131 0.04971 -0.05171
0.02389 0.03925 -0.03119 -0.02048 -0.06843 0.085 -0.03024 0.07419 -0.09428 0.1905 0.09847 -0.009338 -0.1018 -0.07811
0.09685 -0.0263 -0.02441 0.06569 0.2122 0.07931 -0.04908 0.0475 0.05083 -0.05051 0.09885 -0.01125 0.1907 0.05013
0.1869 -0.03777 -0.1054 -0.01346 -0.02941 0.07755 -0.06145 -0.1532 0.02382 0.026 0.1422 0.1873 0.005299 0.1422
0.03143 -0.001403 -0.05684 0.07094 -0.1382 -0.01363 -0.1083 -0.0008182 0.07826 0.03062 0.2219 -0.04348 -0.3537
0.04683 -0.1318 -0.0307 0.2165 -0.1456 0.1299 -0.05697 -0.0705 0.2348 -0.3002 0.06305 0.05145 0.1016 0.001432
-0.01947 0.02075 0.01262 0.03322 -0.01181 -0.07268 -0.05837 -0.05053 -0.06478 -0.03186 -0.01748 0.007528 0.07467
0.1051 0.01817 -0.04196 0.0009977 -0.008563 0.08313 0.0264 0.007683 0.07061 -0.057 0.02499 0.008407 -0.0407
-0.007593 0.06552 0.01789 -0.02885 0.004214 -0.005712 -0.04273 -0.02483 0.05191 0.01092 0.1017 0.1111 0.01092
-0.03801 -0.06805 -0.02846 -0.05052 -0.03058 0.109 -0.01055 0.0608 0.0768 0.09179 -0.01302 -0.03723 0.07535 -0.07591
-0.5131 -0.5247 0.1126 -0.5876 -0.3989 -0.07313 0.1736 -0.5379 -0.08937 -0.9503 -0.0406 -0.3101 -0.1187 -0.4014
0.3008 -0.6657 -0.7933 0.4206 -0.2004 -0.5851 -0.2302 -0.72 -0.2714 -0.2453 0.003532 0.07672 0.06487 -0.004859
-0.009789 0.02444 0.02543 0.1117 0.02974 -0.1099 0.05891 0.05205 -0.01429 -0.07831 -0.02933 0.08364 -0.08068 0.09649
0.06803 0.006874 0.0393 -0.0922 0.009247 -0.03409 0.01772 0.03333 -0.02531 -0.03737 -0.01041 0.01568 -0.03643
0.02827 0.003657 0.04377 0.02108 -0.0009818 -0.02116 0.05462 0.05742 0.01581 0.1207 -0.05087 -0.0134 -0.1004
-0.01315 0.06021 -0.02375 -0.03026 -0.0006989 0.11 -0.01313 0.04665 0.06133 0.04988 0.1449 -0.1174 -0.151 0.036
0.1813 0.04235 -0.3841 -0.08078 9.185e-05 0.03439 -0.09151 -0.1223 0.07851 0.02404 0.08284 0.1347 -0.07949 0.0899
-0.8919 -1.586 -0.2382 -0.2388 -0.2201 0.1719 -0.8729 -0.7148 0.7638 0.0007956 -1.434 -0.208 0.5852 -0.585 0.1693
0.1225 -0.09482 0.7057 -1.09 -0.3713 0.873 -1.265 -0.1237 0.9338 -0.4784 0.163 -0.1822 -0.157 0.7785 0.006176
-0.2511 0.2102 -0.02448 -0.02637 -0.03047 0.2642 0.04774 0.2537 0.09918 0.02135 -0.4025 -0.1011 -0.4793 0.7968
-0.1891 -0.04371 0.3052 1.024 -0.001736 -0.01429 -0.06374 0.05486 -0.06521 -0.08102 -0.01412 -0.07331 0.05006
0.006687 0.1345 -0.0349 0.07848 -0.1033 -0.07245 -0.08032 0.2043 -0.01352 -0.1509 0.06427 -0.06307 0.05759 0.008627
0.01125 0.0398 0.02138 -0.1361 0.04965 0.009098 0.03441 -0.007362 0.006824 0.07242 0.0427 -0.05012 0.02301 0.04975
-0.05632 -0.01424 0.1157 0.01065 0.03365 -0.01167 0.1107 -0.08093 -0.1369 -0.03218 -0.07407 -0.2954 -0.05321
-0.08211 -0.2171 0.03906 0.04927 -0.06599 -0.1725 0.05797 -0.002688 -0.08531 -0.01541 0.005584 -0.2475 -0.2491
-0.1386 -0.4402 -0.1005 0.1363 0.1296 -0.162 0.1364 0.2692 0.0007283 -0.005409 0.03026 -0.03579 0.02968 -0.0153
-0.01376 -0.02205 0.02633 0.001572 -0.0003633 -0.0278 -0.03376 -0.04288 -0.01015 -0.08444 0.04537 0.07892 0.01444
0.06092 -0.02862 0.0232 0.0828 -0.03338 -0.03918 0.03276 -0.1592 -0.05001 -0.001885 -0.04813 -0.008555 -0.004426
0.07706 -0.02337 -0.06946 -0.02814 -0.08079 -0.003143 -0.01856 -0.03221 0.05172 0.02673 -0.07235 -0.05738 -0.03178
-0.00806 -0.109 0.001736 0.0333 0.1763 -0.3909 -0.1552 0.3562 -0.4424 -0.6205 -0.05707 -0.5258 -0.3422 -0.1455
0.04588 -0.3464 -0.1351 0.5556 0.1813 -0.4733 -0.2404 -0.01773 -0.1423 0.0318 0.3322 -1.275 -0.1181 -0.3082 0.02862
0.008978 -0.03283 0.05223 -0.000679 0.05925 0.007197 0.05163 0.003443 -0.02899 -0.02161 -0.0002856 0.01233 -0.05609
0.02732 0.02134 0.01134 -0.01774 -0.0944 0.003033 -0.05921 0.05491 -0.00333 0.04465 0.01943 -0.0405 -0.02048
-0.07677 -0.006944 0.06365 -0.03672 -0.01355 -0.0344 0.02844 -0.06702 0.007772 0.03566 -0.05083 0.05576 0.01936
-0.02352 0.006845 -0.1079 -0.1854 -0.06715 0.1018 0.03174 -0.05271 -0.009925 0.02033 0.03786 0.03244 -0.03627
0.01209 -0.003726 0.0005906 -0.02344 -0.0384 0.01348 -0.004288 0.004256 0.02254 0.03487 -0.05388 -0.04846 0.003363
-0.006973 -0.001653 0.06498 -0.04815 -0.008363 -0.0009486 -0.1952 0.3214 -0.2133 0.2344 -0.2276 -0.07339 0.00654
0.4293 -0.06156 0.06951 0.02663 0.0298 0.1026 -0.09097 0.3016 -0.127 0.1044 -0.03121 -0.00485 0.2568 -0.2773
0.008733 0.02482 -0.07341 -0.1994 0.1529 -0.353 0.03446 0.01567 0.01653 0.07297 0.005376 -0.1443 -0.05994 0.132
-0.1635 -0.02323 0.0477 0.03331 0.1693 -0.001403 0.1746 -0.1238 0.01757 0.0468 0.1899 -0.164 0.1965 0.06896 -0.1927
0.04298 0.06272 -0.09414 -0.2598 0.1391 0.08343 -0.05236 -0.02371 0.09095 -0.06034 0.04663 0.05816 0.07422 -0.268
-0.184 -0.08409 0.2388 0.1911 0.04587 0.2121 0.03676 -0.04793 0.0666 -0.1073 0.1204 0.3273 -0.0673 -0.1275 -0.1044
-0.1645 0.0395 -0.07991 0.1993 0.1299 -0.01515 0.06998 -0.0102 -0.05165 0.1725 -0.1558 0.2399 0.1262 0.142 0.05633
-0.148 -0.07839 -0.03791 -0.1096 -0.08601 -0.05722 -0.2407 0.1831 0.2022 0.05219 0.1596 0.1089 0.163 0.2004 -0.09537
-0.103 0.144 -0.03441 -0.03944 -0.007462 -0.1146 0.05627 -0.1698 0.169 -0.1294 0.1737 -0.1557 0.09396 -0.04779
0.06091 -0.1771 -0.1784 0.06796 -0.2115 0.1477 0.082 -0.2231 0.1154 -0.002655 -0.01835 0.07039 -0.2242 -0.02124
-0.1199 0.1391 0.1838 -0.01854 -0.07214 0.02083 -0.06557 0.2879 -0.008415 -0.169 0.1801 0.1429 -0.06188 -0.03857
0.1759 0.02453 -0.109 -0.3273 0.2364 -0.08928 -0.0751 -0.0479 0.07925 0.09493 0.04454 0.08882 -0.309 0.04663 -0.1807
0.2158 -0.01549 -0.007552 -0.1312 -0.0323 -0.1827 -0.1975 -0.1936 -0.09122 -0.02174 -0.1067 -0.1015 -0.002959
-0.1093 -0.1791 -0.1945 -0.2246 0.01813 -0.09241 -0.05085 -0.05233 0.01628 -0.001896 0.1688 -0.338 0.02912 -0.04834
0.01566 -0.09746 -0.01705 0.05274 -0.001039 -0.1812 -0.2819 0.0336 -0.1358 -0.2345 -0.006401 -0.05755 -0.009346
0.04914 0.03066 0.03796 0.1363 -0.1555 -0.1278 -0.1553 -0.03096 -0.06403 0.1022 -0.1648 -0.1965 -0.2254 0.06311
0.1137 0.02085 -0.03433 0.01567 -0.1544 -0.1103 0.01814 0.1937 0.04516 -0.1177 0.2935 -0.01608 -0.07899 -0.1214
0.2065 0.07308 0.1541 0.05846 0.09611 -0.1182 0.05037 -0.005616 -0.2023 0.1865 0.05133 0.06468 -0.2936 0.06122
0.1359 0.1733 0.09109 0.1751 -0.02966 -0.03688 0.1149 -0.03299 0.1827 0.104 -0.4926 0.1714 -0.01734 -0.2293 0.07755
0.08015 0.06186 0.02807 0.01539 -0.2243 -0.004961 0.02592 -0.2692 0.3621 -0.07709 -0.05954 0.02152 0.09483 0.04812
-0.1585 0.1834 -0.06215 0.06882 -0.008427 -0.1184 0.025 -0.1523 0.1047 0.1498 0.09946 0.246 -0.1383 -0.2068 0.02352
-0.0004433 -0.03815 -0.07328 0.107 -0.2133 0.1048 0.13 -0.1254 0.2181 0.205 -0.2348 -0.1054 -0.164 0.1888 0.143
-0.1104 -0.2194 -0.1356 0.1641 0.1092 0.2395
""".split())))
