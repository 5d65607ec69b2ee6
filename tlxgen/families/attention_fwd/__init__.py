"""Forward attention: O = softmax(scale Q K^T) V, warp-specialised, with overlap, turns, masks and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tlxgen.families.attention import SHAPES
from tlxgen.families.base import Family, Value
from tlxgen.plan import Plan

from . import cost
from .plan import BLAME, CONFIG_AXES, build
from .spec import AttentionSpec


class AttentionFwd(Family):
    """The attention_fwd family."""

    name = "attention_fwd"
    template = "attention_fwd.py.j2"
    model = AttentionSpec
    config_axes = CONFIG_AXES
    blame = BLAME
    shapes = SHAPES
    computes = ("problem", "mask", "softmax")

    def plan(
        self, spec: AttentionSpec, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any
    ) -> Plan:
        return build(spec, baked=baked)

    def flops(self, spec: AttentionSpec, shape: tuple[int, ...]) -> float:
        return cost.flops(spec, shape)

    def bytes_moved(self, spec: AttentionSpec, shape: tuple[int, ...]) -> float:
        return cost.bytes_moved(spec, shape)

    def cost(self, plan: Plan, shape: tuple[int, ...], sms: int) -> float:
        return cost.clocks(plan, shape, sms)

    def problem(self) -> Any:
        from . import problem

        return problem

    def benchmark(self) -> Any:
        from . import benchmark

        return benchmark
