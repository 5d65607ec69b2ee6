"""What an attention_bwd spec may say: the parameter model, with every default that a good engineer would choose."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from tlxgen.families import kit
from tlxgen.families.kit import meanings
from tlxgen.spec import CommonSpec, Fault, SpecModel, choices


class Operands(SpecModel):
    """dQ (B, H, Nq, D), dK and dV (B, Hkv, Nk, D) from Q, K, V, O, dO and the log-sum-exp of the scores; Hkv divides H.

    Multi-head, grouped-query and multi-query attention are one kernel: Hkv is an argument.
    """

    dtype: Literal["fp16", "bf16"] = Field(
        "bf16",
        description="Element type of Q, K, V, O and of all gradients.",
        json_schema_extra=meanings.of(meanings.DTYPE, "fp16", "bf16"),
    )
    head_dim: Literal[64, 128] = Field(128, description="D: elements of a row of Q, K, V and O.")
    accumulate: Literal["fp32"] = Field("fp32", description="Type of scores, probabilities and accumulators.")


class Problem(Operands):
    gradients: Literal["qkv", "kv"] = Field(
        "qkv",
        description="Which gradients the kernel makes.",
        json_schema_extra=choices(
            qkv="All three, in 5 products; the parts of dQ are added up by TMA in no fixed order. The fastest.",
            kv="dK and dV, the same bits every time; the family attention_bwd_dq makes dQ, at 7 products in all. "
            "Choose it where runs must be reproducible.",
        ),
    )


class Mask(SpecModel):
    """Which keys a query sees, besides those past the end of the sequence, which none does."""

    kind: Literal["none", "causal"] = Field(
        "none",
        description="Which keys a query sees.",
        json_schema_extra=choices(
            none="All keys: encoders and cross-attention.",
            causal="Keys up to the query's own; tiles of which no query sees a key are skipped.",
        ),
    )
    align: Literal["top_left", "bottom_right"] = Field(
        "top_left",
        description="Position of query i among the keys where Nq and Nk differ.",
        json_schema_extra=meanings.ALIGN,
    )


class TileShape(SpecModel):
    m: int | None = Field(
        None, ge=64, le=128, description="Queries of a step. Default: 8192 / head_dim, a part of dQ for each consumer."
    )
    n: int = Field(128, ge=64, le=256, description="Keys a CTA, 64 a consumer. Rows.")


class LoadTask(SpecModel):
    default: Literal[True] = Field(
        True, description="The TMA producer is the default task: leftover registers suffice."
    )


class MmaTask(SpecModel):
    replicate: Literal[2] = Field(2, description="Consumers. Each computes dK and dV of its keys, and a part of dQ.")
    warps: Literal[4] = Field(4, description="Warps a consumer (a warpgroup).")
    registers: int | None = Field(
        240, description="Registers a thread, requested by setmaxnreg; null leaves the even split."
    )
    meet: Literal["named", "mbarrier"] = Field(
        "mbarrier",
        description="How consumers hear that the dS of a step is stored.",
        json_schema_extra=choices(
            named="All stop at a named barrier: no memory, four syncs a step.",
            mbarrier="Each arrives and goes on with dK, and waits where it needs the others' dS: two syncs a step. "
            "Choose it unless measured otherwise; tasks.mma.ahead needs it.",
        ),
    )
    ahead: bool | None = Field(
        None,
        description="K Q^T of the next step is issued in this one, and runs while dQ is stored. Needs mbarrier. "
        "Default: for head_dim 128.",
    )
    keep: Literal["none", "k", "v", "kv"] | None = Field(
        None,
        description="Whose rows stay in registers, as left operands of wgmma that take nothing out of SMEM. Default: v "
        "for head_dim 64, unless consumers meet at a named barrier.",
        json_schema_extra=choices(
            none="None: all operands are read out of SMEM. For head_dim 128, whose registers are full.",
            k="K of the consumer's keys.",
            v="V of the consumer's keys: the fastest for head_dim 64.",
            kv="Both, where registers are left.",
        ),
    )


class Tasks(SpecModel):
    load: LoadTask = Field(LoadTask(), description="TMA producer.")
    mma: MmaTask = Field(MmaTask(), description="Consumers.")


class StepRing(SpecModel):
    stages: int = Field(2, ge=1, le=16, description="Slots of the ring.")


class PartRing(SpecModel):
    stages: int | None = Field(
        None,
        ge=1,
        le=2,
        description="Buffers a consumer. Default: 2 where consumers run ahead and Q and dO have 2 slots.",
    )


class Rings(SpecModel):
    q: StepRing = Field(StepRing(), description="Tiles of Q, and the log-sum-exp of their rows.")
    do: StepRing = Field(StepRing(), description="Tiles of dO, and rowsum(O * dO) of their rows.")
    dq: PartRing = Field(PartRing(), description="Parts of dQ on their way out, and dK and dV at the end.")
    empty: Literal["warp", "leader"] = Field(
        "warp",
        description="How a slot is released: one arrival a thread, or one a task after a task-wide sync.",
        json_schema_extra=meanings.EMPTY,
    )


class BackwardSpec(CommonSpec):
    """What the families of the backward have in common."""

    problem: Operands = Field(Operands(), description="Operands and results.")
    mask: Mask = Field(Mask(), description="Which keys a query sees.")

    @property
    def gradients(self) -> tuple[str, ...]:
        """The outputs, in order."""
        raise NotImplementedError

    @property
    def weights(self) -> dict[str, Any]:
        """Which scores count, and what their weights are, as facts."""
        mask = self.mask
        return {"mask": mask.kind, "bottom_right": mask.align == "bottom_right" and mask.kind != "none"}


class KeysSpec(BackwardSpec):
    """dQ, dK and dV by a kernel that walks the queries of a tile of keys."""

    lengths: ClassVar[str] = "dense"

    tile: TileShape = Field(TileShape(), description="Extents of a tile.")
    tasks: Tasks = Field(Tasks(), description="Who does what.")
    rings: Rings = Field(Rings(), description="Multi-buffered tiles between tasks.")

    @property
    def gradients(self) -> tuple[str, ...]:
        return ("dq", "dk", "dv")

    @property
    def queries(self) -> int:
        """Queries of a step."""
        return self.tile.m or 8192 // self.problem.head_dim

    @property
    def ahead(self) -> bool:
        """Whether the next step's scores are issued in this one."""
        mma = self.tasks.mma
        return self.problem.head_dim == 128 and mma.meet == "mbarrier" if mma.ahead is None else mma.ahead

    @property
    def kept_rows(self) -> str:
        """Whose rows stay in registers."""
        mma = self.tasks.mma
        return mma.keep or (
            "v" if self.problem.head_dim == 64 and mma.meet == "mbarrier" and not self.ahead else "none"
        )

    @property
    def dq_stages(self) -> int:
        """Buffers a consumer for parts of dQ."""
        rings = self.rings
        fits = self.ahead and "dq" in self.gradients and rings.q.stages == rings.do.stages == 2
        return rings.dq.stages or (2 if fits and self.problem.head_dim == 128 else 1)

    def faults(self) -> list[Fault]:
        return [*faults_of(self, self.tasks.mma.registers), *_overlaps(self)]


class AttentionBwdSpec(KeysSpec):
    """dQ, dK and dV of O = softmax(scale Q K^T) V."""

    kernel: Literal["attention_bwd"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and results.")

    @property
    def gradients(self) -> tuple[str, ...]:
        return ("dq", "dk", "dv") if self.problem.gradients == "qkv" else ("dk", "dv")


def faults_of(spec: BackwardSpec, registers: int | None) -> list[Fault]:
    """What is wrong with names, registers and shapes, for a family of the backward."""
    return [
        *kit.faults.target(spec, "sm90"),
        *kit.faults.name(spec),
        *kit.faults.guards(spec),
        *kit.faults.registers({"tasks.mma.registers": registers}),
    ]


def _overlaps(spec: KeysSpec) -> list[Fault]:
    faults: list[Fault] = []
    if spec.tasks.mma.ahead and spec.tasks.mma.meet == "named":
        text = "a consumer that runs ahead does not stop at a named barrier: meet must be mbarrier"
        faults.append((("tasks", "mma", "ahead"), text))
    if "dq" not in spec.gradients and spec.dq_stages != 1:
        faults.append((("rings", "dq", "stages"), "without dQ, rings.dq.stages must be 1"))
    return faults
