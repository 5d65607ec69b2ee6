"""What an operation takes besides the clocks of its units, measured on an H200, and assumed for other GPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tlxgen.arch import Arch

# Part of the time that the tensor cores of an SM multiply while one warpgroup waits for each of its products, beside
# which Arch.beside_products was measured: 256 clocks of 349.
MULTIPLIES = 0.73


@dataclass(frozen=True)
class Latencies:
    """Clocks, unless something else is said. The benchmark that measured a value is behind it."""

    mbarrier: float  # from the last arrival until a warp goes on that waits: handover
    mbarrier_group: float  # the same of a warpgroup: handover
    named: float  # the same of a named barrier: handover
    # From the end of a load's transfer until it is there, by the bytes that its SM has under way: load_latency.
    load: tuple[tuple[int, float], ...]
    few: tuple[tuple[int, float], ...]  # the same where some SMs do not load
    missed: float  # by which a load takes longer where L2 does not have it: load_latency
    wgmmas: float = math.inf  # that an SM takes; who issues another one waits: products_issue
    issue: float = 0.0  # of a wgmma: products_issue
    product: float = 0.0  # by which a warpgroup waits longer for its wgmmas than they take: products_issue
    maximum: float = 0.0  # over the threads that share a row: beside_products
    sum: float = 0.0  # likewise: beside_products
    fence: float = 0.0  # behind stores: handover
    word: float = 0.0  # until a word of global memory is there that another CTA has counted: turns
    release: float = 0.0  # until a word is counted behind what was written before: turns
    proxy: float = 0.0  # of a fence of global memory, for what TMA does: turns
    sums: float = math.inf  # bytes a clock that TMA adds to global memory: turns
    beside: Mapping[str, float] = field(default_factory=dict)  # how much longer a unit of threads needs beside products
    # Clocks of the register file for one of products, and for one of multiply-adds, of three operands: beside_products.
    registers: tuple[float, float] = (0.0, 0.0)

    def of_load(self, under_way: float, few: bool = False) -> float:
        """Between two that were measured, in proportion."""
        (low, least), *points = self.few if few else self.load
        for high, most in points:
            if under_way < high:
                return least + (most - least) * max(0.0, under_way - low) / (high - low)
            low, least = high, most
        return least

    def reads(self, products: float, multiply_adds: float) -> float:
        """Clocks of the register file."""
        return products * self.registers[0] + multiply_adds * self.registers[1]

    def of_reduction(self, sums: bool, beside: Mapping[str, float]) -> float:
        """A chain of dependent instructions is slowed down as that of a maximum is."""
        return (self.sum if sums else self.maximum) * beside.get("ALU", 1.0)


def latencies(arch: type[Arch]) -> Latencies:
    if arch.name != "sm90":
        barrier, load = arch.barrier_latency, arch.load_latency
        return Latencies(barrier, barrier, barrier, ((0, load),), ((0, load),), missed=arch.tma_latency - load)
    return Latencies(
        mbarrier=74,
        mbarrier_group=92,
        named=27,
        # Of slots of 32 KiB: the last box of one finds its other 24 KiB under way, and none to three slots before it.
        # Less than was measured by 5 %, since SMs that run slower than those did count fewer clocks; where all load,
        # the first by 12 %: kernels with few bytes under way ask L2 for less than those GEMMs did.
        load=((24 << 10, 500), (56 << 10, 606), (88 << 10, 810), (120 << 10, 978)),
        few=((24 << 10, 500), (56 << 10, 550), (120 << 10, 580), (152 << 10, 640)),
        missed=100,  # 140 at 1,980 MHz: memory takes its time, which is fewer clocks where SMs run at 1,400 MHz
        wgmmas=8,
        issue=12,
        product=54,
        maximum=arch.reduction_latency,
        sum=120,
        fence=21,
        # Of an SM alone, less 5 %; where all SMs do it, the last two take longer. Sums of all SMs, 5 % faster.
        word=325,
        release=445,
        proxy=280,
        sums=17,
        beside={unit: while_products_run(slower) for unit, slower in arch.beside_products.items()},
        # Beside one warpgroup of multiply-adds, which issue in 50 % of the clocks, two multiply in 81 % of the time;
        # beside two, which issue in 67 %, in 60 %.
        registers=(0.70, 0.865),
    )


def while_products_run(slower: float) -> float:
    """The factor that is `slower` on the average of a time in which products run for MULTIPLIES of it."""
    return MULTIPLIES / (1 / slower - (1 - MULTIPLIES))
