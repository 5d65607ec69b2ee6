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
0.7873 1.56 -0.5763 -0.9939 -8.542 -3.007 6.986 -5.536 -4.43 -10.47 6.924 -0.5126 -3.232 2.047 -0.2869 3.896 -6.106
1.51 2.292 0.3034 2.891 7.987 -3.53 -4.755 -0.1469 -0.1675 0.1478 -0.1917 0.231 -0.05039 -0.1645 0.1319 -0.08343
0.1749 -0.4293 -0.02214 -0.02583 -0.3475 -0.1733 -0.4747 -0.06479 -0.08775 0.2006 0.03093 0.3794 -0.1388 0.1613
0.08236 -0.039 -0.1758 -0.182 0.09557 0.09352 0.211 -0.07898 -0.0991 0.07756 -0.06867 -0.1096 0.00644 0.009881
-0.09826 -0.1031 0.1372 -0.1575 -0.03748 -0.04419 -0.0639 -0.109 -0.04564 0.1059 0.04084 -0.03804 0.1661 0.4111
0.1051 0.5062 0.07387 -0.101 -0.07007 -0.08675 0.01048 -0.01955 0.4658 0.3432 -0.4659 0.101 -0.02645 0.4415 -0.2655
-0.04981 -0.06642 -0.5859 0.04266 0.1659 -0.2209 -0.2625 -0.1765 0.2229 0.06743 -0.7141 -0.1317 -0.204 -0.1637
0.09676 0.4491 0.169 0.2728 0.0898 0.2181 0.3795 -0.3112 0.2701 -0.06093 -0.07114 -0.1974 0.6248 -0.4006 0.04934
-0.3596 0.1932 -0.2677 0.1631 0.2666 0.0923 -0.323 0.0423 0.1952 0.1005 -0.01675 -0.1377 -0.08756 -0.3585 -0.3102
0.07208 0.2898 -0.09272 0.01353 0.09235 -0.03177 0.4768 0.2206 0.1499 0.3055 0.3176 -0.2508 0.1125 -0.2116 0.04596
-0.08524 -0.07402 -0.14 0.2728 -0.6907 0.6776 0.01322 -0.7414 -0.1501 0.2031 0.3951 0.2374 -0.2447 -0.9375 -0.0189
0.3901 -0.7501 0.1608 0.1524 -1.007 0.2279 -0.6202 0.2941 0.2785 0.0604 -0.9217 0.0453 0.2509 -0.183 0.1791 -0.1859
-0.2595 0.6275 0.1492 0.2987 0.05408 0.0738 0.04982 -0.04296 0.2316 0.6594 -0.04594 -0.5727 0.1599 0.1133 -0.1317
-0.0357 0.5061 0.06702 -0.06446 0.2655 0.2265 0.3866 -0.08633 -0.1615 0.1072 0.1681 0.05311 -0.06728 0.1227 0.1007
-0.2502 0.1397 -0.2584 -0.3102 0.04944 0.1863 -0.2739 -0.01191 0.1707 -0.01075 -0.1643 -0.02275 -0.04905 0.01243
-0.005615 0.09721 0.1328 0.03705 0.05751 0.05429 -0.2687 -0.4008 -0.3361 0.04893 0.009957 0.3371 0.3169 -0.3549
0.1784 -0.1096 -0.006048 -0.001938 0.002353 0.001796 -0.0007369 0.002856 -0.002003 -0.0001152 -0.008748 0.0009612
0.001086 0.0007112 -0.0005875 0.002236 -0.01125 0.001869 0.000846 -0.00244 -0.00413 -0.004383 0.0005811 0.001766
0.003942 -0.001298 -0.265 0.01729 -0.2244 -0.005797 -0.05203 0.02713 -0.0552 0.1049 -0.09797 0.1538 0.3544 0.6219
-0.4533 0.2187 -0.02774 -0.1955 0.3701 0.08836 0.1898 0.4146 0.07581 0.1642 -0.2284 -0.2527 -0.1251 -0.02081
-0.09253 0.01391 -0.1266 0.1608 -0.2947 0.03397 -0.4638 0.377 0.1297 -0.028 0.2339 -0.06238 -0.4745 -0.2135 -0.06125
-0.05045 -0.182 0.3396 0.2876 0.5845 -0.07361 0.06056 -1.055 0.4158 0.03884 -0.02022 -0.1722 -0.2951 0.4246 0.07173
-0.08252 -0.1685 0.3182 -0.6595 -0.9315 0.9821 0.2165 0.3054 -0.67 0.2881 -0.1886 0.3663 -0.01384 0.3532 0.09053
-0.06324 0.3294 0.04592 0.003412 0.3706 0.2576 -0.01968 -0.8316 -0.2672 0.1162 0.7458 0.002925 0.1694 -0.01202
-0.7225 -0.1401 1.157 -0.3647 0.5164 0.2493 0.2898 0.4943 -0.4145 -0.7189 0.1743 -0.009457 -0.1542 0.02716 0.07862
0.01038 0.07551 0.07507 -0.006875 0.1339 -0.08243 -0.1934 0.05262 0.05014 -0.05427 0.1811 0.09249 0.0312 -0.03642
0.0638 -0.07423 -0.07951 -0.06089 -0.05124 0.1714 -0.1019 -0.3671 0.1239 -0.3681 -0.0355 -0.3929 0.07751 -0.1138
0.02143 -0.01795 0.03234 0.1044 -0.3542 -0.062 0.1661 0.103 0.02034 -0.114 -0.1397 0.02625 0.1419 -0.1584 0.01182
0.1395 -0.08699 -0.4249 -0.9829 -0.5609 -1.501 0.5246 0.9001 1.005 -1.297 0.6665 1.252 -0.3032 1.023 1.244 -0.3567
-0.6382 0.3068 0.1031 0.8754 -1.354 -2.861 -0.8627 0.5153 -1.002 1.161 0.4236 0.5268 -0.3687 -0.3453 -0.5118 -1.669
1.231 0.2329 0.08688 0.7229 0.6672 0.4476 0.6358 0.1047 -0.182 -0.8392 -1.451 0.08482 -0.2493 0.8635 0.122 -1.001
-0.6159 0.6127 -1.374 -0.4123 -0.398 -0.4873 -0.7039 -0.2378 -0.06212 -0.9163 -0.899 -0.8064 0.4688 -1.405 -0.1919
0.04485 0.4112 -0.01747 0.1088 0.3233 1.394 1.235 -0.2447 0.1621 0.2018 0.4891 0.06593 -1.266 -1.292 -0.4853 0.8384
0.5675 -0.6918 1.78 -0.08542 -0.5964 0.77 -0.177 -0.824 -0.03187 0.88 0.8006 0.05193 0.06368 -0.87 0.8883 1.224
0.1214 -0.1323 -0.1282 0.08295 0.1599 -0.1397 -0.1073 0.03951 0.2194 0.178 0.06272 -0.2668 0.06671 0.3338 -0.113
-0.07761 -0.09187 -0.1604 -0.1584 -0.2416 0.05961 0.193 0.0187 -0.04356 -0.03398 -0.1485 0.5085 0.02935 0.4055
0.2388 -0.5328 0.1111 0.01673 -0.1351 -0.1816 0.1935 -0.1172 0.008086 0.5007 0.9576 -0.2663 -0.1685 0.07644 0.19
0.2151 -0.193 0.07517 -0.3796 0.08374 0.03193 -0.003983 -0.00764 0.01212 0.02699 -0.03346 -0.0005777 -0.04116
0.0007534 -0.02719 0.02947 0.002679 -0.05191 -0.07262 -0.01995 -0.04258 -0.07482 0.04293 0.009315 -0.012 -0.02975
-0.007576 -0.05597 0.008795 0.02065 0.02086 -0.02079 0.007333 -0.006402 -0.001238 -0.02783 -0.005191 -0.03587
0.005736 0.01294 -0.02249 0.03599 -0.03354 0.03913 0.01458 0.02452 -0.0224 -0.05367 0.01971 -0.07579 0.0437 -0.04307
0.01888 0.03414 -0.03351 -0.04032 0.01547 0.08187 -0.05939 0.04187 -0.118 0.1649 0.1494 0.114 -0.104 0.02123 0.1104
-0.001159 0.04681 -0.01841 0.1969 0.09703 0.03361 -0.002853 0.0505 -0.009043 0.1211 -0.03602 0.1011 -0.03587 0.0468
-0.07863 -0.07224 -0.04172 -0.0813 0.1135 0.1089 0.04366 0.1029 -0.02067 0.002283 0.1216 -0.01746 0.05708 0.06574
0.1637 0.02243 -0.07274 0.0182 0.03093 -0.1151 0.01455 0.152 -0.08085 -0.05243 0.1468 -0.2077 0.2094 -0.08153
-0.02831 -0.04605 -0.1319 0.001194 -0.01986 0.02457 -0.05095 0.01316 0.1071 0.06836 0.0967 0.09234 0.01103 -0.1752
0.08414 0.0843 -0.1294 -0.04438 -0.1024 -0.03458 -0.03305 -0.05394 -0.01227 0.001428 0.008047 0.04234 0.1009 -0.064
-0.03555 0.03715 0.1564 0.03232 -0.03908 0.08245 -0.03776 0.03785 -0.07328 -0.02892 0.02937 0.07686 -0.02395 -0.0046
-0.04975 0.002859 -0.003558 -0.03855 0.04974 0.007134 0.02853 0.05638 0.09216 -0.0503 -0.1116 0.007522 0.01704
-0.03635 0.07118 -0.01651 0.06364 0.08541 0.003564 -0.01129 0.001947 0.08853 -0.1063 -0.2758 0.3505 0.6125 -0.2807
-0.7184 0.8185 0.1874 -0.1235 -0.5286 -0.7572 -0.1129 -1.181 -0.2337 -0.169 0.1755 0.06482 -0.2228 0.4911 -0.5101
0.4412 -0.769 -0.4522 -0.603 0.996 -0.1416 0.07926 0.04149 0.02914 0.1234 0.06918 -0.05469 -0.01769 0.2066 0.07206
-0.0006899 -0.02741 0.03015 -0.1008 0.02662 0.04557 -0.1015 0.1237 0.1516 0.09609 0.1311 -0.06379 0.04317 0.1358
0.07949 0.09303 -0.02716 -0.02968 0.0141 -0.02122 -0.02672 0.08564 0.03835 -0.005847 0.0107 0.07478 0.02867 0.05455
0.1149 -0.006568 0.1065 -0.06284 -0.01484 -0.07866 -0.03493 0.04524 -0.04758 -0.0008768 -0.06906 0.112 -0.1623
0.0695 -0.005226 -0.009635 0.1386 -0.03575 -0.05479 -0.04194 0.2158 -0.03514 -0.1741 -0.07175 -0.205 0.07269 -0.1845
-0.2564 0.1051 0.02017 -0.03924 0.1339 -0.1495 0.18 -1.105 -0.1123 -0.1903 -1.2 0.5015 1.624 -0.7418 -0.3286 0.369
0.2124 -1.445 -0.7906 -0.1573 -0.3502 0.3967 0.5139 -0.3126 1.048 -0.7467 0.1185 0.5431 -0.7482 0.02014 1.808
-0.3834 0.3725 0.07748 -0.2793 0.8871 -0.2881 -0.4791 0.1149 0.5346 0.1668 -0.3869 0.4302 -0.0222 -0.1039 -0.3535
0.01212 -0.6388 -0.1788 -0.1936 -0.2502 0.03199 0.1414 0.4915 0.4947 -0.005964 0.02016 0.06832 0.02537 0.01636
-0.1022 -0.0912 -0.07002 0.02187 0.03152 -0.08937 0.01475 0.02346 -0.02538 0.009921 0.04654 0.02951 -0.0005605
0.03341 -0.01225 0.01655 0.0367 0.03577 0.09052 -0.06513 -0.0282 -0.08755 -0.06867 -0.04001 -0.05622 -0.004015
0.0417 0.1399 0.04097 -0.02101 -0.006691 0.0389 -0.02146 0.04982 -0.09169 -0.03202 0.07489 -0.04505 -0.1532 -0.0221
-0.05678 -0.0008551 0.009634 -0.03468 0.02528 0.05498 -0.05586 0.1766 -0.1444 0.02245 -0.03685 -0.1631 0.1207
-0.1336 -0.03834 -0.00569 -0.2431 -0.2801 0.211 -0.0166 -0.05054 0.08354 -0.05777 -0.04345 0.07057 0.1758 -0.4226
0.08662 0.01749 -0.00559 0.03446 -0.04253 0.002461 -0.02613 0.07473 -0.06368 -0.01961 -0.07651 -0.02664 0.05142
-0.01051 -0.01076 0.03174 0.1176 0.00341 -0.002961 -0.1085 -0.01591 0.09648 -0.06309 -0.04989 0.02658 -0.1571
-0.01627 0.004667 -0.07893 -0.06129 -0.03312 0.07477 0.03788 0.02777 -0.05949 -0.03891 -0.01173 0.008932 0.08994
-0.01125 0.01171 -0.05397 0.02466 -0.02353 0.03072 -0.1346 0.00329 0.001115 -0.02948 -0.6744 0.02008 0.2955 -0.1753
-0.08092 -0.2236 -0.4932 -0.6602 0.03195 -0.2487 -0.4806 0.3308 0.6321 -0.4023 -0.6281 0.1072 0.008839 0.1749
-0.00935 -0.008914 -0.8832 -0.427 0.3515 -0.01114 0.003201 -0.0487 0.0348 0.01423 0.03628 0.03008 0.03007 0.01755
0.001829 -0.03335 0.0569 -0.01818 -0.03159 -0.02686 0.03255 -0.02405 -0.05129 -0.004521 0.01195 -0.02283 0.02603
0.0102 0.1202 0.002001 0.05879 0.04122 -0.08203 0.002803 0.06469 -0.01553 -0.02513 0.06411 0.06889 -0.05925 0.05824
0.0008916 -0.002967 -0.001021 -0.006766 0.01652 -0.01257 -0.07055 -0.01259 -0.0578 0.09148 0.01206 -0.0006204
-0.05897 -0.002869 0.023 0.04271 -0.01012 0.004516 0.02367 0.01075 -0.0005175 0.0203 0.0198 -0.04489 0.002319
0.02704 -0.06678 -0.03634 -0.008965 -0.01888 -0.01201 -0.0005468 0.05558 -0.005828 0.01046 0.02771 -0.1854 0.2001
-0.1926 0.07068 -0.2441 -0.1123 -0.07479 0.009495 -0.003556 0.03277 0.03157 0.05729 0.0376 -0.5965 0.2114 -0.09396
0.04751 0.1816 0.1019 0.2304 -0.02843 0.1008 0.1396 -0.07873 -0.03398 0.03364 0.02098 -0.01433 0.1373 0.07975
-0.1254 0.07862 0.01016 -0.02146 0.07181 -0.1462 0.03057 -0.1094 -0.26 0.153 -0.1071 0.1982 -0.3723 0.09066 0.1092
0.1242 0.3178 0.1655 -0.03849 -0.119 0.1538 -0.2937 -0.006677 -0.09782 -0.02233 0.151 -0.06014 -0.1187 -0.2461
-0.05673 0.05349 -0.07657 -0.1423 -0.1163 -0.1194 -0.2712 0.0618 0.04196 0.2229 0.1588 -0.08271 0.1167 0.0853 0.0324
-0.08934 0.3195 -0.0894 -0.09362 0.1007 -0.191 -0.01548 -0.1648 -0.06894 0.2077 0.08783 -0.215 -0.04002 0.06818
0.1036 -0.04455 0.1969 0.234 0.1643 0.04818 -0.03795 -0.08502 -0.09311 -0.08187 -0.2718 0.02792 -0.07821 0.1161
0.2875 0.04506 0.1228 0.1147 -0.07618 0.1816 -0.07221 -0.06175 0.07494 -0.05833 -0.1144 0.04222 0.04156 0.2213
-0.07861 0.09165 -0.08473 0.1868 -0.1715 0.06758 -0.08135 0.1576 -0.4676 -0.0741 -0.09522 -0.1667 0.07322 -0.03556
0.02635 0.1269 -0.1383 0.04589 0.1828 -0.1211 -0.0009923 -0.1187 0.08406 0.1469 -0.07132 -0.0704 -0.1268 -0.1456
-0.03186 -0.1225 -0.3993 0.1986 0.02864 -0.1116 -0.3068 0.0698 0.08881 -0.1799 -0.2073 0.2191 -0.09303 -0.06734
-0.06989 0.1076 0.2341 -0.02026 -0.05406 -0.2796 0.09182 -0.1705 0.1562 -0.02387 0.07967 -0.06098 0.1433 -0.1869
-0.09247 -0.2826 0.04701 -0.1004 -0.108 -0.1319 0.1627 0.02144 -0.1375 -0.02853 -0.1547 -0.05915 -0.02605 -0.01114
-0.1515 0.03559 0.02382 0.2472 -0.1457 0.1923 -0.1067 -0.08248 -0.1388 0.1004 0.1653 -0.2083 -0.09591 -0.2483
-0.1076 -0.04929 -0.1691 0.03304 -0.04415 0.2717 0.006188 -0.04677 0.1307 -0.02858 -0.09763 -0.03858 -0.1475 -0.1063
-0.1381 0.1886 -0.2288 -0.086 -0.1586 -0.05769 0.04286 0.02059 -0.1623 0.006497 0.01643 -0.1168 -0.1719 0.2412
-0.035 -0.2566 0.1474 -0.04409 -0.03124 -0.1087 -0.002055 0.02989 0.06163 0.06558 -0.1621 -0.1273 -0.07025 0.03228
-0.244 0.1372 -0.107 0.1083 -0.04369 0.174 0.2077 0.09005 -0.03993 0.1676 -0.04901 -0.1486 0.057 -0.191 0.1915
0.2195 -0.2891 0.1679 -0.1547 -0.1944 -0.1458 0.04407 -0.0641 -0.129 0.2101 -0.1594 -0.156 0.05406 -0.4045 0.2669
0.1534 0.04315 -0.1134 0.005643 0.1283 -0.08312 0.05946 -0.145 0.0467 -0.0263 -0.4906 0.02543 -0.1069 0.1838 0.2743
0.06974 0.0169 -0.02665 -0.2636 0.1826 -0.07547 -0.002753 -0.2231 0.1671 -0.4268 0.04072 0.1066 -0.1321 -0.02108
0.2265 -0.1895 -0.1388 -0.1195 0.1923 0.1775 -0.09236 -0.1529 -0.1385 0.16 0.09006 0.2641
""".split())))
