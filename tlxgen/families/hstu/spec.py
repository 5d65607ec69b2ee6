"""The parameter model of hstu: attention_fwd's keys, and those of histories and targets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tlxgen.families.attention.activations import ACTIVATIONS
from tlxgen.families.attention.weights import History
from tlxgen.families.gdpa.spec import ActivationSpec
from tlxgen.families.gdpa.spec import Problem as GdpaProblem
from tlxgen.families.kit import faults
from tlxgen.spec import CommonSpec, Fault, SpecModel, choices


class Scaled(SpecModel):
    """What is O's alone."""

    attn_scale: Literal["number", "rows"] = Field(
        "number",
        description="What O is multiplied by.",
        json_schema_extra=choices(number="One number, 1 / N say.", rows="A number for each query, as a tensor."),
    )


class Problem(Scaled, GdpaProblem):
    """O = attn_scale silu(alpha Q K^T) V for each head. Queries are the last of the keys, or all of them."""


class Mask(SpecModel):
    """Which keys a query sees, by its place among them."""

    causal: bool = Field(True, description="Whether a query sees keys up to its own only.")
    targets: bool = Field(
        False, description="Whether the last keys, `num_targets` of each sequence, see the history and themselves only."
    )
    contextual: bool = Field(
        False,
        description="Whether the first `contextual_seq_len` keys share a position and see all but targets.",
    )
    max_attn_len: bool = Field(False, description="Whether a query sees keys from so many places away only.")
    min_full_attn: bool = Field(
        False, description="Whether the last queries of a history, `min_full_attn_seq_len`, see all of it, and targets."
    )


class HstuWeights(CommonSpec):
    """attn_scale silu(alpha Q K^T), of a forward and of its backward."""

    problem: Any
    mask: Mask = Field(Mask(), description="Which keys a query sees.")

    @property
    def weights(self) -> dict[str, Any]:
        mask, rows = self.mask, self.problem.attn_scale == "rows"
        made = {"row": "activation", "activation_name": "silu", "activation": ACTIVATIONS["silu"], "alpha": True}
        made |= {"factor": "attn_scale", "row_factors": rows, "bottom_right": True}
        if not (mask.targets or mask.contextual or mask.max_attn_len):
            return made | {"mask": "causal" if mask.causal else "none", "bottom_right": mask.causal}
        history = History(mask.causal, mask.targets, mask.contextual, mask.max_attn_len, mask.min_full_attn)
        return made | {"mask": "history", "history": history}

    def faults(self) -> list[Fault]:
        mask = self.mask
        rules = faults.where(
            ("mask.max_attn_len", mask.max_attn_len and not mask.causal, "keys to the right are not counted: causal"),
            ("mask.min_full_attn", mask.min_full_attn and not mask.max_attn_len, "all queries see all: max_attn_len"),
        )
        return [*super().faults(), *rules]


class HstuSpec(HstuWeights, ActivationSpec):
    """O = attn_scale silu(alpha Q K^T) V."""

    kernel: Literal["hstu"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and result.")

    def faults(self) -> list[Fault]:
        wrong = self.problem.lengths != "packed", "sequences of HSTU lie end to end: packed"
        return [*super().faults(), *faults.where(("problem.lengths", *wrong))]
