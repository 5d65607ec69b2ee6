"""Gemm specs over all axes of the family: SPECS, one structure each, all of which fit.

Each form (who does what, and where its tiles come from) is combined with values of the other axes drawn by a hash, so
that the list is the same everywhere. What does not fit is left out; test_matrix.py sees to it that no value is missed.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tlxgen import families
from tlxgen.families import Kernels
from tlxgen.families.gemm import Gemm
from tlxgen.families.gemm.spec import GemmSpec
from tlxgen.spec import load

Spec = dict[str, Any]
EACH = 2  # specs of a form
TRIES = 40  # draws at most to find them
TURNS = {"tasks.mma.split": "pingpong", "schedule.kind": "persistent", "tile.n": 128}
STORE_TASK = {"tasks.epilogue": {"guard": "EPILOGUE_TASK"}, "epilogue.store": "tma", "tile.n": 128}
ALONG_K = {"schedule.split_k": 1, "epilogue.subtiles": 1}
FP8 = {"problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}}}
TAIL = {"schedule.tail": "split", "schedule.kind": "persistent", "schedule.split_k": 1, "epilogue.store": "tma"}
HELPED = {**TAIL, "schedule.tail": "helped", "rings.ab.full": "shared", "tile.k": 64}
LAST = {**TAIL, "schedule.fix_up": "last"}
FEW = {"tasks.mma.exchange": True, "tasks.mma.replicate": 1, "epilogue.subtiles": 1}
AHEAD = {"schedule.pdl": True, "schedule.prefetch": 3, "schedule.kind": "persistent", "schedule.split_k": 1}
KEEP = {"guards.EPILOGUE_TASK": "keep"}

FORMS: dict[str, Mapping[str, Any]] = {
    "one_consumer": {"tasks.mma.replicate": 1, "tile.n": 128},
    "small_tile": {"tasks.mma.replicate": 1, "tile.m": 64, "tile.n": 64, "tile.k": 128},
    "cooperative": {},
    "wide": {"tasks.mma.warps": 8, "tasks.mma.registers": None, "tasks.mma.replicate": 1, "tile.n": 128},
    "named_turns": TURNS,
    "mbarrier_turns": {**TURNS, "tasks.mma.order": "mbarrier"},
    "pipelined": {"tasks.specialized": False, "tasks.mma.warps": 8},
    "pipelined_narrow": {"tasks.specialized": False, "tasks.mma.warps": 4, "tile.n": 64},
    "store_task": {**STORE_TASK, **KEEP},
    "store_task_always": {**STORE_TASK, "tasks.epilogue": {"guard": "EPILOGUE_TASK", "warps": 4}},
    "store_task_never": {**STORE_TASK, "guards.EPILOGUE_TASK": False},
    "store_task_turns": {**STORE_TASK, **TURNS, **KEEP},
    "cluster_m": {"cluster": {"m": 2}, "tile.n": 128},
    "cluster_n": {"cluster": {"n": 2, "multicast": ["a"]}, "tile.n": 128},
    "cluster_n_parts": {"cluster": {"n": 2, "multicast": ["a"]}, "schedule.split_k": 4, "tile.n": 128},
    "cluster_n4": {"cluster": {"n": 4}, "tile.n": 128},
    "cluster_two_axes": {"cluster": {"m": 2, "n": 2}, "tile.n": 64},
    "cluster_turns": {**TURNS, "cluster": {"m": 2}},
    "cluster_k": {**ALONG_K, "cluster": {"k": 4}, "tile.n": 128},
    "cluster_k_once": {**ALONG_K, "cluster": {"k": 2}, "schedule.kind": "grid", "tile.n": 64},
    "cluster_k_turns": {**ALONG_K, **TURNS, "cluster": {"k": 2}, "tile.n": 64},
    "overlapped": {"schedule.pdl": True, "tile.n": 128},
    "ahead": {**AHEAD, "tile.n": 128},
    "ahead_store_task": {**AHEAD, **STORE_TASK, **KEEP},
    "tail": {**TAIL, "tile.n": 128},
    "tail_turns": {**TAIL, **TURNS},
    "last": {**LAST, "tile.n": 128},
    "last_turns": {**LAST, **TURNS},
    "last_cluster": {**LAST, "cluster": {"m": 2}, "tile.n": 128},
    "few": {**FEW, "tile": {"m": 32, "n": 64, "k": 64}},
    "few_cluster": {**FEW, "cluster": {"n": 4}, "schedule.split_k": 1, "tile": {"m": 32, "n": 64, "k": 64}},
    "few_last": {**FEW, **LAST, "tile": {"m": 64, "n": 128, "k": 64}},
    "few_last_cluster": {**FEW, **LAST, "cluster": {"n": 4}, "tile": {"m": 32, "n": 64, "k": 64}},
    "whole": {**FEW, "tasks.mma.columns": "whole", "tile": {"m": 88, "n": 64, "k": 64}, "problem.a.layout": "row"},
    "tall_thirds": {**FEW, "tile": {"m": 96, "n": 64, "k": 64}},
    "tall_fifths_last": {**FEW, **LAST, "tile": {"m": 160, "n": 64, "k": 64}},
    "helped": {**HELPED, "tile.n": 64, "epilogue.subtiles": 2},
    "helped_turns": {**HELPED, **TURNS, "epilogue.subtiles": 4},
    "thirds": {"tile.n": 192},
    "three_thirds": {"tasks.mma.replicate": 3, "tasks.mma.registers": 152, "tile.m": 192, "tile.n": 96},
    "fifths_turns": {**TURNS, "tile.n": 160},
    "promoted": {**FP8, "tasks.mma.promote": True, "tasks.mma.in_flight": 0, "tile.n": 128},
}
BF16 = {"a": {"dtype": "bf16"}, "b": {"dtype": "bf16"}}
FP16 = {"a": {"dtype": "fp16"}, "b": {"dtype": "fp16"}}
AXES: dict[str, tuple[Any, ...]] = {
    "schedule.kind": ("persistent", "grid"),
    "schedule.split_k": (1, 1, 4, 16),
    "schedule.group_m": (1, 3, 8),
    "rings.ab.stages": (1, 2, 3, 4, 5),
    "rings.ab.full": ("shared", "separate"),
    "rings.ab.empty": ("leader", "warp"),
    "rings.c.stages": (1, 2),
    "rings.c.empty": ("leader", "warp"),
    "tasks.mma.in_flight": (0, 1),
    "problem": (
        BF16,
        FP16,
        {"a": {"dtype": "bf16", "layout": "col"}, "b": {"dtype": "bf16"}, "c": {"dtype": "fp32"}},
        {"a": {"dtype": "fp16"}, "b": {"dtype": "fp16", "layout": "col"}, "c": {"dtype": "fp16"}},
        {"a": {"dtype": "bf16", "layout": "col"}, "b": {"dtype": "bf16", "layout": "col"}},
        {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}},
        {"a": {"dtype": "e5m2"}, "b": {"dtype": "e4m3", "layout": "col"}, "c": {"dtype": "fp16"}},
        {"a": {"dtype": "e4m3"}, "b": {"dtype": "e5m2", "layout": "col"}, "c": {"dtype": "fp32"}},
    ),
    "epilogue.subtiles": (1, 2, 4),
    "epilogue.store": ("tma", "tma", "direct"),
    "epilogue.ops": (
        [],
        ["scale_rowwise"],
        ["bias", "relu"],
        ["relu", "bias", "relu"],
        ["scale", "bias", "gelu"],
        ["residual", "silu"],
        ["silu", "residual", "scale"],
        ["scale_rowwise", "bias", "gelu", "residual"],
    ),
    "cache.a": ("none", "evict_first", "evict_last"),
    "cache.b": ("none", "evict_first", "evict_last"),
    "cache.c": ("none", "evict_first", "evict_last"),
}


def _drawn(form: str, draw: int, axis: str, values: tuple[Any, ...]) -> Any:
    number = int.from_bytes(hashlib.sha256(f"{form} {draw} {axis}".encode()).digest()[:4], "big")
    return values[number % len(values)]


def _put(spec: Spec, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        spec = spec.setdefault(parent, {})
    spec[last] = copy.deepcopy(value)


def spec_of(name: str, values: Mapping[str, Any]) -> Spec:
    """A spec of that name with `values` by dotted path."""
    spec: Spec = {"kernel": "gemm", "name": name, "arch": "sm90"}
    for path, value in values.items():
        _put(spec, path, value)
    return spec


def fits(spec: Spec) -> bool:
    """Whether the spec is valid and within all budgets, with each setting of its guards."""
    family = Gemm()
    try:
        model = GemmSpec.model_validate(spec)
    except ValidationError:
        return False
    guards = family.guards(model)
    common = family.common([model])
    settings = [dict.fromkeys(guards, True), dict.fromkeys(guards, False)]
    return all(not family.plan(model, guards=g, baked={}, **common).reasons for g in settings)


def drawn_from(
    forms: Mapping[str, Mapping[str, Any]], axes: Mapping[str, tuple[Any, ...]], each: int = EACH
) -> list[Spec]:
    """So many specs of each form that fit, their other axes drawn."""
    found: list[Spec] = []
    for form, fixed in forms.items():
        drawn = ({axis: _drawn(form, draw, axis, values) for axis, values in axes.items()} for draw in range(TRIES))
        specs = (spec_of(f"{form}_{draw}", {**values, **fixed}) for draw, values in enumerate(drawn))
        found += itertools.islice(filter(fits, specs), each)
    return found


SPECS: list[Spec] = drawn_from(FORMS, AXES)


def kernels_of(spec: Spec, folder: Path) -> Kernels:
    """The structures of a spec, which is written to `folder` as a file of its name (JSON is YAML)."""
    path = folder / f"{spec['name']}.yaml"
    path.write_text(json.dumps(spec))
    document = load(path)
    return families.of(document).kernels(document)
