"""The axes of a gemm spec that only change constants, and those that rules are broken by."""

from __future__ import annotations

from typing import Any

from tlxgen.families.kit import Axis
from tlxgen.plan.pieces import form, narrow


def _of_rows(value: int, spec: Any) -> str:
    """The form of tile.m: products share rows where these are the columns of an instruction, which may be narrow."""
    if spec.tasks.mma.columns == "whole":
        return ""
    word = form(value) if spec.tasks.mma.exchange else ""
    return f"{word}_of_rows" if word else narrow(value)


def _of_columns(value: int, spec: Any) -> str:
    return "" if spec.tasks.mma.columns == "whole" else form(value)


AXES = (
    Axis("tile.m", "BLOCK_M", "rows of a tile of C", blame=("wgmma-m", "tcgen05-m"), form=_of_rows),
    Axis(
        *("tile.n", "BLOCK_N", "columns of a tile of C"),
        blame=("accumulator", "instruction", "wgmma-n", "tcgen05-n"),
        form=_of_columns,
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
