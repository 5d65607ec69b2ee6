"""Forward attention: O = softmax(scale Q K^T) V, warp-specialised, with overlap, turns, masks and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tlxgen.families.attention.common import EXTENTS, SHAPES, unequal_groups
from tlxgen.families.base import Family
from tlxgen.spec import CommonSpec

from .axes import AXES
from .spec import AttentionSpec


class AttentionFwd(Family):
    """The attention_fwd family."""

    name = "attention_fwd"
    model: ClassVar[type[CommonSpec]] = AttentionSpec
    axes = AXES
    first_axes = {"mask.kind": ("none", "causal")}
    extents = EXTENTS
    shapes = SHAPES
    computes: ClassVar[tuple[str, ...]] = (
        "problem",
        "mask",
        "softmax.softcap",
        "softmax.expression",
        "softmax.bias",
        "softmax.sink",
        "softmax.lse",
    )

    def wrong_shape(self, shape: Sequence[int]) -> str:
        return super().wrong_shape(shape) or unequal_groups(shape)
