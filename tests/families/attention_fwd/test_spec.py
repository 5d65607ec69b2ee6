"""What an attention spec may say: a short one is enough, and what cannot be is refused with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tlxgen import families
from tlxgen.families.attention_fwd.spec import AttentionSpec
from tlxgen.spec import load

from .specs import data_of

SPECS = sorted((Path(__file__).parents[3] / "specs").glob("hopper_attention_fwd*.yaml"))


def test_a_spec_of_three_lines_is_the_kernel_that_a_good_engineer_would_start_from() -> None:
    spec = AttentionSpec.model_validate(data_of({}))
    assert (spec.problem.head_dim, spec.head_dim_v, spec.problem.dtype) == (128, 128, "bf16")
    assert (spec.tile.m, spec.tile.n, spec.tasks.mma.replicate) == (128, 128, 2)
    assert spec.tasks.mma.overlap and spec.tasks.mma.turns == "named" and spec.schedule.kind == "persistent"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tasks.mma.replicate": 1, "tile.m": 64}, "one consumer has nobody to take turns with"),
        ({"tasks.mma.registers": 236}, "a multiple of 8 in 24..240, not 236"),
        ({"tile.m": 192}, "192 rows among 2 consumers"),
        ({"tile.n": 96}, "a tile of keys is a power of two, not 96"),
        ({"rings.kv.storage": "shared", "problem.head_dim_v": 64}, r"rows of K \(128\) and of V \(64\) differ"),
        ({"rings.o.reuse": "q", "problem.head_dim_v": 64}, "O cannot take Q's place"),
        ({"schedule.kind": "grid", "rings.q.stages": 2}, "loads Q once"),
        ({"arch": "sm100", "tasks.mma.turns": "named"}, "on sm100 no consumers take turns"),
        ({"name": "softmax"}, "the module needs the name softmax"),
        ({"guards.LOAD": True}, "no task of this family has a guard"),
        ({"check.shapes": [[128, 128, 128]]}, "are 5 numbers, not 3"),
        ({"check.shapes": [[1, 8, 3, 128, 128]]}, "8 heads of Q are no multiple of 3"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        AttentionSpec.model_validate(data_of(values))


AXES = {
    "problem.dtype": {"fp16", "bf16"},
    "problem.head_dim": {64, 128, 256},
    "problem.lengths": {"dense", "keys", "packed"},
    "mask.kind": {"none", "causal", "window"},
    "mask.align": {"top_left", "bottom_right"},
    "softmax.softcap": {False, True},
    "softmax.sink": {False, True},
    "softmax.lse": {False, True},
    "tasks.mma.replicate": {2, 3},
    "tasks.mma.overlap": {False, True},
    "tasks.mma.turns": {"none", "named", "mbarrier"},
    "rings.q.stages": {1, 2},
    "rings.kv.storage": {"separate", "shared"},
    "rings.kv.empty": {"leader", "warp"},
    "rings.o.reuse": {"q", "none"},
    "schedule.kind": {"grid", "persistent"},
}


def test_the_shipped_specs_have_every_value_of_every_axis() -> None:
    """The simulator and the offline compile run over the shipped specs: what is not there is not covered."""
    found: dict[str, set[Any]] = {path: set() for path in AXES}
    for path in SPECS:
        document = load(path)
        for variant in families.of(document).kernels(document).kept:
            for axis, values in found.items():
                value: Any = variant.spec
                for key in axis.split("."):
                    value = getattr(value, key)
                values.add(value)
    assert found == AXES
