"""The parameter models of gdpa_bwd and hstu_bwd: attention_bwd's keys, and the forward's masks and activations."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from tlxgen.families.attention_bwd.spec import KeysSpec, Operands
from tlxgen.families.attention_fwd.spec import ForwardSpec
from tlxgen.families.gdpa.spec import GdpaSpec, GdpaWeights
from tlxgen.families.hstu.spec import HstuSpec, HstuWeights, Scaled


class Problem(Operands):
    """dQ (Tq, H, D), dK and dV (Tk, Hkv, D) from Q, K, V and dO of sequences end to end; Hkv divides H."""


class HstuProblem(Scaled, Problem):
    """dQ, dK and dV of O = attn_scale silu(alpha Q K^T) V. Queries are the last of the keys, or all of them."""


class JaggedBwdSpec(KeysSpec):
    """The gradients of a function of each score, of sequences end to end."""

    archs: ClassVar[tuple[str, ...]] = ("sm90", "sm100")
    of: ClassVar[type[ForwardSpec]]

    @property
    def lengths(self) -> str:
        return "packed"

    @property
    def forward(self) -> Any:
        """The spec of the forward."""
        given = self.model_dump(include={"name", "arch", "problem", "mask", "activation"})
        return self.of.model_validate(given | {"kernel": self.kernel.removesuffix("_bwd")})


class GdpaBwdSpec(GdpaWeights, JaggedBwdSpec):
    """dQ, dK and dV of O = qk_scale f(Q K^T) V."""

    of = GdpaSpec

    kernel: Literal["gdpa_bwd"] = Field(description="The kernel family.")
    problem: Problem = Field(Problem(), description="Operands and results.")


class HstuBwdSpec(HstuWeights, JaggedBwdSpec):
    """dQ, dK and dV of O = attn_scale silu(alpha Q K^T) V."""

    of = HstuSpec

    kernel: Literal["hstu_bwd"] = Field(description="The kernel family.")
    problem: HstuProblem = Field(HstuProblem(), description="Operands and results.")
