"""Generalized dot-product attention: O = c f(Q K^T) V with a function f in the place of the softmax. All but that is
attention_fwd's."""

from __future__ import annotations

from tlxgen.families.attention_fwd import AttentionFwd
from tlxgen.families.attention_fwd.axes import SHARED

from .spec import GdpaSpec


class Gdpa(AttentionFwd):
    """The gdpa family: tasks, rings, axes and plan are those of attention_fwd."""

    name = "gdpa"
    template = AttentionFwd.template
    model = GdpaSpec
    axes = SHARED
    first_axes = {"activation": ("relu", "fast_gelu")}
    shapes = ((256, 4, 4, 1000, 1000), (1024, 4, 4, 1000, 256), (32, 8, 8, 2048, 2048))
    computes = ("problem", "mask", "activation")
