"""Gemm specs for sm100 over all axes of the family: SPECS, one structure each (see matrix.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .matrix import BF16, FP16, Spec, drawn_from

_SM100 = {"arch": "sm100"}
_CLC = {**_SM100, "schedule.kind": "clc"}
_GROUPS = {**_SM100, "tasks.mma.replicate": 2}
_PAIR = {**_SM100, "cluster": {"m": 2}}
_STORE = {"tasks.epilogue": {"warps": 1}, "epilogue.store": "tma", "guards.EPILOGUE_TASK": "keep"}
_SCHEDULER = {"tasks.scheduler": {}, "guards.SCHEDULER_TASK": "keep"}

FORMS: dict[str, Mapping[str, Any]] = {
    "one": _SM100,
    "handed_out": _CLC,
    "scheduler": {**_CLC, **_SCHEDULER},
    "groups": {**_GROUPS, "tile.m": 256},
    "groups_in_turns": {**_GROUPS, "tile.m": 256, "epilogue.interleave": True},
    "small_groups": {**_GROUPS, **_CLC, "tile.m": 128, "epilogue.interleave": True},
    "small": {**_SM100, "tile.m": 64, "tile.n": 64},
    "store_task": {**_SM100, **_STORE},
    "store_task_groups": {**_GROUPS, **_STORE, "tile.m": 256, "epilogue.interleave": True},
    "store_task_clc": {**_CLC, **_STORE, **_SCHEDULER, "tasks.mma.registers": 48},
    "leader": _PAIR,
    "leader_clc": {**_PAIR, **_CLC},
    "leader_groups": {**_PAIR, **_GROUPS, "tile.m": 256},
    "rendezvous": {**_SM100, "cluster": {"m": 2, "protocol": "rendezvous"}},
    "rendezvous_clc": {**_CLC, **_SCHEDULER, "cluster": {"m": 2, "protocol": "rendezvous"}},
}
AXES: dict[str, tuple[Any, ...]] = {
    "schedule.kind": ("persistent", "grid", "clc"),
    "schedule.split_k": (1, 1, 1, 3),
    "schedule.group_m": (1, 3, 8),
    "tile.n": (64, 128, 256),
    "tile.k": (32, 64, 128),
    "rings.ab.stages": (1, 2, 3, 4),
    "rings.ab.full": ("shared", "separate"),
    "rings.acc.stages": (1, 2, 2),
    "rings.acc.empty": ("leader", "warp"),
    "rings.c.stages": (1, 2, 3),
    "rings.c.empty": ("leader", "warp"),
    "problem": (
        BF16,
        FP16,
        {"a": {"dtype": "bf16", "layout": "col"}, "b": {"dtype": "bf16"}, "c": {"dtype": "fp32"}},
        {"a": {"dtype": "fp16"}, "b": {"dtype": "fp16", "layout": "col"}, "c": {"dtype": "fp16"}},
        {"a": {"dtype": "bf16", "layout": "col"}, "b": {"dtype": "bf16", "layout": "col"}},
        {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}},
        {"a": {"dtype": "e5m2", "layout": "col"}, "b": {"dtype": "e4m3"}, "c": {"dtype": "fp16"}},
    ),
    "epilogue.subtiles": (1, 2, 4, 8),
    "epilogue.store": ("tma", "tma", "direct"),
    "epilogue.ops": ([], ["scale_rowwise"], ["bias", "relu"], ["residual", "silu"], ["scale", "bias", "gelu"]),
    "cache.a": ("none", "evict_first", "evict_last"),
    "cache.c": ("none", "evict_first"),
}

SPECS: list[Spec] = drawn_from(FORMS, AXES, 4)  # planned only
