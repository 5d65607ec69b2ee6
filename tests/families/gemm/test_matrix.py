"""The matrix misses nothing: every value of every axis is in some spec that fits."""

from __future__ import annotations

from typing import Any

import pytest

from .matrix import AXES, EACH, FORMS, SPECS, Spec


def at(spec: Spec, path: str) -> Any:
    value: Any = spec
    for key in path.split("."):
        value = value[key]
    return value


def test_every_form_has_its_share() -> None:
    assert len(SPECS) == EACH * len(FORMS) >= 60
    assert len({s["name"] for s in SPECS}) == len(SPECS)


@pytest.mark.parametrize("axis", AXES)
def test_every_value_of_an_axis_is_there(axis: str) -> None:
    there = [at(spec, axis) for spec in SPECS]
    assert [value for value in AXES[axis] if value not in there] == []


def test_split_k_meets_every_form_of_cluster_and_tile_source() -> None:
    met = {(str(s.get("cluster")), s["schedule"]["kind"]) for s in SPECS if s["schedule"]["split_k"] > 1}
    assert {kind for _, kind in met} == {"grid", "persistent"}
    assert len({cluster for cluster, _ in met}) == 5
