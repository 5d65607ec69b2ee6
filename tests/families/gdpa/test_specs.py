"""Specs of gdpa: what they say of registers and masks, and what is not theirs."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tlxgen.families.gdpa.spec import GdpaSpec
from tlxgen.families.hstu.spec import HstuSpec


def spec(**data: Any) -> GdpaSpec:
    return GdpaSpec.model_validate({"kernel": "gdpa", "name": "f", "arch": "sm90", **data})


def test_q_is_kept_in_registers_but_beside_a_window() -> None:
    assert spec().tasks.mma.keep == "q"
    assert spec(mask={"kind": "window"}).tasks.mma.keep == "none"
    assert spec(problem={"head_dim": 256}).tasks.mma.keep == "none"


def test_there_is_no_softmax() -> None:
    with pytest.raises(ValidationError, match="softmax"):
        spec(softmax={"lse": True})
    assert not spec().lse


def test_jagged_items_are_drawn_but_under_a_window() -> None:
    assert spec().schedule.kind == "dynamic"
    assert spec(schedule={"kind": "persistent"}).schedule.kind == "persistent"
    assert spec(mask={"kind": "window"}).schedule.kind == "persistent"
    assert spec(problem={"lengths": "dense"}).schedule.kind == "persistent"
    assert spec(arch="sm100").schedule.kind == "persistent"
    hstu = HstuSpec.model_validate({"kernel": "hstu", "name": "f", "arch": "sm90"})
    assert hstu.schedule.kind == "dynamic"
    narrow = {"kernel": "hstu", "name": "f", "arch": "sm90", "mask": {"causal": True, "max_attn_len": True}}
    assert HstuSpec.model_validate(narrow).schedule.kind == "persistent"
