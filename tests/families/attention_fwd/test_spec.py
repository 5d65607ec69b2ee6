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

SPECS = Path(__file__).parents[3] / "specs"


def test_a_spec_of_three_lines_is_the_kernel_that_a_good_engineer_would_start_from() -> None:
    spec = AttentionSpec.model_validate(data_of({}))
    assert (spec.problem.head_dim, spec.head_dim_v, spec.problem.dtype) == (128, 128, "bf16")
    assert (spec.tile.m, spec.tile.n, spec.tasks.mma.replicate) == (128, 128, 2)
    assert spec.tasks.mma.overlap and spec.tasks.mma.turns == "named" and spec.schedule.kind == "persistent"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tasks.mma.replicate": 1, "tile.m": 64}, "a single consumer takes no turns"),
        ({"tasks.mma.registers": 236}, "a multiple of 8 in 24..240, not 236"),
        ({"tile.m": 192}, "192 rows among 2 consumers"),
        ({"tile.n": 96}, "a tile of keys is a power of two, not 96"),
        ({"rings.kv.storage": "shared", "problem.head_dim_v": 64}, r"rows of K \(128\) and of V \(64\) differ"),
        ({"rings.o.reuse": "q", "problem.head_dim_v": 64}, "O cannot take Q's place"),
        ({"schedule.kind": "grid", "rings.q.stages": 2}, "loads Q once"),
        ({"problem.dtype": "e4m3", "problem.lengths": "packed"}, "sequences cannot lie end to end"),
        ({"problem.dtype": "e4m3", "rings.kv.storage": "shared"}, "they need two rings"),
        ({"problem.dtype": "e4m3", "rings.o.reuse": "q"}, "O is bf16 and wider than Q"),
        ({"problem.dtype": "e4m3", "arch": "sm100"}, "e4m3 attention is for sm90"),
        ({"arch": "sm100", "tasks.mma.turns": "named"}, "on sm100 no consumers take turns"),
        ({"name": "softmax"}, "the module needs the name softmax"),
        ({"guards.LOAD": True}, "no task of this family has a guard"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        AttentionSpec.model_validate(data_of(values))


BOTH: dict[str, set[Any]] = {
    "problem.dtype": {"fp16", "bf16"},
    "problem.lengths": {"dense", "keys", "packed"},
    "mask.kind": {"none", "causal", "window"},
    "mask.align": {"top_left", "bottom_right"},
    "softmax.softcap": {False, True},
    "softmax.sink": {False, True},
    "softmax.lse": {False, True},
    "tasks.mma.overlap": {False, True},
    "rings.q.stages": {1, 2},
    "rings.kv.storage": {"separate", "shared"},
    "rings.o.reuse": {"q", "none"},
}
AXES: dict[str, dict[str, set[Any]]] = {
    "hopper": BOTH
    | {
        "problem.dtype": {"fp16", "bf16", "e4m3"},
        "problem.head_dim": {64, 96, 128, 192, 256},
        "tasks.mma.replicate": {2, 3},
        "tasks.mma.turns": {"none", "named", "mbarrier"},
        "rings.kv.empty": {"leader", "warp"},
        "schedule.kind": {"grid", "persistent", "dynamic"},
        "softmax.bias": {"none", "like_q", "fp32"},
    },
    "blackwell": BOTH
    | {
        "problem.dtype": {"fp16", "bf16", "e4m3"},
        "problem.scaling": {"none", "mx"},
        "problem.head_dim": {64, 128},
        "tasks.mma.replicate": {1, 2},
        "rings.s.slices": {1, 2, 4},
        "rings.s.arrive": {"leader", "warp"},
        "softmax.rescale": {"always", "lazy"},
        "softmax.polynomial": {0, 16, 32, 48},
        "schedule.kind": {"grid", "persistent", "clc"},
    },
}


@pytest.mark.parametrize("arch", sorted(AXES))
def test_the_shipped_specs_have_every_value_of_every_axis(arch: str) -> None:
    """The simulator and the offline compile run over the shipped specs: what is not there is not covered."""
    found: dict[str, set[Any]] = {path: set() for path in AXES[arch]}
    for path in sorted(SPECS.glob(f"{arch}_attention_fwd*.yaml")):
        document = load(path)
        for variant in families.of(document).kernels(document).kept:
            for axis, values in found.items():
                value: Any = variant.spec
                for key in axis.split("."):
                    value = getattr(value, key)
                values.add(value)
    assert found == AXES[arch]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tasks.softmax.registers": 160}, "this is of sm100: on sm90 a consumer keeps scores"),
        ({"tasks.store": {}}, "this is of sm100"),
        ({"rings.s.slices": 2}, "this is of sm100"),
        ({"softmax.rescale": "lazy"}, "this is of sm100"),
        ({"schedule.kind": "clc"}, "sm90 has no cluster launch control"),
        ({"schedule.kind": "dynamic"}, "dense sequences are as long: persistent"),
        ({"arch": "sm100", "schedule.kind": "dynamic"}, "a counter is of sm90: here the hardware hands tiles out, clc"),
        ({"tasks.load.default": False}, "on sm90 the TMA producer is the default task"),
        ({"tasks.mma.warps": 1}, "wgmma is issued by a warpgroup: 4 warps, not 1"),
        ({"arch": "sm100", "tasks.load.default": True}, "on sm100 the correction is the default task"),
        ({"arch": "sm100", "tasks.mma.warps": 4}, "on sm100 one thread issues tcgen05: 1 warp, not 4"),
        ({"arch": "sm100", "tasks.mma.replicate": 1, "tile.m": 128}, "two groups that are interleaved, not 1"),
        ({"arch": "sm100", "rings.kv.empty": "warp"}, "on sm100 the tensor core releases a slot"),
        ({"arch": "sm100", "tasks.softmax.registers": 100}, "a multiple of 8 in 24..240, not 100"),
        ({"arch": "sm100", "problem.head_dim_v": 64}, r"rows of K \(128\) and of V \(64\) differ"),
        ({"arch": "sm100", "rings.o.reuse": "q", "schedule.kind": "grid"}, "a CTA of a grid releases nothing"),
        ({"arch": "sm100", "rings.o.reuse": "q", "tasks.store": {}}, "no store task"),
        ({"arch": "sm100", "name": "risen"}, "the module needs the name risen"),
    ],
)
def test_what_an_architecture_has_not_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        AttentionSpec.model_validate(data_of(values))


@pytest.mark.parametrize(
    ("values", "turns"),
    [
        ({"mask.kind": "window"}, "named"),
        ({"mask.kind": "window", "problem.dtype": "e4m3"}, "none"),
        ({"mask.kind": "causal", "problem.dtype": "e4m3"}, "named"),
        ({"mask.kind": "window", "problem.dtype": "e4m3", "tasks.mma.turns": "named"}, "named"),
        ({"mask.kind": "window", "problem.dtype": "e4m3", "problem.head_dim": 256}, "named"),
        ({"mask.kind": "window", "problem.head_dim": 64}, "named"),
        ({"mask.kind": "window", "problem.head_dim": 64, "problem.lengths": "packed"}, "none"),
    ],
)
def test_windows_of_short_products_need_no_turns(values: dict[str, Any], turns: str) -> None:
    assert AttentionSpec.model_validate(data_of(values)).tasks.mma.turns == turns
