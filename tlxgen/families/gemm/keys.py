"""The keys of a gemm spec: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.families.kit import meanings
from tlxgen.spec import CommonSpec, SpecModel, choices

Operand16 = Literal["fp16", "bf16"]
OperandType = Literal["fp16", "bf16", "e4m3", "e5m2", "e2m1"]
Eviction = Literal["none", "evict_first", "evict_last"]
Op = Literal["bias", "relu", "gelu", "silu", "swiglu", "residual", "scale", "scale_rowwise"]


class Operand(SpecModel):
    dtype: OperandType = Field(
        "bf16",
        description="Element type of the operand. e2m1, for scaling mx: two values a byte of torch.uint8.",
        json_schema_extra=meanings.of(meanings.DTYPE, "fp16", "bf16", "e4m3", "e5m2", "e2m1"),
    )
    layout: Literal["row", "col"] = Field(
        "row",
        description="Major order of the tensor as the caller holds it.",
        json_schema_extra=choices(
            row="The last dimension is contiguous, as torch makes tensors.",
            col="The first dimension is contiguous: a transposed view, such as weight.t() of a linear layer's weight. "
            "fp8 on sm90 takes K-major operands only: a in row, b in col.",
        ),
    )


class Output(SpecModel):
    dtype: Literal["fp16", "bf16", "fp32"] = Field(
        "bf16",
        description="Element type of C, which is row-major.",
        json_schema_extra=meanings.of(meanings.DTYPE, "fp16", "bf16", "fp32"),
    )


class Problem(SpecModel):
    """C (M, N) = epilogue(A (M, K) @ B (K, N))."""

    a: Operand = Field(Operand(), description="A: (M, K).")
    b: Operand = Field(Operand(), description="B: (K, N).")
    c: Output = Field(Output(), description="C: (M, N).")
    scaling: Literal["none", "mx", "block"] = Field(
        "none",
        description="Block scales of the operands.",
        json_schema_extra=choices(
            none="No scales, or those of epilogue.ops (scale, scale_rowwise).",
            mx="sm100: a power of two scales each 32 elements of A and of B along K, packed as tcgen05 reads them, "
            "which is torchao's blocked layout. For MXFP8 and MXFP4 checkpoints.",
            block="sm90, fp8: a number in fp32 scales each 1 x 128 of A along K, and each 128 x 128 of B: DeepSeek's "
            "recipe. The products of a slot, 128 deep, are scaled as they are added to the sums in fp32.",
        ),
    )
    accumulate: Literal["fp32"] = Field("fp32", description="Type of the accumulator.")


class TileShape(SpecModel):
    m: int = Field(
        128,
        ge=8,
        le=256,
        description="Rows of C a tile (a pingpong replica owns a whole tile). Elements. 64 or more, unless "
        "tasks.mma.exchange makes them the columns of an instruction: 8 or more, 32 by default then, and also 96, 160, "
        "192 and 224, by products of powers of two (128 and 64 of 192) with an accumulator each.",
    )
    n: int = Field(
        256,
        ge=16,
        le=256,
        description="Columns of C a tile. Elements. A power of two; sm90: also 96, 160, 192, 224, by products of "
        "powers of two (128 and 64 of 192) with an accumulator each.",
    )
    k: int = Field(64, ge=16, le=512, description="Extent of K a ring slot holds. Elements.")


class LoadTask(SpecModel):
    default: bool = Field(
        True, description="Whether the TMA producer is the default task: on sm90 it is, on sm100 the epilogue is."
    )
    by: Literal["tma", "pointers", "pointers_a", "pointers_b"] = Field(
        "tma",
        description="How A and B are loaded.",
        json_schema_extra=choices(
            tma="By TMA: one thread asks for whole tiles. Rows must begin at multiples of 16 bytes.",
            pointers="sm90: by every thread's own copies: cp.async of 16, 8 or 4 bytes, or single elements, as "
            "the rows allow at the launch. N and K may be odd. For what TMA cannot address; slower.",
            pointers_a="sm90: A by every thread's own copies, B by TMA: where TMA cannot address the rows of A "
            "alone. rings.ab.full is separate.",
            pointers_b="The same with B by copies and A by TMA.",
        ),
    )
    warps: Literal[4, 8] = Field(
        4, description="Warps of the producer: 4, or 8 where the producer copies by pointers and all of them do."
    )
    edge_rows: Literal[8, 16, 32] | None = Field(
        None,
        description="sm90: rows of the boxes by which TMA loads a tile that A's rows or B's columns end in, of an "
        "operand along whose rows K lies. A box beyond the end brings the first rows instead, whose products are not "
        "stored: TMA takes longer to fill a row with zeros than to load one. null: one box, filled with zeros.",
    )


class MmaTask(SpecModel):
    replicate: int = Field(
        2,
        ge=1,
        le=3,
        description="Row groups of a tile. sm90: consumer replicas, tasks that issue wgmma and run the epilogue; 3 of "
        "them have 64 rows each of a tile of 192, and no product has more than 128 columns. "
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
        description="How the two consumers share the work.",
        json_schema_extra=choices(
            cooperative="The replicas share a tile's rows, so that a tile may be 128 x 256. Choose it for "
            "large shapes, whose K loop is long beside the epilogue.",
            pingpong="Each replica owns a tile, and one's epilogue runs under the other's wgmma. Choose it for short K "
            "or a long epilogue; tiles are smaller, since a replica keeps a whole tile in its registers.",
        ),
    )
    order: Literal["named", "mbarrier"] = Field(
        "named",
        description="The barrier by which consumers take turns: of pingpong, or with scales of blocks.",
        json_schema_extra=choices(
            named="Named barriers of the SM: bar.sync and bar.arrive, without memory. Choose it unless the 16 named "
            "barriers of a CTA run out.",
            mbarrier="Barriers in SMEM, two of 8 bytes. Choose it where a variant is rejected for named-barriers.",
        ),
    )
    in_flight: Literal[0, 1] = Field(
        1,
        description="wgmma groups left in flight when a slot is released.",
        json_schema_extra=choices(
            {
                0: "Each product is awaited before the next is issued: a slot goes back at once, and the tensor core "
                "idles between products. Needed for a ring of one slot.",
                1: "The next product is issued before the last is awaited, and slots go back one step later. Choose it "
                "unless the ring is too shallow.",
            }
        ),
    )
    exchange: bool = Field(
        False,
        description="sm90: which operand fills the 64 rows of a wgmma.",
        json_schema_extra=choices(
            {
                False: "A's rows do: a tile has at least 64 rows of C.",
                True: "B's columns do, and A's rows are the columns of the instruction (CUTLASS says swap AB): "
                "C^T = B^T A^T, turned when it is stored. Choose it for few rows, whose tile is then 8 to 32 high, so "
                "that the ring holds weights, and for rows that fill a tile of 96, 160, 192 or 224. One consumer, or "
                "two with half of the columns each; subtiles 1.",
            }
        ),
    )
    columns: Literal["whole"] | None = Field(
        None,
        description="sm90: how the columns of an instruction are multiplied that a tile has: those of B or, with "
        "exchange, the rows of A. Default: a product for each power of two of which their number is the sum, with an "
        "accumulator each. Each reads the other operand again, so that a narrow one takes up to four times as long as "
        "its columns do.",
        json_schema_extra=choices(
            whole="By one wgmma, in inline PTX: any multiple of 8 columns; of B, from 64 on and without a tail that is "
            "cut. bf16 or fp16; 64 rows of the other operand a consumer, tiles of 64 along K. Choose it where C fills "
            "no tiles of powers of two.",
        ),
    )
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
        True,
        description="Whether loads and products have tasks of their own.",
        json_schema_extra=choices(
            {
                True: "async tasks for loads and for wgmma: the fast form for all but small problems.",
                False: "one task does both, pipelined: fewer threads, no hand-off; for small tiles and grids.",
            }
        ),
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
        "shared",
        description="On which barriers A and B arrive.",
        json_schema_extra=choices(
            shared="A and B of a slot complete one full barrier: one wait a slot. Choose it unless measured otherwise.",
            separate="One full barrier each: a consumer may begin with what came first, and waits twice a slot.",
        ),
    )
    empty: Literal["leader", "warp"] = Field(
        "leader",
        description="How a slot is released: one arrival a task, or one a thread without a task-wide sync.",
        json_schema_extra=meanings.EMPTY,
    )


class ScaleRing(SpecModel):
    space: Literal["smem", "tmem"] = Field(
        "smem",
        description="Where MX scales are multiplied from.",
        json_schema_extra=choices(
            smem="The compiler copies them to tensor memory before each product, always to the same columns: no "
            "columns of the plan's are taken.",
            tmem="The kernel copies them, and each slot of the operands has columns of its own, so that a copy does "
            "not wait for the product before. Choose it where columns are left (tlxgen show prints them).",
        ),
    )


class OutputRing(SpecModel):
    stages: int = Field(
        1, ge=1, le=8, description="Staging buffers of C for each replica, a subtile each; sm100: 2 by default."
    )
    empty: Literal["leader", "warp"] = Field(
        "leader",
        description="How a slot is released between consumers and the store task.",
        json_schema_extra=meanings.EMPTY,
    )


class AccumulatorRing(SpecModel):
    stages: int = Field(2, ge=1, le=8, description="Accumulators in tensor memory, a tile each.")
    empty: Literal["leader", "warp"] = Field(
        "leader",
        description="How the epilogue releases one: one arrival a task, or one a thread without a task-wide sync.",
        json_schema_extra=meanings.EMPTY,
    )


class Rings(SpecModel):
    ab: OperandRing = Field(OperandRing(), description="Operand tiles from TMA loads to wgmma.")
    scale: ScaleRing = Field(ScaleRing(), description="sm100: MX scales of the tiles in the A and B ring.")
    acc: AccumulatorRing = Field(AccumulatorRing(), description="sm100: accumulators from tcgen05 to the epilogue.")
    c: OutputRing = Field(OutputRing(), description="Output subtiles on their way to TMA stores.")


class Schedule(SpecModel):
    kind: Literal["grid", "persistent", "clc", "dynamic"] = Field(
        "persistent",
        description="The work list: the source of a CTA's tiles.",
        json_schema_extra=meanings.of(
            meanings.KIND,
            *("grid", "persistent", "clc"),
            dynamic="sm90: a counter in global memory hands tiles out in their order, to whichever CTA is done first; "
            "the producer draws them, and the last draw resets the counter. Choose it where tiles take unequal times, "
            "as groups of their own K do, or where other kernels share the GPU.",
        ),
    )
    group_m: int = Field(8, ge=1, le=1024, description="Tile rows a swizzle group walks before the next column. Tiles.")
    split_k: int = Field(
        1, ge=1, le=64, description="Parts that K is cut into, summed by a second kernel; without one: cluster.k."
    )
    tail: Literal["whole", "split", "helped"] = Field(
        "whole",
        description="sm90, persistent: what becomes of the tiles of the last, partial wave.",
        json_schema_extra=choices(
            whole="Some CTAs take one more tile, and the others wait. Choose it where the tiles fill their waves.",
            split="The tiles of the last wave are cut along K, as far as it is worth it, for all CTAs to share, and "
            "summed by CTAs that start as the first end. Choose it where few tiles are left over and K is long. Of "
            "groups with a K each, tiles of a long K are cut, whatever wave they are in; with fix_up last.",
            helped="Some CTAs take one more tile, and idle ones multiply the end of its K for them, as far as it is "
            "worth it (a hybrid of data-parallel and stream-K). Choose it where most SMs have a tile of the last wave; "
            "a row of a subtile, in fp32, then has the bytes of K in a slot.",
        ),
    )
    fix_up: Literal["after", "last", "each"] = Field(
        "after",
        description="sm90 with tail split: which CTAs add up the parts of a cut tile, in a fixed order.",
        json_schema_extra=choices(
            after="CTAs that start as the first workers end, a share of a tile each; only tiles of the last wave are "
            "cut. Choose it for large tiles, whose sums take long to add up.",
            last="The CTA that is the last to end its part of a tile, with the registers of its accumulator: nobody "
            "waits. The host cuts any tiles into as many parts as its estimate says, all of them where they are few. "
            "CTAs of a cluster along M or N have the same part of neighbouring tiles, and share loads. "
            "Choose it for small tiles, few tiles and a long K.",
            each="All CTAs that have a part of a tile, a share of its rows each: a CTA stores its parts and then waits "
            "for those of the others. Tiles are cut as with last, and are added up in less time. A CTA that has "
            "waited for long leaves its share to the others, which may need its SM to begin. Choose it for few tiles "
            "and a long K, of which a tile has many parts.",
        ),
    )
    pdl: bool = Field(
        False,
        description="Programmatic dependent launch.",
        json_schema_extra=choices(
            {
                False: "a launch begins when the kernel before it in the stream has ended.",
                True: "CTAs start while the kernel before still runs, and wait for its end before they touch memory. "
                "Choose it for short kernels that follow one another.",
            }
        ),
    )
    prefetch: int = Field(
        0,
        ge=0,
        le=16,
        description="sm90 with pdl, persistent: slots of the first tiles that consumers prefetch into L2 while the "
        "producer waits for the preceding kernel, each line once. A CTA without tasks prefetches nothing, as that was "
        "measured to be slower.",
    )


class Cluster(SpecModel):
    m: Literal[1, 2, 4] = Field(
        1,
        description="CTAs of a cluster along M; they share a tile of B. sm90: with CTAs along N, 8 in all at most. "
        "sm100: 2 at most, by multiplying together (2-CTA MMA).",
    )
    n: Literal[1, 2, 4, 8] = Field(1, description="CTAs of a cluster along N; they share a tile of A.")
    k: Literal[1, 2, 4, 8] = Field(
        1,
        description="CTAs of a cluster along K (sm90): each multiplies a part of K, and they add up their sums through "
        "distributed shared memory, each its columns of the tile.",
    )
    multicast: tuple[Literal["a", "b"], ...] | None = Field(
        None,
        description="Operands loaded once for the CTAs that share them. Default: all that are shared.",
        json_schema_extra=choices(
            a="The CTAs of a cluster along N share a tile of A.",
            b="The CTAs of a cluster along M share a tile of B.",
        ),
    )
    protocol: Literal["leader", "rendezvous"] = Field(
        "leader",
        description="sm100, cluster.m 2: how the first of two CTAs learns that it may multiply for both.",
        json_schema_extra=choices(
            leader="The loads of both CTAs complete on the first one's barrier, which counts the bytes of both: no hop "
            "more. Choose it unless measured otherwise.",
            rendezvous="Each CTA waits for its own loads, and the second tells the first: one arrival across the "
            "cluster a slot, and each barrier counts its own bytes only.",
        ),
    )


class Cache(SpecModel):
    a: Eviction = Field("none", description="L2 hint of the loads of A.", json_schema_extra=meanings.EVICTION)
    b: Eviction = Field("none", description="L2 hint of the loads of B.", json_schema_extra=meanings.EVICTION)
    c: Eviction = Field("none", description="L2 hint of the stores of C.", json_schema_extra=meanings.EVICTION)


class Epilogue(SpecModel):
    ops: tuple[Op, ...] = Field(
        (),
        description="Applied to the accumulator in this order, in fp32.",
        json_schema_extra=choices(
            bias="Adds a vector of N elements, an argument of the host function.",
            relu="max(x, 0).",
            gelu="x * Phi(x), by erf: torch's default gelu. It takes many registers of a large subtile.",
            silu="x * sigmoid(x).",
            swiglu="gate * sigmoid(gate) * up: columns of gate (the even ones) and of up take turns in B. For the "
            "first layer of an MLP whose weights are interleaved. It comes last, as C has half of the columns.",
            residual="Adds a matrix (M, N), an argument, read as C is written.",
            scale="Multiplies by one number, an argument: the scale of fp8 tensors.",
            scale_rowwise="Multiplies by a number for each row and one for each column: fp8 with rowwise scales.",
        ),
    )
    subtiles: Literal[1, 2, 4, 8] = Field(
        2,
        description="Column slices in which a tile of C is converted and stored; sm100 also has 8, and 4 by default. "
        "Where products share the columns, at least so many, each as wide as the narrowest product at most.",
    )
    interleave: bool = Field(False, description="sm100, two row groups: store their subtiles in turns.")
    rounding: Literal["nearest", "stochastic"] = Field(
        "nearest",
        description="How fp32 becomes C's type.",
        json_schema_extra=choices(
            nearest="To the nearest value, ties to even, as torch does.",
            stochastic="sm100: up or down at random, by the distance to either; the host function takes a seed, and "
            "the same seed gives the same bits. For sums over many steps in low precision.",
        ),
    )
    store: Literal["tma", "direct"] = Field(
        "tma",
        description="How C leaves.",
        json_schema_extra=choices(
            tma="By TMA from staging buffers in SMEM: whole lines, and the task goes on meanwhile. Choose it unless "
            "SMEM is needed for the ring. Rows of C must lie at multiples of 16 bytes.",
            direct="From registers, masked: no staging buffers, any row stride, and stores that are not coalesced.",
        ),
    )


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
