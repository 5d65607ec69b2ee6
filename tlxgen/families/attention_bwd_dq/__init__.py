"""Backward attention, dQ alone: each sum over keys in one CTA and in order, so the same bits every time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tlxgen.families.attention import SHAPES
from tlxgen.families.attention_bwd import cost
from tlxgen.families.base import Family, Value
from tlxgen.plan import Plan

from .plan import BLAME, CONFIG_AXES, build
from .spec import AttentionBwdDqSpec


class AttentionBwdDq(Family):
    """The attention_bwd_dq family."""

    name = "attention_bwd_dq"
    template = "attention_bwd_dq.py.j2"
    model = AttentionBwdDqSpec
    config_axes = CONFIG_AXES
    blame = BLAME
    shapes = SHAPES
    computes = ("problem", "mask")

    def plan(
        self, spec: AttentionBwdDqSpec, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any
    ) -> Plan:
        return build(spec, baked=baked)

    def flops(self, spec: AttentionBwdDqSpec, shape: tuple[int, ...]) -> float:
        return cost.flops(spec, shape)

    def bytes_moved(self, spec: AttentionBwdDqSpec, shape: tuple[int, ...]) -> float:
        return cost.bytes_moved(spec, shape)

    def problem(self) -> Any:
        from tlxgen.families.attention_bwd import problem

        return problem

    def benchmark(self) -> Any:
        from tlxgen.families.attention_bwd import benchmark

        return benchmark
