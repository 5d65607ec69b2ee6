"""Grouped GEMM: many products in one launch, whose sizes only the device knows. All but its work list is gemm's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tlxgen.arch import DTYPES
from tlxgen.families.functions import Function
from tlxgen.families.gemm import Gemm
from tlxgen.families.gemm.groups import Groups
from tlxgen.families.kit import Extent

from .cost import SHAPES
from .spec import GroupedGemmSpec


class GroupedGemm(Gemm):
    """The grouped_gemm family: tasks, rings, axes and plan are those of gemm."""

    name = "grouped_gemm"
    dispatcher = "lib/dispatcher.py.j2"
    model = GroupedGemmSpec
    extents = (
        Extent("G", "groups"),
        Extent("M", "rows of a group of A and C, on average where they vary"),
        Extent("N", "columns of a group of B and C, likewise"),
        Extent("K", "products of a sum, likewise"),
    )
    shapes = SHAPES

    def related(self, function: Function, functions: Sequence[Function]) -> Mapping[str, object]:
        return {}  # an operator of its own knows the gradients: the order of B is not known before

    def common(self, specs: Sequence[Any]) -> Mapping[str, Any]:
        problem = specs[0].problem
        along_rows = problem.vary == "n" and problem.b.layout == "row"
        chunk = 16 // DTYPES[problem.b.dtype].bytes if along_rows else 1
        common: dict[str, Any] = {"split": False, "groups": Groups(problem.vary, problem.given, chunk)}
        return common | {"paired": self.paired(specs, **common)}
