"""The axes of an attention_bwd_dq spec that only change constants, and those that rules are broken by."""

from __future__ import annotations

from tlxgen.families.kit import Axis

AXES = (
    Axis("tile.n", "BLOCK_N", "keys of a step", blame=("accumulator", "instruction")),
    Axis("rings.kv.stages", "KV_STAGES", "slots of the rings of K and V", blame=("smem",)),
    Axis("tasks.mma.registers", blame=("registers",)),
    Axis("tile.m", blame=("wgmma-m",)),
)
