"""The axes of a gemm spec that only change constants, and those that rules are broken by."""

from __future__ import annotations

from tlxgen.families.kit import Axis
from tlxgen.plan.pieces import form, narrow

AXES = (
    Axis("tile.m", "BLOCK_M", "rows of a tile of C", blame=("wgmma-m", "tcgen05-m"), form=narrow),
    Axis(
        *("tile.n", "BLOCK_N", "columns of a tile of C"),
        blame=("accumulator", "instruction", "wgmma-n", "tcgen05-n"),
        form=form,
    ),
    Axis(
        *("tile.k", "BLOCK_K", "extent of K in a ring slot"),
        blame=("mbarrier-bytes", "wgmma-k", "tcgen05-k", "tma-box"),
    ),
    Axis("rings.ab.stages", "STAGES", "slots of the operand ring", blame=("smem", "ring-depth")),
    Axis(
        *("rings.c.stages", "C_STAGES", "staging buffers of C a replica"),
        has=lambda spec: spec.epilogue.store != "direct",
    ),
    Axis(
        *("rings.acc.stages", "ACC_STAGES", "accumulators in tensor memory"),
        blame=("tmem",),
        has=lambda spec: spec.arch == "sm100",
    ),
    Axis("schedule.group_m", "GROUP_M", "tile rows of a swizzle group"),
    Axis("schedule.split_k", "SPLIT_K", "parts that K is cut into", default=1),
    Axis("tasks.mma.registers", blame=("registers",)),
    Axis("tasks.mma.warps", blame=("threads",)),
    Axis("tasks.mma.replicate"),
    Axis("tasks.mma.order", blame=("named-barriers",)),
    Axis("problem.scaling", blame=("mx",)),
    Axis("epilogue.subtiles", blame=("subtile",)),
    Axis("epilogue.store"),
)
