"""GEMM: C = epilogue(A @ B), warp-specialised or pipelined, on a grid or persistent, with clusters and split-K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tlxgen.families.base import Family, Value
from tlxgen.plan import Plan

from . import cost
from .plan import BLAME, CONFIG_AXES, build
from .spec import GemmSpec


class Gemm(Family):
    """The gemm family."""

    name = "gemm"
    template = "gemm.py.j2"
    dispatcher = "gemm_dispatcher.py.j2"
    model = GemmSpec
    config_axes = CONFIG_AXES
    blame = BLAME
    shapes = cost.SHAPES
    computes = ("problem", "epilogue.ops")

    def guards(self, spec: GemmSpec) -> tuple[str, ...]:
        return tuple(task.guard for task in (spec.tasks.epilogue, spec.tasks.scheduler) if task)

    def common(self, specs: Sequence[GemmSpec]) -> Mapping[str, Any]:
        return {"split": any(s.schedule.split_k > 1 for s in specs)}

    def baked_by_default(self, common: Mapping[str, Any]) -> Mapping[str, Value]:
        return {} if common["split"] else {"SPLIT_K": 1}

    def plan(self, spec: GemmSpec, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any) -> Plan:
        return build(spec, guards=guards, baked=baked, split=common["split"])

    def flops(self, spec: GemmSpec, shape: tuple[int, ...]) -> float:
        return cost.flops(shape)

    def bytes_moved(self, spec: GemmSpec, shape: tuple[int, ...]) -> float:
        return cost.bytes_moved(spec, shape)

    def cost(self, plan: Plan, shape: tuple[int, ...], sms: int) -> float:
        return cost.clocks(plan, shape, sms)

    def problem(self) -> Any:
        from . import problem

        return problem

    def benchmark(self) -> Any:
        from . import benchmark

        return benchmark
