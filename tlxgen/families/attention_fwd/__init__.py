"""Forward attention: O = softmax(scale Q K^T) V, warp-specialised, with overlap, turns, masks and lengths."""

from __future__ import annotations

from tlxgen.families.attention.common import SHAPES
from tlxgen.families.base import Family

from .axes import AXES
from .spec import AttentionSpec


class AttentionFwd(Family):
    """The attention_fwd family."""

    name = "attention_fwd"
    model = AttentionSpec
    axes = AXES
    shapes = SHAPES
    computes = ("problem", "mask", "softmax.softcap", "softmax.sink", "softmax.lse")
