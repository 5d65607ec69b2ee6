"""From counts to clocks and times: what each unit of an SM needs for them, and what a launch takes at the least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tlxgen.arch import Arch

from .counts import Counts


class Gpu(NamedTuple):
    """What a launch runs on. `mhz`: the highest clock; a GPU at its power limit runs lower, and takes longer. Bytes of
    memory a microsecond, read and written. `kept`: bytes that a launch moves at the most and finds in L2 the next time.
    """

    name: str
    sms: int
    mhz: int
    read_per_us: float
    written_per_us: float
    kept: int


# An H200 reads 4.48 to 4.58 TB/s, reads and writes 4.3 at the most, and finds 32 MiB again in an L2 of 50 MB:
# benchmarks/l2_kept.py. A B200 is as announced: 2250 TFLOP/s of dense bf16 over 148 SMs of 8192 operations a clock.
GPUS = {
    "sm90": Gpu("H200", 132, 1980, 4.6e6, 4.1e6, 32 << 20),
    "sm100": Gpu("B200", 148, 1850, 8e6, 8e6, 80 << 20),
}


class Work(NamedTuple):
    """The work items of a launch: how many, the rounds of the inner loop in all of them, and in the longest one. Where
    SMs take them by their numbers alone, `order` has the rounds of each."""

    items: int
    rounds: int
    longest: int
    order: tuple[int, ...] = ()

    @property
    def uniform(self) -> bool:
        return self.rounds == self.items * self.longest

    def of_sm(self, sms: int) -> tuple[float, float]:
        """Items and rounds of the SM that has most: whole items where all are alike or SMs take them by their numbers,
        else a fair share at the best."""
        if self.order:
            most = max((self.order[first::sms] for first in range(sms)), key=sum)
            return sum(rounds > 0 for rounds in most), sum(most)
        if self.uniform:
            items = math.ceil(self.items / sms)
            return items, items * self.longest
        return self.items / sms, max(self.rounds / sms, self.longest)


class Unit(NamedTuple):
    """A unit of an SM: what it did, by its own measure, and the clocks that it needs. No clocks: no rate is known."""

    name: str
    amount: float
    what: str
    clocks: float | None


class Sharing(NamedTuple):
    """What the SMs of a launch load: the part that is different among those of a GPC (`apart`, 1 where no two load the
    same), and the part of the loads that need something that L2 does not have (`missed`). Of rows of tiles, the parts
    that begin amid a line of L2, and amid a sector of one."""

    apart: float
    missed: float
    amid_line: float = 0.0
    amid_sector: float = 0.0

    def clocks_of_byte(self) -> float:
        """Of an SM that gets it from L2 while no SM multiplies."""
        alike, each = 1 / ALIKE, 1 / APART
        return alike + (each - alike) * (self.apart - 1 / GPC) / (1 - 1 / GPC)

    def clocks_of_edges(self) -> float:
        """Of an SM, for each byte, besides those that L2 takes for rows that begin where lines do."""
        return (self.amid_line * AMID_LINE + self.amid_sector * AMID_SECTOR) / LINE

    def slower(self) -> float:
        """How much longer loads take while SMs multiply than in the order that L2's rate is of."""
        return max(1.0, 1 + ORDER * (self.apart - USUAL))


PRODUCTS, FMA, L2 = "tensor cores", "FMA units", "L2"
GPC = 16  # SMs that get a line of L2 together
# Bytes a clock of an SM where those of a GPC load the same, and where each loads what no other one does, measured by
# benchmarks/l2_sharing.py on an H200. In between, a byte takes longer than a straight line from one to the other says.
ALIKE, APART = 91, 36
# The part that is different where groups are 8 tiles high, and how much longer a load takes where it is 1 larger: with
# six slots GEMMs take 0.8 to 9 % longer where groups are 16 high and it is 17/32, on two H200s (roofline_clocks.py).
USUAL, ORDER = 10 / 32, 0.08
# Clocks more that TMA takes for a row of 128 bytes that lies in two lines, and for one that also lies in five sectors:
# less than benchmarks/odd_rows.py measured on an H200, but for rows of A that are 64 bytes more than whole lines apart.
LINE, AMID_LINE, AMID_SECTOR = 128, 0.65, 1.1
# Of a launch that moves so many times what L2 keeps whole: the part that comes from memory where it reads and writes as
# much, and where it only reads its time over that of memory at its rate. benchmarks/l2_kept.py, rounded down.
MISSED = ((1.0, 0.0), (1.25, 0.5), (1.5, 0.7), (1.75, 0.85), (2.0, 0.94), (2.5, 1.0))
READING = ((1.0, 0.0), (1.25, 0.6), (1.5, 1.25), (2.0, 1.23), (3.0, 1.17), (4.0, 1.12), (12.0, 1.02), (24.0, 1.0))
LAUNCH = 1000  # clocks of a kernel that does nothing: 1,078 measured by benchmarks/launch_clocks.py on an H200
WAITS = 0.05  # of a launch's clocks, which waits of tasks add, and the busiest unit still is what bounds it


def units(counts: Counts, arch: type[Arch]) -> list[Unit]:
    """What each unit of one SM needs for the counts, at the rates of the architecture."""
    issued = counts.instructions - counts.fma * (1 - 1 / arch.fma_per_instruction)
    rows: list[tuple[str, float, str, float | None]] = [
        (PRODUCTS, counts.products, "multiply-adds", arch.products),
        ("exponential unit", counts.exponentials, "results", arch.exponentials_per_clock),
        (FMA, counts.fma, "multiply-adds", arch.fma_per_clock),
        ("ALU", counts.alu, "results", arch.alu_per_clock),
        ("instruction issue", issued, "threads' instructions", arch.instructions_per_clock),
        ("SMEM", counts.smem_bytes, "bytes", arch.smem_bytes_per_clock),
        ("TMEM", counts.tmem_bytes, "bytes", None),  # no rate of it is published or measured
        (L2, counts.l2_bytes, "bytes", arch.l2_bytes_per_clock),
    ]
    return [Unit(name, n, what, None if rate is None else n / rate) for name, n, what, rate in rows]


def limit(counts: Counts, arch: type[Arch], without: str = "") -> Unit:
    """The unit that needs most clocks."""
    return max((u for u in units(counts, arch) if u.name != without), key=lambda u: u.clocks or 0.0)


class Bound(NamedTuple):
    """The least that a launch takes: clocks, and what bounds it."""

    clocks: float
    by: str


@dataclass(frozen=True)
class Pace:
    """Clocks of an SM whose tasks wait for each other: of its start, of an item, and of a round of its inner loop."""

    start: float
    item: float
    round: float

    def of(self, items: float, rounds: float) -> float:
        return self.start + self.item * items + self.round * rounds


@dataclass(frozen=True)
class Launch:
    """A kernel as counted: what a round of the inner loop does, what an item does besides, a CTA each. `pace` is that
    of its tasks, where they were replayed."""

    kernel: str
    round: Counts
    item: Counts
    pace: Pace | None = None


def bound_of(launch: Launch, work: Work, arch: type[Arch], gpu: Gpu, moved: float = 0.0) -> Bound:
    """The clocks of a launch that moves so many bytes, if the same launch came before.

    A launch takes LAUNCH clocks before anything is asked for. The busiest SM needs as long as its busiest unit. Nothing
    is multiplied before the first load has come, nor stored before the last product. Memory needs its own time for
    what L2 has not kept, from the first load on, which is more clocks where a clock is shorter. Where tasks wait for
    each other longer than any of these takes, their pace is the bound.
    """
    items, rounds = work.of_sm(gpu.sms)
    busy = launch.item * items + launch.round * rounds
    tail = max(0.0, limit(launch.item, arch, without=PRODUCTS).clocks or 0.0) if busy.products else 0.0
    start = LAUNCH + arch.tma_latency
    stored = busy.stored / busy.l2_bytes if busy.l2_bytes else 0.0
    found = [Bound(start + memory_us(moved, stored, gpu) * gpu.mhz, "DRAM")]
    for unit in units(busy, arch):
        if unit.clocks is not None:
            after = tail if unit.name == PRODUCTS else 0.0
            found.append(Bound(start + unit.clocks + after, unit.name))
    most = max(found)
    clocks = LAUNCH + launch.pace.of(items, rounds) if launch.pace else 0.0
    if clocks <= most.clocks:
        return most
    return Bound(clocks, most.by if clocks <= most.clocks * (1 + WAITS) else "waits of tasks")


def memory_us(moved: float, stored: float, gpu: Gpu) -> float:
    """The least microseconds of memory for so many bytes, the part `stored` of them written, if the same launch came
    before: in proportion between one that only reads and one that writes as much."""
    size, even = moved / gpu.kept, min(1.0, 2 * stored)
    each = (1 - stored) / gpu.read_per_us + stored / gpu.written_per_us
    return moved * each * (even * _between(MISSED, size) + (1 - even) * _between(READING, size))


def _between(points: Sequence[tuple[float, float]], size: float) -> float:
    """Of two that were measured, in proportion; outside, of the first or the last."""
    low, least = points[0]
    for high, most in points[1:]:
        if size < high:
            return least + (most - least) * max(0.0, size - low) / (high - low)
        low, least = high, most
    return least


def paced(clocks: Sequence[float], works: Sequence[Work]) -> Pace | None:
    """The pace that gives each of three problems its clocks. None where their items and rounds do not tell it."""
    (one, a), (two, b), (three, c) = zip(works, clocks, strict=True)
    (i, r), (j, s) = ((x.items - one.items, x.rounds - one.rounds) for x in (two, three))
    determinant = i * s - j * r
    if not determinant:
        return None
    item, each = (s * (b - a) - r * (c - a)) / determinant, (i * (c - a) - j * (b - a)) / determinant
    return Pace(a - item * one.items - each * one.rounds, item, each)


def separate(counts: Sequence[Counts], works: Sequence[Work]) -> tuple[Counts, Counts]:
    """What a round and what an item does, from two problems whose items and rounds are not in proportion.

    What goes with neither, such as a search for an item's sequence, may leave less than nothing for a round: then it is
    nothing.
    """
    (a, b), (first, second) = counts, works
    determinant = first.items * second.rounds - second.items * first.rounds
    if not determinant:  # no rounds at all: an item is the whole
        return Counts(), a * (1 / first.items)
    each = (b * first.items - a * second.items) * (1 / determinant)
    each = Counts(*(max(x, 0.0) for x in each.values))
    return each, (a * second.rounds - b * first.rounds) * (1 / determinant)
