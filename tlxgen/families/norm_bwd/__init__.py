"""Layer norm and RMSNorm, backward: dx, and the gradients by weight and bias in a fixed order of their sums."""

from __future__ import annotations

from collections.abc import Sequence

from tlxgen.families.norm_fwd import NormFwd

from .spec import AXES, NormBwdSpec


class NormBwd(NormFwd):
    """The norm_bwd family."""

    name = "norm_bwd"
    model = NormBwdSpec  # type: ignore[assignment]
    axes = AXES  # type: ignore[assignment]

    def fullest(self, specs: Sequence[NormBwdSpec]) -> NormBwdSpec:  # type: ignore[override]
        return max(specs, key=lambda spec: (spec.cluster.n > 1) + (spec.rings.rows.stages > 0))
