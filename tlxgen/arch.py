"""Architectures: their limits and rules, each with its source. This module imports nothing of tlxgen.

A concept that an architecture lacks is an absent attribute, not a zero or None, so code that reads the TMEM of sm90
raises an error. Sources: [compiler] = fbtriton 3.7.4, third_party/nvidia/backend; [ptx] = PTX ISA; [tlx] = TLX front
end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class DType:
    """An element type with its four names. `bits` is the width of one stored element, which has `values` numbers: torch
    and Triton use bytes for a type that is narrower."""

    name: str  # in a spec
    triton: str  # in a tl. expression
    torch: str  # in a torch. expression
    signature: str  # in a Triton signature
    bits: int
    values: int = 1

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def value_bits(self) -> int:
        return self.bits // self.values

    @property
    def is_mx(self) -> bool:
        """Whether tensor cores multiply MX scales into it [ptx: .kind::mxf8f6f4, .kind::mxf4]."""
        return self.name in ("e4m3", "e5m2", "e2m1")

    @property
    def is_fp8(self) -> bool:
        return self.name in ("e4m3", "e5m2")


DTYPES = {
    t.name: t
    for t in (
        DType("fp16", "float16", "float16", "fp16", 16),
        DType("bf16", "bfloat16", "bfloat16", "bf16", 16),
        DType("fp32", "float32", "float32", "fp32", 32),
        DType("e4m3", "float8e4nv", "float8_e4m3fn", "fp8e4nv", 8),
        DType("e5m2", "float8e5", "float8_e5m2", "fp8e5", 8),
        DType("e2m1", "uint8", "uint8", "u8", 8, values=2),  # the value of lower K in the low half
        DType("e8m0", "uint8", "uint8", "u8", 8),  # an MX scale, as its byte
        DType("i32", "int32", "int32", "i32", 32),  # the number of a work item
    )
}


class Arch:
    """Limits shared by sm90 and sm100."""

    name: str
    capability: tuple[int, int]  # torch.cuda.get_device_capability()
    smem_bytes = 232448  # a CTA: 227 KiB [compiler: _max_shared_mem_for_capability]
    registers = 65536  # 32-bit, an SM [ptx]
    max_threads = 1024  # a CTA [ptx]
    warp_threads = 32
    warpgroup_warps = 4
    warpgroup_threads = 128
    setmaxnreg_min, setmaxnreg_max, setmaxnreg_step = 24, 240, 8  # what a spec may ask for [ptx: setmaxnreg]
    named_barriers = 16  # a CTA [ptx: bar.sync a in 0..15]
    mbarrier_bytes = 8
    mbarrier_count_max = 2**20 - 1  # [ptx: mbarrier.init]
    tma_min_inner_bytes = 32  # an inner box extent under the narrowest swizzle (32 B) does not compile [compiler]

    # Bytes of SMEM that fbtriton allocates beside the rings. They are upper bounds, which tests compare with compiles.
    captures = 512  # values that tasks capture, and the alignment of barrier arrays
    captures_of_few = 256  # the same, of kernels with few arguments: 112 to 176 measured
    alignment = 128  # of a kernel without tasks: barrier arrays start at multiples of 16

    # Rates of an SM a clock, measured on an H200, and assumed for other GPUs.
    products = 2048  # multiply-adds of tensor cores in 16-bit types
    smem_bytes_per_clock = 128
    instructions_per_clock = 128  # a thread
    exponentials_per_clock = 16  # by MUFU
    fma_per_clock = 128  # floats multiplied, added or both
    fma_per_instruction = 1
    alu_per_clock = 64  # comparisons, minima, maxima and selections [CUDA programming guide: throughput of arithmetic]
    l2_bytes_per_clock = 80  # an SM's share, derived from a GEMM's launch at 1024^3, with 16 slots of 64 x 128
    dram_bytes_per_clock = 18  # 4.2 TB/s, at the clock of a GEMM
    dram_bytes_per_us = 4.4e6  # a little more than any kernel was seen to read: 4.35 TB/s
    l2_bytes_per_clock_of_all = 64  # the same where all SMs load: of GEMMs with tiles of 128 x 128
    l2_bytes = 40 << 20  # the part of 50 MB that is available to operands
    dram_in_flight = 64 << 10  # bytes in flight an SM that saturate memory
    tma_latency = 1500  # clocks from a TMA load to its arrival, L2 missed
    load_latency = 1000  # the same where all SMs load what L2 has: of a GEMM with three slots
    store_latency = 100  # from the issue of a TMA store until it has read its buffer, besides the reading
    send_latency = 200  # of a store into the SMEM of another CTA of the cluster
    barrier_latency = 20  # from the last arrival until who waits goes on
    reduction_latency = 0  # of a maximum over the threads that share a row
    beside_products: ClassVar[dict[str, float]] = {}  # how much longer a unit of threads needs while products run

    @staticmethod
    def transposable(dtype: DType) -> bool:
        """Whether the tensor cores read an operand of this type in either major order."""
        raise NotImplementedError


class Sm90(Arch):
    """Hopper: wgmma accumulates in the registers of the warpgroups that issue it."""

    name = "sm90"
    capability = (9, 0)
    wgmma_m = 64  # rows a warpgroup [ptx: wgmma.mma_async .m64nNkK]
    wgmma_n_min = 32  # [tlx: async_dot asserts N >= 32]
    wgmma_n_narrow = 8  # of the instruction [ptx: wgmma.mma_async .m64nNkK]
    wgmma_n_max = 256
    wgmma_k_bytes = 32  # K extent of one instruction, in operand bytes
    # Measured by benchmarks/beside_products.py on an H200, rounded to what delays less.
    reduction_latency = 60
    beside_products: ClassVar[dict[str, float]] = {"exponential unit": 1.2, "ALU": 1.5, "instruction issue": 1.05}

    @staticmethod
    def wgmma_registers(n: int) -> int:
        """Registers a thread that one wgmma of N columns needs at the kernel's own register target.

        N / 2 accumulators and 26 more, whatever setmaxnreg grants later [ptxas C7602].
        """
        return n // 2 + 26

    @staticmethod
    def transposable(dtype: DType) -> bool:
        """Whether wgmma reads an operand of this type in either major order; fp8 is K-major only [ptx: wgmma]."""
        return dtype.bits == 16


class Sm100(Arch):
    """Blackwell: tcgen05 accumulates in TMEM."""

    name = "sm100"
    capability = (10, 0)
    products = 4096
    fma_per_instruction = 2  # of f32x2 [PTX: fma, target sm_100], at the same rate of floats
    dram_bytes_per_clock = 29  # 8 TB/s over 148 SMs at 1850 MHz, as announced
    dram_bytes_per_us = 8e6
    tmem_columns = 512  # a CTA, of 128 lanes of 32 bits [ptx: tcgen05.alloc]
    mma_m = (64, 128)  # rows of D in one CTA [ptx: tcgen05.mma]
    mma_pair_m = (128,)  # rows of D in each of two CTAs that multiply together
    mx_block = 32  # elements along K that share an MX scale [ptx: .kind::mxf8f6f4]
    mx_rows, mx_k = 128, 128  # rows and elements of K of a block of 512 packed scales [ptx: tcgen05.cp]
    padded_k = 128  # K is a multiple where TMA spreads out fp4 in SMEM [CUDA: cuTensorMapEncodeTiled, 16U4_ALIGN16B]
    mma_n_min = 32  # of B in one CTA [tlx: async_dot asserts N >= 32]
    mma_n_max = 256
    mma_k_bytes = 32  # K extent of one instruction, in operand bytes
    lanes_warps = 4  # that read an accumulator: a warp reads the 32 lanes of TMEM that are its own [ptx: tcgen05.ld]
    captures = 560  # with where tcgen05.alloc puts the address
    tmem_address = 112  # bytes beside captures_of_few: where tcgen05.alloc puts the address, and more captures
    clc_response = 80  # bytes: a response of cluster launch control (16), aligned, and captures

    @staticmethod
    def transposable(dtype: DType) -> bool:
        """Whether tcgen05 reads an operand of this type in either major order [ptx: .kind::f16, .kind::f8f6f4]."""
        return dtype.bits >= 8


ARCHS: dict[str, type[Arch]] = {a.name: a for a in (Sm90, Sm100)}
