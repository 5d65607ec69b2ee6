"""Registers beside the accumulator, by the plan, against where real compiles spill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pruning import candidates, report
from tlxgen.families.gemm import Gemm
from tlxgen.families.gemm.spec import GemmSpec
from tlxgen.spec import load
from tlxgen.tune.dry import compile_candidates
from tlxgen.tune.space import space_of

# 128 accumulators a thread in the 168 registers of an even split; what follows decides. (epilogue, schedule, fits)
BORDER: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"ops": ["bias", "gelu"], "subtiles": 1}, {}, False),
    ({"ops": ["bias", "gelu"], "subtiles": 4}, {}, True),
    ({"ops": ["residual"], "subtiles": 4}, {}, True),
    ({"ops": ["scale_rowwise", "residual"], "subtiles": 4}, {}, False),
    ({"ops": ["scale_rowwise"], "subtiles": 2}, {}, True),
    ({"ops": ["scale_rowwise"], "subtiles": 2}, {"tail": "split"}, False),
    ({"ops": [], "subtiles": 4}, {"tail": "helped"}, True),
    ({"ops": ["silu"], "subtiles": 1, "store": "direct"}, {}, False),
]
IDS = [
    "-".join([*epilogue["ops"], str(epilogue["subtiles"]), *schedule.values(), epilogue.get("store", "tma")])
    for epilogue, schedule, _ in BORDER
]


def spec_of(number: int, **tasks: Any) -> dict[str, Any]:
    epilogue, schedule, _ = BORDER[number]
    return {
        "kernel": "gemm",
        "name": f"border{number}",
        "arch": "sm90",
        "epilogue": epilogue,
        "schedule": schedule,
        "tile": {"m": 256, "n": 128, "k": 64},
        "tasks": {"mma": {"registers": None, **tasks}},
        "rings": {"ab": {"stages": 3}, "c": {"stages": 1}},
    }


def rules(spec: dict[str, Any]) -> list[str]:
    return [r.rule for r in Gemm().plan(GemmSpec.model_validate(spec), guards={}, baked={}, split=False).reasons]


@pytest.mark.parametrize("number", range(len(BORDER)), ids=IDS)
def test_an_epilogue_must_fit_beside_the_accumulator(number: int) -> None:
    assert rules(spec_of(number)) == ([] if BORDER[number][2] else ["accumulator"])


def test_what_the_reduction_applies_takes_no_registers_of_the_kernels() -> None:
    spec = spec_of(0)
    assert rules({**spec, "schedule": {"split_k": 2}, "tile": {**spec["tile"], "k": 32}}) == []


def test_consumers_with_the_producers_registers_have_room_for_more() -> None:
    assert [rules(spec_of(i, registers=208)) for i in range(1, len(BORDER))] == [[]] * (len(BORDER) - 1)
    assert rules(spec_of(0, registers=208)) == ["accumulator"]


@pytest.mark.compiles
@pytest.mark.parametrize("number", range(len(BORDER)), ids=IDS)
def test_the_compiler_spills_where_the_plan_says(number: int, tmp_path: Path) -> None:
    """With half of the columns everything fits, so that there is a module to compile."""
    path = tmp_path / "border.yaml"
    path.write_text(json.dumps({**spec_of(number), "variants": {"axes": {"tile.n": [64, 128]}}}))
    space = space_of(load(path, tuned=False))
    whole = [c for c in candidates(space) if c.values["tile.n"] == 128]
    found = report(whole, compile_candidates(space, whole, 1, 120))
    assert (found["kept"], found["rejected"]) == ((1, 0) if BORDER[number][2] else (0, 1))
    assert not found["kept_that_fail"] and not found["rejected_that_fit"]
