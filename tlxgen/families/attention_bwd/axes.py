"""The axes of an attention_bwd spec that only change constants, and those that rules are broken by."""

from __future__ import annotations

from tlxgen.families.kit import Axis

AXES = (
    Axis("rings.q.stages", "Q_STAGES", "slots of the ring of Q", blame=("smem", "q-ahead")),
    Axis("rings.do.stages", "DO_STAGES", "slots of the ring of dO"),
    Axis("tasks.mma.registers", blame=("registers", "accumulator")),
    Axis("tile.n", blame=("wgmma-m", "tcgen05-m")),
    Axis("tile.m", blame=("queries", "dq-parts")),
    Axis("rings.dq.stages"),
    Axis("rings.dq.reuse", blame=("tmem", "alias")),
    Axis("rings.ds.operand"),
    Axis("tasks.mma.order", blame=("order",)),
    Axis("tasks.compute.parts"),
    Axis("tasks.compute.warps"),
    Axis("tasks.reduce.registers"),
    Axis("tasks.mma.keep"),
    Axis("tasks.mma.ahead"),
    Axis("tasks.mma.meet", blame=("named-barriers",)),
)
