"""MXFP8 quantisation: e4m3 with an e8m0 scale for 32 elements, along rows, along columns, or both in one pass."""

from __future__ import annotations

from tlxgen.families.base import Family
from tlxgen.families.kit import Extent

from .spec import AXES, QuantizeSpec


class MxQuantize(Family):
    """The mx_quantize family."""

    name = "mx_quantize"
    model = QuantizeSpec
    axes = AXES
    first_axes = {"problem.along": ("rows", "both"), "tile.m": (64, 32)}
    extents = (Extent("M", "rows"), Extent("N", "columns"))
    shapes = ((8192, 8192), (16384, 4096), (4096, 16384), (32768, 1024), (131072, 128), (2048, 2048), (5000, 7168))
