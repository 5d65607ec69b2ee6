"""What a gemm spec may say: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

import builtins
from typing import Literal

from pydantic import Field, model_validator

from tlxgen.arch import DTYPES, Sm90
from tlxgen.spec import CommonSpec, SpecFault, SpecModel

Operand16 = Literal["fp16", "bf16"]
OperandType = Literal["fp16", "bf16", "e4m3", "e5m2"]
Eviction = Literal["none", "evict_first", "evict_last"]
Op = Literal["bias", "relu", "gelu", "silu", "residual", "scale", "scale_rowwise"]
WITH_TENSORS = ("bias", "residual", "scale", "scale_rowwise")
# What a generated module or its kernels define themselves, so that a spec may not give it a second meaning.
_IMPORTS = {"functools", "torch", "triton", "tl", "tlx", "knobs", "driver", "make_tensordesc_arg"}
_FUNCTIONS = {"ring_slot", "tile_at", "epilogue", "halves", "quarters", "sm_count", "pick_config", "describe", "check"}
_HOST = {"clocks", "layout", "prepare", "empty_rows", "pick"}
MODULE_NAMES = _IMPORTS | _FUNCTIONS | _HOST
_SIZES = {"M", "N", "K", "BLOCK_M", "BLOCK_N", "BLOCK_K", "STAGES", "C_STAGES", "GROUP_M", "SPLIT_K"}
KERNEL_NAMES = _SIZES | {"SLOTS", "CONFIGS", "LAUNCHES", "MODULES", "TUNED"}


class Operand(SpecModel):
    dtype: OperandType = Field("bf16", description="Element type of the operand.")
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
    accumulate: Literal["fp32"] = Field("fp32", description="Type of the accumulator.")


class TileShape(SpecModel):
    m: int = Field(128, ge=64, le=256, description="Rows of C a tile (a pingpong replica owns a whole tile). Elements.")
    n: int = Field(256, ge=16, le=256, description="Columns of C a tile. Elements.")
    k: int = Field(64, ge=16, le=512, description="Extent of K a ring slot holds. Elements.")


class LoadTask(SpecModel):
    default: Literal[True] = Field(
        True, description="The TMA producer is the default task: leftover registers suffice."
    )


class MmaTask(SpecModel):
    replicate: int = Field(2, ge=1, le=2, description="Consumer replicas: tasks that issue wgmma and run the epilogue.")
    warps: Literal[4, 8] = Field(4, description="Warps a replica (a warpgroup is 4).")
    registers: int | None = Field(
        232, description="Registers a thread, requested by setmaxnreg; null leaves the even split."
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


class StoreTask(SpecModel):
    """A task of its own that issues the TMA stores of C."""

    warps: Literal[1, 4] = Field(1, description="Warps of the store task.")
    registers: int = Field(24, description="Registers a thread of the store task.")
    guard: str = Field("EPILOGUE_TASK", pattern=r"^[A-Z][A-Z0-9_]*$", description="Name of its constexpr guard.")


class Tasks(SpecModel):
    specialized: bool = Field(
        True, description="True: async tasks for loads and wgmma. False: one task that does both, pipelined."
    )
    load: LoadTask = Field(LoadTask(), description="TMA producer.")
    mma: MmaTask = Field(MmaTask(), description="wgmma consumers.")
    epilogue: StoreTask | None = Field(None, description="Dedicated TMA-store task; absent: the consumers store.")


class OperandRing(SpecModel):
    stages: int = Field(4, ge=1, le=64, description="Slots of the A and B ring: K tiles in flight.")
    full: Literal["shared", "separate"] = Field(
        "shared", description="A and B arrive on one full barrier, or on one each."
    )
    empty: Literal["leader", "warp"] = Field(
        "leader", description="How a slot is released: one arrival a task, or one a thread without a task-wide sync."
    )


class OutputRing(SpecModel):
    stages: int = Field(1, ge=1, le=8, description="Staging buffers of C for each replica, a subtile each.")
    empty: Literal["leader", "warp"] = Field("leader", description="Barrier kind between consumers and the store task.")


class Rings(SpecModel):
    ab: OperandRing = Field(OperandRing(), description="Operand tiles from TMA loads to wgmma.")
    c: OutputRing = Field(OutputRing(), description="Output subtiles on their way to TMA stores.")


class Schedule(SpecModel):
    kind: Literal["grid", "persistent"] = Field(
        "persistent", description="Tile source: one tile a CTA, or CTAs that stay and walk the tiles."
    )
    group_m: int = Field(8, ge=1, le=1024, description="Tile rows a swizzle group walks before the next column. Tiles.")
    split_k: int = Field(1, ge=1, le=64, description="Parts that K is cut into, summed by a second kernel.")


class Cluster(SpecModel):
    m: Literal[1, 2] = Field(1, description="CTAs of a cluster along M; they share a tile of B.")
    n: Literal[1, 2] = Field(1, description="CTAs of a cluster along N; they share a tile of A.")
    multicast: tuple[Literal["a", "b"], ...] | None = Field(
        None, description="Operands loaded once for the cluster. Default: the shared one."
    )


class Cache(SpecModel):
    a: Eviction = Field("none", description="L2 hint of the loads of A.")
    b: Eviction = Field("none", description="L2 hint of the loads of B.")
    c: Eviction = Field("none", description="L2 hint of the stores of C.")


class Epilogue(SpecModel):
    ops: tuple[Op, ...] = Field((), description="Applied to the accumulator in this order, in fp32.")
    subtiles: Literal[1, 2, 4] = Field(2, description="Column slices in which a tile of C is converted and stored.")
    store: Literal["tma", "direct"] = Field("tma", description="By TMA from staging buffers, or from registers.")


class GemmSpec(CommonSpec):
    """C = epilogue(A @ B)."""

    kernel: Literal["gemm"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and result.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")
    schedule: Schedule = Field(Schedule(), description="Where a CTA's tiles come from.")
    cluster: Cluster = Field(Cluster(), description="Thread block cluster.")
    cache: Cache = Field(Cache(), description="L2 eviction hints.")
    epilogue: Epilogue = Field(Epilogue(), description="From accumulator to C.")

    @model_validator(mode="after")
    def _combinations(self) -> GemmSpec:
        faults = [*_names(self), *_roles(self), *_operands(self), *_cluster(self), *_epilogue(self)]
        if faults:
            raise SpecFault(*faults)
        return self


Fault = tuple[tuple[str | int, ...], str]


def _names(spec: GemmSpec) -> list[Fault]:
    faults: list[Fault] = []
    if spec.name in MODULE_NAMES or hasattr(builtins, spec.name):
        faults.append((("name",), f"the module needs the name {spec.name} for something else"))
    guard = spec.tasks.epilogue.guard if spec.tasks.epilogue else ""
    if guard in KERNEL_NAMES:
        faults.append((("tasks", "epilogue", "guard"), f"the kernel needs the name {guard} for something else"))
    return faults


def _roles(spec: GemmSpec) -> list[Fault]:
    mma, faults = spec.tasks.mma, list[Fault]()
    if not spec.tasks.specialized:
        if spec.cluster.m * spec.cluster.n > 1:
            faults.append((("cluster",), "a cluster's shared loads need a producer: tasks.specialized must be true"))
        if spec.tasks.epilogue:
            faults.append((("tasks", "epilogue"), "a store task needs tasks.specialized: true"))
        if mma.split == "pingpong":
            faults.append((("tasks", "mma", "split"), "pingpong needs two specialised consumers"))
        if "replicate" in mma.model_fields_set and mma.replicate != 1:
            faults.append((("tasks", "mma", "replicate"), "the un-specialised form has one task: replicate is 1"))
    elif mma.split == "pingpong":
        if mma.replicate != 2:
            faults.append((("tasks", "mma", "replicate"), f"pingpong is played by 2 replicas, not {mma.replicate}"))
        if spec.schedule.kind != "persistent":
            faults.append(
                (("schedule", "kind"), "pingpong alternates between tiles: it needs schedule.kind persistent")
            )
    for path, registers in ((("tasks", "mma"), mma.registers), (("tasks", "epilogue"), _store_registers(spec))):
        if registers is not None and (registers % 8 or not 24 <= registers <= 240):
            faults.append(((*path, "registers"), f"setmaxnreg takes a multiple of 8 in 24..240, not {registers}"))
    names = {spec.tasks.epilogue.guard} if spec.tasks.epilogue else set[str]()
    for name in spec.guards:
        if name not in names:
            known = f"this spec has {', '.join(sorted(names))}" if names else "no task of this spec has a guard"
            hint = ", and the default task cannot have one" if name.startswith("LOAD") else ""
            faults.append((("guards", name), f"no task is guarded by {name}: {known}{hint}"))
    return faults


def _store_registers(spec: GemmSpec) -> int | None:
    return spec.tasks.epilogue.registers if spec.tasks.epilogue else None


def _operands(spec: GemmSpec) -> list[Fault]:
    a, b, faults = spec.problem.a, spec.problem.b, list[Fault]()
    if spec.arch != "sm90":
        faults.append((("arch",), f"the gemm family does not target {spec.arch} yet; it targets sm90"))
    if DTYPES[a.dtype].bits != DTYPES[b.dtype].bits or (a.dtype != b.dtype and not DTYPES[a.dtype].is_fp8):
        faults.append((("problem", "b", "dtype"), f"wgmma cannot multiply {a.dtype} by {b.dtype}"))
    rule = "wgmma reads fp8 operands K-major only"
    if not Sm90.transposable(DTYPES[a.dtype]) and a.layout != "row":
        faults.append((("problem", "a", "layout"), f"A of {a.dtype} must be row-major: {rule}"))
    if not Sm90.transposable(DTYPES[b.dtype]) and b.layout != "col":
        faults.append((("problem", "b", "layout"), f"B of {b.dtype} must be column-major: {rule}"))
    for axis in ("m", "n", "k"):
        extent = getattr(spec.tile, axis)
        if extent & (extent - 1):
            faults.append((("tile", axis), f"a tile extent is a power of two, not {extent}"))
    return faults


def _cluster(spec: GemmSpec) -> list[Fault]:
    m, n, multicast = spec.cluster.m, spec.cluster.n, spec.cluster.multicast
    if m * n > 2:
        return [(("cluster", "n"), f"a cluster has 1 or 2 CTAs, not {m} x {n}")]
    shared = "b" if m == 2 else "a" if n == 2 else None
    faults: list[Fault] = []
    for operand in multicast or ():
        if shared is None:
            faults.append((("cluster", "multicast"), "multicast needs a cluster of 2 CTAs (cluster.m or cluster.n)"))
        elif operand != shared:
            axis = "m" if m == 2 else "n"
            text = f"CTAs along {axis} hold different tiles of {operand}: only {shared} can be multicast"
            faults.append((("cluster", "multicast"), text))
    if multicast is not None and not multicast and shared:
        faults.append((("cluster", "multicast"), "a cluster that multicasts nothing does nothing: leave it out"))
    return faults


def _epilogue(spec: GemmSpec) -> list[Fault]:
    faults: list[Fault] = []
    for i, op in enumerate(spec.epilogue.ops):
        if op in WITH_TENSORS and op in spec.epilogue.ops[:i]:
            faults.append((("epilogue", "ops", i), f"{op} takes a tensor of its own and can stand once"))
    if spec.epilogue.store == "direct" and spec.tasks.epilogue:
        faults.append((("epilogue", "store"), "the store task stores by TMA: epilogue.store must be tma"))
    return faults
