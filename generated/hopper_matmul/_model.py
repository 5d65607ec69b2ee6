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
CORRECTION = Correction((44, 24, 12, 1), tuple(map(float, """
-0.8056 -1.322 -2.213 -1.474 -0.7267 -2.494 3.003 -1.208 -7.735 -5.126 7.66 8.55 0.03289 2.159 -5.037 2.531 -3.906
2.179 1.357 6.474 6.009 12.62 -7.181 -4.063 0.04077 -0.3194 0.3243 -0.1772 -0.1318 0.1195 0.004461 0.1465 0.04827
0.1423 -0.3313 0.07922 0.1304 -0.3219 0.2291 -0.5022 -0.04928 0.1025 -0.005831 -0.1075 0.08221 -0.08554 0.2757
-0.002024 0.1522 -0.04028 -0.1104 0.04151 0.003748 0.216 -0.04502 -0.001034 -0.05709 -0.1889 -0.1439 0.05317 -0.105
-0.001425 0.1208 0.09922 -0.2442 -0.09731 0.0334 0.04712 -0.03689 -0.0166 0.2052 0.04024 -0.5874 0.3724 0.3077
0.2533 0.1378 0.03905 -0.008844 -0.3084 0.1803 -0.1295 -0.2101 -0.006956 0.2722 -0.2814 0.4873 -0.1262 0.3769
-0.3632 0.04458 -0.3511 -0.5369 -0.1668 0.4137 -0.245 -0.01828 0.3441 0.3476 0.2257 0.005081 -0.4455 -0.1055 -0.1761
0.3688 0.3426 0.3617 -0.2593 0.4508 0.2624 -0.1311 -0.1489 0.2237 -0.04486 -0.391 -0.6752 0.4611 -0.9355 0.02463
-0.06597 0.3112 -0.4301 0.2087 0.1645 0.08413 -0.2218 0.2135 0.1346 0.08211 0.09342 -0.1605 0.2577 0.02023 0.1655
-0.1608 0.1685 0.1098 0.2174 -0.05558 -0.1608 0.3232 0.3314 0.218 0.1365 0.1614 0.3404 -0.07604 0.3114 -0.1426
0.1699 -0.5031 -0.2754 0.3983 -0.2876 0.3485 0.2425 -0.02882 -0.538 0.6825 0.5459 0.2153 0.1318 -0.3106 0.3956
0.5063 -0.1275 0.06004 -0.00834 -0.5567 0.3584 0.2539 0.1625 0.2458 0.02813 -0.6625 -0.2746 -0.1007 -0.1451 0.2177
-0.1739 -0.8835 0.8253 0.4358 0.5684 0.08709 -0.3913 0.2282 -0.005856 0.4327 0.3425 -0.4094 -0.5902 0.197 0.07264
-0.1106 0.02872 0.08101 0.03277 -0.004158 0.2056 0.2443 0.2735 -0.1796 -0.479 -0.05972 0.02197 0.01144 0.02938
0.05249 0.03111 -0.1791 0.02334 -0.5024 -0.4228 0.1371 0.101 0.05671 0.5406 0.2339 0.07157 0.08453 -0.0156 -0.09686
-0.05857 0.1595 0.1181 0.153 -0.4176 0.2076 -0.07197 -0.1581 -0.2438 -0.2521 0.2023 0.05454 -0.09383 0.2331 -0.3889
0.08826 -0.09413 0.0004661 0.002233 0.0001728 0.0006579 -0.002726 0.003072 -0.001267 0.001466 0.002066 0.00114
0.0005778 9.18e-05 -0.005122 0.004493 0.002839 -0.0005738 -0.001073 0.00493 -0.008685 -0.00198 0.005863 -0.001527
0.0007413 -0.001376 -0.1453 0.1321 -0.09525 -0.01462 -0.1292 0.2377 0.09779 -0.1565 -0.07731 0.1089 0.1627 0.3898
-0.3249 0.3631 0.5397 0.3182 0.3144 -0.1291 0.1891 0.2127 0.07546 -0.1082 -0.2566 -0.2531 -0.1059 -0.158 -0.3521
-0.09898 0.1663 0.1479 -0.2359 0.05117 -0.09626 0.5267 0.2086 -0.1925 0.01058 -0.1965 -0.1714 -0.3242 -0.1837
0.05646 0.1009 0.1287 -0.2288 0.2972 -0.3345 0.2917 -1.019 -0.5344 0.7283 -0.05147 0.2657 0.3093 0.3836 -0.03861
0.01685 -0.04141 0.3275 -0.1774 -0.8046 0.7087 0.1894 -0.2927 -0.4475 -0.3781 0.1445 0.07064 -0.2468 0.9663 -0.1732
0.03895 -0.3368 -1.206 -0.4165 -0.07786 0.669 0.1049 0.05477 -0.4556 0.1984 1.058 0.491 -0.3098 -0.08248 0.01964
0.2111 0.4728 -0.226 -0.1006 1.169 0.07359 1.712 0.00783 -0.549 -0.2974 0.08685 -0.1227 0.05049 -0.001024 0.03338
0.01316 0.08673 -0.03862 0.04138 -0.1199 -0.008696 -0.02761 0.1097 0.02442 -0.1457 0.1115 0.08829 -0.06107 0.03049
0.1314 -0.03314 -0.1217 0.07428 0.2 0.1039 -0.0527 -0.06104 -0.0331 0.141 -0.3091 0.02653 -0.2609 0.06006 0.1404
0.2924 0.05983 0.1039 -0.2733 0.04564 0.03795 0.2463 0.1135 -0.2466 -0.05885 0.09972 -0.3738 0.2669 0.1763 0.9654
-0.1622 -1.317 -1.477 0.2378 0.3059 0.972 0.4833 -0.5705 0.676 -0.04931 -1.364 0.4838 1.506 0.8804 -1.188 0.3586
-0.04032 0.9054 -0.1753 -3.079 -0.883 0.4805 0.2722 0.6228 0.5765 0.3081 -0.592 0.334 -1.212 -1.062 1.903 -0.2247
0.1824 0.3732 0.5625 0.8306 0.4889 0.3106 0.24 -0.9096 -1.028 0.04194 -0.4121 0.6921 -0.2646 -0.749 -0.08819 0.3951
0.1927 -0.166 -1.11 0.2207 -0.3243 -0.02673 0.5585 -1.093 -0.1335 0.3351 0.7873 -1.065 0.5179 0.5025 0.6958 0.7897
0.177 -1.082 -0.4902 0.5558 -0.7627 -0.3009 0.1928 -0.2004 0.4056 0.197 -2.609 0.1346 0.7051 0.6076 -1.251 0.7744
-0.2859 -0.6733 0.3718 -0.4893 -1.577 -0.63 -0.06696 0.9039 2.137 -0.07878 -2.84 0.7943 1.53 -0.3015 0.02319
-0.05522 0.1658 0.1459 -0.1285 -0.1861 -0.01299 0.1814 -0.02581 -0.1494 -0.1821 -0.07974 0.4656 -0.07727 -0.05342
-0.01923 -0.06274 -0.04308 -0.1134 0.07309 -0.1432 -0.05475 -0.02946 -0.093 -0.1574 0.1273 0.2402 0.2323 0.38 0.8006
0.4674 0.1976 -0.659 0.1605 -0.3811 -0.3724 0.2813 0.5725 0.6366 -0.004641 -0.5947 -0.04147 -0.0967 -0.03265 -0.5275
0.4226 -0.0278 -0.284 -0.2744 0.005994 -0.009438 0.003888 0.002877 -0.01219 -0.01599 -0.03183 -0.02079 -0.03838
0.0101 0.009702 -0.05924 -0.07955 0.00965 -0.009971 -0.07025 0.03277 0.01911 0.0423 -0.03448 0.04074 -0.02234
0.01888 0.03864 0.03943 -0.02083 0.007463 0.01584 -0.02036 -0.009776 -0.003005 -0.04722 -0.01936 0.02143 -0.03242
-0.0042 -0.01253 0.03006 -0.005339 0.03341 -0.01622 -0.02459 0.01388 -0.04234 0.04142 -0.04738 0.04012 0.03016
-0.01099 0.003105 -0.01694 0.07733 -0.06372 0.06456 -0.1052 0.07221 0.189 0.05842 -0.1098 -0.04616 0.05378 -0.001719
-0.02506 0.06701 0.1628 0.006087 0.006113 -0.0262 0.0666 -0.0187 0.06464 0.02081 0.1524 -0.04312 -0.002816 -0.01343
0.09552 -0.03505 -0.1339 0.1347 0.1124 -0.05836 -0.06622 0.06994 -0.106 -0.04633 0.06599 0.06601 0.04118 -0.06446
0.03934 -0.06773 -0.04895 0.00849 -0.09263 -0.04084 0.2384 -0.0362 -0.01228 -0.04919 -0.02592 0.12 -0.112 0.1442
-0.01525 -0.2485 -0.0178 0.04301 -0.09773 0.188 -0.1378 0.08487 -0.02026 0.2337 0.1713 0.04333 -0.1005 0.1323
-0.1021 -0.02053 -0.04407 -0.07269 -0.03711 -0.06255 -0.05791 -0.02553 0.00233 -0.001609 0.1406 0.04164 -0.05265
0.04524 -0.07169 0.103 -0.00257 -0.01152 0.07596 -0.05353 0.04515 -0.1169 -0.03149 -0.04642 0.006077 -0.007236
0.005963 -0.006351 0.01451 -0.03244 -0.07456 0.0439 0.005064 0.03333 0.1323 0.04112 -0.04528 -0.02092 -0.09061
-0.03644 -0.04458 0.09268 -0.0219 0.07111 0.09282 -0.03135 -0.0009014 -0.07593 0.01833 -0.07962 -0.1091 0.8681
0.3312 -0.5057 1.18 0.4484 -0.0864 0.09125 -0.02221 -0.9419 -0.2885 -0.397 -0.5801 -0.2983 0.2498 -0.3522 -0.5158
0.319 -0.4971 -0.2552 -0.8291 -0.4788 -0.9842 1.119 -0.0618 -0.0143 0.0692 -0.04113 -0.1007 0.07769 -0.05721 -0.0603
0.1171 0.07864 0.06147 0.05497 -0.0994 -0.0708 -0.1117 0.144 -0.07107 0.1085 0.04302 0.07726 0.001731 -0.1151
0.02753 0.07368 0.06168 0.02826 0.01614 -0.04393 0.01624 -0.02283 -0.02705 0.01049 0.02827 0.01913 0.03756 -0.03943
0.007543 0.0958 0.09333 0.02633 0.1287 -0.06397 -0.02555 -0.05367 -0.01842 0.04285 -0.02971 -0.02497 -0.07739 0.2177
0.01765 -0.007191 -0.2002 0.04936 0.1713 -0.04588 -0.2673 -0.02181 0.1756 0.07472 -0.09079 -0.1409 0.004224
0.0005838 -0.1814 -0.1227 0.1328 -0.003695 0.03591 0.09289 -0.02783 0.09472 -0.1699 -0.8722 0.828 -1.342 0.4065
0.911 -1.365 0.2249 -0.1628 -0.8843 -1.868 -0.8012 -1.039 -0.007578 0.2866 0.5753 0.03679 0.6517 -1.062 0.182
0.04306 -1.514 0.4852 1.751 -0.7969 -0.2714 -0.09426 -0.3602 -0.1994 -0.3122 -0.4037 -0.08208 0.1003 0.2751 -0.2687
0.02526 0.3016 -0.4464 0.05993 -0.03285 -0.6423 0.2282 0.0896 0.1961 0.1395 0.1299 0.8872 0.401 0.01197 0.01325
-0.05275 0.01564 0.0516 -0.08097 -0.0694 0.009208 0.04021 0.04998 -0.03842 0.0102 0.09086 -0.04005 -0.09089 -0.06897
0.0708 0.05459 -0.04163 0.02795 0.04766 0.07718 0.07146 0.1889 0.02379 -0.06031 -0.01135 -0.01819 0.03391 -0.1115
-0.02793 -0.02778 0.03574 -0.03537 -0.05052 -0.06966 0.02409 0.01519 0.0365 -0.002039 -0.04525 -0.1169 -0.009238
0.02865 0.04218 -0.07504 0.0538 -0.04431 -0.1933 0.04143 -0.1399 0.07423 0.06557 -0.04618 -0.05215 -0.1859 -0.06014
-0.0236 0.02236 -0.0728 -0.04767 -0.3075 -0.06001 -0.113 -0.008363 0.02445 -0.06445 0.1359 0.006324 0.04457 0.1129
-0.3281 0.05945 0.04586 -0.0129 0.02691 0.03703 -0.04489 -0.005394 0.01677 -0.04857 -0.06156 -0.04319 -0.03894
-0.0408 -0.01281 -0.04846 0.02852 0.09054 0.005101 0.06221 -0.1115 0.002308 0.05452 -0.05588 -0.06765 0.07391
-0.1453 -0.04868 -0.01473 -0.04318 -0.03575 -0.0365 0.05126 0.05671 -0.0005763 -0.02794 -0.02909 -0.03301 -0.01986
-0.05128 0.02144 0.03068 -0.09564 -0.02017 -0.03722 0.0245 -0.08301 -0.05597 0.04949 -0.006441 -0.1837 -0.09733
0.4134 0.1358 -0.244 0.02184 -0.4321 -0.226 0.1458 0.04466 -0.2788 0.2607 0.3935 -0.06444 -0.4946 0.01581 0.3377
0.08093 -0.301 0.3391 -0.9351 -0.2866 0.6158 0.004437 0.005318 -0.02663 0.05736 -0.05051 0.0497 0.01786 0.01078
0.01993 -0.004331 0.002717 0.03955 0.01267 -0.01149 -0.0169 0.004996 -0.002923 -0.01463 -0.06327 0.1268 -0.01854
0.03998 -0.01847 0.1299 -0.01448 -0.02564 0.05873 -0.08987 0.008515 0.07179 -0.01165 -0.0366 -0.0002189 0.04782
-0.07954 -0.007732 0.03604 0.03515 0.02766 -0.01129 -0.005634 0.00758 -0.03923 -0.03406 -0.06227 0.06964 -0.02174
0.008341 0.004599 -0.007362 0.004211 0.01869 0.01226 -0.004207 0.006886 0.02149 -0.02702 -0.003102 0.02926 -0.02161
0.0303 0.02236 0.02384 -0.0569 -0.005481 0.01809 0.01165 0.01612 0.04615 -0.00641 -0.007274 0.01332 -0.1974 0.2446
-0.2594 0.2695 -0.2895 -0.02488 -0.09037 0.418 -0.03891 -0.01219 -0.1533 0.09906 0.04043 -0.01505 0.3264 -0.06578
0.1037 0.01778 0.1112 0.2603 -0.1652 0.0175 -0.05112 -0.02649 -0.1154 0.1383 0.2627 -0.02076 0.04188 0.1305 0.29
0.05549 -0.1098 -0.05615 0.185 -0.1495 0.03877 -0.174 -0.141 0.2032 -0.06512 0.2549 -0.1789 0.07701 -0.1422 0.1303
-0.1374 0.1067 -0.02863 -0.2779 -0.02329 -0.08216 -0.08476 -0.1322 -0.08403 0.16 0.01918 0.087 0.0223 -0.162
0.0001716 0.06132 -0.06455 -0.05347 -0.1146 -0.04426 -0.1195 -0.206 0.153 0.01095 -0.03378 0.07266 0.115 -0.1161
-0.1136 0.2895 -0.09091 -0.1491 -0.06743 -0.143 0.1078 -0.08445 0.2484 0.171 0.05549 -0.05923 -0.04219 -0.03911
-0.009577 -0.1329 0.2399 0.1513 0.2327 -0.001796 -0.1254 -0.03557 -0.05945 -0.1022 -0.2306 0.07246 -0.2281 0.1661
0.1828 0.07273 0.219 0.1206 0.1583 0.169 -0.07784 -0.1062 -0.15 -0.1493 -0.1741 0.02258 0.1361 0.0219 -0.0379
0.07545 -0.02057 0.2411 -0.1627 0.1269 -0.2722 -0.05639 -0.3021 -0.02302 0.04609 -0.1558 0.1403 0.05402 -0.2162
0.09754 -0.1068 0.006036 0.1684 -0.0517 0.02829 -0.104 0.16 0.1879 -0.04382 0.02575 -0.1324 -0.04373 0.2099 0.01772
-0.1581 0.2601 0.2061 -0.09731 0.03716 0.1195 0.03227 -0.1206 -0.3714 0.1262 -0.1423 -0.07326 -0.09422 0.1613
0.04666 0.07052 0.08421 -0.2874 0.08636 -0.2189 0.1149 -0.1321 0.1304 -0.04622 0.1196 -0.1907 -0.1341 -0.2278
-0.1114 -0.05442 -0.1244 -0.07832 0.181 -0.09132 -0.08405 -0.08545 0.2045 0.1374 -0.005861 -0.1113 -0.0204 0.1205
-0.2349 0.1623 0.01421 -0.03628 -0.06544 -0.09304 -0.003499 0.01545 -0.03163 -0.1655 -0.3742 -0.3012 0.1017 -0.1974
-0.2492 0.05707 -0.03704 0.09409 -0.1105 -0.08606 0.07037 -0.02343 -0.2296 -0.1314 -0.005236 -0.2057 0.209 0.09272
-0.2227 -0.04399 -0.2163 0.009143 0.05756 0.0686 -0.2883 0.05362 0.0008988 -0.05433 0.08365 0.195 -0.1294 -0.3412
0.1047 -0.04768 0.08772 -0.1429 -0.05442 0.003338 0.0839 0.2149 0.06026 -0.1679 -0.06333 0.201 -0.2944 0.1161
-0.1082 0.09308 -0.236 -0.02182 0.09274 0.02991 -0.1776 0.2168 -0.002478 -0.08593 0.1038 -0.04443 0.2349 0.1614
-0.4088 0.1663 -0.2018 -0.1125 -0.03589 0.08635 -0.06285 0.07556 0.1108 -0.261 0.04695 -0.0896 0.05968 0.3328
0.001719 0.02939 0.0129 0.04851 0.08836 -0.02531 -0.01767 -0.02654 0.1039 -0.2833 0.002227 0.03773 -0.07956 0.2512
0.2428 0.126 -0.03721 -0.246 -0.1834 0.1875 -0.07634 0.004963 -0.01539 0.2024 -0.1471 0.04849 0.001613 -0.05961
0.1649 0.2371 -0.1684 -0.1455 -0.1695 0.2255 0.1998 -0.112 -0.2304 -0.1305 0.177 0.132 0.2257
""".split())))
