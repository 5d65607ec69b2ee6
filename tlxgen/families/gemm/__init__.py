"""GEMM: C = epilogue(A @ B), warp-specialised or pipelined, on a grid or persistent, with clusters and split-K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tlxgen.families.base import Family
from tlxgen.families.functions import Function
from tlxgen.families.kit import Extent
from tlxgen.spec import CommonSpec

from . import gradients
from .axes import AXES
from .cost import SHAPES
from .facts import paired
from .spec import GemmSpec


class Gemm(Family):
    """The gemm family."""

    name = "gemm"
    dispatcher = "gemm/dispatcher.py.j2"
    model: ClassVar[type[CommonSpec]] = GemmSpec
    axes = AXES
    first_axes = {"tile.n": (128, 256), "rings.ab.stages": (3, 4)}
    extents: ClassVar[tuple[Extent, ...]] = (
        Extent("M", "rows of A and C"),
        Extent("N", "columns of B and C"),
        Extent("K", "products of a sum"),
    )
    shapes = SHAPES
    computes = ("problem", "tasks.mma.promote", "epilogue.ops", "epilogue.rounding")

    def related(self, function: Function, functions: Sequence[Function]) -> Mapping[str, object]:
        return gradients.related(function, functions)

    def guards(self, spec: GemmSpec) -> tuple[str, ...]:
        return tuple(task.guard for task in (spec.tasks.epilogue, spec.tasks.scheduler) if task)

    def common(self, specs: Sequence[GemmSpec]) -> Mapping[str, Any]:
        return {"split": any(s.schedule.split_k > 1 for s in specs), "paired": self.paired(specs, split=False)}

    def paired(self, specs: Sequence[GemmSpec], **more: Any) -> bool:
        """Whether all of them may have promoted products of two slots under way: registers, too, have room for both."""
        if not all(map(paired, specs)):
            return False
        plans = (self.plan(s, guards=dict.fromkeys(self.guards(s), True), baked={}, paired=True, **more) for s in specs)
        return not any(reason.rule == "accumulator" for plan in plans for reason in plan.reasons)
