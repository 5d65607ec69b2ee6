"""What a gemm spec may say: its keys, the defaults that depend on others, and the faults that span keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from tlxgen.spec import Fault, filled

from . import faults
from .keys import GemmKeys


class GemmSpec(GemmKeys):
    """C = epilogue(A @ B)."""

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        """Fills in what an architecture, or a cluster along K, has other defaults for."""
        if not isinstance(data, Mapping):
            return data
        if data.get("arch") == "sm100":
            return filled(data, SM100)
        if _given(data, "schedule", "tail") == "split" and _given(data, "schedule", "fix_up") not in ("last", "each"):
            data = filled(data, CUT_TAIL)
        tasks = data.get("tasks")
        if isinstance(tasks, Mapping) and _given(tasks, "mma", "exchange") is True:
            data = filled(data, EXCHANGED)
        if isinstance(tasks, Mapping) and _given(tasks, "mma", "columns") == "whole":
            data = filled(data, WHOLE)
        if _given(data, "problem", "scaling") == "block":
            data = filled(data, BLOCK_SCALES)
        if isinstance(tasks, Mapping) and _given(tasks, "mma", "replicate") == 3:
            data = filled(data, OF_THREE)
        if isinstance(tasks, Mapping) and (by := _given(tasks, "load", "by")) in BY_POINTERS:
            data = filled(data, BY_POINTERS[by])
        return filled(data, ALONG_K) if _given(data, "cluster", "k") not in (None, 1) else data

    in_source = frozenset({"tasks.mma.columns"})
    fixed = frozenset(
        {"cluster.m", "cluster.n", "cluster.k", "tasks.load.edge_rows", "tasks.mma.columns", "tasks.specialized"}
    )

    def faults(self) -> list[Fault]:
        return faults.of(self)


# What sm100 has other defaults for: tcgen05 is issued by one warp, and 4 warps drain what it makes.
SM100: Mapping[str, Any] = {
    "tasks": {"load": {"default": False}, "mma": {"replicate": 1, "warps": 1, "registers": 48}},
    "rings": {"c": {"stages": 2}},
    "epilogue": {"subtiles": 4},
}

# A CTA of a cluster along K stores a slice of the tile, and that whole.
ALONG_K: Mapping[str, Any] = {"epilogue": {"subtiles": 1}}

# Few rows: a small tile of one consumer, whose slots are mostly B's, stored whole.
EXCHANGED: Mapping[str, Any] = {
    "tile": {"m": 32, "n": 128, "k": 128},
    "tasks": {"mma": {"replicate": 1}},
    "epilogue": {"subtiles": 1},
}

# One wgmma of all columns: C leaves by boxes of these.
WHOLE: Mapping[str, Any] = {"epilogue": {"subtiles": 1}}

# Three consumers: the largest tile whose instructions fit the registers of 16 warps.
OF_THREE: Mapping[str, Any] = {"tile": {"m": 192, "n": 128}, "tasks": {"mma": {"registers": 152}}}

# Who loads adds up parts as well, and keeps registers for those on their way.
CUT_TAIL: Mapping[str, Any] = {"tasks": {"mma": {"registers": 208}}}

# A slot has the products that one scale is for, and they leave the tensor core before the next slot's.
BLOCK_SCALES: Mapping[str, Any] = {"tile": {"n": 128, "k": 128}, "tasks": {"mma": {"promote": True}}}

# All threads of the producer copy, and need registers. Where both operands may have any rows, so may C.
COPIES: Mapping[str, Any] = {"tasks": {"load": {"warps": 8}, "mma": {"registers": 112}}}
ONE_COPIED: Mapping[str, Any] = {**COPIES, "rings": {"ab": {"full": "separate"}}}
BY_POINTERS: Mapping[str, Mapping[str, Any]] = {
    "pointers": {**COPIES, "epilogue": {"store": "direct"}},
    "pointers_a": ONE_COPIED,
    "pointers_b": ONE_COPIED,
}


def _given(data: Mapping[str, Any], group: str, name: str) -> Any:
    """What a spec says of `group.name`; None if nothing."""
    found = data.get(group)
    return found.get(name) if isinstance(found, Mapping) else None
