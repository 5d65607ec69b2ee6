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
    scaled: bool = False  # and multiplied by scales of blocks before


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
    scaling: float  # more, where products are scaled and added outside of the tensor cores, while another multiplies
    scaling_alone: float  # when none does
    hides: float  # of that, a column of the tile
    hides_alone: float
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
Key = tuple[Gpu, int, int]  # what does not change by shape: the device, and bytes of the widest copies of A, and of B
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
        self.clocks: dict[Key, list[Clocks]] = {}
        self.arrays: dict[Key, ForC] = {}  # the same, for C
        self.cutting: dict[tuple[int, Key], tuple[Clocks, ForC]] = {}  # of kernels whose host functions asked

    def __call__(self, shape: Shape, gpu: Gpu, pitches: Pitches | None = None) -> list[float]:
        """In microseconds, in the order of the kernels; infinite where one cannot load such rows. Without `pitches`
        operands are contiguous, or padded as TMA needs them."""
        extents, pitches, key = self.given(shape, gpu, pitches)
        if (in_c := compiled()) is not None:
            made = (ctypes.c_double * len(self.kernels))()
            in_c.times(self.address(key), *extents, *pitches, made)
            return list(made)
        (m, n, k), costs = extents, [row_cost(pitch, self.rates) for pitch in pitches]
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
        extents, pitches, key = self.given(shape, gpu, pitches)
        if (in_c := compiled()) is not None:
            return in_c.least_of(self.address(key), *extents, *pitches)  # type: ignore[no-any-return]
        times = self(shape, gpu, pitches)
        order = sorted(range(len(times)), key=times.__getitem__)
        learned = [x.load_by in LEARNED for x in self.kernels]
        if self.correction is None or times[order[0]] == inf or not learned[order[0]]:
            return order[0]
        likely = [i for i in order[:MOST_LIKELY] if times[i] <= LIKELY * times[order[0]] and learned[i]]
        costs = row_cost(pitches[0], self.rates), row_cost(pitches[1], self.rates)
        return min(likely, key=lambda i: (self.corrected(i, extents, costs, key), i))

    def corrected(self, index: int, extents: Shape, costs: tuple[float, float], key: Key) -> float:
        """Logarithm of the microseconds that a kernel is expected to take, up to what all have in common."""
        assert self.correction is not None
        clocks = self.of(*key)[index]
        us, facts = clocks.facts(*extents, *costs)
        return log(us) + self.correction([*clocks.about(self.types), *facts])

    def given(self, shape: Shape, gpu: Gpu, pitches: Pitches | None) -> tuple[Shape, tuple[int, int], Key]:
        """Extents of at least 1, pitches modulo a line, and the key of what the shape does not change."""
        m, n, k = shape
        if not m * n * k:  # some kernel is picked, which launches nothing
            m, n, k = max(m, 1), max(n, 1), max(k, 1)
        a_pitch, b_pitch = pitches or contiguous(self.types, m, n, k)
        a, b = int(a_pitch) % LINE, int(b_pitch) % LINE
        return (m, n, k), (a, b), (gpu, gcd(a, 16), gcd(b, 16))

    def of(self, gpu: Gpu, a_bytes: int, b_bytes: int) -> list[Clocks]:
        """What the shape does not change, of each kernel."""
        key = gpu, a_bytes, b_bytes
        if key not in self.clocks:
            self.clocks[key] = [Clocks(x, self.types, gpu, self.rates, a_bytes, b_bytes) for x in self.kernels]
        return self.clocks[key]

    def address(self, key: Key) -> int:
        """Where the same lies for C."""
        if key not in self.arrays:
            rows = [x.numbers(w, self.types) for x, w in zip(self.of(*key), self.widths, strict=True)]
            self.arrays[key] = ForC(rows, self.rates, self.correction)
        return self.arrays[key].address

    def cut(self, index: int, shape: Shape, gpu: Gpu, pitches: Pitches | None = None) -> Cut:
        """How the kernel at `index`, whose tail is one of CUT, cuts the tiles of a shape; its host function asks."""
        extents, pitches, key = self.given(shape, gpu, pitches)
        if (index, key) not in self.cutting:
            clocks = Clocks(self.kernels[index], self.types, gpu, self.rates, *key[1:])
            for_c = ForC([clocks.numbers(self.widths[index], self.types)], self.rates)
            self.cutting[index, key] = clocks, for_c
        clocks, for_c = self.cutting[index, key]
        if (in_c := compiled()) is None:
            return clocks.cut(*extents, *(row_cost(pitch, self.rates) for pitch in pitches))
        made = (ctypes.c_longlong * len(Cut._fields))()
        in_c.cut(for_c.address, *extents, *pitches, made)
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
# What `bound` of model.c reads of every kernel lies together: in few lines of a cache.
FOR_BOUNDS = (
    "rows", "columns", "cluster_m", "cluster_n", "parts", "block_k", "ctas", "fastest", "ideal", "between", "around",
    "can_load", "longer", "mhz", "fixed", "swap", "throttle", "width", "tail", "spare",
)
# fmt: on
ABOUT = tuple(f"about_{i}" for i in range(22))
NAMES = OF_CLOCKS + OF_KERNEL + OF_RATES + ADDED + ABOUT
NUMBERS = sorted(NAMES, key=lambda name: name not in FOR_BOUNDS)


@functools.cache
def compiled() -> ctypes.CDLL | None:
    """The functions of model.c; None where they cannot be compiled, or nothing runs kernels here."""
    if "triton" not in sys.modules:
        return None
    kernel = f"#include <math.h>\n\ntypedef struct {{ double {', '.join(NUMBERS)}; }} Kernel;\n\n"
    try:
        from triton.runtime.build import compile_so_from_src  # which keeps what it has compiled

        text = kernel + Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
        flags = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-lm"]
        library = ctypes.CDLL(compile_so_from_src(text, "gemm_times", ccflags=flags))
    except (ImportError, OSError, RuntimeError, subprocess.CalledProcessError):
        return None
    given: list[Any] = [ctypes.c_void_p, *[ctypes.c_longlong] * 5]  # kernels, extents and pitches
    library.least_of.restype, library.least_of.argtypes = ctypes.c_longlong, given
    for function in (library.times, library.cut):
        function.restype, function.argtypes = None, [*given, ctypes.c_void_p]
    return library


class ForC:
    """The struct `Kernels` of model.c: of each kernel its numbers, and what estimates need beside them."""

    def __init__(self, rows: Sequence[Sequence[float]], rates: Rates, correction: Correction | None = None) -> None:
        widths, weights = correction or ((0,), ())
        self.arrays = (
            (ctypes.c_double * (len(rows) * len(NUMBERS)))(*(x for row in rows for x in row)),
            (ctypes.c_double * LINE)(*(row_cost(pitch, rates) for pitch in range(LINE))),
            (ctypes.c_longlong * (len(widths) + 1))(*widths),
            (ctypes.c_double * len(weights))(*weights),
        )
        numbers, *others = (ctypes.addressof(array) for array in self.arrays)
        self.struct = (ctypes.c_longlong * 5)(numbers, len(rows), *others)
        self.address = ctypes.addressof(self.struct)


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
            if types.scaled:
                scaling, hides = (rates.scaling_alone, rates.hides_alone) if alone else (rates.scaling, rates.hides)
                barriers += scaling - hides * block_n
            else:
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
        """What model.c is given, in its order; `width`: columns, if a narrower kernel may do as well."""
        found = [getattr(self, x) for x in OF_CLOCKS]
        found += [getattr(self.kernel, x) for x in OF_KERNEL] + [getattr(self.rates, x) for x in OF_RATES]
        found += [width, TAILS.index(self.kernel.tail), *self.widths, SUM, STRIPE, MOST_PARTS, MOST_ROUNDS, SPARE]
        found += [LIKELY, MOST_LIKELY, MOST_OFF, self.kernel.load_by in LEARNED]
        named = dict(zip(NAMES, [*found, *self.about(types)], strict=True))
        return [float(named[x]) for x in NUMBERS]

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
    scaling=260,
    scaling_alone=195,
    hides=1.64,
    hides_alone=0.55,
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
3.359 -1.521 7.78 -1.762 -5.022 -0.7236 1.009 3.103 -3.198 -11.12 5.85 -7.238 -2.683 -4.604 5.375 -0.258 -0.844
3.113 1.29 -1.242 6.433 7.337 1.192 -5.358 -3.886 1.068 5.587 0.7481 6.559 -7.883 -3.484 -1.745 0.6201 -1.018 3.659
-3.232 -2.503 6.884 8.813 4.238 -0.6065 -0.7201 -10.44 7.784 3.546 2.643 -7.689 1.002 -0.1431 -0.2263 0.1102 -0.5449
0.1733 0.06424 0.009158 -0.1566 -0.01977 0.325 -0.4633 0.1743 0.06039 -0.2507 0.04362 -0.225 -0.2841 -0.04099 0.1468
0.1748 -0.08373 0.02971 0.04074 0.487 -0.0418 -0.00651 0.1658 0.3528 -0.8027 -0.06857 0.0006052 -0.2587 -0.0191
0.1095 -0.4135 0.3341 0.196 -0.07295 -0.3573 0.04708 -0.2225 0.009753 0.3106 0.2031 -0.06099 -0.1912 0.3706 -0.1547
0.001254 -0.09519 -0.09444 -0.01726 0.0748 0.02376 -0.1952 0.1235 -0.01943 -0.0006738 -0.08297 0.2578 -0.1944
-0.0934 -0.18 -0.1179 -0.2455 0.07073 0.2458 0.01118 -0.2041 -0.1642 0.3139 -0.1474 0.03774 -0.01412 -0.1777
-0.07668 0.01451 0.01719 0.1592 -0.02012 -0.06457 -0.03035 -0.0654 -0.2567 0.09536 0.1618 0.01945 0.1191 0.2959
0.01999 -0.2221 0.1418 -0.003423 0.01776 0.04029 -0.1282 -0.3518 0.1303 -0.1254 -0.1102 0.5421 -0.0558 -0.3631
-0.8283 0.06674 -0.0861 -0.1486 0.4074 0.4071 0.4309 0.1645 -0.1787 0.1779 -0.2859 -0.3512 -0.1655 -0.1949 0.5355
-0.05283 0.01758 0.5878 0.4983 0.106 0.1261 -0.09481 0.198 -0.1232 0.2171 0.2363 0.2408 0.1472 0.3191 -0.1351
-0.08983 0.09344 0.08639 -0.1648 -0.484 0.5366 -1.513 -0.2863 0.0962 0.6351 -0.05024 -0.3878 0.1793 -0.06796 0.1319
-0.464 0.4116 -0.04679 -0.2804 0.01148 0.7839 0.1846 0.02068 0.3896 0.04414 -0.02152 -0.007032 0.4564 0.09451
-0.5306 -0.12 0.2835 0.03606 -0.4702 0.4119 -0.2892 0.3559 -0.1157 0.2257 -0.215 0.297 -0.1438 -0.1719 -0.7207
-0.04238 0.2777 0.5063 0.1835 -0.01306 -0.2791 -0.7274 -0.1121 -0.4162 -0.2749 -0.09814 -0.2693 -0.4191 -0.3663
0.3741 -0.1394 -0.1537 0.4911 -0.0609 0.4779 -0.29 0.4113 -0.1527 -0.1318 0.1792 -0.1571 -0.2101 -0.1835 -0.02269
-0.1113 0.274 0.03901 0.1209 0.02786 0.1384 0.1653 0.3124 -0.02946 0.5016 0.165 -0.05758 0.2081 0.3887 0.1607
-0.5168 -0.0344 -0.6082 0.07456 -0.6488 0.05912 0.01884 0.3098 0.302 0.08631 0.2938 0.2748 -0.1526 0.08547 0.1118
-0.2244 -0.04958 0.05234 0.0158 0.2916 0.3281 0.1724 -0.4344 -0.00923 0.06705 -0.06204 -0.05562 0.1057 -0.1521
0.5346 -0.1618 -0.2748 -1.258 0.00894 0.9104 0.3266 0.1636 -0.3896 -0.1011 0.2155 -0.3086 0.4563 0.08047 0.5223
-0.1282 -0.9148 0.09388 0.1158 0.1508 0.5328 0.3462 0.4947 -0.543 0.153 0.08473 -0.9696 -0.1792 -0.1138 0.1233
-0.5299 0.5381 -0.2978 -0.1696 -0.4538 -0.1304 0.05099 -0.1725 -0.4117 -0.3267 -1.127 0.6272 0.4171 -0.9708 -0.2916
0.117 -0.129 -1.119 0.2834 -0.123 -0.7676 0.1299 0.3157 -0.2458 -0.05901 0.1418 0.369 0.5468 -0.3005 0.6553 -0.1507
-0.08836 0.2731 -0.5318 0.5647 0.02068 0.4212 -1.191 -0.8317 0.02263 0.393 -1.108 0.3186 0.01484 0.3114 0.2827
-0.5073 -0.5103 0.0476 -0.1117 0.02601 0.04581 -0.05431 0.6582 -0.7999 0.303 0.198 0.2386 -0.2974 0.3189 0.1018
0.03635 0.08983 0.1385 0.195 0.4527 -0.1083 0.1748 0.07398 0.3289 -0.24 0.1654 0.006742 0.005885 -0.07254 0.08281
-0.2911 -0.5806 0.01079 0.07217 0.04168 -0.09134 -0.3482 -0.1544 -0.02319 0.3553 -0.02195 0.1375 0.1075 0.1221
-0.04967 -0.09626 0.02683 -0.4897 -0.2886 -0.07033 -0.002607 0.37 0.2361 -0.005859 0.02052 -0.3241 0.1378 0.03771
0.02048 -0.05461 0.0252 0.001028 -0.06297 -0.1363 -0.006804 0.05293 -0.1657 0.1996 0.3316 0.1946 0.1584 -0.3174
0.199 -0.03204 -0.09968 0.0498 -0.06031 0.3278 0.3408 -0.1675 0.07805 0.387 -0.3006 -0.103 -0.1869 -0.06393 -0.1764
-0.03229 -0.04233 -0.1491 -0.1104 -0.3068 0.1426 -0.01668 -0.148 -0.02351 -0.2417 -0.2722 0.123 0.2323 0.2235
-0.01296 0.1435 0.03511 -0.2387 -0.2266 -0.0009005 0.001046 -0.002021 -0.001212 -0.000139 -0.0001423 -0.001183
0.000571 -0.006797 -0.0006041 0.002523 0.003899 0.0031 -0.002943 0.002287 0.005156 0.0003635 0.001535 -0.006598
-0.004468 0.004763 -0.0004476 0.003252 -0.005464 -0.00396 -0.001892 0.001955 0.002461 0.001374 0.0005258 -0.001658
0.001657 -0.005907 -0.00518 0.0005566 0.003868 -0.0002907 0.006366 0.0001891 -0.004464 -0.004632 -0.0006323
0.0009312 0.0007508 -0.001656 -0.001282 -0.002877 -0.008389 -0.1013 0.07706 -0.3313 0.7824 -0.01455 0.09525 0.3364
-0.04177 -0.02358 0.1256 0.2491 -0.0608 -0.2832 0.3853 0.07466 0.01811 0.4953 -0.06067 0.2212 -0.2765 -0.244 0.3834
-0.4085 -0.2284 -0.1249 -0.2266 -0.1266 0.2732 0.1516 -0.09102 -0.1969 0.1362 0.0286 0.2051 -0.01001 -0.09508
0.07071 0.2373 -0.405 0.2523 -0.6552 -0.1702 -0.1645 -0.1455 0.023 -0.03345 -0.0571 0.1247 -0.117 0.1486 -0.1626
0.3922 -0.1177 0.254 -0.1891 -0.1335 -0.01311 0.3799 0.1465 -0.3182 -0.1182 0.2031 -0.3458 -0.06365 -0.04953 -0.1839
0.2236 0.3705 0.3442 0.3627 0.1666 0.02029 -0.1582 0.06941 -0.3709 -0.5228 -0.5371 0.5324 -0.007377 0.1561 -0.2277
-0.356 -0.1618 -0.1785 -0.2127 -0.06257 -0.2156 -0.4936 0.1876 0.6009 0.5037 -0.1284 0.2533 0.09874 -0.003079
-0.5761 -0.000306 0.5062 0.7158 -0.2611 -0.4778 0.4835 0.7886 -0.3066 0.4906 -0.992 0.8014 -0.2316 -0.7519 -0.3458
-0.09956 -0.3329 -0.6546 0.1275 0.1636 0.05803 0.442 0.5376 0.4308 -0.2064 0.5978 -0.1451 -0.3117 0.4832 -0.3867
-0.3686 0.4853 -0.5654 0.1625 1.171 -1.59 0.7359 -0.7606 0.9936 0.2555 0.08262 -0.6077 0.08883 0.1601 0.09064
0.07706 0.06988 0.4629 -0.01517 -1.076 -0.4245 0.4727 -0.7078 0.4404 -0.4126 -0.2165 -0.2943 0.2515 1.535 0.562
-0.6581 -0.0403 -0.313 -0.2915 -0.05963 0.4732 0.8863 1.694 -0.1464 0.2957 -0.4236 -0.3099 -0.9817 1.466 0.8621
0.3592 0.2842 -0.8463 -0.6584 1.095 0.1271 -0.1896 -0.421 0.4369 -0.299 -0.6293 -0.9303 -0.261 -0.1649 0.4486 0.3939
1.777 -0.7051 0.245 0.2394 -0.5745 -0.4024 -0.1006 -0.3289 0.1589 0.006154 -0.02719 0.09457 -0.06123 0.0375 0.09027
-0.07311 -0.07984 0.04581 0.09489 -0.1527 0.2831 0.03661 0.1273 0.1542 0.045 -0.1281 -0.03436 -0.1437 -0.02846
-0.1429 0.1426 0.003769 -0.09575 0.08089 -0.0198 0.05015 0.1598 -0.1407 -0.2528 -0.1938 0.02601 -0.06891 0.05363
0.04622 -0.009214 0.1314 0.1454 -0.00236 -0.226 0.01642 0.09475 0.03978 -0.08688 0.05784 0.1768 -0.02053 0.04013
-0.3947 0.308 0.3406 0.2428 -0.1016 -0.2599 0.3623 0.2942 0.1486 -0.2136 0.2303 -0.02081 0.1405 0.2562 0.363 -0.3752
0.01757 0.5918 -0.4015 -0.2422 0.2167 0.3695 0.00943 -0.03092 0.08255 -0.04777 0.02462 0.3535 0.3459 -0.3094 0.09158
0.1748 -0.1008 -0.01021 -0.3485 -0.03412 -0.07859 -0.08015 0.0494 0.02516 -0.2293 0.2057 0.1529 0.06623 0.1235
0.3982 -0.37 -1.29 -0.3793 -1.448 0.4422 -1.294 1.101 -1.922 0.8638 0.454 -0.7405 0.5031 1.499 -0.7075 -0.9308 1.302
0.6235 -0.2475 -0.3704 -0.4463 0.318 0.3658 -1.395 -0.4072 0.7885 -2.094 -2.201 1.773 -1.226 1.085 1.261 -1.746
1.143 -0.9448 -0.8293 0.4621 2.082 -0.2964 1.25 -1.998 0.3123 -1.358 -2.496 1.306 0.03196 0.5489 0.1386 1.076 0.3873
-0.4205 -0.1779 -0.991 -0.2623 -0.1764 0.6449 -0.2111 0.4089 0.7671 1.308 0.9961 1.439 -0.5985 0.2769 -1.171 -0.1673
0.7577 -1.039 1.327 -0.7863 0.02785 1.11 0.08751 -0.5051 -0.7867 -1.435 -0.1909 -0.4547 0.604 -1.163 0.4137 -1.458
-0.2822 -0.7144 0.567 0.4331 0.3806 0.8626 0.004986 1.113 -0.649 0.9191 -1.121 0.4284 -0.4299 -0.2634 -0.6301 -1.227
-1.935 -0.8063 -1.636 0.8609 -0.7346 0.7262 -0.2469 -2.338 -0.4578 0.1847 -0.6328 -0.2223 -0.1623 1.418 0.1507
0.3639 -0.3233 0.4891 0.8095 -0.4688 -0.4307 0.6026 0.6523 -1.431 0.1208 -1.418 0.4628 -0.4736 -0.103 -0.1027
-0.3579 -0.545 -0.4537 -0.07184 0.809 0.7976 0.2165 0.7668 0.815 -0.5142 0.3519 -0.2302 0.01924 0.9808 -0.1626
-0.6537 -0.7591 -0.1876 -1.025 -1.354 -2.811 1.861 1.659 -0.01852 -0.7232 -3.102 0.3347 -0.1991 0.1747 0.9674 1.03
-0.7591 -0.6552 1.048 1.213 -1.975 0.9121 0.2493 -0.1019 -0.3898 -3.173 -0.05123 1.104 0.1588 2.145 -2.717 -0.5578
-0.3536 -0.5883 1.59 -1.227 -1.994 0.1584 0.2254 -0.5472 -1.357 1.205 -1.607 1.089 -1.747 -1.776 1.424 1.225 1.826
0.1703 0.3906 0.1241 -0.361 -0.4832 0.4333 -0.1547 0.3795 -0.03926 -0.03617 -0.396 0.06303 -0.07726 -0.4056 -0.06349
0.1273 -0.09312 -0.4208 -0.1714 0.2031 0.004708 0.4421 -0.07213 0.1149 -0.1059 -0.05256 0.3426 0.02883 -0.02313
-0.4114 -0.06167 0.3612 -0.3933 0.1488 -0.1627 -0.1409 -0.1674 -0.154 0.1985 0.3607 0.05389 -0.2011 0.266 0.2991
0.1892 0.08955 0.01776 0.00917 0.4748 0.04778 0.358 0.2225 0.148 0.4059 0.3803 0.01551 -0.09968 -0.1349 -0.2013
-1.672 0.5196 0.4278 -0.2327 -0.2609 0.01168 0.3165 -0.004843 0.1344 0.007828 0.1316 0.5191 -0.1769 -0.7496 -1.021
-0.1126 0.03539 -0.2637 -0.76 0.2741 0.3393 -0.1611 0.8232 -0.1655 0.01087 0.2608 -0.2231 0.1182 -0.7196 0.05219
-0.09627 0.1812 -0.1369 -0.2582 0.08865 -0.08101 -0.1775 0.01332 -0.02192 -0.01299 0.02505 -0.03802 -0.05373
-0.07454 -0.07257 -0.04348 0.02131 0.01356 0.02367 -0.04457 -0.04246 -0.06495 0.02076 -0.03177 -0.02138 -0.01958
0.04793 -0.04743 -0.0523 -0.02583 0.02551 0.009614 -0.01917 -0.03135 0.003485 -0.005548 0.05516 0.04161 7.589e-05
-0.02054 -0.068 -0.05418 -0.01153 0.02281 0.07489 0.06951 -0.02009 0.006291 0.0473 0.08795 0.0312 -0.08845 0.0171
0.0955 -0.04068 -0.0008868 -0.01661 0.001552 -0.03053 0.008949 -0.01744 0.01346 -0.04758 -0.01386 0.03801 -0.03187
0.009918 -0.04414 0.00813 0.0004244 -0.002553 -0.02389 -0.04967 0.03036 -0.06106 0.006737 -0.01238 0.01696 -0.008845
0.04505 -0.0002439 0.02374 -0.01531 0.0074 -0.03301 0.04261 0.008468 0.02311 -0.04834 -0.07172 -0.05576 0.02497
-0.008197 -0.03125 -0.01073 0.01141 0.001831 0.01507 0.02124 -0.01644 0.05908 0.009681 -0.006749 -0.08484 -0.002455
-0.1012 0.08894 0.04915 -0.02127 0.02549 0.03512 0.1823 0.02082 -0.0438 0.07751 0.1045 -0.007671 -0.04298 0.04204
0.07371 0.006792 -0.103 0.0618 -0.01638 0.02617 -0.08733 0.066 0.03116 -0.07513 -0.005666 -0.07517 0.04375 0.03824
-0.02162 0.006758 0.05784 -0.1481 0.07199 0.1394 -0.036 -0.06535 -0.0509 -0.1077 0.05412 -0.0784 0.07079 -0.06638
-0.002772 0.07922 -0.0202 0.1498 0.04725 0.121 0.07253 -0.02518 -0.1032 0.07006 0.1072 0.07008 0.2512 0.1056
-0.02265 -0.1031 -0.003975 0.09574 0.02334 0.3663 0.09321 -0.004538 0.1753 0.1314 0.08622 -0.04695 -0.006595 0.04743
0.006744 0.0589 -0.07008 -0.2255 -0.05931 -0.147 0.05586 0.0486 -0.1182 -0.09058 -0.1153 -0.02454 0.06973 0.2069
0.0218 0.03009 -0.05501 0.108 0.2671 0.02663 -0.1907 -0.09154 -0.02714 -0.01245 0.07153 -0.05822 0.1278 0.1553
-0.1011 0.1391 -0.2853 0.04204 0.2233 -0.1787 -0.02385 -0.07273 0.07208 -0.01667 -0.1142 0.0006842 -0.05643 -0.03091
0.1226 0.1996 -0.2968 0.0322 0.1472 -0.08553 0.2116 -0.1387 -0.01671 -0.2903 0.1798 -0.02163 -0.04482 -0.06131
-0.1071 -0.1299 -0.0706 0.04065 0.281 0.1175 -0.0889 0.01618 -0.006914 -0.1086 -0.01745 0.09283 -0.1345 0.01854
-0.2555 -0.06667 -0.06424 -0.06951 -0.09994 0.03776 -0.007636 0.04068 0.1489 0.08832 0.08038 -0.0277 -0.01845
0.09984 -0.01269 0.05267 -0.05588 -0.0808 0.1013 -0.05456 0.03101 -0.00817 -0.0113 -0.05256 0.01043 0.09618 -0.0114
-0.1506 0.06613 -0.1153 0.106 0.06473 -0.1899 0.06493 -0.05151 -0.002391 0.05503 0.0007207 0.118 0.06865 -0.05624
-0.03612 -0.03797 -0.02264 -0.01686 0.0252 0.01516 0.07893 -0.02218 -0.008861 -0.03472 -0.005011 -0.03422 0.03478
0.01326 0.1128 0.1285 0.1107 0.08287 -0.006659 -0.02179 0.02842 -0.03523 -0.1013 -0.1462 0.07219 0.002493 0.05833
0.08025 0.03511 0.00622 -0.08503 -0.001674 -0.02454 0.01845 -0.06478 -0.06389 0.01682 -0.04324 0.04979 -0.0678
0.01817 -0.01021 0.04226 0.1387 0.01325 0.08333 0.02417 -0.03068 -0.05258 -0.02822 0.0159 0.02516 -0.05503 -0.08018
0.02385 -0.03083 0.0421 -0.05966 0.4886 -0.1326 0.3406 -1.011 0.2966 0.2334 0.646 -0.4388 -0.7124 0.2222 -1.189
0.0849 0.1893 0.6846 -0.1566 -1.162 0.8999 0.9878 0.5608 -0.4771 -0.3703 0.6018 -0.2838 0.2595 -0.3229 -0.3126
0.05877 -0.1239 1.139 1.009 -0.4113 -0.7573 0.9268 0.08143 -0.161 -0.3724 -0.6564 -0.3042 -0.1196 0.05055 -0.7864
0.3451 -0.3906 0.6247 1.34 -0.5523 -0.3748 -0.1184 0.03308 -0.01244 -0.09143 0.1857 0.03287 0.2036 0.04548 0.08077
-0.08125 0.04563 0.1673 0.1025 -0.2929 0.07465 -0.05104 -0.0606 0.1615 -0.001307 -0.02265 -0.008352 -0.04675 0.03314
-0.1265 0.07413 -0.2824 -0.06917 0.01123 0.1308 -0.1437 0.009203 0.1739 -0.2508 0.02825 -0.2535 -0.1324 -0.02156
-0.1336 0.07867 0.1718 0.05123 -0.02126 -0.09793 -0.02987 -0.1428 0.02602 -0.06727 -0.1589 0.06724 0.0495 -0.01969
-0.01091 0.0547 -0.05402 0.0003554 0.07963 0.05607 0.009899 -0.03375 -0.01763 0.01185 0.1024 0.05163 -0.04801
0.06884 -0.05457 -0.04068 -0.05368 -0.002805 0.05321 -0.02131 -0.01537 -0.004498 0.0477 0.009467 0.004324 -0.02682
0.00702 0.03849 -0.01375 0.08814 -0.03347 -0.02134 0.04887 -0.01646 0.02197 -0.04561 -0.03748 -0.03498 -0.08548
0.001189 0.04243 -0.03435 0.01445 0.0008674 0.1029 0.0328 0.04748 0.1151 -0.0898 -0.0294 -0.001864 -0.08591 -0.09714
-0.2045 0.005333 0.1812 -0.1934 -0.263 -0.01753 -0.2419 0.07145 -0.1192 -0.3256 0.01475 -0.2367 -0.07248 0.04887
-0.0637 -0.08324 -0.1884 -0.1058 0.2279 0.2303 -0.0601 -0.07667 0.1112 -0.05102 0.02906 0.07024 -0.1581 -0.1497
0.1123 0.02031 0.1316 0.08024 0.09554 0.09757 0.02286 0.0246 0.1057 0.01469 0.01858 -0.3241 -1.383 -1.387 -0.6881
0.5346 0.4159 -0.7513 0.6313 0.8396 0.7082 0.4683 -1.936 0.3377 0.3287 -1.015 0.4287 1.022 -0.07734 0.5729 0.5288
0.9107 1.02 -1.285 -0.3317 -0.1123 0.1979 0.08685 -1.357 -0.001414 0.3803 0.3665 1.065 0.005713 -0.04732 0.3687
-0.0426 0.06556 -1.694 -1.286 -1.778 -0.5107 -0.1878 0.3673 -0.39 0.874 -1.171 1.196 2.068 0.6137 -0.5566 0.1265
-0.155 -0.8261 0.7559 -0.4366 -0.1995 -0.7072 -0.2633 -0.4412 -0.3904 0.3929 -0.2762 0.5814 1.055 0.2999 0.5754
0.1178 -0.06423 0.06787 0.5544 0.2601 0.3112 0.2531 0.5391 -0.08383 -0.1516 -0.1982 -0.02627 0.05729 0.3231 0.5718
0.4916 0.4045 0.1208 -0.446 -0.3363 -0.2987 -0.3088 0.0722 -0.2826 0.02025 -0.336 0.9217 -0.4947 0.8665 0.2291
-0.2831 -0.00366 -0.1805 0.008681 -0.03305 0.07554 0.09118 0.09027 -0.02183 0.03477 -0.09528 -0.05037 0.001284
-0.02643 0.03997 0.1189 0.03317 0.06352 0.1357 -0.1104 0.01088 -0.0506 0.006377 -0.1444 0.1506 -0.07505 0.01645
0.01686 0.03837 0.08585 0.04777 0.1131 0.09556 9.886e-06 0.1268 -0.06443 -0.03047 0.03633 -0.0711 -0.03253 0.008708
0.1151 -0.05228 -0.02634 -0.02314 -0.1342 -0.007261 0.1358 0.1565 -0.09128 -0.1062 0.06422 -0.02045 0.006076
0.007105 -0.09757 -0.1653 0.1109 0.03266 -0.01485 -0.005645 0.07701 -0.06691 0.1059 0.09489 0.07034 -0.000229 0.0817
-0.08354 -0.06909 -0.0403 -0.05887 0.001251 -0.06726 -0.03395 -0.02456 0.02084 -0.07334 -0.08102 -0.05348 -0.08946
-0.09701 -0.02709 0.05676 0.007761 -0.05335 -0.04382 -0.07019 -0.1183 -0.06167 -0.1474 0.05587 -0.06309 -0.06773
-0.0228 0.07503 0.02723 0.1182 -0.0622 -0.08573 -0.1265 0.125 0.02587 -0.1254 -0.1924 -0.134 -0.01582 0.05057
-0.008934 -0.04957 0.09397 0.01894 -0.2607 0.1966 0.1278 -0.1012 0.04467 -0.005287 -0.05541 0.1542 0.2332 -0.08055
-0.1525 0.06673 -0.2285 -0.05488 0.04332 -0.2156 -0.2097 0.1077 -0.04194 -0.06522 -0.2695 -0.09675 0.02873 -0.2606
0.01885 0.03453 0.1625 -0.004849 0.09965 0.2368 -0.07376 -0.1465 -0.08249 0.1071 0.07422 -0.09303 0.1536 -0.05657
0.00804 -0.0009152 0.08586 -0.08275 -0.04449 -0.04748 -0.07529 -0.07365 0.008049 -0.1547 -0.01711 0.03351 -0.02021
0.04382 -0.01866 0.007651 0.08576 -0.04845 0.002013 0.01906 -0.01348 0.03928 -0.1049 0.01197 0.008857 -0.01958
-0.1057 -0.005522 0.07214 -0.02887 0.115 0.01014 0.02436 0.02373 -0.063 0.03684 0.01587 0.003955 -0.1158 -0.004044
-0.05255 -0.01069 0.0429 -0.01282 -0.09745 -0.04119 -0.02766 0.04486 -0.06177 0.08854 0.04387 0.05755 -0.027
-0.05199 0.008113 -0.02414 -0.06104 -0.03941 0.04817 -0.002526 -0.1279 -0.0669 -0.02116 -0.03621 -0.1221 -0.09243
0.06228 -0.04101 -0.09978 -0.07175 -0.0638 0.07238 0.1212 0.02949 0.07423 -0.05995 0.006732 -0.01642 0.08379 0.06746
0.07307 -0.02791 0.004071 -0.007532 0.01345 0.009544 -0.07544 -0.07447 -0.09677 0.03561 0.04937 -0.2265 0.3346
-0.6177 0.4987 -0.7608 -0.5849 0.07022 -0.002978 -0.7847 -0.03103 -0.03051 -0.5281 -0.1446 -0.3089 -0.3969 0.03049
-0.03889 -0.4622 -0.6045 0.3288 -0.1058 -0.5366 0.485 -0.07703 -0.5244 -0.275 -0.6177 0.3644 -0.8353 -0.3426 0.7819
-0.08593 -0.5896 0.003954 -1.104 -0.1113 0.2767 0.2812 -0.4665 -0.4096 0.5001 -0.3518 -0.2266 0.1458 0.2213 0.06657
0.07709 0.3273 -0.02372 -0.03548 -0.001165 -0.04189 0.02447 0.04525 0.04339 0.04449 -0.04493 -0.03041 -0.01703
0.03706 0.04234 -0.03114 0.05953 -0.0507 0.07327 -0.02559 -0.02924 -0.06919 -0.03446 0.03509 -0.0818 -0.03895
-0.08437 -0.03341 -0.06087 0.03553 0.02624 0.005049 0.08678 0.05275 -0.0229 -0.01718 0.06032 -0.0008646 -0.01883
0.01652 0.05296 0.01188 0.01858 -0.04778 -0.006283 0.007882 0.05183 -0.04696 0.03396 -0.02443 0.04649 -0.03707
-0.05183 -0.03622 -0.01645 0.03451 0.04223 0.007681 0.002253 -0.007425 -0.05646 0.02205 0.1649 -0.01631 0.03986
0.01519 0.04795 0.02392 -0.009482 -0.009281 -0.0422 -0.01893 0.07071 -0.02194 -0.008743 0.01427 -0.03569 0.01163
0.009852 0.137 0.02263 0.02191 0.04711 0.04062 0.01197 0.0211 -0.06503 0.03157 0.02994 -0.121 -0.02144 -0.05654
-0.02265 0.08927 -0.04273 -0.01461 -0.03674 -0.01554 0.005041 0.01105 -0.005114 -0.01311 -0.06101 0.03722 -0.04685
-0.01587 -0.009814 -0.03217 0.003264 -0.01343 -0.0175 0.05211 -0.01367 0.02446 0.005496 0.05355 -0.04415 -0.005204
0.04211 -0.01178 -0.004465 0.05107 -0.06637 -0.0492 0.02476 0.04382 -0.06525 0.01116 0.05262 0.006975 0.06567
-0.01303 -0.08389 -0.005455 -0.01379 -0.009308 0.0136 0.000275 0.05085 0.03683 0.04739 0.02861 -0.005661 -0.007075
-0.01778 -0.04903 0.00263 0.002519 0.08115 -0.1264 -0.2068 0.09386 -0.05574 -0.1639 -0.0085 0.08962 0.311 0.1115
-0.03322 0.006853 -0.1182 -0.01299 -0.1858 -0.1704 0.1523 0.1162 -0.04815 -0.0469 -0.2007 -0.005259 -0.005937
0.02779 0.07042 -0.04104 -0.0369 0.000364 0.0294 0.2165 -0.02648 -0.1107 -0.1163 -0.05302 -0.2178 -0.1769 0.1413
-0.1223 0.1519 0.1589 0.007641 0.0532 0.2425 0.03547 0.04962 -0.004847 -0.04104 -0.1497 0.03055 -0.1951 -0.1043
0.1147 -0.03189 0.06744 -0.09094 -0.1118 -0.1111 -0.2186 -0.1514 0.05001 0.05418 -0.03036 -0.07099 -0.05103 -0.155
0.08227 -0.01387 0.1205 0.0278 0.1191 -0.1307 -0.1265 -0.2003 -0.214 0.1506 -0.04859 -0.002621 -0.09904 0.01085
-0.1346 0.07854 0.1666 0.0447 -0.1756 0.2135 0.07299 0.08325 -0.07444 -0.06184 -0.1672 -0.06585 -0.1779 0.08513
-0.1629 0.1891 -0.08499 0.2272 -0.1481 -0.07544 0.08468 0.1602 -0.06118 -0.01119 0.2131 -0.0686 0.0367 0.1122 0.2809
0.1358 -0.1275 -0.05077 0.4123 0.1221 -0.04606 0.01375 -0.03543 0.04122 -0.1974 -0.2103 0.2111 -0.1203 -0.09806
0.003503 -0.3998 -0.06992 -0.09206 -0.07018 0.1359 0.1903 0.007824 -0.06232 -0.3646 -0.146 0.1003 0.007572 0.2568
0.1114 0.00621 -0.04142 0.04572 -0.254 -0.2702 0.04754 0.0186 -0.08585 0.02426 0.04836 -0.2502 0.04895 0.02635
0.1093 0.1527 -0.02278 0.02054 -0.02762 0.1725 -0.03839 0.01035 0.1069 -0.02612 0.1123 -0.08559 -0.04913 -0.2054
0.2743 -0.1659 0.177 0.1381 0.2329 0.02119 0.1054 -0.1719 -0.1168 0.01652 -0.008123 0.1218 0.05514 0.09836 -0.03257
-0.1239 -0.1487 -0.1193 0.01102 -0.06403 -0.06211 -0.04519 0.09794 0.1122 0.1289 -0.03089 0.1479 0.1219 0.06239
0.1282 0.02664 -0.0195 -0.08236 0.09883 0.1015 0.1573 0.02922 -0.1554 -0.242 0.1866 0.05623 0.1283 -0.05544 -0.1257
0.008659 -0.01412 -0.1159 -0.09771 0.08401 -0.06374 0.008059 0.06171 0.03413 -0.1852 0.04351 -0.1435 -0.0698 0.04442
-0.1331 0.2793 0.07428 -0.09853 -0.03468 0.04669 0.06052 0.1149 0.09327 -0.2502 0.0529 0.1119 0.1118 0.2422 -0.04531
-0.1042 0.1668 -0.188 -0.101 0.1494 -0.05183 -0.03189 0.01126 0.07645 0.04246 -0.1092 -0.008039 -0.01525 -0.01664
-0.3335 -0.1049 -0.2953 0.1138 -0.08343 0.05055 0.1233 0.00944 -0.0663 -0.1193 0.05247 -0.1403 0.202 -0.09581
0.07835 0.02562 0.08718 0.2579 0.11 0.06857 -0.09823 -0.09842 0.1054 0.1157 0.02226 -0.03432 0.03924 0.01447
-0.09211 -0.168 -0.007482 -0.2365 -0.02539 0.002265 -0.1444 -0.07962 -0.1666 0.08087 -0.01592 -0.149 0.02815 -0.1369
0.1628 -0.04626 0.1164 -0.02272 0.122 0.04529 -0.2605 -0.205 0.2236 0.0281 -0.167 0.08967 0.2387 0.07728 -0.07971
-0.03961 -0.01959 0.193 0.04228 -0.02108 0.04771 -0.1079 0.1441 -0.2277 -0.1583 -0.0857 0.2017 0.1304 0.2068
-0.08201 0.08094 -0.09694 -0.03903 0.002595 0.1625 0.02354 0.07389 -0.04571 -0.08104 0.1548 0.06673 0.1368 -0.06796
0.032 0.002268 0.01212 -0.2353 -0.1571 0.1177 0.02442 -0.1628 0.003297 0.0184 -0.02334 -0.1505 -0.2747 -0.106 0.156
-0.02453 -0.1538 0.2163 -0.1376 0.1399 0.1248 0.02598 -0.03379 -0.05519 0.1058 -0.0711 -0.01049 -0.1107 0.2047
-0.08532 -0.06158 -0.09382 0.08387 0.02182 -0.08201 -0.01432 -0.1806 0.06198 0.11 0.07729 0.08677 0.01826 -0.04989
-0.07407 0.04725 0.04255 0.01307 -0.05948 -0.001605 -0.2376 -0.04423 -0.1718 -0.04806 0.07849 -0.1673 -0.1493
0.07115 -0.1609 -0.009428 0.07169 0.1229 0.1061 -0.07477 -0.09439 -0.2484 -0.0809 0.1902 0.1247 -0.07631 -0.299
0.02405 0.04155 -0.02843 -0.478 0.1834 0.02892 0.03974 -0.004525 -0.09955 -0.007047 0.1228 -0.004905 -0.05917
-0.04211 -0.08012 -0.01689 -0.172 -0.0771 -0.03602 -0.09926 -0.1402 -0.04104 0.1129 -0.1108 0.1443 -0.04583 -0.07951
0.09336 -0.1023 0.1334 -0.1365 -0.0252 -0.1197 -0.2557 0.2143 0.07861 -0.0488 -0.09728 -0.02871 0.01269 -0.07437
-0.06887 0.01242 0.1111 -0.1072 -0.01184 -0.06768 0.114 -0.1525 0.2014 0.1176 0.1012 -0.173 -0.2139 -0.1286 -0.1697
0.05427 -0.07238 -0.02973 -0.183 -0.1555 -0.1244 0.1236 0.108 -0.1128 0.0121 0.02302 0.08559 -0.1051 0.01243 -0.1699
-0.0381 0.02447 -0.05748 0.1832 0.02935 -0.01085 -0.06615 -0.04813 -0.03776 -0.1302 -0.1342 0.3377 0.01142 0.1187
0.005163 0.01139 -0.03263 -0.02058 -0.1374 -0.1689 0.04098 0.0593 0.09883 -0.02351 0.1103 0.05573 0.1267 -0.08419
-0.1907 0.02322 0.004431 -0.0778 0.07481 0.03591 -0.1102 -0.07234 0.1857 -0.06553 -0.2181 -0.1979 0.05793 0.0538
-0.1762 0.07833 0.2926 0.03038 -0.1984 -0.1686 -0.3083 -0.02948 -0.08696 -0.173 -0.1975 -0.09229 -0.1587 0.1378
-0.1541 0.1094 0.1552 0.1236 0.04187 0.1118 -0.06324 0.03529 0.02392 0.1593 -0.2111 -0.2719 -0.04094 0.1948 -0.09552
0.02117 -0.2852 0.0549 -0.105 0.1272 -0.06803 -0.008108 -0.1675 -0.0333 -0.02318 0.02704 -0.09354 0.206 0.04813
-0.08915 0.04059 0.08795 0.08243 0.02875 -0.05763 0.1146 -0.1113 0.1345 -0.1597 -0.0002142 0.2258 0.03246 0.0283
0.2771 -0.07705 0.2446 -0.08074 -0.3969 -0.05388 0.05517 -0.1267 0.1033 -0.08864 -0.1593 -0.2318 0.01461 0.03684
-0.1041 -0.05129 0.03386 -0.06741 0.01396 -0.04603 -0.01106 -0.1327 -0.06184 0.007202 0.1418 -0.2283 0.05028 -0.1205
-0.2382 -0.09822 0.00897 0.07951 0.03075 -0.1729 0.07405 0.02058 0.02965 0.005844 0.0138 0.07007 0.09867 -0.2663
-0.1028 0.2972 -0.03319 0.138 0.1309 0.1478 0.07479 -0.1097 -0.09912 -0.06718 0.02088 -0.009389 -0.07613 0.02845
-0.1139 -0.004826 -0.1389 -0.111 -0.2245 -0.1201 -0.1448 -0.05775 -0.1847 0.0604 -0.0912 0.2198 -0.08289 0.131
-0.04334 -0.2449 -0.1057 0.1607 0.02575 -0.1881 0.2601 0.03086 0.1153 0.06907 -0.06255 -0.2053 0.1362 -0.0841
0.05111 -0.03845 0.1666 -0.1562 0.0917 -0.05685 -0.1102 0.1464 0.00126 0.0292 0.09215 0.146 -0.007017 0.02283
0.02648 -0.05743 -0.3327 -0.3005 -0.02228 -0.117 -0.07889 -0.2061 -0.1536 0.1507 0.1718 0.01721 0.08005 -0.1317
-0.07855 -0.03693 0.165 -0.009454 0.08647 0.04944 0.08819 0.06378 0.08305 -0.1255 0.2403 -0.1876 0.113 0.1336
0.01493 0.0624 0.07123 -0.1876 -0.08746 0.1355 0.01082 0.1054 -0.1595 0.1146 0.02341 -0.1274 -0.1307 -0.009262
0.003332 0.1594 -0.05541 0.05111 -0.07828 -0.1443 0.09136 0.2491 0.06292 -0.1994 0.1571 -0.09239 0.09548 -0.1535
-0.08729 0.03776 0.2556 0.1037 -0.1686 -0.1248 -0.04139 0.05682 -0.1431 -0.002552 -0.2157 -0.04633 -0.07089 0.1082
0.01173 0.04186 -0.07357 0.123 0.04615 0.154 0.2204 0.0001567 -0.008607 0.07769 -0.1486 -0.1321 0.04978 -0.04849
-0.1167 0.06691 -0.01116 -0.15 0.1237 -0.006248 -0.2924 0.1658 0.03615 0.03697 0.1675 0.009306 0.08849 0.1278 0.0626
-0.1816 -0.08067 0.003454 -0.01741 -0.1679 0.1403 -0.08407 0.01258 -0.08901 -0.05144 -0.001256 0.223 0.05441 0.02609
-0.3379 0.07933 0.1295 0.03914 0.009953 -0.1011 0.01568 -0.09881 -0.1342 0.2017 0.08419 -0.1146 -0.05425 -0.1278
-0.1091 0.06772 -0.00912 -0.1192 0.03251 0.23 0.1191 0.04467 0.02207 -0.109 -0.04195 0.07687 0.01112 -0.124 -0.2736
-0.08297 0.05305 -0.0878 0.1023 -0.04049 0.07631 0.06276 -0.1826 0.00385 0.1717 -0.1014 -0.1401 -0.3276 -0.174
-0.05369 0.02499 0.05359 -0.007929 -0.2682 -0.1544 0.07944 -0.1395 0.07073 -0.2616 -0.02551 0.06935 0.0449 -0.04388
-0.03431 0.1521 0.1285 0.06242 0.01309 0.1643 -0.09032 -0.1448 -0.005361 0.1279 0.0803 -0.02085 0.02571 -0.1406
0.09869 -0.1129 0.2142 -0.19 0.1405 -0.07347 0.0103 0.1023 0.04546 0.1615 -0.08553 -0.07579 -0.0961 -0.05122 0.173
-0.03359 0.006117 -0.07494 0.05965 0.1306 -0.08398 -0.01948 0.01279 0.1292 -0.06957 -0.1672 0.05479 -0.09835
-0.07555 -0.04473 -0.2198 0.07132 -0.1315 0.1993 -0.08127 -0.05621 -0.02733 -0.2478 -0.02837 -0.05177 -0.01585
-0.1848 -0.1633 -0.1199 0.1075 -0.0384 0.09286 0.00554 0.1821 -0.2526 -0.1129 -0.1237 -0.1595 -0.04704 0.06301
-0.1033 0.08065 -0.02328 -0.06303 0.03381 0.2568 0.004883 0.02583 -0.01344 0.1201 0.03305 -0.1201 0.2251 0.2109
0.1474 -0.03121 -0.07444 0.1486 -0.2084 -0.04615 0.1165 0.01156 -0.01545 -0.1086 -0.218 -0.03756 0.02975 0.2333
0.07373 -0.04291 0.02389 -0.07048 0.0007627 -0.04148 -0.05519 0.004904 -0.1955 0.05811 -0.0841 0.01463 -0.09544
-0.1442 -0.0414 0.1269 -0.2174 -0.1545 -0.03198 -0.1174 0.09197 0.05192 0.2034 -0.03286 -0.02356 0.01994 -0.1672
0.219 -0.01987 0.1026 -0.1026 0.0438 0.01559 0.1159 0.1329 0.07398 -0.1093 -0.1806 -0.245 0.1977 -0.002007 -0.006934
0.04377 -0.04914 0.02232 -0.245 -0.01221 -0.02511 -0.2035 -0.05283 -0.1434 -0.2421 -0.06461 0.008253 0.1892 -0.232
0.03854 0.02253 0.1179 -0.132 -0.004519 0.1186 -0.03293 0.124 -0.00885 -0.1539 -0.1087 -0.1565 0.0512 0.07622
0.02091 -0.2199 0.04679 -0.02733 0.2992 -0.07246 0.1069 -0.02609 0.1001 0.1736 -0.02692 0.1666 0.09841 0.09547
-0.02538 -0.004686 -0.02889 -0.1131 -0.1492 0.09803 -0.004114 0.08396 -0.02576 -0.03107 0.0188 -0.1647 -0.2844
0.1214 -0.1606 0.04261 -0.0849 -0.08924 0.04555 -0.009839 0.04126 0.07757 0.05154 0.2621 -0.05485 -0.1409 -0.01371
-0.1583 0.004851 0.00149 0.05884 -0.3131 -0.157 -0.3863 -0.2312 0.07837 -0.1825 -0.005267 0.2034 -0.07256 0.02383
-0.1674 0.0008298 0.01645 -0.0002446 -0.1438 0.1391 -0.03589 0.1714 -0.2575 0.03869 -0.04719 0.1688 -0.1702 0.181
-0.1311 0.1612 0.03333 -0.1294 -0.007744 -0.1437 -0.06651 0.2133 -0.1542 0.138 -0.2012 -0.1045 0.0679 0.03352
-0.0596 0.02422 0.008122 -0.03266 0.06648 0.1115 0.2089 0.07791 0.07577 0.02689 -0.09776 -0.2191 0.1208 0.06473
-0.05872 -0.2274 0.1242 0.07784 -0.0779 0.1071 0.2191 -0.1035 -0.04084 -0.02433 0.07152 0.08689 0.03399 -0.194
0.2228 -0.1842 -0.1329 0.1049 -0.232 0.05818 -0.07659 -0.07368 -0.05077 -0.01222 0.1598 -0.05779 0.008334 0.06763
-0.1882 -0.07023 0.05377 -0.03127 0.02464 0.04383 -0.2595 0.1847 0.1218 0.1061 0.1487 0.1543 0.05239 0.03883 0.02666
0.03206 0.1731 0.07027 -0.1677 -0.005173 -0.07621 -0.1621 0.09617 0.2387 0.1361 -0.07846 0.05569 -0.4919 -0.1073
0.2567 0.02289 -0.0622 -0.08386 -0.1402 0.06907 0.04771 -0.2344 0.1494 -0.05648 0.0791 -0.06796 0.07389 -0.09883
0.09448 -0.06051 -0.06242 -0.1115 -0.07316 0.04404 0.06983 0.05603 -0.1265 0.08175 -0.04662 0.06506 -0.0844 0.05732
0.06397 0.06518 -0.06561 0.0597 -0.055 0.04153
""".split())))
