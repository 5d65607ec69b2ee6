"""The axes of an attention_fwd spec that only change constants, and those that rules are broken by."""

from __future__ import annotations

from tlxgen.families.kit import Axis

# Those of all families whose forward this is.
SHARED: tuple[Axis, ...] = (
    Axis("tile.m", "BLOCK_M", "queries a CTA", blame=("wgmma-m", "tcgen05-m", "block-m")),
    Axis(
        *("tile.n", "BLOCK_N", "keys of a tile"),
        blame=("accumulator", "instruction", "tmem", "wgmma-n", "tcgen05-n", "block-n"),
    ),
    Axis(
        *("rings.q.stages", "Q_STAGES", "buffers of Q a consumer"),
        has=lambda spec: spec.schedule.kind != "grid",
    ),
    Axis("rings.kv.stages", "KV_STAGES", "slots of the rings of K and V", blame=("smem", "ring-depth")),
    Axis("tasks.mma.registers", blame=("registers",)),
    Axis("tasks.mma.replicate", blame=("threads",)),
    Axis("tasks.mma.turns", blame=("named-barriers",)),
    Axis("tasks.mma.overlap"),
    Axis("tasks.mma.keep"),
    Axis("tasks.softmax.registers"),
    Axis("rings.s.slices", blame=("slices",)),
    Axis("rings.o.reuse", blame=("alias",)),
    Axis("rings.o.parts"),
)
AXES: tuple[Axis, ...] = (
    *SHARED,
    Axis("rings.bias.stages", "BIAS_STAGES", "slots of the bias a consumer", has=lambda s: bool(s.bias), default=1),
)
