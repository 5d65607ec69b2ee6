"""What an attention_fwd spec may say: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

import builtins
from typing import Literal

from pydantic import Field, model_validator

from tlxgen.spec import CommonSpec, SpecFault, SpecModel

HeadDim = Literal[64, 128, 256]
Eviction = Literal["none", "evict_first", "evict_last"]
# What a generated module or its kernel defines itself, so that a spec may not give it a second meaning.
_IMPORTS = {"functools", "math", "torch", "triton", "tl", "tlx", "create_ragged_descriptor", "to_ragged_indices"}
_KERNEL = {"ring_slot", "item_at", "sequence", "ragged", "key_tiles", "visible", "capped", "softmax"}
_HOST = {
    "sm_count",
    "pick_config",
    "describe",
    "check",
    "heads_together",
    "like_queries",
    "check_lengths",
    "lengths_of",
}
MODULE_NAMES = _IMPORTS | _KERNEL | _HOST


class Problem(SpecModel):
    """O (B, H, Nq, Dv) = softmax(scale Q (B, H, Nq, D) K^T (B, Hkv, Nk, D)) V (B, Hkv, Nk, Dv); Hkv divides H.

    Multi-head, grouped-query and multi-query attention are one kernel: Hkv is an argument.
    """

    dtype: Literal["fp16", "bf16"] = Field("bf16", description="Element type of Q, K, V and O.")
    head_dim: HeadDim = Field(128, description="D: elements of a row of Q and K.")
    head_dim_v: HeadDim | None = Field(None, description="Dv: elements of a row of V and O. Default: head_dim.")
    lengths: Literal["dense", "keys", "packed"] = Field(
        "dense",
        description="dense: all sequences are as long as the tensor. keys: an argument says how many keys of each "
        "batch entry are there. packed: (T, H, D) tensors of sequences end to end, with cu_seqlens.",
    )
    accumulate: Literal["fp32"] = Field("fp32", description="Type of scores, softmax and accumulator.")


class Mask(SpecModel):
    """Which keys a query sees, besides those past the end of the sequence, which none does."""

    kind: Literal["none", "causal", "window"] = Field(
        "none", description="causal: keys up to the query's own. window: so many to its left and right, as arguments."
    )
    align: Literal["top_left", "bottom_right"] = Field(
        "top_left",
        description="Where Nq and Nk differ: query i stands at key i, as in torch's is_causal, or at i + Nk - Nq.",
    )


class Softmax(SpecModel):
    softcap: bool = Field(False, description="Scores x become cap * tanh(x / cap); cap is an argument.")
    sink: bool = Field(False, description="A logit for each head that takes part in the sum and has no value.")
    lse: bool = Field(True, description="Whether the log-sum-exp of each row is an output, in fp32.")


class TileShape(SpecModel):
    m: int = Field(128, ge=64, le=256, description="Queries a CTA, shared out among the consumers. Rows.")
    n: int = Field(128, ge=32, le=256, description="Keys of a tile. Rows.")


class LoadTask(SpecModel):
    default: Literal[True] = Field(
        True, description="The TMA producer is the default task: leftover registers suffice."
    )


class MmaTask(SpecModel):
    replicate: int = Field(2, ge=1, le=3, description="Consumers: each multiplies and keeps the softmax of its rows.")
    warps: Literal[4] = Field(4, description="Warps a consumer (a warpgroup).")
    registers: int | None = Field(
        240, description="Registers a thread, requested by setmaxnreg; null leaves the even split."
    )
    overlap: bool = Field(
        True, description="Scores of the next tile and the product with V run on the tensor cores under the softmax."
    )
    turns: Literal["none", "named", "mbarrier"] = Field(
        "named", description="Pingpong: consumers issue wgmma in turns, one's softmax under the others' products."
    )
    keep: Literal["none", "q"] = Field(
        "none", description="q: a consumer's Q stays in registers, so that its wgmmas take only K and V out of SMEM."
    )


class Tasks(SpecModel):
    load: LoadTask = Field(LoadTask(), description="TMA producer.")
    mma: MmaTask = Field(MmaTask(), description="Consumers.")


class QueryRing(SpecModel):
    stages: int = Field(1, ge=1, le=2, description="Buffers of Q a consumer; two let a persistent CTA load ahead.")


class KeyValueRing(SpecModel):
    stages: int = Field(2, ge=1, le=16, description="Slots of K and of V, or of both together where they share a ring.")
    storage: Literal["separate", "shared"] = Field(
        "separate", description="K and V in a ring each, or tiles of both in one."
    )
    empty: Literal["leader", "warp"] = Field(
        "leader", description="How a slot is released: one arrival a task, or one a thread without a task-wide sync."
    )


class OutputRing(SpecModel):
    reuse: Literal["q", "none"] = Field(
        "none",
        description="none: O has buffers of its own. q: it leaves through the buffer of its Q, which saves memory and "
        "costs a fence before every wgmma that reads Q.",
    )


class Rings(SpecModel):
    q: QueryRing = Field(QueryRing(), description="Tiles of Q, a bank for each consumer.")
    kv: KeyValueRing = Field(KeyValueRing(), description="Tiles of K and V.")
    o: OutputRing = Field(OutputRing(), description="Tiles of O on their way to TMA stores.")


class Schedule(SpecModel):
    kind: Literal["grid", "persistent"] = Field(
        "persistent", description="Tile source: one tile of queries a CTA, or CTAs that stay and walk the tiles."
    )


class Cache(SpecModel):
    q: Eviction = Field("none", description="L2 hint of the loads of Q.")
    kv: Eviction = Field("none", description="L2 hint of the loads of K and V.")
    o: Eviction = Field("none", description="L2 hint of the stores of O.")


class AttentionSpec(CommonSpec):
    """O = softmax(scale Q K^T) V."""

    kernel: Literal["attention_fwd"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and result.")
    mask: Mask = Field(Mask(), description="Which keys a query sees.")
    softmax: Softmax = Field(Softmax(), description="From scores to probabilities.")
    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")
    schedule: Schedule = Field(Schedule(), description="Where a CTA's tiles come from.")
    cache: Cache = Field(Cache(), description="L2 eviction hints.")

    @property
    def head_dim_v(self) -> int:
        return self.problem.head_dim_v or self.problem.head_dim

    @model_validator(mode="after")
    def _combinations(self) -> AttentionSpec:
        faults = [*_names(self), *_roles(self), *_rings(self), *_shapes(self)]
        if faults:
            raise SpecFault(*faults)
        return self


Fault = tuple[tuple[str | int, ...], str]


def _names(spec: AttentionSpec) -> list[Fault]:
    faults: list[Fault] = []
    if spec.arch != "sm90":
        faults.append((("arch",), f"the attention_fwd family does not target {spec.arch} yet; it targets sm90"))
    if spec.name in MODULE_NAMES or hasattr(builtins, spec.name):
        faults.append((("name",), f"the module needs the name {spec.name} for something else"))
    for name in spec.guards:
        faults.append((("guards", name), f"no task is guarded by {name}: no task of this family has a guard"))
    return faults


def _roles(spec: AttentionSpec) -> list[Fault]:
    mma, faults = spec.tasks.mma, list[Fault]()
    registers = mma.registers
    if registers is not None and (registers % 8 or not 24 <= registers <= 240):
        text = f"setmaxnreg takes a multiple of 8 in 24..240, not {registers}"
        faults.append((("tasks", "mma", "registers"), text))
    if mma.turns != "none" and mma.replicate == 1:
        faults.append((("tasks", "mma", "turns"), "one consumer has nobody to take turns with: turns must be none"))
    return faults


def _rings(spec: AttentionSpec) -> list[Fault]:
    faults: list[Fault] = []
    n = spec.tile.n
    if n & (n - 1):
        faults.append((("tile", "n"), f"a tile of keys is a power of two, not {n}"))
    if spec.tile.m % spec.tasks.mma.replicate or (r := spec.tile.m // spec.tasks.mma.replicate) & (r - 1):
        text = f"{spec.tile.m} rows among {spec.tasks.mma.replicate} consumers: each needs the same power of two"
        faults.append((("tile", "m"), text))
    if spec.rings.kv.storage == "shared" and spec.problem.head_dim != spec.head_dim_v:
        text = f"rows of K ({spec.problem.head_dim}) and of V ({spec.head_dim_v}) differ: they cannot share a ring"
        faults.append((("rings", "kv", "storage"), text))
    if spec.rings.o.reuse == "q" and spec.problem.head_dim != spec.head_dim_v:
        text = f"rows of Q ({spec.problem.head_dim}) and of O ({spec.head_dim_v}) differ: O cannot take Q's place"
        faults.append((("rings", "o", "reuse"), text))
    if spec.schedule.kind == "grid" and spec.rings.q.stages != 1:
        faults.append((("rings", "q", "stages"), "a CTA of a grid loads Q once: stages is 1"))
    return faults


def _shapes(spec: AttentionSpec) -> list[Fault]:
    faults: list[Fault] = []
    for i, shape in enumerate(spec.check.shapes):
        if len(shape) != 5:
            faults.append((("check", "shapes", i), f"B, H, Hkv, Nq, Nk are 5 numbers, not {len(shape)}"))
        elif shape[1] % shape[2]:
            faults.append((("check", "shapes", i), f"{shape[1]} heads of Q are no multiple of {shape[2]} of K and V"))
    return faults
