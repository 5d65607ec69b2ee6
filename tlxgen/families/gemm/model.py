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
