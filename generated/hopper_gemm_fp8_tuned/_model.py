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
            return in_c.least_of(self.numbers(*key), len(self.kernels), *extents, *costs, *self.network())  # type: ignore[no-any-return]
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
    "products", "multiply", "barriers", "fastest", "ideal", "a", "b", "a_read", "b_read", "a_fill", "b_fill", "a_slot",
    "b_slot", "b_start", "a_beyond", "b_beyond", "a_lines", "b_lines", "boxes", "producing", "latency", "cold",
    "between", "around", "most_parts", "parts_sums", "sums", "adder_rows", "adder_columns", "blend", "root", "mix",
    "mix_root", "norm", "memory", "l2_bytes", "can_load", "longer", "mhz", "fixed",
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
    library.times.argtypes, library.least_of.argtypes = given, [*given[:-1], ctypes.POINTER(count), array]
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
        self.products, self.multiply = multiply, multiply**rates.blend
        barriers = rates.slot + rates.pair * (cluster > cluster_k) + rates.narrow * (kernel.consumers == 1)
        barriers += (0 if kernel.in_flight else rates.wait) + (0 if kernel.specialized else rates.loading)
        if types.promote:
            alone = kernel.overlap or kernel.consumers == 1
            barriers += rates.adding_alone + block_m * block_n / rates.added if alone else rates.adding
        self.barriers = barriers
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
        self.norm = min(1.0, 6.0 ** (1 / rates.mix - 1 / 4))  # times the 4-norm of 6 numbers, it is at most their mix
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
        # A slot takes as long at least, however few bytes memory and L2 have to deliver.
        least = ((multiply + barriers) ** self.mix, self.latency**self.mix, self.producing**self.mix)
        self.fastest = sum(least) ** self.mix_root

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
        return self.took(*self(m, n, k, a_cost, b_cost))

    def took(self, total: float, busy: float) -> float:
        """Microseconds of so many clocks, in some of which tensor cores are busy, so that the clock rate falls."""
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
        us = self.took(total, busy)
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
CORRECTION = Correction((44, 48, 24, 1), tuple(map(float, """
0.3689 -3.559 3.698 -3.751 -4.673 5.451 0.3812 -0.9012 2.286 -5.001 8.302 -2.58 -7.171 -5.315 1.753 -4.004 0.8911
5.971 -1.617 1.688 7.037 8.87 -0.02284 -1.699 -7.427 0.1563 3.538 3.184 7.983 -12.62 1.242 0.1895 3.085 -1.553 3.423
-4.273 -2.717 8.241 8.896 2.165 -1.243 -2.963 -6.703 1.932 -0.5556 -3.552 -10.98 1.589 0.1789 -0.1962 0.1798 -0.4574
0.02416 -0.169 0.3247 -0.05748 -0.2385 0.01102 -0.5276 -0.1665 0.0397 -0.0797 0.197 -0.1377 -0.2083 -0.156 0.3833
0.004796 -0.05254 0.1281 0.2098 0.3289 0.2722 0.06413 0.06493 0.02097 -0.5394 0.3749 0.1712 -0.134 0.3175 0.1815
-0.5016 0.3337 0.3579 -0.2095 -0.03722 0.2012 -0.2771 -0.08981 0.2896 0.08173 -0.02917 0.1102 0.461 -0.2812 0.09908
-0.05491 -0.04191 -0.04325 -0.1669 0.1375 -0.1373 -0.05078 0.2432 0.07168 -0.06459 0.04418 -0.01835 -0.2136 0.09804
0.01313 -0.1432 -0.03364 0.2058 -0.06429 -0.3575 -0.1231 0.2271 -0.1473 -0.07968 -0.08725 -0.1588 -0.2496 0.1021
-0.02516 0.2053 0.03725 -0.162 -0.1563 -0.09332 -0.273 0.03966 0.1561 -0.05171 0.05751 0.2616 0.04155 -0.1018 0.25
0.05183 -0.02434 0.3075 -0.0826 -0.4163 0.3813 0.04331 0.03494 0.09044 -0.3669 -0.2941 -0.397 -0.479 -0.17 -0.1325
0.4605 0.5826 0.2612 0.4614 0.31 0.2195 -0.4061 -0.8398 -0.2611 -0.4751 0.09499 -0.1931 -0.05834 0.4047 0.5624
0.2034 0.2179 -0.04848 0.5321 -0.3993 0.1913 -0.02154 0.3239 -0.2421 0.4078 -0.1427 -0.2704 0.04341 0.1554 0.06366
0.678 0.1966 -0.5877 -0.0844 -0.09959 0.1274 0.1194 -0.4065 -0.2932 -0.1835 0.1791 0.04072 -0.2333 -0.01423 -0.1549
-0.2894 0.5173 0.1722 0.3141 0.3403 0.2947 -0.06658 -0.1899 0.3147 0.03542 -0.3884 0.03979 0.3246 -0.4513 -0.4584
0.3646 -0.4268 0.3936 0.0007859 -0.01984 -0.4201 0.5729 -0.1765 0.04213 0.2355 -0.02805 -0.1828 0.6142 -0.03667
0.07312 -0.4506 -0.5513 -0.01943 -0.5925 -0.1623 -0.3661 -0.3146 0.02078 -0.2089 0.4263 -0.2651 0.1684 0.4555
0.06415 0.09624 -0.3572 0.4404 -0.08853 -0.04563 0.2451 -0.1519 -0.334 -0.1357 -0.4136 0.1031 0.4443 -0.00558 0.1912
-0.173 0.09353 0.1777 0.2068 0.02892 0.5192 -0.3246 -0.08123 0.2361 0.222 0.3489 -0.6586 0.01802 -0.4894 0.2632
-0.704 -0.2363 0.06544 0.3575 0.4861 0.2746 0.2196 0.2505 0.04585 -0.06365 0.2809 -0.1514 0.03387 0.2361 0.09827
0.2334 0.05528 0.6808 -0.6434 0.04198 0.1368 -0.2099 -0.02295 -0.05096 0.04432 0.7266 -0.173 -0.216 0.1856 0.5638
0.9206 0.7316 -0.1548 0.2335 -0.2826 0.05142 -0.09644 0.2839 0.04727 0.3254 -0.3722 -1.284 -0.2689 0.1676 0.001112
0.2786 0.6192 0.1706 -0.2414 -0.0596 -0.1124 -0.3314 -0.3467 -0.4163 0.1023 0.09889 0.5962 -0.2703 -0.1038 0.2989
-0.1027 0.1225 0.08623 -0.1277 0.1085 -0.6312 0.4576 -0.1844 -0.6856 -0.171 -0.338 -0.1313 -1.65 0.1914 -0.7198
-1.078 0.08791 -0.02957 0.2055 0.2392 0.3818 0.1815 0.45 -0.1518 0.7519 0.3076 -0.5157 0.1541 -0.2633 0.549 -0.2944
0.4931 -0.1159 -0.3728 0.151 0.1464 -1.05 -0.4757 0.1083 0.3137 0.1048 -0.383 0.179 -0.1525 -0.2898 0.027 0.6487
-0.4268 0.4099 -0.3121 0.6112 0.2254 0.2671 -0.2239 0.3649 0.2944 -0.05046 -0.03844 0.1758 0.04853 0.2802 -0.195
0.07255 0.1637 0.3091 -0.2713 0.1136 -0.09889 -0.05502 0.2144 -0.01361 -0.2497 -0.3982 0.02706 -0.02291 0.3169
-0.07218 -0.3488 0.0524 -0.09892 0.1866 -0.1769 0.1073 -0.2221 0.0942 0.1872 -0.09823 -0.03775 -0.3942 -0.3024
-0.191 -0.08128 0.1483 0.186 0.07297 0.0467 -0.01486 0.4825 -0.01718 -0.07202 -0.0779 -0.0854 -0.1492 0.0458 -0.1418
-0.09629 0.08252 -0.1719 0.2104 0.3665 0.3961 0.1038 0.1085 0.1532 0.01192 -0.456 0.3062 0.3025 0.2448 0.2443
-0.2865 0.3067 0.7259 -0.09175 -0.3564 0.1027 0.2662 -0.5143 0.06983 -0.003549 -0.4288 0.2911 0.1761 -0.02957 0.1336
-0.07461 0.02352 -0.3975 -0.05995 0.376 0.107 0.1144 0.08137 -0.07152 -0.07923 -0.07936 -0.119 -0.0006342 -0.007352
0.002884 0.0004974 0.004787 -0.003957 -0.0001423 0.001462 -0.005168 -0.004968 0.00217 0.003599 -0.001061 -0.01231
-0.002277 0.004603 -0.006169 0.003748 -0.00296 -0.002195 0.005446 -0.001374 0.002881 -0.006019 -0.004889 0.002033
0.001235 -0.007928 6.248e-05 0.001694 -0.002301 -0.00269 -0.001762 -0.001926 -0.00202 1.441e-07 -0.005466 0.0006159
-0.00285 -0.0004424 0.00276 -0.003185 0.001586 -0.0006278 -0.002073 0.002406 -0.001767 -0.005515 -0.1778 0.1471
-0.2695 0.4551 0.02635 -0.5149 0.04363 0.3211 0.2234 0.05341 0.2968 -0.2009 -0.2502 -0.1985 -0.1001 -0.07605 0.5188
-0.06394 0.1527 0.5558 -0.1177 0.3534 -0.4068 -0.2689 -0.5272 -0.04655 0.1211 0.0295 0.03318 -0.3465 -0.197 0.346
0.05761 -0.09466 -0.3271 0.005015 0.1229 0.2047 -0.2826 0.02168 -0.1844 0.07536 -0.139 -0.04616 0.2573 0.4544
-0.1811 0.1912 -0.5402 -0.01616 -0.2157 0.2109 -0.2169 0.03589 -0.1235 0.1401 -0.3143 0.3541 0.1035 -0.05286 0.01403
-0.1679 -0.354 -0.1787 -0.1297 0.03543 -0.5649 0.2498 0.02999 0.0832 0.4436 -0.1524 0.02522 -0.3517 -0.2665 -0.2222
-0.6284 0.39 -0.1875 -0.08913 -0.02193 -0.4532 0.6591 -0.03825 -0.1376 -0.1137 -0.3514 -0.1882 -0.09987 -0.1741
0.3815 -0.147 0.1628 0.09295 0.1503 -0.4145 -0.4492 0.3181 0.05226 -0.3263 -0.79 0.0226 0.07383 0.7863 0.5803 -1.038
0.6952 -1.663 -0.5351 0.5738 0.3081 -0.601 0.4539 0.2326 -0.0347 0.009596 -0.005507 0.5309 -0.3505 0.1086 0.3405
-0.1923 -0.16 0.2799 -0.4661 0.3717 0.01235 0.06505 -0.1665 -0.1258 -0.06194 0.5497 0.2136 0.385 -0.3542 -0.3734
-0.1373 0.4101 -0.5393 0.05188 0.4991 -0.1011 -0.3171 -1.221 -1.022 0.04451 0.1081 -0.7435 0.2503 -0.004075 -0.09834
-0.2321 0.4836 1.645 -0.08431 -0.8448 0.3467 -0.5244 0.003091 0.324 -0.1486 0.6287 1.296 -0.546 -0.06143 -0.7809
-0.7972 -0.8243 1.258 0.8764 0.6232 0.1368 -0.9072 -0.8498 0.669 -0.9788 -0.4506 -0.1914 -0.9689 -0.1362 -0.1956
-0.959 -0.4289 -0.3153 -0.4796 0.829 1.108 -0.746 0.5496 0.229 -0.6884 -0.4158 -0.1536 -0.1044 0.009403 -0.1126
0.1125 0.151 -0.1778 -0.1506 0.1469 -0.06781 -0.09018 -0.1582 -0.03225 0.0883 0.1152 0.06489 0.04052 0.05451
-0.004521 -0.1667 0.06342 -0.1131 -0.0901 -0.09533 0.004918 -0.1215 -0.01794 0.1301 -0.1136 -0.1395 0.1987 -0.1586
-0.3179 -0.1719 -0.009688 -0.03874 0.04916 -0.04674 -0.07215 0.064 0.1089 -0.2063 -0.03372 -0.1104 0.0348 -0.1312
-0.05608 0.1948 0.01667 -0.1283 0.1269 -0.4198 0.1301 0.2813 0.203 0.01651 -0.1309 0.2051 0.2181 0.07736 -0.03906
-0.1909 0.3523 0.0555 0.3451 0.3179 -0.1722 0.09157 0.2145 -0.3672 -0.46 0.2741 0.5503 0.03291 -0.07923 -0.003548
-0.2725 0.2761 -0.07676 0.373 0.007815 -0.1254 -0.00927 -0.2112 -0.2364 -0.1754 0.04895 -0.01709 -0.04876 -0.294
-0.1541 -0.1462 0.3845 0.2729 0.2268 0.1372 -0.1899 1.106 -1.401 -0.534 -2.139 0.3925 -1.979 1.049 -1.593 0.5081
0.3885 -2.137 1.112 1.116 -0.6338 -1.167 1.376 0.3324 0.02862 -1.492 -0.4324 -0.001254 0.489 -0.7971 0.01845 0.5141
-2.12 -0.7266 1.24 -1.909 0.9714 0.5736 -2.417 0.5482 -0.5797 -1.256 -0.2112 1.082 -0.5777 1.405 -0.3514 0.5222
-0.7013 0.03539 0.6645 -1.462 0.8363 0.2441 1.065 0.6671 0.5601 -0.3803 -0.09703 -1.264 0.4797 0.6841 -0.3941 -1.212
0.161 1.446 0.5445 0.05667 0.1401 0.3233 0.4342 0.1555 0.7212 -0.5489 0.7983 -0.3529 0.2981 0.4838 -0.7726 -0.7298
-0.8197 -1.511 0.7517 -0.08364 -0.7382 -1.384 -0.1133 -0.9562 -0.7028 -0.1061 0.4442 0.4642 0.3995 0.7724 0.2987
-0.7231 -0.6887 0.03223 -0.6099 -0.7097 -0.3998 0.2689 -0.9664 -1.267 -1.348 -0.8543 -1.74 -1.132 0.791 0.4848
-0.4722 -1.585 -1.413 -0.1444 -0.933 -0.6554 0.05768 1.131 0.3951 0.4491 -1.451 -0.6559 0.6868 -0.8966 0.4399
-0.5399 0.3062 -1.459 -1.002 0.4123 0.5201 -0.05514 -0.1408 0.06586 -0.1546 -0.6512 -0.3215 0.2397 0.4724 -0.6066
0.6009 0.9188 0.122 0.00146 0.6127 -0.1153 0.1969 0.6083 -0.01343 0.9132 -2.604 0.7432 -0.01008 -1.427 -3.314
-0.07349 2.293 0.2907 0.1073 -1.366 -2.18 -0.9945 0.9537 -0.954 0.641 -2.576 0.941 1.41 0.2139 -1.313 0.3075 -0.0401
-1.525 -1.128 -2.801 -0.07745 3.116 0.4541 2.22 -0.2342 0.2249 -0.1188 -1.346 0.06637 -2.332 -2.567 -1.376 -0.4329
0.1558 -1.623 1.254 0.1959 1.177 -1.785 -1.324 1.33 1.051 1.162 -0.3041 0.2026 -0.06249 -0.03494 -0.232 0.0625
-0.03004 0.219 -0.09844 0.08597 -0.306 0.08461 0.02489 -0.03617 -0.0009444 0.08829 -0.2051 -0.5233 -0.2495 0.0894
0.3243 0.09641 -0.02541 -0.2299 -0.2953 -0.09772 0.1419 0.1682 -0.02354 -0.02704 -0.3804 0.4673 0.101 0.1129 0.2404
0.01266 0.1586 0.1484 0.1489 0.2993 0.2603 -0.224 0.2493 0.1206 0.4279 0.1338 -0.2215 -0.3088 0.4823 -0.6018 0.4889
0.323 -0.2375 -0.152 0.04005 -0.08047 -0.08808 -0.3002 -0.07262 -0.5388 0.5341 -0.1707 -0.1089 -0.2202 -0.3023
0.4242 -0.9617 -0.0552 0.5341 0.09216 0.09184 -0.4864 -0.09373 -0.567 -0.1398 -1.089 -0.7744 -0.7002 -0.01689 0.3557
-0.9076 0.2078 -0.3574 0.03403 0.1358 -0.3115 0.3557 -0.1256 0.1529 -0.0627 0.06136 -0.3549 -1.142 -0.126 -0.1565
-0.1948 0.01772 0.007977 -0.04273 0.03513 -0.05172 -0.0147 -0.07439 -0.07687 -0.07643 0.01798 0.01955 -0.013
-0.03201 0.04149 -0.05505 0.0003908 0.004643 -0.02685 -0.003799 -0.03409 0.02526 -0.0554 0.02487 0.01332 0.03493
-0.0575 0.002856 -0.03612 -0.000943 0.1145 0.05654 -0.05938 -0.07179 -0.09236 0.007648 0.007517 0.03721 0.01346
0.03084 0.02114 0.01276 0.009629 0.06958 0.0321 -0.05193 -0.01227 0.06351 -0.0681 0.00347 -0.03331 0.053 -0.03519
0.03272 -0.0122 0.02649 -0.04154 -0.007921 0.03676 -0.04382 -0.02483 -0.05938 0.001897 -0.01933 0.01017 -0.01558
-0.05199 0.01236 -0.02582 0.01208 -0.03031 -0.01117 -0.03361 -0.004936 0.01529 -0.005736 -0.05183 -0.01238 0.009916
0.03078 -0.01505 0.04265 -0.02339 -0.03247 -0.05412 0.03445 0.0483 -0.006256 0.02997 -0.004119 0.01281 -0.0165
0.01744 0.04624 0.06253 0.01122 -0.01291 -0.03525 -0.005728 -0.04086 0.07383 0.1039 -0.01561 0.001071 0.03506 0.1495
-0.02572 -0.04769 0.03716 0.1772 0.05018 -0.1237 0.0178 0.02472 0.01526 -0.05472 0.1034 0.01297 0.05123 -0.001017
0.02613 0.01449 -0.06694 -0.01149 -0.02359 0.01368 0.09283 -0.08475 -0.07995 0.02301 -0.08066 -0.0214 0.1298
-0.002681 -0.05147 -0.06022 -0.03643 0.08291 -0.06434 0.07112 0.03413 0.06593 0.1929 -0.09239 0.1316 0.2151 0.1173
0.2736 -0.07727 -0.06094 -0.05826 0.1036 0.1153 0.1291 0.298 0.027 -0.01 0.06748 0.06428 0.09026 0.1813 0.02873
0.08986 0.01923 0.3623 -0.1297 -0.2168 0.05714 -0.03892 0.1169 0.003999 0.0563 -0.2212 -0.09268 0.1109 -0.1669
0.1057 -0.1516 -0.1238 -0.1279 0.0333 -0.03163 0.05134 0.01631 0.1988 0.08297 -0.003051 0.09314 -0.008426 -0.06744
0.1249 -0.1034 -0.004072 0.2895 -0.01156 0.1974 0.2395 -0.192 -0.1458 -0.3263 0.144 0.08098 -0.01467 0.05577 -0.1417
-0.01553 0.3478 0.1887 0.2 -0.1182 0.02937 -0.06085 -0.01381 -0.2593 -0.123 0.1572 -0.0876 0.09006 -0.1144 0.04359
-0.1001 0.04241 -0.003948 -0.1719 -0.1831 -0.1545 -0.06682 -0.09152 -0.04294 0.183 0.09348 -0.1284 0.3782 -0.05891
-0.2891 0.06012 -0.0278 -0.238 -0.01713 -0.1773 -0.01539 -0.08923 -0.08427 -0.1119 -0.02431 0.09512 -0.0757 0.08522
0.1229 0.1457 -0.01619 -0.005393 0.1379 0.04845 0.1392 -0.0331 -0.001375 0.04808 -0.08166 -0.01045 -0.03084
-0.008909 -0.03417 0.04362 0.03846 -0.01689 -0.08709 0.0618 -0.1802 0.05063 0.04965 -0.1811 -0.007497 -0.06887
0.01892 -0.06354 0.01675 0.06857 0.04881 -0.03624 -0.009191 -0.08004 -0.09503 0.0421 0.02955 0.03595 0.03635
-0.008292 -0.03213 -0.05244 -0.01652 -0.05662 -0.01914 0.1042 0.004288 0.06846 0.1301 0.1399 0.01589 0.009029
0.06425 0.01365 -0.004564 -0.1096 0.1314 -0.04147 0.02445 0.04781 0.03303 -0.005866 -0.07124 0.01792 -0.08225 0.0165
-0.003194 -0.06031 -0.06168 -0.1003 0.04147 -0.07524 -0.03334 -0.02865 0.05466 -0.001914 0.02128 0.05305 0.02423
0.001741 -0.02751 -0.05769 -0.05116 0.09147 -0.03769 -0.05165 -0.03311 -0.01592 0.006232 -0.2149 1.175 -0.3697 0.516
-1.212 -0.07434 0.4565 1.122 -0.09808 -0.841 -0.00392 -0.4109 0.2041 0.09164 0.8372 0.3858 -1.028 0.5765 0.5701
-0.3043 -0.5623 -0.509 0.747 -0.01561 0.1737 -0.3957 0.02239 0.5803 0.3147 0.2696 0.6341 0.1767 0.01998 0.5587 1.808
0.3415 -0.04101 -1.05 -0.06244 -0.233 -0.1052 -0.5174 -0.1135 -0.9809 0.4491 0.9563 -0.7715 -0.7345 -0.01748 0.2324
-0.1068 -0.1989 0.05708 -0.06151 0.03369 0.03021 0.08314 -0.1588 -0.04479 0.04596 0.07005 -0.05782 0.04502 0.1708
-0.1305 0.1637 -0.03709 -0.1781 0.205 -0.01596 0.01561 0.02884 0.00316 -0.2912 -0.03165 -0.05465 0.005641 -0.04844
-0.01025 0.0693 0.02956 -0.02827 -0.1134 -0.09846 0.09254 0.006126 -0.001914 -0.03335 0.07155 -0.00238 -0.09301
0.1193 -0.295 0.0452 0.07212 -0.01239 0.07681 0.01855 0.04155 0.04362 0.04742 -0.0005889 -0.02016 0.02565 -0.0166
-0.01775 -0.04705 -0.06653 -0.03572 -0.00606 -0.01662 -0.004354 0.09338 -0.05948 -0.02697 -0.01092 0.01943 0.007363
-0.05152 -0.0001587 -0.02272 0.06586 -8.395e-05 -0.06078 -0.04629 0.05468 0.02192 0.005509 0.03127 -0.06008 0.02105
0.02005 -0.02654 0.03648 -0.05671 -0.03053 0.0533 -0.0189 -0.02744 0.02929 -0.02681 -0.02324 0.01377 0.1062 -0.01019
-0.02318 0.0485 -0.1297 -0.1718 0.1476 0.08176 -0.05045 -0.2334 -0.02713 0.1849 -0.1457 -0.3253 -0.1624 -0.2258
-0.00639 0.03012 -0.2597 0.01791 -0.1116 -0.04031 0.128 -0.142 -0.05364 -0.01703 -0.04537 0.2535 0.08314 0.0259
-0.1119 0.1138 0.116 0.01561 0.08607 0.09046 -0.1477 0.1106 -0.07438 0.1091 0.03829 0.1376 0.0942 -0.1318 0.01236
-0.04373 -0.09116 0.02868 -0.2721 -0.3266 -0.376 -0.3028 0.7667 -0.2554 -0.6568 0.6082 0.6408 1.128 -0.1245 -1.688
0.4624 -0.1925 0.03329 0.6381 1.436 -0.07899 0.8271 -0.1807 -0.4846 0.6392 -0.9041 0.175 0.1526 -0.1767 -0.1657
-1.048 0.1228 -0.4511 0.5825 2.249 -0.2395 -0.8723 0.07958 -0.3441 0.1607 -1.532 -1.01 -1.296 -0.7606 0.1025 0.7301
0.4317 0.9771 -0.6087 1.109 1.727 1.084 0.1766 0.3988 -0.003108 -0.4968 0.3074 -0.6626 -0.001905 -0.661 -0.2608
-0.5436 -0.2868 0.1085 -0.103 0.005556 0.4531 0.03948 0.2231 0.3553 -0.1852 0.3884 0.1844 0.3572 -0.0391 0.1259
0.1983 -0.139 -0.3466 -0.4077 0.08101 0.1265 0.3722 0.1248 0.3119 0.7355 0.2682 -0.39 -0.3744 0.06089 -0.2965
-0.03019 -0.2683 0.01701 -0.3975 0.8783 -0.1267 0.2471 0.8508 -0.1863 0.06583 -0.08584 0.006065 -0.0813 0.0981
0.07592 0.03867 -0.1276 -0.05878 -0.05085 -0.03396 0.02697 -0.04456 0.1144 0.1719 -0.02413 0.0684 0.05122 -0.1096
0.01761 -0.01605 0.1639 -0.1701 0.09464 0.1413 -0.003215 -0.03276 -0.003655 0.01282 0.1702 0.09187 0.0592 0.04379
0.122 0.06529 0.05997 -0.04211 -0.01556 -0.09948 -0.06125 0.04198 -0.145 -0.01484 0.06354 -0.0846 0.07717 -0.01921
0.1037 -0.02897 -0.07424 -0.01963 -0.0562 0.0136 -0.001444 -0.0457 -0.05667 0.0003853 0.02714 0.03219 0.07022
0.05476 0.1975 0.0776 0.1143 0.04364 -0.07327 0.1828 0.05687 -9.789e-05 -0.1005 0.03845 -0.0258 0.04664 0.1192
-0.04455 -0.04868 -0.1138 0.08333 -0.02736 0.04875 0.0617 0.02192 -0.07828 -0.01027 -0.05666 -0.008413 0.057 0.01357
-0.07745 0.07942 -0.1538 0.01063 0.05007 0.02916 -0.08755 0.06497 0.1169 0.06133 0.1314 -0.02596 -0.1683 0.1477
-0.07101 0.07222 -0.03636 0.0142 0.08304 0.07202 -0.03166 -0.175 0.004312 -0.1168 0.2178 0.1083 0.04433 0.08611
0.2373 0.05295 0.02905 0.1036 0.3131 -0.1595 -0.03585 0.003359 -0.03411 -0.09603 -0.07468 0.09471 0.2858 -0.06981
0.09501 -0.267 -0.01186 -0.122 -0.1803 0.2406 -0.2758 -0.09032 0.07995 0.3016 0.1027 0.05405 0.1885 -0.05218 0.04077
0.03895 -0.03516 0.1876 -0.03333 -0.03528 0.03889 0.08037 -0.08465 -0.02189 -0.08095 -0.06177 -0.03162 -0.08149
-0.106 0.03728 0.06957 -0.04159 0.04315 0.03359 0.01498 0.0267 -0.03262 -0.07201 -0.02401 0.06754 0.04867 -0.2002
-0.01512 0.03059 0.01064 -0.09379 -0.0958 0.01838 0.0423 0.09691 -0.05954 -0.01357 0.04195 -0.045 0.03618 0.01066
0.01168 -0.1281 0.0347 -0.1501 -0.01329 0.01014 0.04403 -0.1467 -0.008281 -0.02798 0.1659 -0.06346 0.05432 0.05491
0.078 -0.07635 -0.04398 -0.0167 0.02694 0.02506 -0.0876 -0.01912 -0.04141 -0.1446 -0.02451 0.01482 0.006328 -0.09219
-0.06501 0.04351 -0.02269 -0.09454 -0.08474 -0.02917 0.05987 0.1315 -0.01169 0.0111 -0.007617 0.04251 -0.04498
0.06635 0.08869 0.06782 -0.02494 0.009069 0.01075 -0.03103 0.03456 -0.06819 -0.04797 0.03777 -0.01368 0.002072
-0.4655 0.4857 -0.4437 0.551 -0.8903 0.08821 0.3734 -0.1457 -0.3792 0.1339 -0.02279 -0.3954 0.06851 -0.1503 0.6052
-0.2163 -0.3463 -0.353 -0.1559 0.483 -0.1045 -0.7412 0.4151 -0.2255 -0.6702 -0.527 -0.201 -0.6609 -0.7044 0.27
0.7494 -0.3568 -0.05782 -0.3074 -0.2401 -0.179 0.8003 0.2289 -0.3818 -0.7164 0.6328 -0.4091 -0.5399 -0.7518 0.03896
-0.3215 -0.1224 -0.1394 -0.06629 -0.0013 -0.01865 -0.03717 0.07989 0.05935 -0.05351 0.02663 -0.00172 -0.0416
-0.03441 0.02682 -0.01816 -0.0478 -0.04391 -0.00755 0.05525 -0.02515 0.00499 -0.04763 0.04701 0.03801 -0.04244
0.01451 -0.06323 -0.05155 -0.04031 0.04254 -0.05202 -0.04079 0.06534 0.08266 -0.03123 -0.03382 0.04053 -0.03389
0.01682 0.02905 0.01112 0.03633 0.006331 -0.05894 0.00919 0.02609 0.05307 0.02605 -0.03237 0.002955 -0.03009
-0.07473 -0.005972 0.0003927 -0.01492 -0.03267 -0.04066 0.006722 0.03579 0.02261 -0.01568 0.1212 0.0922 0.04979
0.04434 -0.02872 0.05267 0.04469 0.04975 -0.1001 0.08143 -0.01534 -0.04263 0.01025 -0.02918 -0.09342 -0.02107
0.08124 -0.01013 0.01059 0.02486 0.03915 0.08938 -0.009365 0.07842 -0.0008349 -0.01911 0.03112 -0.009691 -0.0684
-0.02512 -0.02577 0.008274 0.06972 -0.03392 0.005106 -0.06292 0.05159 -0.01861 -0.03882 -0.02017 -0.006818 -0.02969
0.05969 -0.03675 -0.007747 -0.001372 -0.03882 0.006612 -0.01315 0.001514 0.0324 -0.02116 -0.05842 0.02168 0.001214
-0.005961 -0.01032 -0.01505 -0.03456 0.0285 0.01321 0.01794 -0.07241 0.0375 0.01093 -0.03239 -0.006144 0.05059
-0.0305 0.06567 0.0449 -0.05752 -0.0002529 0.04343 -0.002454 -0.003479 0.02842 0.03515 0.02737 0.07366 -0.04967
-0.0004171 0.02903 -0.04087 -0.04713 -0.05364 -0.08761 0.02373 -0.104 -0.09749 0.1282 -0.001328 -0.265 0.1215
-0.2316 0.2373 0.1191 -0.06087 0.1521 -0.03411 -0.03705 -0.1904 -0.1215 0.09187 0.01827 -0.04276 0.03172 -0.1585
0.0143 0.2204 -0.03606 0.1106 -0.04916 -0.1057 0.2262 -0.1423 0.1885 -0.1245 -0.02682 -0.1448 -0.06815 -0.2319
-0.01639 0.1037 -0.1411 0.1439 -0.01408 0.06015 0.04925 0.2314 -0.04546 0.154 0.0302 -0.01985 -0.1454 -0.01461
-0.1522 -0.06444 0.03172 0.01307 0.04294 -0.2176 -0.337 -0.004785 -0.2489 -0.08634 -0.1944 0.1602 0.06163 0.09871
0.05446 -0.1581 0.1092 -0.23 0.004915 0.02433 -0.1899 -0.145 -0.1719 -0.1524 0.1283 -0.04867 0.1238 0.02211 -0.07738
0.02377 0.01777 0.05082 0.2424 -0.01832 -0.2306 0.1438 0.1355 0.09936 -0.06795 0.1316 -0.2241 0.0427 -0.02181
-0.1654 0.07217 0.1704 0.002001 0.2037 -0.163 -0.01064 0.1225 0.1376 -0.1426 0.1218 0.2121 -0.03649 -0.03764 0.03612
0.2942 0.05228 0.02853 -0.1089 0.3619 0.04421 0.05696 0.1374 0.09007 -0.04564 -0.1226 -0.1006 0.006352 0.07941
0.1037 0.2253 -0.1464 -0.217 0.1225 -0.1223 0.1482 0.08228 -0.1251 0.07005 -0.2146 -0.01801 0.1377 0.08004 -0.08025
0.1288 0.1529 0.02439 -0.003132 -0.03056 0.1326 -0.01192 -0.008317 -0.09006 0.1162 -0.09215 0.1307 0.0111 0.02958
0.02949 0.01448 -0.1166 0.08886 0.02506 -0.1766 0.1419 0.0621 0.09929 0.202 -0.067 -0.1268 -0.0305 -0.1668 0.1935
-0.01067 0.09374 0.1582 0.08556 0.1515 0.02067 -0.2918 -0.1514 0.04849 -0.01357 -0.04192 0.03933 -0.03964 -0.1068
0.04226 -0.204 -0.0596 -0.07427 -0.05504 -0.129 -0.03172 0.07905 0.004801 -0.01659 -0.114 0.1095 0.02742 0.03796
0.0001971 -0.02025 -0.09159 0.08514 0.181 0.1563 0.03615 -0.01096 -0.07169 -0.1644 0.05597 -0.054 0.05338 -0.1178
-0.1339 0.09203 -0.06818 -0.1711 -0.06916 0.1277 -0.03188 0.0729 -0.08988 0.1581 -0.112 0.08631 -0.1313 -0.2062
0.005333 -0.0901 -0.03853 -0.03875 0.08621 -0.06924 0.09497 0.2195 0.1025 0.05108 -0.3346 0.1452 0.0328 0.1677
0.3019 -0.1012 -0.1425 0.1949 -0.0482 -0.1006 0.00709 -0.03172 -0.06493 -0.05977 0.02718 0.03484 0.03035 -0.009509
-0.1036 0.06693 -0.2015 0.01849 -0.2164 0.1699 -0.03645 -0.03494 0.06884 -0.009621 -0.02919 -0.08383 -0.26 -0.1647
-0.2143 -0.07369 -0.001005 -0.03597 0.0166 0.2076 0.1044 0.1586 -0.1508 -0.04942 0.006011 0.1112 0.06291 -0.1063
-0.001111 0.06563 -0.08891 -0.1312 0.07713 0.032 -0.051 0.03485 -0.3027 -0.1808 -0.2379 0.1105 0.01607 -0.08172
0.2343 0.1081 0.09952 0.03399 -0.1931 0.1312 0.07056 -0.03849 0.156 0.04039 0.1459 -0.0005553 -0.08678 0.1428 0.2573
-0.04049 -0.1998 0.004545 0.1241 0.1557 0.1327 -0.02685 -0.007102 -0.09498 0.105 0.06679 -0.0002488 -0.1684 0.3259
0.2714 0.1182 -0.03677 -0.03312 0.02211 -0.1196 -0.1078 0.1399 -0.07208 0.01079 -0.1884 -0.08599 0.2016 0.01646
0.07692 0.05467 -0.1125 -0.003869 -0.07112 -0.1891 -0.04102 0.07644 -0.08836 0.2111 -0.06889 -0.02063 0.1185 0.1236
-0.2093 0.1131 0.1089 -0.000662 -0.04841 0.141 -0.1304 -0.00186 -0.009365 0.03064 -0.1013 0.0611 0.0781 -0.1262
-0.009598 -0.05024 0.01403 -0.103 -0.08715 -0.1148 0.2403 0.08709 -0.1542 0.05566 -0.06684 -0.006563 -0.05082
0.07109 0.01065 -0.09248 0.1127 -0.06866 0.0601 0.03992 0.0575 0.1637 0.118 -0.03656 0.07086 -0.07445 -0.1922
-0.1678 -0.05129 -0.1007 0.1599 -0.11 -0.07189 0.03142 0.1459 0.1846 -0.06339 -0.1416 -0.1346 -0.04888 0.2659
-0.02626 0.1244 -0.1345 0.08051 -0.08888 -0.005543 -0.2639 0.1241 -0.06172 -0.01963 0.05735 -0.07819 0.03382
-0.02016 -0.006578 -0.1413 -0.237 -0.2018 -0.001105 -0.1074 -0.08445 -0.1291 -0.2959 -0.1713 -0.007843 0.1391
-0.1331 0.04543 -0.08243 0.2311 0.06525 -0.06493 -0.05825 -0.1362 -0.003894 -0.1222 -0.06925 0.1326 0.07099 -0.03495
-0.253 -0.1715 -0.0754 -0.1299 -0.1147 -0.01589 0.08362 -0.05517 0.001185 -0.01135 0.04329 -0.1425 0.1236 -0.03231
0.1768 -0.1814 0.07433 -0.0527 -0.2058 0.1102 -0.02027 0.1541 -0.13 -0.2421 -0.0909 -0.07163 0.08715 -0.009079
0.09745 -0.05871 0.005407 -0.1109 0.01007 0.03995 -0.08156 0.01129 -0.1439 0.06149 -0.1233 0.08381 -0.1317 -0.04086
-0.1035 -0.05256 0.0511 0.1603 0.1417 0.02994 -0.06451 -0.05225 -0.04495 0.02678 0.009175 -0.1878 0.102 0.02004
-0.1852 -0.291 -0.1935 0.006691 0.08158 0.02993 -0.08188 0.1728 0.02632 0.1241 -0.08602 -0.02964 -0.2223 -0.01516
0.2122 -0.09633 0.1269 -0.3556 0.0793 -0.1097 0.09566 0.04149 -0.03684 -0.0226 -0.1637 -0.2175 -0.04207 -0.008019
-0.1006 -0.1078 -0.1664 -0.04583 -0.1602 0.196 -0.02683 -0.02751 0.04173 -0.09927 0.03372 0.06375 -0.04337 -0.1338
-0.004762 0.1737 -0.01989 -0.05516 0.04028 0.1527 -0.1931 0.1518 -0.2434 0.1083 -0.08606 0.1516 0.04868 -0.06362
-0.09621 0.06982 -0.07766 -0.01316 -0.2886 0.1233 -0.07218 0.01492 0.2141 0.1809 -0.0143 0.0484 -0.004257 0.2136
-0.0787 0.06546 0.01811 -0.1311 0.2358 0.1688 0.08424 0.2181 0.06186 0.1556 0.03248 -0.0999 0.03873 0.08207 -0.213
0.1201 0.01255 -0.1144 -0.1725 0.03877 0.1204 -0.07481 0.09337 -0.05081 0.002004 0.04434 -0.115 -0.1807 0.009433
-0.1111 -0.0009983 0.0448 -0.01706 0.07971 -0.14 -0.2201 -0.05708 0.1413 0.002802 0.1387 -0.1033 0.08621 -0.03692
-0.1117 0.0426 0.03319 -0.004904 -0.05462 0.06962 -0.08555 0.1617 -0.1421 0.03174 0.1293 0.04296 0.01809 -0.1939
-0.05876 -0.1187 0.009919 0.08889 0.03201 -0.1001 -0.03617 0.131 -0.2066 0.06107 -0.004984 -0.1183 -0.09838 0.01337
-0.2814 0.07236 -0.09609 0.2451 -0.0126 -0.1613 -0.01024 -0.1539 -0.06238 0.06189 0.06443 -0.07144 0.1865 -0.126
0.08658 0.1199 -0.1242 -0.1325 0.1515 -0.13 0.1097 -0.1248 0.2411 -0.06719 0.06259 -0.107 -0.06645 0.1355 -0.08158
-0.04513 0.115 0.07639 -0.1546 0.07329 0.1411 -0.1423 -0.1903 -0.2172 -0.07711 0.08509 -0.0225 -0.139 -0.1368 0.1126
-0.01655 -0.01966 0.1841 0.03205 -0.0466 -0.02662 0.09064 -0.1932 0.2972 0.1326 0.05501 -0.08073 0.1386 -0.1674
0.1371 0.05456 0.2039 0.1367 0.04081 -0.2674 0.05986 0.001884 0.007618 -0.04902 0.03282 0.1901 0.0761 0.09086 0.1117
-0.2006 -0.09631 0.1143 0.06598 0.2607 0.06982 0.04447 -0.1565 -0.252 0.07493 0.2575 -0.1386 -0.1897 0.08296
-0.02645 0.1377 -0.2259 -0.2008 0.0006737 0.1471 -0.03182 -0.2224 -0.1326 0.1061 -0.006716 -0.01688 0.02614 -0.1955
0.07783 -0.1011 0.2359 -0.01312 -0.1233 -0.1755 -0.04635 -0.1655 0.174 0.1558 0.07761 -0.1467 0.04899 0.04932
-0.02576 -0.1121 -0.1455 -0.07183 -0.01932 0.02679 -0.01384 0.0218 -0.05805 -0.1512 0.07327 0.07577 0.01833 0.1177
0.07132 0.06505 0.1416 0.2113 -0.1768 -0.04098 0.206 -0.1484 -0.2385 0.1184 -0.1638 -0.2579 -0.05664 0.1451 -0.1031
0.1093 0.03072 -0.1199 -0.1039 0.02327 0.146 -0.0849 -0.06357 -0.05546 -0.1127 -0.1744 -0.1652 -0.03152 -0.08255
-0.1311 0.05417 -0.09351 -0.09647 0.0989 0.0205 0.004065 -0.01701 0.1269 0.02653 0.02474 0.1662 -0.1612 -0.1792
0.06746 -0.2289 -0.1045 -0.1366 -0.07636 0.1462 -0.1778 0.04176 -0.01507 0.06102 0.1072 -0.06012 0.04089 0.2053
-0.1023 -0.03516 -0.1035 -0.06149 -0.04623 -0.0198 0.1865 -0.1105 -0.1622 -0.0602 0.1169 0.0633 0.06502 0.01918
0.04367 0.0126 0.05711 -0.1114 0.03178 0.1296 0.1385 -0.02035 -0.02155 0.131 0.1199 -0.2247 0.2739 -0.03484 -0.03014
0.1072 -0.1882 -0.09277 -0.1382 -0.1338 -0.06089 -0.1341 0.03698 -0.2565 0.04319 -0.2263 -0.05775 0.1303 -0.01759
-0.08246 -0.07241 -0.08903 0.1545 0.1675 0.02388 -0.04518 0.201 0.1182 -0.1305 0.1033 0.07508 -0.02273 -0.04835
-0.127 -0.01144 0.09662 -0.1072 0.1 -0.1917 -0.1061 -0.2505 0.2258 -0.003469 -0.01647 -0.1359 -0.02785 -0.04711
-0.07113 0.0007243 -0.1058 -0.4347 -0.03746 0.175 -0.01278 0.0146 0.02373 0.153 -0.06654 -0.02939 -0.07752 -0.2543
0.09054 -0.1454 0.04355 0.006301 0.04298 -0.2297 -0.06203 0.1725 0.1344 -0.007515 -0.07894 0.08769 -0.00736 -0.2681
0.1867 0.08086 0.05823 -0.09379 0.1236 0.1747 -0.06527 -0.1488 -0.09959 -0.09065 -0.0123 -0.07246 -0.07491 0.06065
-0.07206 0.1373 0.1054 0.05898 -0.03441 -0.06324 -0.06267 -0.1097 -0.2455 -0.2378 -0.1563 0.03539 -0.1298 0.08065
-0.05644 0.00919 0.02796 0.07091 -0.1709 -0.09193 -0.04368 -0.03081 0.09365 0.002939 -0.01993 0.1824 0.07461 0.01488
-0.0202 0.1557 -0.04094 0.05733 -0.1076 0.05264 0.0385 -0.06356 0.1066 0.01854 0.07285 -0.2998 -0.2706 0.07405
-0.08324 0.01424 0.0427 -0.09018 0.101 -0.05822 0.04649 -0.02981 0.03039 -0.1088 -0.09316 -0.1267 -0.1796 0.04457
0.1501 -0.124 -0.01677 -0.009351 0.04946 -0.1833 -0.02227 0.1342 0.0963 0.07158 0.001116 -0.1021 -0.1446 -0.1477
0.06983 0.02238 0.1463 -0.1179 0.0367 0.01101 0.2239 -0.115 0.04394 -0.2539 0.1259 0.0005477 -0.1611 0.1035 0.001349
0.0227 0.03373 0.0005828 0.1609 -0.08712 0.1021 0.02456 -0.06021 -0.04317 -0.1894 -0.1238 -0.03873 -0.1847 0.01461
0.1313 0.1055 0.01856 -0.03922 -0.07732 0.1449 0.0334 0.1125 0.003626 0.04436 0.1356 0.08893 -0.03373 0.1098
-0.02424 -0.1093 -0.01712 -0.1004 -0.2815 -0.1328 -0.2132 -0.2772 0.1212 -0.06314 0.006105 0.2107 0.1268 -0.1583
-0.04765 -0.01806 -0.1303 -0.0798 -0.06265 0.3292 -0.07778 -0.2355 -0.2228 0.1439 0.12 0.1245 -0.1221 0.07764
-0.06917 0.1188 0.03549 0.03678 0.1253 -0.03968 -0.009547 0.04701 -0.1733 0.09132 -0.1787 -0.3263 -0.07976 0.0465
-0.1018 -0.03544 0.09657 -0.06957 0.08876 0.2152 0.1481 0.2392 0.1388 0.1772 -0.01018 0.2384 0.05698 0.1205 0.2
-0.09011 0.05686 -0.03214 0.00141 -0.03581 0.1157 -0.1272 0.0641 -0.1542 -0.1453 0.1864 0.08186 0.08206 0.09114
-0.1012 -0.2434 0.07552 -0.1991 -0.02897 -0.1942 -0.1073 0.04921 -0.004593 -0.1509 -0.02015 0.0235 0.2227 -0.04623
0.06077 -0.06806 -0.3101 -0.03861 0.02813 -0.133 0.2609 0.1341 0.08933 0.04228 0.08651 -0.1521 -0.08556 0.0495
0.02105 0.1706 -0.2775 -0.2796 -0.03103 -0.08821 -0.01384 -0.004082 0.269 0.1708 -0.03483 0.06134 -0.1848 -0.0377
0.32 -0.0267 -0.1383 -0.05682 -0.1358 -0.03069 0.04062 -0.1234 0.2469 -0.01997 0.0828 -0.06166 0.0608 -0.04805
0.08678 -0.0545 -0.062 -0.1182 -0.08366 0.0524 0.05979 0.06476 -0.1223 0.07837 -0.05709 0.07111 -0.0796 0.05025
0.06015 0.05673 -0.05497 0.05808 -0.0631 0.05097
""".split())))
