"""The parameter model of gdpa: attention_fwd's keys, and the function of a score that is its weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from tlxgen.families.attention.activations import ACTIVATIONS
from tlxgen.families.attention_fwd import keys
from tlxgen.families.attention_fwd.spec import PACKED, ForwardSpec
from tlxgen.families.kit import meanings
from tlxgen.spec import CommonSpec, SpecModel, choices, filled


class Problem(keys.Problem):
    """O = qk_scale f(Q K^T) V for each head, with heads of Q, and of K and V, as attention has them."""

    dtype: Literal["fp16", "bf16"] = Field(
        "bf16",
        description="Element type of Q, K and V, to which weights are rounded, and of O.",
        json_schema_extra=meanings.of(meanings.DTYPE, "fp16", "bf16"),
    )
    lengths: Literal["dense", "packed"] = Field(
        "packed",
        description="How long the sequences are.",
        json_schema_extra=choices(
            dense="All sequences are as long as the tensor.",
            packed="(T, H, D) tensors of sequences end to end, with cu_seqlens for queries and keys: jagged.",
        ),
    )


class Mask(SpecModel):
    """Which keys a query sees."""

    kind: Literal["none", "window"] = Field(
        "none",
        description="Which keys a query sees.",
        json_schema_extra=choices(
            none="All keys of its sequence.",
            window="So many keys to the query's left and right, as arguments.",
        ),
    )


class ActivationSpec(ForwardSpec):
    """O = c f(Q K^T) V: on sm100 a thread holds half of a row of scores, which leaves registers to the others."""

    sm100 = {"tasks": {"softmax": {"registers": 160}}}

    @model_validator(mode="before")
    @classmethod
    def _drawn(cls, data: Any) -> Any:
        """Fills in that CTAs draw the tiles of jagged sequences on sm90. In a window there is little to do for each:
        to draw one takes longer than CTAs wait for each other (docs/measurements.md, "Jagged items that are drawn")."""
        if not isinstance(data, Mapping) or data.get("arch") != "sm90" or cls.windowed(data):
            return data
        problem = data.get("problem")
        dense = isinstance(problem, Mapping) and problem.get("lengths") == "dense"
        return data if dense else filled(data, PACKED)

    @classmethod
    def windowed(cls, data: Mapping[str, Any]) -> bool:
        """Whether a query sees so many keys around it."""
        mask = data.get("mask")
        return isinstance(mask, Mapping) and (mask.get("kind") == "window" or mask.get("max_attn_len") is True)

    @classmethod
    def crowded(cls, data: Mapping[str, Any]) -> bool:
        return super().crowded(data) or cls.windowed(data)


class GdpaWeights(CommonSpec):
    """qk_scale f(Q K^T), of a forward and of its backward."""

    mask: Mask = Field(Mask(), description="Which keys a query sees.")
    activation: Literal["raw", "relu", "leaky_relu", "relu_square", "hardswish", "silu", "fast_gelu", "gelu"] = Field(
        "fast_gelu",
        description="The function f of a score x.",
        json_schema_extra=choices({name: f"{a.meaning}." for name, a in ACTIVATIONS.items()}),
    )

    @property
    def weights(self) -> dict[str, Any]:
        made = {"row": "activation", "activation_name": self.activation, "activation": ACTIVATIONS[self.activation]}
        return made | {"mask": self.mask.kind, "bottom_right": False, "factor": "qk_scale"}


class GdpaSpec(GdpaWeights, ActivationSpec):
    """O = qk_scale f(Q K^T) V."""

    kernel: Literal["gdpa"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and result.")
