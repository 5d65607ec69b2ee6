"""Backward attention: dQ, dK and dV of O = softmax(scale Q K^T) V, warp-specialised, a tile of keys a CTA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tlxgen.families.attention.common import EXTENTS, SHAPES, unequal_groups
from tlxgen.families.base import Family
from tlxgen.families.kit import Axis

from .axes import AXES
from .spec import AttentionBwdSpec, BackwardSpec


class AttentionBwd(Family):
    """The attention_bwd family."""

    name = "attention_bwd"
    model: ClassVar[type[BackwardSpec]] = AttentionBwdSpec
    axes: ClassVar[tuple[Axis, ...]] = AXES
    first_axes = {"mask.kind": ("none", "causal")}
    extents = EXTENTS
    dispatcher: ClassVar[str | None] = "attention_bwd/dispatcher.py.j2"
    shapes = SHAPES
    computes: ClassVar[tuple[str, ...]] = ("problem", "mask", "softmax")

    def wrong_shape(self, shape: Sequence[int]) -> str:
        return super().wrong_shape(shape) or unequal_groups(shape)
