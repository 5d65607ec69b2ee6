"""What a grouped_gemm spec may not say, and which key is blamed."""

from __future__ import annotations

from typing import Any

import pytest

from tlxgen.families.grouped_gemm.spec import GroupedGemmSpec

BASE: dict[str, Any] = {"kernel": "grouped_gemm", "name": "g", "arch": "sm90", "tile": {"n": 128}}


def blamed(**said: Any) -> dict[str, str]:
    """The keys that are blamed, and why."""
    spec = GroupedGemmSpec.model_construct()
    try:
        spec = GroupedGemmSpec.model_validate({**BASE, **said})
    except ValueError as error:
        return {"": str(error)}
    return {".".join(map(str, path)): why for path, why in spec.faults()}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"schedule": {"split_k": 4}}, "tiles of groups are whole"),
        ({"schedule": {"tail": "split"}}, "tiles of groups are whole"),
        ({"schedule": {"pdl": True}}, "every task reads the groups' sizes"),
        ({"schedule": {"kind": "grid"}}, "CTAs search for the groups"),
        ({"schedule": {"kind": "clc"}}, "this is of sm100"),
        ({"tasks": {"load": {"by": "pointers"}}}, "operands of groups come by TMA"),
        ({"schedule": {"kind": "dynamic"}, "cluster": {"m": 2}}, "draws tiles for itself"),
        (
            {"schedule": {"kind": "dynamic"}, "tasks": {"epilogue": {}}, "guards": {"EPILOGUE_TASK": "keep"}},
            "how many tasks hear of a tile",
        ),
        ({"schedule": {"kind": "dynamic", "tail": "split"}}, "tiles of groups are whole"),
        ({"schedule": {"kind": "dynamic"}, "arch": "sm100", "tasks": {}, "tile": {}}, "without a counter: clc"),
        ({"cluster": {"k": 2}, "epilogue": {"subtiles": 1}}, "tiles of groups are whole"),
        ({"tasks": {"specialized": False, "mma": {"replicate": 1}}}, "have a producer"),
        ({"problem": {"vary": "n"}}, "a group's columns end anywhere: direct"),
        ({"problem": {"vary": "k"}}, "that is rows of A.T: col"),
        ({"problem": {"vary": "k", "a": {"layout": "col"}, "b": {"layout": "col"}}}, "that is rows of B: row"),
        ({"problem": {"vary": "none", "given": "masked_m"}}, "rows of A and C are masked: m"),
        ({"problem": {"vary": "none", "given": "psum"}}, "nothing varies"),
        ({"problem": {"vary": "none"}, "epilogue": {"ops": ["residual"]}}, "takes no residual"),
        ({"problem": {"vary": "k", "a": {"layout": "col"}}, "tasks": {"mma": {"split": "pingpong"}}}, "how many slots"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_said(said: dict[str, Any], words: str) -> None:
    assert any(words in why for why in blamed(**said).values())


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"problem": {"vary": "k", "a": {"layout": "col"}}},
        {"problem": {"vary": "n"}, "epilogue": {"store": "direct", "ops": ["bias"]}},
        {"problem": {"given": "psum"}},
        {"cluster": {"m": 2}, "problem": {"given": "masked_m"}},
        {"schedule": {"kind": "dynamic"}, "tasks": {"epilogue": {}, "mma": {"split": "pingpong"}}},
        {"schedule": {"kind": "clc"}, "arch": "sm100", "cluster": {"m": 2}, "tasks": {"scheduler": {}}},
    ],
)
def test_what_goes_together_is_no_fault(said: dict[str, Any]) -> None:
    assert not blamed(**said)
