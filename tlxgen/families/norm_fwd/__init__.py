"""Layer norm and RMSNorm, forward: each row in one CTA, or in those of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from tlxgen.families.base import Family
from tlxgen.families.kit import Extent

from .spec import AXES, NormSpec


class NormFwd(Family):
    """The norm_fwd family."""

    name = "norm_fwd"
    model = NormSpec
    axes = AXES
    first_axes = {"problem.norm": ("layer", "rms"), "tile.n": (4096, 8192)}
    extents = (Extent("M", "rows"), Extent("N", "columns", 2**18))
    shapes = ((8192, 8192), (4096, 32768), (1024, 131072), (32768, 1024), (65536, 512), (3000, 5000))

    def fullest(self, specs: Sequence[NormSpec]) -> NormSpec:
        return max(specs, key=lambda spec: spec.cluster.n)
