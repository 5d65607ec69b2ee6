"""What an attention_fwd spec may say: its keys, the defaults that depend on others, and the faults that span keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from tlxgen.spec import Fault, filled

from . import faults
from .keys import AttentionKeys, ForwardKeys


class ForwardSpec(ForwardKeys):
    """The defaults and the faults of all forward families. `sm100`: those of the one that are others there."""

    sm100: ClassVar[Mapping[str, Any]] = {}

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        """Fills in what an architecture, or a large head dimension, has other defaults for."""
        if not isinstance(data, Mapping):
            return data
        if data.get("arch") == "sm100":
            schedule = data.get("schedule")
            once = isinstance(schedule, Mapping) and schedule.get("kind") == "grid"
            data = filled(data, cls.sm100)
            return filled(filled(data, SM100_GRID) if once else data, SM100)
        return filled(data, WIDE) if cls.crowded(data) else data

    @classmethod
    def crowded(cls, data: Mapping[str, Any]) -> bool:
        """Whether registers of sm90 do not suffice for Q, too."""
        problem = data.get("problem")
        head_dim = problem.get("head_dim") if isinstance(problem, Mapping) else None
        return isinstance(head_dim, int) and head_dim > 128

    def faults(self) -> list[Fault]:
        return faults.of(self)


class AttentionSpec(AttentionKeys, ForwardSpec):
    """O = softmax(scale Q K^T) V."""

    in_source = frozenset({"softmax.polynomial", "softmax.expression"})

    @model_validator(mode="before")
    @classmethod
    def _with_others(cls, data: Any) -> Any:
        """Fills in what sequences end to end, a bias of four bytes, or an expression have another default for."""
        problem = data.get("problem") if isinstance(data, Mapping) else None
        if isinstance(problem, Mapping) and problem.get("lengths") == "packed" and data.get("arch") == "sm90":
            data = filled(data, PACKED)
        if isinstance(data, Mapping) and data.get("arch") == "sm90" and _alone(data):
            data = filled(data, ALONE)
        softmax = data.get("softmax") if isinstance(data, Mapping) else None
        if not isinstance(softmax, Mapping) or data.get("arch") != "sm90":
            return data
        wide, modified = softmax.get("bias") == "fp32", softmax.get("expression") is not None
        return filled(data, WIDE_BIAS if wide else MODIFIED) if wide or modified else data


def _alone(data: Mapping[str, Any]) -> bool:
    """Whether consumers are faster without turns: under a window, in fp8, or in packed sequences at head_dim 64
    (docs/measurements.md, "Forward attention: what was tried")."""
    mask, problem = (found if isinstance(found := data.get(key), Mapping) else {} for key in ("mask", "problem"))
    if mask.get("kind") != "window" or problem.get("head_dim", 128) not in (64, 128):
        return False
    packed = problem.get("lengths") == "packed" and problem.get("head_dim") == 64
    return packed or problem.get("dtype") == "e4m3"


# What sm100 has other defaults for: one warp issues tcgen05 for two groups of 128 queries, and K and V share a ring.
SM100: Mapping[str, Any] = {
    "tile": {"m": 256},
    "tasks": {"load": {"default": False}, "mma": {"warps": 1, "registers": 40, "turns": "none", "keep": "none"}},
    "rings": {"kv": {"storage": "shared", "stages": 3, "empty": "leader"}},
}

# A CTA that has one item needs less beside its loops: what one-warp tasks leave, the correction can use.
SM100_GRID: Mapping[str, Any] = {"tasks": {"mma": {"registers": 24}}}

# On sm90 the accumulator of 256 columns takes half of a consumer's registers.
WIDE: Mapping[str, Any] = {"tasks": {"mma": {"keep": "none"}}}

# However CTAs share out the tiles of sequences of unequal lengths, some have much more to do.
PACKED: Mapping[str, Any] = {"schedule": {"kind": "dynamic"}}

# Consumers multiply when they can.
ALONE: Mapping[str, Any] = {"tasks": {"mma": {"turns": "none"}}}

# A tile of it takes as much SMEM as two of K, and an address for each row that a thread reads.
WIDE_BIAS: Mapping[str, Any] = {"rings": {"o": {"reuse": "q"}}, "tasks": {"mma": {"keep": "none"}}}

# Places of queries and keys take registers, beside which those of Q would spill.
MODIFIED: Mapping[str, Any] = {"tasks": {"mma": {"keep": "none"}}}
