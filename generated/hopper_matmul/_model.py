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
-2.924 -1.965 1.386 -0.07706 6.632 0.7348 6.533 -4.605 -4.062 -5.794 4.035 9.144 1.317 1.586 -2.978 2.401 -5.65
1.562 3.9 -4.585 4.27 11.2 -7.432 -4.839 0.1971 -0.07477 0.01497 -0.1556 -0.2893 -0.03717 -0.1316 0.1396 -0.03366
0.2929 -0.3554 -0.09578 0.04996 -0.3749 0.1567 -0.3414 -0.04509 0.05201 0.06199 0.2135 0.007306 -0.1865 0.2168
0.1561 0.03038 -0.07096 -0.02533 -0.02182 -0.06603 0.1472 -0.0503 -0.1281 -0.03603 -0.1499 -0.0988 0.01749 -0.1029
0.02391 0.007529 0.008205 -0.1122 -0.1217 0.04812 -0.02984 -0.1283 -0.002 0.1959 0.1174 -0.3813 0.1694 0.1221 0.2688
0.3162 -0.1564 -0.2044 -0.07606 0.19 -0.3222 -0.1256 0.0421 0.4119 -0.07293 0.4374 0.005998 0.359 -0.2437 -0.001769
0.2169 -0.6469 0.09794 0.3937 -0.1939 -0.01856 0.1954 -0.1127 0.09562 -0.3841 -0.289 -0.1912 0.1895 0.2165 0.2413
0.3292 0.007017 0.3559 0.2822 -0.1839 -0.2817 0.3807 -0.07173 -0.3992 -0.3142 0.3936 -0.5851 -0.1369 -0.02239 0.1724
-0.1546 0.236 0.1314 0.2113 -0.3043 0.2406 0.1824 -0.04832 -0.07549 -0.1408 0.2066 -0.1989 0.1792 -0.1444 0.2839
-0.002012 0.1857 0.07842 -0.04431 0.2668 0.3369 0.1502 0.1595 0.1648 0.2493 -0.1291 0.0198 0.3912 -0.1066 -0.7471
0.1088 0.2131 -0.5645 0.6457 0.3756 -0.1157 0.06672 0.4485 0.5782 0.01272 0.1083 0.06351 0.1433 0.1896 -0.6258
-0.0502 -0.1303 -0.5862 0.4273 0.2912 0.1217 0.2658 0.07588 -0.1157 -0.1807 -0.3214 -0.4417 0.1235 0.1062 -0.3933
0.9682 0.4601 0.4582 0.2301 -0.2746 0.2338 -0.1578 0.252 0.5806 -0.3004 -0.4864 0.2072 0.05971 -0.1194 0.01359
-0.1561 -0.07052 -0.1273 0.2928 0.1096 0.3848 0.0268 -0.5238 -0.1685 -0.007064 -0.0207 0.0207 0.06599 0.08135
-0.1457 0.1818 -0.3287 -0.4798 0.2011 0.05014 0.1792 0.3121 0.1683 0.134 -0.2663 -0.06313 -0.2302 0.1596 -0.03272
-0.01243 0.1785 -0.2351 0.2693 -0.1785 -0.3851 -0.1915 -0.1021 0.1458 -0.1139 0.1809 0.2078 -0.2356 0.2296 -0.09532
-0.001097 0.0002307 -0.0006197 -0.0003538 -0.00495 0.001171 -0.00229 0.002684 -0.006086 0.001248 0.002914 -0.007829
0.0002489 0.001022 0.00258 0.004166 -0.001172 0.003699 -0.01069 -0.001283 0.00289 0.003739 0.0006392 -0.001493
0.0386 0.1402 -0.4626 0.01847 0.05073 0.1081 -0.3776 -0.05551 -0.1812 0.2204 0.2872 0.593 -0.3462 0.2466 0.2626
-0.112 0.428 -0.02957 0.1908 0.1368 0.002109 0.1317 -0.1712 -0.38 -0.349 0.0792 -0.2922 0.02784 -0.4832 0.1459
0.01006 0.03452 -0.1337 0.6281 0.3162 -0.1786 0.06342 -0.2708 0.3881 -0.4283 -0.2208 0.04383 -0.1708 -0.08765 0.483
0.4094 0.04159 0.1877 -0.5202 0.07694 0.5498 0.001484 0.2607 0.04405 0.2516 -0.1095 0.1221 0.05116 0.564 0.4176
0.1029 0.344 -0.3073 -0.2141 -0.04218 -0.04639 -0.4673 -0.5349 -0.2082 0.7641 0.1221 0.2595 -0.2446 -0.8047 1.107
-0.4103 0.07854 0.3424 -0.0398 -0.8275 -0.06167 0.6947 -0.01337 0.2438 -0.1396 0.2341 0.2847 0.9922 -0.07004 0.4093
-0.1147 0.4046 1.795 -0.8591 -0.8944 -0.7476 0.04307 -0.156 -0.01945 -0.0459 -0.02232 0.0152 0.1228 -0.006148 0.1487
-0.1333 -0.006321 -0.0009447 0.09627 0.03562 -0.119 0.07266 0.05537 -0.0935 -0.07509 -0.1558 -0.09329 -0.1848
-0.1088 0.2581 0.2834 -0.1305 -0.3258 -0.1021 0.168 -0.4007 -0.02095 -0.02741 0.05802 0.004436 0.1954 0.1544 -0.1024
-0.1307 0.1665 0.1744 0.0597 0.03912 -0.6083 0.462 0.1398 -0.2321 -0.00815 0.1339 0.916 2.13 -1.365 -1.488 -2.124
0.06898 0.7649 0.4918 -0.4309 0.25 0.2295 -1.158 0.5885 2.079 1.013 -0.01908 -0.3509 -0.2378 0.4132 0.9098 -3.93
0.8212 0.571 -0.3791 1.177 0.6661 0.4134 -0.7472 -0.2284 -1.738 -1.449 1.607 0.3531 0.3323 0.835 0.433 0.7101 1.058
0.2113 -0.52 -0.3744 -1.216 0.359 -1.061 1.108 -0.1353 -0.8174 0.2723 0.2649 -0.01148 -1.861 -0.6016 0.2045 0.1111
0.2569 0.3894 -0.6795 -0.8868 -0.4192 0.2337 -2.092 0.7432 0.5294 0.9381 -0.06868 -1.165 -1.212 -0.3943 0.606
-0.2715 0.0786 0.8439 -0.5352 1.081 -0.3069 -1.583 -1.247 1.5 0.5575 -0.408 1.9 -0.1506 0.2009 -0.1074 -0.3392
-1.721 -0.05922 0.1162 0.4634 0.9912 -0.3728 -1.734 0.5651 1.58 0.034 0.3884 0.03072 0.3525 -0.09233 -0.04996
0.008773 0.2275 0.1576 0.2134 -0.2975 -0.04009 -0.1952 0.3741 0.08517 -0.312 -0.05685 0.0635 -0.04158 -0.253 0.4351
-0.04636 0.07183 0.04253 -0.06736 -0.2049 -0.001565 0.2677 -0.1112 0.3861 0.2567 0.2936 0.2035 -0.4811 0.1197 0.2667
-0.1658 -0.2291 0.6132 0.4649 -0.1111 -0.5877 0.07698 0.05632 0.09196 -1.021 0.6417 -0.437 0.1393 -0.1304 -0.003291
0.01079 -0.003414 0.01524 -0.06151 -0.002496 -0.03799 -0.02645 -0.02305 -0.0007199 0.007513 -0.03692 -0.05436
0.00307 -0.04024 -0.05644 0.004952 -0.006019 0.003388 0.01169 0.03845 -0.01332 0.04366 0.0755 0.02807 -0.004782
0.01085 0.002436 -0.03751 -0.02402 0.02378 -0.03518 -0.01529 0.02139 -0.02855 -0.0001473 -0.02483 0.02959 0.04056
0.01077 -0.001658 -0.05293 0.01779 -0.04516 0.04413 -0.03111 0.02485 0.02762 0.009266 -0.00539 -0.09314 0.05966
-0.04505 0.02644 -0.06446 0.1163 0.1655 0.02537 -0.07358 -0.09198 0.06514 -0.01557 -0.04088 0.02919 0.2049 0.04592
-0.01684 0.04467 0.0537 0.01932 0.06162 0.008768 0.1092 0.03489 -0.01814 -0.04743 -0.001242 -0.1131 -0.07794 0.04504
0.2258 -0.04039 -0.02883 0.03495 -0.07446 0.1345 0.03315 -0.09667 0.06135 0.02472 0.01281 -0.09528 -0.0481 0.02949
-0.05511 -0.03717 0.1224 0.001569 0.1963 0.1347 -0.02693 0.1669 0.0587 0.03078 -0.08161 -0.1053 0.09185 -0.08452
-0.02361 0.2113 -0.1055 0.04413 0.05212 0.08117 0.02546 0.04407 -0.08356 0.02081 0.006445 -0.03762 -0.01825 -0.05932
-0.04547 -0.0658 -0.1027 0.00568 0.007079 0.008926 0.08845 0.0325 -0.04222 -0.008926 -0.03119 0.1034 -0.01944
-0.03575 0.05754 -0.05435 0.02446 0.003359 -0.02277 0.01624 0.01425 -0.002519 0.02373 0.001144 0.003517 -0.04305
-0.0918 0.0712 0.01229 0.04114 0.08531 0.02374 -0.03233 -0.08248 -0.05193 -0.02485 -0.06397 0.07316 -0.03484 0.0588
0.08795 0.08823 -0.002004 -0.00951 0.02752 -0.08979 -0.2181 0.3713 0.363 -0.7757 0.5172 0.5311 -0.1295 -0.4123
-0.1728 -0.9637 -0.292 -0.5125 -0.04262 -0.2568 0.7054 -0.4642 -0.6773 0.7982 -0.6443 -0.5416 -0.3215 -0.8148
-0.7682 0.7111 0.05072 0.03887 0.008894 -0.1701 0.1397 0.122 -0.02411 0.09695 0.06945 0.1054 0.1169 -0.06069
0.009479 -0.06466 -0.08544 0.1141 -0.09541 0.158 -0.008649 -0.04855 0.0582 -0.08453 0.03129 0.0337 0.07439 0.08838
0.06188 -0.03735 -0.01981 0.0173 -0.03681 0.05312 0.03232 0.02914 -0.02388 0.05812 -0.00516 0.04908 0.06364 0.003875
0.127 -0.08437 -0.003112 -0.05374 0.0005796 0.02068 -0.02321 -0.02375 -0.07476 0.1488 0.03358 -0.03443 -0.009095
0.01852 0.1182 -0.1049 -0.1248 0.02846 0.22 0.05146 -0.2925 -0.08389 0.03888 0.08764 -0.1747 -0.1533 0.05274 0.01825
0.07787 0.09877 -0.04165 0.1222 -0.8563 -0.4058 0.6973 -1.269 0.428 1.117 -1.156 -0.0367 0.3801 -0.3274 -1.489
-0.4292 -0.3038 -0.0708 -0.03534 0.0243 0.1984 0.5754 -0.9328 -0.4393 0.6846 -0.9271 0.04099 1.62 -0.8391 -0.02608
-0.2824 -0.1235 0.03917 -0.1688 -0.21 0.2789 -0.02457 0.03444 -0.2371 0.2599 0.09154 -0.05729 0.1803 0.1284 -0.5998
0.1356 0.04729 0.5054 0.1051 -0.1558 0.6661 0.6068 -0.09315 -0.0004839 0.03898 0.1278 0.01625 -0.05486 0.05629
-0.0212 0.0002938 0.0153 -0.03766 -0.02133 -0.03058 0.001408 -0.04921 0.0279 0.01695 0.1659 -0.09989 0.00711
-0.00735 0.0009887 0.03013 0.096 0.027 -0.02958 -0.05763 -0.04159 -0.01318 -0.07836 -0.08038 0.07164 0.1033
-0.0003112 -0.03696 -0.03957 0.02646 -0.0107 -0.09137 0.02165 -0.04924 -0.04922 0.007393 0.03406 -0.04669 0.0359
-0.01924 0.04563 -0.07878 -0.09074 0.01267 0.04834 -0.191 -0.0306 0.08608 -0.112 0.0158 -0.2081 0.1526 0.1049 0.1872
-0.1278 -0.2953 -0.08207 -0.3151 0.07181 -0.131 0.1486 0.02097 0.03954 0.4325 -0.3884 0.09673 0.1189 0.04265 0.03869
-0.09026 0.006252 -0.01491 -0.005575 -0.0414 -0.05116 -0.09123 0.01928 -0.005074 -0.03145 -0.0589 2.379e-05 0.08381
-0.02771 0.03042 -0.05314 0.02482 0.09928 -0.04824 -0.06164 0.07554 -0.1353 -0.09143 -0.02674 -0.0136 -0.05061
0.01136 0.04469 0.05843 0.002531 -0.02379 -0.0998 -0.05705 -0.03167 -0.04029 -0.006701 0.04577 -0.07629 -0.02552
-0.003161 0.01653 -0.1085 -0.03588 0.04049 0.239 -0.09984 -0.04856 0.1315 -0.468 -0.03075 -0.1254 -0.4365 -0.7052
-0.06923 -0.1564 -0.3922 0.268 0.4031 -0.0698 -0.6041 -0.2937 -0.07341 -0.05598 -0.4666 0.5356 -1.009 -0.08576
0.8015 -0.0005943 -0.014 -0.0213 0.03497 0.01765 0.04461 0.02634 0.022 -0.007324 0.0007114 -0.01052 0.02206
-0.006178 -0.05665 0.02135 0.02112 0.01239 -0.02151 -0.009967 0.03487 -0.02239 -0.0004294 0.003739 0.1162 -0.01145
-0.006619 0.04601 -0.1023 0.03298 0.04697 -0.04315 0.03059 -0.0269 0.0527 -0.04273 0.04425 0.0352 0.04543 -0.01891
0.01634 0.01163 0.0001445 -0.05203 0.02544 -0.02229 0.0779 -0.02196 0.04288 -0.03766 -0.005173 -0.009818 0.02806
-0.05749 5.575e-05 0.01906 -0.01958 0.01055 -0.02208 0.02397 0.003564 0.01545 0.03275 0.03889 -0.03769 -0.04552
0.002259 0.01004 0.01213 0.03501 -0.02204 -0.005176 0.01341 -0.1838 0.2739 -0.2026 0.1527 -0.2523 0.01782 0.001415
0.3502 -0.124 0.0593 -0.1235 0.03499 0.06162 -0.428 0.2278 0.001536 0.1443 0.01159 0.09195 0.2438 -0.04205 0.006187
0.06439 -0.04536 -0.1878 0.1297 -0.1867 0.001881 -0.1369 0.1119 0.1239 0.02252 -0.1032 -0.1215 0.07385 -0.1476
-0.01494 -0.02844 0.09771 0.3015 -0.1274 0.1924 -0.1614 0.1264 -0.09456 0.1735 -0.01668 0.1981 -0.01628 -0.2514
0.121 -0.0528 -0.03031 -0.05364 0.0002018 0.1331 -0.2033 -0.2322 0.1391 -0.08176 0.1107 -0.01019 -0.01853 -0.1033
-0.06037 -0.1206 0.1214 0.1054 0.2118 0.1857 -0.1043 0.0568 0.03562 -0.07801 -0.2656 0.2819 -0.1821 -0.1142 -0.2355
-0.1984 0.03444 -0.09538 0.02892 0.1507 0.002732 0.01856 0.00188 -0.09577 0.1266 -0.1126 0.09783 0.1914 0.09727
0.06624 -0.08271 -0.1116 -0.1933 -0.04633 -0.2224 0.03388 -0.1961 0.1606 0.1772 -0.013 0.09428 0.1272 0.02835 0.2118
-0.03916 -0.05292 -0.06208 -0.05335 -0.03074 0.03368 -0.1811 0.05409 -0.1347 0.01723 -0.06183 0.1911 -0.08567 0.0537
-0.1926 0.1456 -0.3401 -0.1162 0.106 -0.1796 0.1004 0.04508 -0.339 0.09236 -0.002834 0.1114 0.1869 -0.1489 0.01372
-0.09188 0.1197 0.1706 0.02672 -0.03296 -0.06407 -0.06716 0.1195 -0.1654 -0.3681 0.1814 0.1837 -0.07953 -0.1437
0.1279 0.1291 -0.08545 -0.5174 0.2039 -0.207 -0.02365 -0.1298 0.0703 -0.007086 -0.009129 0.0949 -0.3076 0.1175
-0.1792 0.177 -0.04296 0.1567 -0.08429 0.05627 -0.2583 -0.1127 -0.194 -0.01301 -0.08428 -0.1622 0.005008 -0.00242
-0.06417 -0.06148 -0.2342 0.139 0.01088 -0.154 -0.1891 -0.09765 0.172 -0.01229 0.0781 0.03062 0.0193 -0.03416
-0.1373 -0.2545 0.04795 -0.01314 -0.211 -0.1012 -0.2485 -0.06539 -0.09268 -0.2094 0.01957 -0.08645 0.09496 -0.03885
0.01319 0.01095 -0.02567 -0.09946 -0.1892 -0.02779 -0.1746 0.2017 0.09624 -0.1919 0.02915 -0.2689 -0.0238 0.0804
0.1413 0.05837 -0.02917 -0.02296 -0.1278 0.01626 0.1888 0.07107 -0.1167 0.1204 -0.1889 0.08198 -0.04644 0.03665
0.1918 0.1444 0.1438 0.1779 -0.1415 0.06545 -0.06317 -0.4895 0.1866 -0.0453 0.001306 -0.2841 0.117 0.07684 0.2056
0.05913 0.1164 -0.1112 -0.0963 0.1492 -0.08193 0.1543 0.1853 -0.3677 0.1521 -0.3048 -0.1748 -0.1598 0.06775 -0.05338
0.04515 0.1332 -0.2598 0.02538 0.009719 -0.5448 0.2886 0.05984 -0.06835 -0.01621 0.06657 0.1517 0.04098 -0.0939
-0.08048 0.1356 -0.2386 0.08011 -0.00659 0.07832 0.1806 0.1266 0.1219 0.04163 -0.1642 -0.6524 0.0393 -0.02424
-0.07642 -0.3536 0.2549 -0.1576 0.118 0.1657 -0.105 0.1634 0.1917 -0.1782 -0.1425 -0.1756 0.1927 0.1592 -0.1153
-0.2085 -0.1564 0.1656 0.1071 0.2269
""".split())))
