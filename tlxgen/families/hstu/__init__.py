"""HSTU attention: O = attn_scale silu(alpha Q K^T) V under masks of histories and targets. All but that is
attention_fwd's."""

from __future__ import annotations

from collections.abc import Sequence

from tlxgen.families.attention_fwd import AttentionFwd
from tlxgen.families.attention_fwd.axes import SHARED

from .spec import HstuSpec


class Hstu(AttentionFwd):
    """The hstu family: tasks, rings, axes and plan are those of attention_fwd."""

    name = "hstu"
    template = AttentionFwd.template
    model = HstuSpec
    axes = SHARED
    first_axes = {"mask.causal": (True, False)}
    shapes = ((32, 4, 4, 1024, 1024), (64, 4, 4, 512, 512), (16, 4, 4, 2048, 2048), (512, 4, 4, 256, 256))
    computes = ("problem", "mask")

    def wrong_shape(self, shape: Sequence[int]) -> str:
        return super().wrong_shape(shape) or too_many_queries(shape)


def too_many_queries(shape: Sequence[int]) -> str:
    """What is wrong with a shape whose queries are the last of its keys."""
    *_, n, m = shape
    return f"{n} queries, which are the last of {m} keys" if len(shape) == 5 and n > m else ""
