"""Backward attention: dQ, dK and dV of O = softmax(scale Q K^T) V, warp-specialised, a tile of keys a CTA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tlxgen.families.attention import SHAPES
from tlxgen.families.base import Family, Value
from tlxgen.plan import Plan

from . import cost
from .plan import BLAME, CONFIG_AXES, build
from .spec import AttentionBwdSpec


class AttentionBwd(Family):
    """The attention_bwd family."""

    name = "attention_bwd"
    template = "attention_bwd.py.j2"
    model = AttentionBwdSpec
    config_axes = CONFIG_AXES
    blame = BLAME
    shapes = SHAPES
    computes = ("problem", "mask")

    def plan(
        self, spec: AttentionBwdSpec, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any
    ) -> Plan:
        return build(spec, baked=baked)

    def flops(self, spec: AttentionBwdSpec, shape: tuple[int, ...]) -> float:
        return cost.flops(spec, shape)

    def bytes_moved(self, spec: AttentionBwdSpec, shape: tuple[int, ...]) -> float:
        return cost.bytes_moved(spec, shape)

    def cost(self, plan: Plan, shape: tuple[int, ...], sms: int) -> float:
        return cost.clocks(plan, shape, sms)

    def problem(self) -> Any:
        from . import problem

        return problem

    def benchmark(self) -> Any:
        from . import benchmark

        return benchmark
