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
LIKELY = 1.1  # times the least estimate: kernels that may be the fastest all the same
MOST_LIKELY = 10  # of those
LEARNED = ("tma", "pointers_a")  # how kernels load of which measurements said by what their estimates are off
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
        learned = [x.load_by in LEARNED for x in self.kernels]
        if self.correction is None or times[order[0]] == inf or not learned[order[0]]:
            return order[0]
        likely = [i for i in order[:MOST_LIKELY] if times[i] <= LIKELY * times[order[0]] and learned[i]]
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
    "b_slot", "b_start", "a_beyond", "b_beyond", "a_lines", "b_lines", "boxes", "producing", "latency", "cold",
    "between", "around", "most_parts", "parts_sums", "sums", "adder_rows", "adder_columns", "blend", "root", "mix",
    "mix_root", "memory", "l2_bytes", "can_load", "longer", "mhz", "fixed",
)
OF_KERNEL = (
    "swap", "split", "ahead", "edge",
)
OF_RATES = (
    "all", "hot", "box", "l2", "helped", "mark", "stripe", "throttle",
)
ADDED = (
    "width", "tail", "a_width", "b_width", "sum", "stripe_sums", "limit_parts", "limit_rounds", "spare",
    "likely", "most_likely", "most_off", "learned",
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
        # Such boxes begin where a tile does, which need not be where a line of L2 does.
        self.b_start = row_cost(block_n * self.b, rates) if kernel.whole and not along_k[1] else 1.0
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
        found += [LIKELY, MOST_LIKELY, MOST_OFF, self.kernel.load_by in LEARNED]
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
            *(log2(rows), log2(across), log2(k), a_cost, max(b_cost, self.b_start)),
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
        b_cost = max(b_cost, self.b_start)
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
1.937 -5.426 1.773 -0.02109 5.373 -2.547 8.592 -6.877 -3.274 -6.846 7.419 4.642 2.709 1.03 2.816 0.9156 -9.082 1.829
-1.03 1.167 2.386 12.8 -3.89 -2.245 0.09981 -0.1555 0.1523 -0.239 -0.4971 0.04881 -0.1023 0.2034 -0.02963 0.1997
-0.3521 0.02296 -0.04657 -0.2745 0.03658 -0.3525 0.09185 0.07582 -0.03993 -0.1665 0.09574 -0.1487 0.1871 0.1185
0.01736 -0.02273 -0.1144 0.04907 -0.145 0.1618 -0.06794 -0.07267 -0.05186 -0.01393 -0.1073 -0.02498 -0.0989 -0.03263
0.1374 0.06717 -0.1071 -0.1543 0.1025 -0.0154 -0.1391 -0.0579 0.1258 0.1108 -0.392 0.3639 0.1159 0.1888 0.4988
-0.08634 -0.194 -0.06692 0.1714 -0.262 -0.0381 -0.313 0.2827 -0.07312 0.3407 0.08053 0.5112 -0.3202 0.215 0.1923
-0.7379 -0.05584 0.1895 -0.1468 -0.208 0.1972 0.09714 0.04039 -0.04606 -0.2523 -0.1904 0.1789 0.2379 0.3686
-0.0002183 0.2226 0.339 0.4485 -0.1356 -0.2099 0.3866 -0.1424 -0.4969 -0.05523 0.1182 -0.5649 -0.1724 -0.1488 0.4109
0.01328 0.1431 0.3051 0.1163 -0.1821 0.2556 0.2254 0.05474 0.04205 -0.07374 0.3554 -0.1668 0.03386 0.004893 0.2535
0.01454 0.2606 -0.2312 -0.06994 0.3014 0.2525 0.195 0.3015 -0.1276 -0.2761 0.1628 -0.05812 0.3206 0.07506 -0.602
-0.1009 0.3594 -0.3573 0.694 0.1105 -0.07862 -0.5945 0.3796 0.2955 0.09869 0.06285 0.1272 0.02164 0.2351 0.1385
-0.02778 -0.07805 -0.402 0.02088 -0.1042 0.2176 0.3999 -0.254 -0.07613 0.3826 -0.5396 -0.1426 0.2423 -0.4925 -0.4624
1.347 0.2874 0.3157 0.185 -0.1498 0.6023 -0.33 0.1873 0.495 -0.3058 0.2216 0.008346 0.3474 -0.1728 -0.05963 -0.1079
-0.01419 -0.1837 0.2929 0.0647 0.3947 -0.0855 -0.2055 -0.1834 -0.009289 -0.36 0.03127 0.1921 0.1227 0.1181 -0.08221
-0.1202 -0.5407 0.08738 0.01654 0.05196 0.2865 0.08884 0.08542 -0.2881 -0.16 -0.2463 0.1292 -0.2425 0.133 0.04513
-0.06379 0.3369 -0.04689 -0.251 -0.2838 -0.3102 -0.07389 0.02167 0.3542 0.1907 -0.291 0.1589 -0.002326 -0.006646
0.001368 0.0001278 0.003008 -0.001409 0.002895 -0.003765 0.001332 -0.002576 -0.0008469 -0.001777 -0.01181 0.0006162
-0.001918 0.0007538 0.001958 -0.004079 0.001422 -0.008276 -0.001518 0.00365 0.0002109 0.005892 0.000466 0.04621
-0.05256 -0.2016 0.1125 0.1406 0.01744 0.01981 0.05519 -0.02179 0.1521 0.2813 0.193 -0.05224 0.1045 0.09324
-0.008892 0.2736 0.04178 0.0845 0.408 -0.02144 0.2673 -0.1355 -0.2608 -0.2769 -0.3022 -0.3426 -0.0002211 -0.4154
0.1483 -0.2497 0.03978 -0.4848 0.5254 0.2102 -0.4153 0.05374 0.02366 0.105 -0.2887 -0.2422 0.05679 -0.6953 -0.1183
0.4991 0.5488 0.05318 -0.0558 -0.3316 -0.2091 0.7156 0.3144 0.1966 0.1702 0.2886 -0.3255 0.2187 0.288 0.01457
-0.8028 -0.2938 1.017 -0.4649 -0.1823 -0.07415 -0.07092 0.08874 -0.9673 -0.2308 0.5228 -0.1025 0.2148 -0.0257
-0.4256 1.313 0.3157 -0.2621 0.3488 -0.363 -0.2476 0.01247 0.6747 0.6809 0.06959 -0.1565 -0.01516 0.2151 0.9491
-0.1983 0.2101 -0.01095 0.4287 1.309 -0.8419 -0.6078 -0.1159 0.03134 -0.1516 -0.06499 0.03501 0.1979 0.03976 0.08439
0.03525 0.172 -0.2141 -0.2594 0.0819 0.07353 0.1035 -0.06106 0.137 0.1714 -0.05513 0.02969 -0.02086 -0.007901
-0.2872 -0.07235 0.1066 0.03021 -0.03578 -0.02762 -0.1828 0.4097 -0.2478 -0.09745 0.0435 -0.003141 0.06117 -0.1541
0.3976 -0.03217 -0.1283 0.2931 0.2014 0.06127 -0.1598 -0.2745 0.1463 0.129 -0.05289 0.02766 0.05146 0.6947 0.6776
-1.983 -0.6153 -0.9028 -0.5336 0.9899 0.4792 -0.003163 1.015 1.037 -0.2113 0.9581 1.476 -0.0435 -0.6559 0.1098
0.3574 0.3942 -1.817 -2.697 -1.799 0.428 -0.4478 0.9465 0.4773 0.2165 0.4929 0.5217 -1.791 -1.507 1.615 0.4107
0.7987 0.5584 0.1207 0.8133 0.7438 -0.08216 -0.7188 -0.5167 -0.9652 0.2456 -1.371 0.7875 -0.6757 -0.9666 0.6111
-0.1787 0.5803 -0.3749 -0.9967 -0.9022 -0.7249 -1.237 0.1459 -0.6474 -0.6184 -0.2799 0.3603 -0.8515 0.5349 0.1983
1.327 0.1713 -0.7759 -0.49 -0.1792 0.542 0.5738 0.2831 0.0007335 -1.711 -0.6903 -2.153 -0.4025 -0.04624 0.7633 1.283
-0.1259 0.6311 -1.416 1.365 1.464 0.4642 -0.3341 -1.149 0.6692 0.1245 1.074 -0.6307 -1.878 0.09698 0.06464 0.3664
-0.5841 -0.06758 0.2302 0.02546 0.1466 0.04715 0.2205 0.3661 0.1574 -0.1965 -0.1471 -0.1427 0.2492 -0.01143 -0.2732
-0.1519 -0.06558 -0.2974 -0.3274 0.2682 0.1295 0.1926 0.1433 -0.06841 0.007004 0.298 -0.2953 0.31 0.3863 -0.1713
0.3875 -0.05195 -0.3093 -0.0045 0.2052 -0.0408 -0.1343 0.518 0.2627 -0.1042 -0.273 0.2614 0.1356 -0.08563 0.5414
0.7171 -0.1247 0.4762 0.1493 -0.01882 -0.04034 0.0003627 -0.004102 -0.02086 0.007583 -0.03056 -0.01461 -0.05562
-0.006594 0.001083 0.01191 -0.07391 0.03105 -0.024 -0.04243 0.04823 -0.001321 0.005436 0.02254 0.02997 -0.02706
0.02293 0.008921 0.0237 -0.004165 0.02394 -0.005496 -0.01005 -0.0211 -0.001665 -0.02909 0.00707 0.03794 -0.04038
0.002764 -0.01233 0.00988 0.009348 0.0268 -0.02295 -0.04864 0.008767 -0.03227 0.03454 -0.04067 0.004207 0.02462
0.01027 0.0167 -0.09932 0.05941 -0.02652 0.05352 -0.1081 0.1746 0.146 0.01356 -0.1266 -0.01171 0.06813 -0.02646
0.004168 0.01413 0.1593 0.02521 0.009664 0.04271 0.05997 0.01658 0.03885 -0.04324 0.1646 0.328 0.1483 -0.03877
-0.07582 0.02268 -0.1051 0.1214 0.06929 -0.0251 0.05481 0.07206 0.04299 0.1622 -0.03124 0.07766 -0.03987 -0.0009408
0.1277 0.02016 -0.03646 -0.04551 -0.08104 0.01361 0.1825 -0.04674 0.1295 -0.05127 -0.02444 0.1435 -0.01914 -0.05806
0.04861 -0.1773 0.001299 -0.1292 -0.121 0.2075 -0.1362 -0.03733 0.0946 0.03551 0.07023 0.02076 0.001911 0.03766
0.08086 -0.1329 -0.05744 -0.05695 -0.0567 -0.06447 -0.1258 -0.006973 0.01257 0.02987 0.09115 0.02552 -0.08429
0.004647 -0.02452 0.08736 -0.07324 -0.03864 0.06454 -0.03992 0.006534 -0.05092 -0.08055 0.03103 0.04934 0.009695
-0.01007 0.004889 -0.009008 -0.0294 -0.1239 0.0535 0.01469 0.05677 0.09397 0.01722 -0.06352 -0.06869 -0.05202
-0.04579 -0.1171 0.06311 -0.02288 0.06271 0.05618 0.02803 -0.06033 0.00134 0.04947 -0.06882 -0.2529 -0.2065 0.553
-0.6415 0.1458 0.8888 0.03633 -0.7086 -0.4364 -0.8244 -0.522 -0.4971 -0.3145 -0.1888 -0.2162 -0.2676 -0.1351 0.8102
-0.445 -0.4175 0.07022 -0.5014 -0.2633 0.5693 -0.04355 0.114 -0.004169 0.04625 0.07355 0.06755 -0.04502 0.08396
0.06858 -0.01732 0.07705 -0.05349 -0.05011 -0.1629 -0.1062 0.1492 -0.1116 0.1136 0.05909 0.08342 0.09272 -0.08297
0.06094 0.07385 0.02818 0.02899 -0.008377 -0.01238 0.05298 0.02191 -0.0383 0.04398 0.03314 0.01126 0.002377 0.003307
-0.0004593 0.07167 0.08737 -0.00869 0.1064 -0.08459 -0.05322 -0.07797 0.04296 0.04177 -0.003299 -0.011 -0.01139
0.07179 -0.006855 0.03591 0.002649 0.06701 0.1512 -0.07151 -0.1275 0.04483 0.1938 -0.009392 -0.2716 -0.07113
0.009471 0.07736 -0.1261 -0.1294 0.01246 0.0004076 0.07175 0.0786 -0.0294 0.07288 -0.7705 -0.7736 -0.1605 -0.7372
0.3707 0.9252 -0.9903 0.07445 1.108 -0.104 -1.206 -0.3168 -0.09444 -0.9164 0.07457 -0.184 0.09884 0.8231 0.1134
-1.133 0.6014 -1.085 -0.245 1.998 -0.4511 0.1466 -0.2259 0.06452 0.07087 -0.0154 -0.176 0.4197 -0.009471 -0.06961
-0.06796 0.03446 0.1606 -0.2566 0.09284 0.0261 -0.5934 -0.1114 -0.06628 0.3245 -0.2433 0.04674 0.4837 0.3955
-0.05261 -0.1946 -0.00256 0.006394 -0.002129 0.01635 -0.06523 -0.02531 0.1226 -0.06873 -0.09077 0.08715 0.07005
-0.09327 0.01637 -0.0745 -0.06079 -0.02564 -0.168 -0.002967 -0.001762 0.1893 0.06717 0.09109 -0.03215 0.02062
0.04644 -0.08726 -0.09212 0.004944 -0.01237 0.1452 0.02757 0.1779 -0.01562 -0.06231 0.1048 0.009211 0.1328 0.07194
-0.02276 -0.01323 0.0265 -0.143 0.02211 -0.05441 -0.08554 0.04298 -0.4715 0.00196 -0.06283 0.01748 -0.195 0.158
0.0904 -0.01593 -0.0897 -0.2266 -0.1527 -0.005728 0.08157 -0.2094 0.1485 -0.1551 -0.2617 -0.03475 0.05197 -0.02363
-0.1961 0.1522 0.2882 -0.5223 0.007307 0.001721 -0.001642 0.0353 -0.05859 0.007596 -0.0308 -0.02134 -0.008907
-0.03257 -0.06046 -0.01955 -0.01334 0.01164 -0.08855 0.02244 0.1021 0.003956 -0.004974 -0.07883 0.02422 0.1179
-0.03295 -0.04351 0.08093 -0.1216 -0.08521 -0.02238 -0.03606 -0.01245 -0.03221 0.05266 0.0364 -0.01759 -0.07231
-0.004142 -0.04024 -0.0479 0.002374 -0.01145 0.01016 -0.08621 -0.04745 0.005221 0.02575 -0.09698 -0.03643 -0.009697
0.3284 -0.4373 0.06417 0.1882 -0.9682 -0.05198 -0.4036 -0.6432 -0.3518 -0.01257 -0.3756 -0.09614 -0.05945 0.5906
0.1901 -0.3986 0.03739 0.3304 -0.1267 -0.08158 0.4259 -0.9437 -0.2608 0.2575 -0.003474 -0.01097 -0.04373 0.05879
0.01401 0.02987 0.005485 0.03015 -0.01124 -0.0112 -0.02554 0.002803 0.02557 -0.063 0.06482 0.03043 -0.01651
-0.003012 -0.02266 0.04591 -0.01237 0.01792 -0.003147 0.06808 0.01271 -0.002034 -0.01308 -0.04511 0.02345 0.04288
-0.02859 0.02322 0.0002945 0.03473 -0.06107 -0.004838 0.03238 -0.01174 -0.06292 0.02205 -0.02123 -0.06403 -0.02961
-0.01138 -0.02344 0.007849 -0.02426 0.01088 -0.0227 0.02947 0.02202 0.04573 -0.09201 0.04105 0.01724 0.01713
-0.009162 -0.00387 0.0004478 0.02388 0.02684 0.0244 0.02701 -0.06284 -0.03043 0.004644 0.01112 0.0128 0.02532
-0.02425 -0.01384 -0.008704 -0.2044 0.2835 -0.05171 0.1598 -0.2058 -0.02534 -0.05579 0.3467 -0.003682 0.004184
-0.07456 0.03312 0.05933 -0.4798 0.2908 -0.1242 0.07451 -0.0631 0.03673 0.2312 -0.0234 0.04471 0.007571 -0.07099
-0.1024 0.1922 -0.2439 -0.05868 -0.01256 0.1259 0.1002 0.0357 -0.04403 -0.0501 0.07916 -0.09378 0.05446 -0.09007
0.003494 0.2651 -0.02719 0.1858 -0.1712 0.1598 0.03146 0.1647 -0.0922 0.1889 -0.05227 -0.3475 0.04969 -0.129
-0.05441 -0.1606 -0.006021 0.1718 -0.0651 -0.08427 -0.103 -0.109 0.03097 -0.06574 -0.2088 -0.08428 0.00798 -0.1631
0.1756 -0.06249 0.3117 0.1379 -0.07633 0.01331 0.03646 0.0472 -0.1194 0.3299 0.07318 -0.1028 -0.3526 -0.1634
-0.01642 -0.1436 0.02937 0.1592 0.06915 -0.1449 -0.2723 -0.09447 0.06298 -0.1228 0.1981 0.182 0.1447 0.166 -0.07852
-0.1471 -0.09389 -0.1215 -0.02041 0.1047 -0.1902 0.1729 0.2521 0.03142 0.002601 0.1858 -0.08724 0.1828 -0.07502
-0.1683 0.05631 0.008256 -0.1457 0.03236 0.07421 0.07115 -0.1687 0.07839 -0.1343 0.1932 -0.2008 -0.02555 0.06069
0.03947 -0.1386 -0.1567 -0.03879 -0.09186 0.2099 -0.03212 -0.06422 0.1496 -0.1299 0.001844 0.1423 -0.04064 0.007049
-0.168 0.05289 0.1417 -0.1117 -0.09137 -0.04052 -0.07126 0.1156 -0.08637 -0.139 0.003015 0.2397 0.04404 -0.1545
0.09718 0.0456 -0.1136 -0.2299 0.2164 -0.06982 -0.02197 -0.05558 0.06316 0.09507 0.08055 0.011 -0.3028 0.033 -0.2395
0.2474 -0.003333 0.1428 -0.05271 0.215 -0.1866 -0.184 -0.3247 -0.01041 -0.06777 -0.1532 -0.04701 0.1088 -0.06438
-0.1179 -0.004935 -0.2308 0.1203 -0.02324 -0.08028 0.07454 0.1684 -0.2192 0.1248 -0.02911 0.05582 -0.0784 0.004027
-0.04577 0.0535 -0.1498 -0.0972 -0.3138 -0.2636 -0.1061 -0.03446 -0.1712 0.0123 -0.03757 0.09601 -0.04431 0.05074
-0.001545 0.005474 -0.3294 -0.08838 -0.2093 -0.1658 0.09106 0.1166 -0.2057 -0.04436 -0.2664 0.02895 0.2031 -0.006514
-0.3223 0.005226 -0.008092 -0.05866 -0.1849 0.2024 -0.01927 -0.2078 0.1142 -0.1223 -0.1255 -0.1424 0.1321 0.03481
0.146 0.1183 0.2162 -0.05885 0.01373 0.008839 -0.159 0.2206 -0.2197 0.1132 -0.3135 0.1228 0.06409 0.08759 0.106 0.18
-0.07413 0.05189 0.1371 -0.04839 0.1428 0.09165 -0.4384 0.1428 -0.09346 -0.2058 -0.1783 0.1067 -0.09185 -0.0698
0.06421 -0.2391 0.06273 0.002688 0.1271 0.3163 0.03644 -0.08185 -0.05689 0.08733 0.09739 -0.1029 0.06486 -0.03441
0.05871 -0.04962 -0.2478 -0.01199 0.01307 0.1676 0.2232 0.06669 0.05016 -0.1177 -0.2583 0.1164 -0.1382 -0.006446
-0.1727 0.1254 -0.1817 0.1106 0.2207 -0.1034 0.2213 0.2364 -0.1686 -0.09198 -0.1399 0.1345 0.1571 -0.114 -0.1721
-0.1578 0.1864 0.1084 0.2441
""".split())))
