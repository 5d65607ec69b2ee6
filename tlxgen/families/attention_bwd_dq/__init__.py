"""Backward attention, dQ alone: each sum over keys in one CTA and in order, so the same bits every time."""

from __future__ import annotations

from tlxgen.families.attention_bwd import AttentionBwd
from tlxgen.families.base import Family

from .axes import AXES
from .spec import AttentionBwdDqSpec


class AttentionBwdDq(AttentionBwd):
    """The attention_bwd_dq family: problem and benchmark are those of attention_bwd."""

    name = "attention_bwd_dq"
    model = AttentionBwdDqSpec
    axes = AXES
    first_axes = {"mask.kind": ("none", "causal")}
    dispatcher = Family.dispatcher
