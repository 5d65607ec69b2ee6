"""Attention of few queries against long keys: keys are split over CTAs, and a second kernel combines the parts."""

from __future__ import annotations

from collections.abc import Sequence

from tlxgen.families.attention.common import EXTENTS, unequal_groups
from tlxgen.families.base import Family

from .spec import AXES, DecodeSpec


class AttentionDecode(Family):
    """The attention_decode family."""

    name = "attention_decode"
    model = DecodeSpec
    axes = AXES
    first_axes = {"problem.keys": ("lengths", "paged")}
    extents = EXTENTS
    shapes = ((1, 64, 8, 1, 131072), (8, 64, 8, 1, 16384), (32, 64, 8, 1, 8192), (64, 64, 8, 4, 4096))

    def wrong_shape(self, shape: Sequence[int]) -> str:
        return super().wrong_shape(shape) or unequal_groups(shape)
