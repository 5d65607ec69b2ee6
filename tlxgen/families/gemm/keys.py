"""The keys of a gemm spec: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.spec import CommonSpec, SpecModel

Operand16 = Literal["fp16", "bf16"]
OperandType = Literal["fp16", "bf16", "e4m3", "e5m2", "e2m1"]
Eviction = Literal["none", "evict_first", "evict_last"]
Op = Literal["bias", "relu", "gelu", "silu", "residual", "scale", "scale_rowwise"]


class Operand(SpecModel):
    dtype: OperandType = Field(
        "bf16", description="Element type of the operand. e2m1, for scaling mx: two values a byte of torch.uint8."
    )
    layout: Literal["row", "col"] = Field(
        "row", description="Major order of the tensor as the caller holds it: row (last dimension contiguous) or col."
    )


class Output(SpecModel):
    dtype: Literal["fp16", "bf16", "fp32"] = Field("bf16", description="Element type of C, which is row-major.")


class Problem(SpecModel):
    """C (M, N) = epilogue(A (M, K) @ B (K, N))."""

    a: Operand = Field(Operand(), description="A: (M, K).")
    b: Operand = Field(Operand(), description="B: (K, N).")
    c: Output = Field(Output(), description="C: (M, N).")
    scaling: Literal["none", "mx"] = Field(
        "none",
        description="mx (sm100): a power of two scales each 32 elements of A and of B along K; packed as tcgen05 reads "
        "them, which is torchao's blocked layout.",
    )
    accumulate: Literal["fp32"] = Field("fp32", description="Type of the accumulator.")


class TileShape(SpecModel):
    m: int = Field(128, ge=64, le=256, description="Rows of C a tile (a pingpong replica owns a whole tile). Elements.")
    n: int = Field(256, ge=16, le=256, description="Columns of C a tile. Elements.")
    k: int = Field(64, ge=16, le=512, description="Extent of K a ring slot holds. Elements.")


class LoadTask(SpecModel):
    default: bool = Field(
        True, description="Whether the TMA producer is the default task: on sm90 it is, on sm100 the epilogue is."
    )


class MmaTask(SpecModel):
    replicate: int = Field(
        2,
        ge=1,
        le=2,
        description="Row groups of a tile. sm90: consumer replicas, tasks that issue wgmma and run the epilogue. "
        "sm100: MMAs side by side, each with its accumulator, by one warp; 1 by default.",
    )
    warps: Literal[1, 4, 8] = Field(
        4, description="Warps. sm90: of a replica (a warpgroup is 4). sm100: 1, one thread issues tcgen05."
    )
    registers: int | None = Field(
        232,
        description="Registers a thread, requested by setmaxnreg; null leaves the even split. With schedule.tail split "
        "208 by default. sm100: of each one-warp task, 48 by default; without a request ptxas aims at 64 or 128 for "
        "all, and the epilogue spills.",
    )
    split: Literal["cooperative", "pingpong"] = Field(
        "cooperative",
        description="cooperative: the replicas share a tile's rows. pingpong: each owns a tile, one's epilogue under "
        "the other's wgmma.",
    )
    order: Literal["named", "mbarrier"] = Field(
        "named", description="What orders pingpong replicas: named barriers, or mbarriers."
    )
    in_flight: Literal[0, 1] = Field(1, description="wgmma groups left in flight when a slot is released.")
    promote: bool = Field(
        False,
        description="fp8 on sm90: wgmma keeps some 14 bits of a sum's mantissa; true adds the products of each slot to "
        "sums in fp32, with no wgmma in flight meanwhile.",
    )


class StoreTask(SpecModel):
    """A task of its own that issues the TMA stores of C."""

    warps: Literal[1, 4] = Field(1, description="Warps of the store task.")
    registers: int = Field(24, description="Registers a thread of the store task.")
    guard: str = Field("EPILOGUE_TASK", pattern=r"^[A-Z][A-Z0-9_]*$", description="Name of its constexpr guard.")


class SchedulerTask(SpecModel):
    """A task of its own that asks for the next tile; without it the epilogue does."""

    guard: str = Field("SCHEDULER_TASK", pattern=r"^[A-Z][A-Z0-9_]*$", description="Name of its constexpr guard.")


class Tasks(SpecModel):
    specialized: bool = Field(
        True, description="True: async tasks for loads and wgmma. False: one task that does both, pipelined."
    )
    load: LoadTask = Field(LoadTask(), description="TMA producer.")
    mma: MmaTask = Field(MmaTask(), description="Who multiplies.")
    epilogue: StoreTask | None = Field(None, description="Dedicated TMA-store task; absent: the consumers store.")
    scheduler: SchedulerTask | None = Field(
        None, description="sm100 with schedule.kind clc: a task that asks for the next tile; absent: the epilogue asks."
    )


class OperandRing(SpecModel):
    stages: int = Field(4, ge=1, le=64, description="Slots of the A and B ring: K tiles in flight.")
    full: Literal["shared", "separate"] = Field(
        "shared", description="A and B arrive on one full barrier, or on one each."
    )
    empty: Literal["leader", "warp"] = Field(
        "leader", description="How a slot is released: one arrival a task, or one a thread without a task-wide sync."
    )


class ScaleRing(SpecModel):
    space: Literal["smem", "tmem"] = Field(
        "smem",
        description="Where MX scales are multiplied from. smem: the compiler copies them to tensor memory before each "
        "product, always to the same columns. tmem: the kernel does, each slot of the operands has columns of its own.",
    )


class OutputRing(SpecModel):
    stages: int = Field(
        1, ge=1, le=8, description="Staging buffers of C for each replica, a subtile each; sm100: 2 by default."
    )
    empty: Literal["leader", "warp"] = Field("leader", description="Barrier kind between consumers and the store task.")


class AccumulatorRing(SpecModel):
    stages: int = Field(2, ge=1, le=8, description="Accumulators in tensor memory, a tile each.")
    empty: Literal["leader", "warp"] = Field(
        "leader",
        description="How the epilogue releases one: one arrival a task, or one a thread without a task-wide sync.",
    )


class Rings(SpecModel):
    ab: OperandRing = Field(OperandRing(), description="Operand tiles from TMA loads to wgmma.")
    scale: ScaleRing = Field(ScaleRing(), description="sm100: MX scales of the tiles in the A and B ring.")
    acc: AccumulatorRing = Field(AccumulatorRing(), description="sm100: accumulators from tcgen05 to the epilogue.")
    c: OutputRing = Field(OutputRing(), description="Output subtiles on their way to TMA stores.")


class Schedule(SpecModel):
    kind: Literal["grid", "persistent", "clc"] = Field(
        "persistent",
        description="Tile source: one tile a CTA, CTAs that stay and walk the tiles, or (sm100) CTAs that take over "
        "the tiles of CTAs that have not started, by cluster launch control.",
    )
    group_m: int = Field(8, ge=1, le=1024, description="Tile rows a swizzle group walks before the next column. Tiles.")
    split_k: int = Field(
        1, ge=1, le=64, description="Parts that K is cut into, summed by a second kernel; without one: cluster.k."
    )
    tail: Literal["whole", "split", "helped"] = Field(
        "whole",
        description="sm90, persistent: what becomes of the tiles that are left over when all CTAs have had as many. "
        "whole: some CTAs take one more. split: they are cut along K, as far as it is worth it, for all CTAs to share, "
        "and summed by CTAs that start as the first end. helped: some CTAs take one more, but for the end of K, which "
        "the others multiply for them, as far as it is worth it; a row of a subtile, in fp32, then has the bytes of K "
        "in a slot.",
    )
    pdl: bool = Field(
        False,
        description="Programmatic dependent launch: CTAs start while the kernel before in the stream still runs, and "
        "wait for its end before they touch memory.",
    )
    prefetch: int = Field(
        0,
        ge=0,
        le=16,
        description="sm90 with pdl, persistent: ring slots that the first tiles begin with, and that the CTAs ask L2 "
        "for while they wait for the kernel before; together, each line once.",
    )


class Cluster(SpecModel):
    m: Literal[1, 2] = Field(
        1, description="CTAs of a cluster along M; they share a tile of B. sm100: by multiplying together (2-CTA MMA)."
    )
    n: Literal[1, 2] = Field(1, description="CTAs of a cluster along N; they share a tile of A.")
    k: Literal[1, 2, 4, 8] = Field(
        1,
        description="CTAs of a cluster along K (sm90): each multiplies a part of K, and they add up their sums through "
        "distributed shared memory, each its columns of the tile.",
    )
    multicast: tuple[Literal["a", "b"], ...] | None = Field(
        None, description="Operands loaded once for the cluster. Default: the shared one."
    )
    protocol: Literal["leader", "rendezvous"] = Field(
        "leader",
        description="sm100, how the first of two CTAs learns that it may multiply for both. leader: the loads of both "
        "complete on its barrier. rendezvous: each waits for its own and tells it.",
    )


class Cache(SpecModel):
    a: Eviction = Field("none", description="L2 hint of the loads of A.")
    b: Eviction = Field("none", description="L2 hint of the loads of B.")
    c: Eviction = Field("none", description="L2 hint of the stores of C.")


class Epilogue(SpecModel):
    ops: tuple[Op, ...] = Field((), description="Applied to the accumulator in this order, in fp32.")
    subtiles: Literal[1, 2, 4, 8] = Field(
        2,
        description="Column slices in which a tile of C is converted and stored; sm100 also has 8, and 4 by default.",
    )
    interleave: bool = Field(False, description="sm100, two row groups: store their subtiles in turns.")
    rounding: Literal["nearest", "stochastic"] = Field(
        "nearest",
        description="How fp32 becomes C's type. stochastic (sm100): up or down by chance, as far as it is from either; "
        "the host function takes a seed, and the same seed gives the same bits.",
    )
    store: Literal["tma", "direct"] = Field("tma", description="By TMA from staging buffers, or from registers.")


class GemmKeys(CommonSpec):
    """All keys, one by one. What goes together is in `faults`, what has other defaults somewhere in `spec`."""

    kernel: Literal["gemm"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and result.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")
    schedule: Schedule = Field(Schedule(), description="Where a CTA's tiles come from.")
    cluster: Cluster = Field(Cluster(), description="Thread block cluster.")
    cache: Cache = Field(Cache(), description="L2 eviction hints.")
    epilogue: Epilogue = Field(Epilogue(), description="From accumulator to C.")
