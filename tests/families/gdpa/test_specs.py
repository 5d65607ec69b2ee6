"""Specs of gdpa: what they say of registers and masks, and what is not theirs."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tlxgen.families.gdpa.spec import GdpaSpec


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
