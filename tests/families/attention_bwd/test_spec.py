"""What a spec of the backward may say: a short one is enough, and what cannot be is refused with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tlxgen import families
from tlxgen.spec import load

from .specs import spec_of

SPECS = sorted((Path(__file__).parents[3] / "specs").glob("*_attention_bwd*.yaml"))


@pytest.mark.parametrize(("head_dim", "queries"), [(128, 64), (64, 128)])
def test_a_step_has_the_queries_that_make_a_part_of_dq_for_each_consumer(head_dim: int, queries: int) -> None:
    assert spec_of({"problem.head_dim": head_dim}).queries == queries


@pytest.mark.parametrize(
    ("kernel", "values", "words"),
    [
        ("attention_bwd", {"tasks.mma.registers": 236}, "a multiple of 8 in 24..240, not 236"),
        ("attention_bwd_dq", {"arch": "sm100"}, "does not target sm100 yet"),
        ("attention_bwd", {"arch": "sm100", "problem.gradients": "kv"}, "dK and dV alone are for sm90"),
        ("attention_bwd", {"problem.gradients": "kv", "rings.dq.adds": "ordered"}, "without dQ, nothing is added up"),
        ("attention_bwd", {"arch": "sm100", "tasks.mma.warps": 4}, "one thread issues tcgen05: 1 warp, not 4"),
        ("attention_bwd", {"arch": "sm100", "tasks.mma.replicate": 2}, "one thread issues all products: 1"),
        ("attention_bwd", {"arch": "sm100", "tasks.mma.keep": "v"}, "no consumer has sums in its registers; remove"),
        ("attention_bwd", {"arch": "sm100", "tasks.load.default": True}, "the task of P and dS is the default one"),
        ("attention_bwd", {"arch": "sm100", "tasks.reduce.registers": 90}, "a multiple of 8 in 24..240, not 90"),
        ("attention_bwd", {"tasks.compute.warps": 4}, "this is of sm100.*remove the key"),
        ("attention_bwd", {"tasks.reduce.registers": 80}, "this is of sm100.*remove the key"),
        ("attention_bwd", {"tasks.mma.order": "dk_dq_dp"}, "this is of sm100.*remove the key"),
        ("attention_bwd", {"rings.ds.operand": "smem"}, "this is of sm100.*remove the key"),
        ("attention_bwd", {"rings.dq.reuse": "dp"}, "this is of sm100.*remove the key"),
        ("attention_bwd", {"tasks.mma.replicate": 1}, "two consumers share the keys of a CTA; remove the key"),
        ("attention_bwd", {"name": "attention"}, "the module needs the name attention"),
        ("attention_bwd", {"guards.LOAD": True}, "no task of this family has a guard"),
        ("attention_bwd", {"problem.head_dim": 100}, "multiple of 8"),
        ("attention_bwd", {"problem.head_dim": 264}, "less than or equal to 256"),
        ("attention_bwd_dq", {"problem.gradients": "kv"}, "Extra inputs are not permitted"),
        ("attention_bwd_dq", {"tile.n": 96}, "a tile of keys is a power of two, not 96"),
        ("attention_bwd_dq", {"tasks.mma.registers": 248}, "a multiple of 8 in 24..240, not 248"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(kernel: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values, kernel)


AXES: dict[str, set[Any]] = {
    "problem.dtype": {"fp16", "bf16"},
    "problem.head_dim": {64, 96, 128, 192, 256},
    "problem.gradients": {"qkv", "kv"},
    "problem.lengths": {"dense", "keys", "packed"},
    "mask.kind": {"none", "causal", "window"},
    "mask.align": {"top_left", "bottom_right"},
    "softmax.softcap": {False, True},
    "softmax.sink": {False, True},
    "rings.dq.adds": {"any", "ordered"},
    "schedule.heads": {"together", "apart"},
    "rings.q.stages": {1, 2, 3},
    "rings.do.stages": {1, 2},
    "rings.empty": {"warp", "leader"},
    "tile.n": {32, 64, 128},
}


BLACKWELL: dict[str, set[Any]] = {
    "problem.dtype": {"fp16", "bf16", "e4m3"},
    "problem.scaling": {"none", "mx"},
    "problem.head_dim": {64, 128},
    "problem.lengths": {"dense", "keys", "packed"},
    "mask.kind": {"none", "causal", "window"},
    "mask.align": {"top_left", "bottom_right"},
    "softmax.softcap": {False, True},
    "softmax.sink": {False, True},
    "rings.dq.adds": {"any", "ordered"},
    "tasks.mma.order": {"dk_dq_dp", "dq_dk_dp", "dk_dp_dq"},
    "rings.ds.operand": {"tmem", "smem"},
    "rings.dq.reuse": {"dp", "s", "none"},
    "cluster.n": {1, 2},
    "cluster.exchange": {"copy", "store"},
    "rings.do.stages": {1, 2},
    "rings.empty": {"warp", "leader"},
    "tasks.compute.parts": {1, 2, 4},
}


@pytest.mark.parametrize(("arch", "axes"), [("hopper", AXES), ("blackwell", BLACKWELL)])
def test_the_shipped_specs_have_every_value_of_every_axis(arch: str, axes: dict[str, set[Any]]) -> None:
    """The simulator and the offline compile run over the shipped specs: what is not there is not covered."""
    found: dict[str, set[Any]] = {path: set() for path in axes}
    for path in (p for p in SPECS if p.stem.startswith(arch)):
        document = load(path)
        for variant in families.of(document).kernels(document).kept:
            for axis, values in found.items():
                value: Any = variant.spec
                for key in axis.split("."):
                    value = getattr(value, key, None)
                values |= {value} - {None}
    assert found == axes
