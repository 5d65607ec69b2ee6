"""What a GEMM costs: the work in a problem, and an estimate of a variant's clocks to rank variants with.

The estimate is arithmetic on the plan: rounds of tiles over the SMs with their tail, what tensor cores, SMEM, L2 and
memory each need for a slot of the ring, the latency that a short ring leaves bare, epilogue and reduction. It times
nothing and need not be right, only in the right order: what it ranks first is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

from tlxgen.arch import DTYPES, Arch, Sm100
from tlxgen.plan import Plan

from .facts import GemmFacts
from .spec import GemmSpec

Shape = tuple[int, ...]

# Square, wide, tall, skinny, few tiles, long K: what a GEMM meets in a model.
SHAPES: tuple[tuple[int, ...], ...] = (
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 1024, 8192),
    (1024, 8192, 8192),
    (512, 4096, 16384),
    (16384, 4096, 4096),
    (1024, 1024, 1024),
    (256, 8192, 8192),
    (64, 16384, 4096),
    (4096, 128, 4096),
)

# An H100 or H200, a clock and SM, beside what `Arch` has.
STORE_BYTES = 32  # of C, from registers until the next tile begins
TILE_START = 800  # clocks from the first load of a tile to its first product
HAND_OFF = 8  # clocks of a slot's barriers
EXPOSED_WAIT = 60  # clocks a slot when no wgmma is left in flight
ADDING = 50  # clocks a slot when its products are added outside of the tensor cores, while another replica multiplies
ADDING_ALONE = 90  # when none does, beside the additions
ADDED = 128  # products, a clock
LAUNCH = 6000  # clocks of a second kernel
MEETING = 1000  # clocks that the CTAs of a cluster take to meet, at begin and end: with one, 1024^3 takes 0.5 us more
GAP = 1500  # clocks from the end of the launch before to the first load, when that may not come before
SUMS = {16: 5000, 8: 17000}  # clocks to store the sums of a part and add up a share, so many parts on their way
WORTH_PARTS = {16: 10000, 8: 19000}  # clocks of products, for fewer of which that is not done
HELP = 1800  # clocks that a helper takes to store the sums of one tile, beside its products
MARK = 2000  # clocks from a helper's last product until its sums are read
HELPED = 1200  # clocks that adding them takes
WORTH = 4000  # clocks of products, for fewer of which storing the sums takes longer
EXCHANGE = 1200  # clocks from a store into another CTA's shared memory to its being read there
EXCHANGE_BYTES = 4  # of such stores, a clock and SM: each is of 4 bytes; measured 6 for two CTAs, 1.5 for four


def flops(spec: GemmSpec, shape: Shape) -> float:
    """Floating-point operations, a multiply-add as two; the epilogue is not counted."""
    m, n, k = shape
    return 2.0 * m * n * k


def bytes_moved(spec: GemmSpec, shape: Shape) -> float:
    """Bytes that must cross to or from memory: A, B, C and what the epilogue reads, each once."""
    m, n, k = shape
    problem = spec.problem
    a, b, c = (DTYPES[x.dtype].value_bits / 8 for x in (problem.a, problem.b, problem.c))
    scales = (m + n) * k // Sm100.mx_block if problem.scaling == "mx" else 0
    return float(m * k * a + k * n * b + scales + m * n * c + m * n * 2 * ("residual" in spec.epilogue.ops))


def clocks(plan: Plan, shape: Shape, sms: int) -> float:
    """Estimated clocks of the plan's kernels on a problem (M, N, K)."""
    return estimate(plan, sms)(shape)


def estimate(plan: Plan, sms: int) -> Callable[[Shape], float]:
    """`clocks` of one plan as a function of the shape. What the shape does not change is worked out here, once."""
    facts = cast(GemmFacts, plan.facts)
    size = {p.name: int(p.value) for p in plan.parameters}
    split, parts = size["SPLIT_K"], facts.cluster_k
    cluster_rows, cluster_columns = size["BLOCK_M"] * facts.cluster_m, size["BLOCK_N"] * facts.cluster_n
    resident = max(1, sms // facts.cluster) * facts.cluster
    slot_of, stall = _slot(facts, size), _stall(size)
    around = _around(facts, size, 1), _around(facts, size, 2)
    gap = (0 if facts.pdl else GAP) + (MEETING if facts.cluster > 1 else 0)
    exchange = _exchange(facts, size)
    cluster_m, cluster_n, block_k = facts.cluster_m, facts.cluster_n, size["BLOCK_K"]
    helped, tail, ahead = facts.helped, facts.tail, facts.ahead  # a property each, asked for every shape

    def clocks(shape: Shape) -> float:
        m, n, k = shape
        tiles_m = math.ceil(m / cluster_rows) * cluster_m
        tiles_n = math.ceil(n / cluster_columns) * cluster_n
        items = tiles_m * tiles_n * split * parts
        slots = math.ceil(math.ceil(k / block_k) / (split * parts))
        rounds = math.ceil(items / resident)
        slot = slot_of(shape, min(items, resident))
        slot += stall(slot)
        main = slots * slot
        if helped:
            lent = _lent(items % resident, slots, slot, resident)
            return gap + rounds * (main + around[rounds > 1]) - lent * slot + (HELPED if lent else 0)
        if tail:
            whole, left = divmod(items, resident)
            part = _part(left, slots, slot, resident, WORTH_PARTS[ahead])
            if part < slots:
                return gap + whole * (main + around[whole > 0]) + part * slot + TILE_START + SUMS[ahead]
        return gap + rounds * (main + around[rounds > 1] + exchange) + _reduction(m, n, split, sms)

    return clocks


def _slot(facts: GemmFacts, size: dict[str, int]) -> Callable[[Shape, int], float]:
    """Clocks of one slot of the ring when all is in flight: the slowest of tensor cores, SMEM, L2 and memory.

    By the shape, and by how many CTAs are at work.
    """
    block_m, block_n, block_k = size["BLOCK_M"], size["BLOCK_N"], size["BLOCK_K"]
    a, b = (o.k_bytes for o in facts.operands)
    multiply = block_m * block_n * block_k / facts.products
    # Each warpgroup's wgmma reads its 64 rows of A and all of B; tcgen05 reads those of a row group, or of both CTAs.
    b_reads = facts.row_groups if facts.tensor_memory else math.ceil(block_m / 64)
    read = block_k * (a * block_m + b * b_reads * block_n / (2 if facts.pair else 1)) / Arch.smem_bytes_per_clock
    a_loaded, b_loaded = block_m / facts.cluster_n, block_n / facts.cluster_m
    load = (a * a_loaded + b * b_loaded) * block_k / Arch.l2_bytes_per_clock
    short = max(1.0, Arch.dram_in_flight / ((size["STAGES"] - 1) * (a * block_m + b * block_n) * block_k))
    wait = 0 if facts.in_flight or facts.tensor_memory else EXPOSED_WAIT
    inside, adding = max(multiply + wait, read, load), _adding(facts, block_m * block_n)
    unique = _unique(facts, size)

    def clocks(shape: Shape, at_work: int) -> float:
        memory = unique(shape, at_work) * block_k / at_work / Arch.dram_bytes_per_clock * short
        return max(inside, memory) + HAND_OFF + adding

    return clocks


def _adding(facts: GemmFacts, products: int) -> float:
    """Clocks in which tensor cores wait until a slot's products have been added outside of them."""
    if not facts.promote:
        return 0
    return ADDING if facts.row_groups > 1 else ADDING_ALONE + products / ADDED


def _unique(facts: GemmFacts, size: dict[str, int]) -> Callable[[Shape, int], float]:
    """Bytes of a column of A and of a row of B that the CTAs at work read between them, and that are not in L2 yet.

    Those of a cluster along K read other columns of the same rows.
    """
    block_m, block_n, group = size["BLOCK_M"], size["BLOCK_N"], size["GROUP_M"] * facts.cluster_m
    a, b = (o.k_bytes for o in facts.operands)
    parts = facts.cluster_k

    def read_by(shape: Shape, at_work: int) -> float:
        m, n, k = shape
        at_work = math.ceil(at_work / parts)
        rows, columns = math.ceil(m / block_m), math.ceil(n / block_n)
        high = min(group, rows, at_work)
        wide = min(math.ceil(at_work / high), columns)
        read = parts * (a * high * block_m + b * wide * block_n)
        if (a * m + b * n) * k > Arch.l2_bytes:
            return read
        return min(read, parts * (a * m + b * n) * at_work / (rows * columns))  # everything stays: it is read once

    return read_by


def _stall(size: dict[str, int]) -> Callable[[float], float]:
    """Clocks a slot that the latency of loads leaves bare, because the ring is short of it; by the slot's own."""
    stages = size["STAGES"]
    return lambda slot: max(0.0, Arch.tma_latency - (stages - 1) * slot) / stages


def _around(facts: GemmFacts, size: dict[str, int], rounds: int) -> float:
    """Clocks of a tile outside its main loop: start, and the epilogue where nothing hides it."""
    store = size["BLOCK_M"] * size["BLOCK_N"] * facts.c_dtype.bytes / STORE_BYTES
    if not facts.tma_store:
        store *= 1.5
    hidden = (facts.pingpong or size.get("ACC_STAGES", 1) > 1) and rounds > 1
    return TILE_START * (0.3 if facts.persistent and rounds > 1 else 1.0) + (0.15 * store if hidden else store)


def _exchange(facts: GemmFacts, size: dict[str, int]) -> float:
    """Clocks in which the CTAs of a cluster along K add up a tile."""
    return EXCHANGE + size["BLOCK_M"] * size["BLOCK_N"] * 4 / EXCHANGE_BYTES if facts.cluster_k > 1 else 0.0


def _part(left: int, slots: int, slot: float, sms: int, worth: int) -> int:
    """Slots of K of each part of the tiles that are left over; the host function chooses likewise."""
    part = math.ceil(slots / min(sms // left, 32)) if left else slots
    return part if (slots - part) * slot > worth else slots


def _lent(left: int, slots: int, slot: float, sms: int) -> int:
    """Slots of K that each tile of the last round lends to CTAs without one; the host function chooses likewise."""
    if not left:
        return 0
    pieces = math.ceil(left / min(left, sms - left))
    lent = int((slots * slot - MARK - HELP * pieces) / ((pieces + 1) * slot))
    return lent if lent * slot >= WORTH else 0


def _reduction(m: int, n: int, split: int, sms: int) -> float:
    """Clocks of the kernel that adds the parts of K: fp32 sums from L2 or memory."""
    return LAUNCH + m * n * 4 * (split + 1) / (Arch.l2_bytes_per_clock / 2 * sms) if split > 1 else 0.0
