"""Who does what in a backward: the tasks of a spec."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlxgen.spec import SpecModel, choices


class LoadTask(SpecModel):
    default: Literal[True] = Field(
        True, description="The TMA producer is the default task: leftover registers suffice."
    )


class Consumers(SpecModel):
    registers: int | None = Field(
        240,
        description="Registers a thread, requested by setmaxnreg; null leaves the even split. sm100: of each one-warp "
        "task, 40 by default, 56 of two CTAs.",
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


class MmaTask(Consumers):
    replicate: Literal[2] = Field(2, description="Consumers. Each computes dK and dV of its keys, and a part of dQ.")
    warps: Literal[4] = Field(4, description="Warps a consumer (a warpgroup).")


class Tasks(SpecModel):
    load: LoadTask = Field(LoadTask(), description="TMA producer.")
    mma: MmaTask = Field(MmaTask(), description="Consumers.")


class AnyLoadTask(SpecModel):
    default: bool = Field(
        True,
        description="Whether the TMA producer is the default task: on sm90 it is, on sm100 that of P and dS is.",
    )


class AnyMmaTask(Consumers):
    replicate: Literal[1, 2] = Field(
        2,
        description="Consumers: each has dK and dV of its own keys, and a part of dQ. sm100: 1, for all products.",
    )
    warps: Literal[1, 4] = Field(4, description="Warps a consumer (a warpgroup). sm100: 1, one thread issues tcgen05.")
    order: Literal["dk_dq_dp", "dq_dk_dp", "dk_dp_dq"] = Field(
        "dk_dq_dp",
        description="sm100: order of the products of a step between S, the first, and dV, the last. dK and dQ are "
        "of the step before.",
        json_schema_extra=choices(
            dk_dq_dp="dQ may lie where dS lay. The only one for a head_dim of 128, whose sums fill tensor memory.",
            dq_dk_dp="dQ, which has the longest way, first. Choose it where dQ has columns of its own.",
            dk_dp_dq="dP before dQ, so that the exponentials' task waits less; dS has a barrier of its own.",
        ),
    )


class ComputeTask(SpecModel):
    """sm100: from scores and their gradient to P and dS. It has the registers that the other tasks leave."""

    warps: Literal[4, 8] = Field(8, description="Warps. Two warpgroups share the columns of a tile.")
    parts: Literal[1, 2, 4] = Field(
        2, description="Parts of the columns of a tile, of which a thread reads one at a time."
    )


class ReduceTask(SpecModel):
    """sm100: adds dQ up in global memory, and stores dV and dK at last."""

    registers: int | None = Field(88, description="Registers a thread; null, for all tasks: the even split.")


class AnyTasks(SpecModel):
    load: AnyLoadTask = Field(AnyLoadTask(), description="TMA producer.")
    mma: AnyMmaTask = Field(AnyMmaTask(), description="Who multiplies.")
    compute: ComputeTask = Field(ComputeTask(), description="sm100: from scores to P and dS.")
    reduce: ReduceTask = Field(ReduceTask(), description="sm100: dQ, dV and dK on their way out.")
