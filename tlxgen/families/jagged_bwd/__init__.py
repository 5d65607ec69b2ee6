"""The gradients of GDPA and of HSTU attention. Tasks, rings and axes are those of attention_bwd, masks and activations
those of the forward."""

from __future__ import annotations

from collections.abc import Sequence

from tlxgen.families.attention_bwd import AttentionBwd
from tlxgen.families.gdpa import Gdpa
from tlxgen.families.hstu import Hstu, too_many_queries

from .spec import GdpaBwdSpec, HstuBwdSpec


class GdpaBwd(AttentionBwd):
    """The gdpa_bwd family."""

    name = "gdpa_bwd"
    template = "attention_bwd/module.py.j2"
    model = GdpaBwdSpec
    first_axes = Gdpa.first_axes
    shapes = Gdpa.shapes
    computes = Gdpa.computes


class HstuBwd(AttentionBwd):
    """The hstu_bwd family."""

    name = "hstu_bwd"
    template = GdpaBwd.template
    model = HstuBwdSpec
    first_axes = Hstu.first_axes
    shapes = Hstu.shapes
    computes = Hstu.computes

    def wrong_shape(self, shape: Sequence[int]) -> str:
        return super().wrong_shape(shape) or too_many_queries(shape)
