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
        """All that some variant has: a cluster, slots for rows, sums of columns that another kernel makes."""
        found: dict[str, object] = {"cluster": max((s.cluster for s in specs), key=lambda cluster: cluster.n)}
        found["rings"] = max((s.rings for s in specs), key=lambda rings: rings.rows.stages)
        found["tasks"] = min((s.tasks for s in specs), key=lambda tasks: tasks.reduce.sums)
        return specs[0].model_copy(update=found)
