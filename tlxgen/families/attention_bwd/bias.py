"""A bias that the forward has added to scores, and its gradient: what a spec says, and what does not go together."""

from __future__ import annotations

from typing import Protocol

from tlxgen.families import kit
from tlxgen.spec import Fault


class Biased(Protocol):
    """What of a spec decides whether scores can have a bias."""

    @property
    def arch(self) -> str: ...
    @property
    def bias(self) -> str: ...
    @property
    def dbias(self) -> str: ...
    @property
    def softcap(self) -> bool: ...
    @property
    def lengths(self) -> str: ...
    @property
    def gradients(self) -> tuple[str, ...]: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def apart(self) -> bool: ...
    @property
    def columns(self) -> int: ...
    @property
    def dq_stages(self) -> int: ...
    @property
    def is_listed(self) -> bool: ...
    @property
    def meets_early(self) -> bool: ...


def faults_of(spec: Biased) -> list[Fault]:
    """What does not go together with a bias."""
    if not spec.bias:
        alone = spec.dbias != "none"
        return kit.faults.foreign(("softmax.dbias", alone, "nothing is added to scores: softmax.bias is none"))
    packed, cap = spec.lengths == "packed", "the product Q K^T is added up from the bias on: a soft cap would bend that"
    room = "a step's tile of the bias takes SMEM that a head_dim of 128 has, with tasks.mma.meet: mbarrier"
    order = "a turn awaits dQ alone, and the bias's gradient leaves before it: rings.dq.adds must be any"
    return [
        *kit.faults.foreign(("softmax.bias", spec.arch != "sm90", "a bias is for sm90")),
        *kit.faults.where(
            ("softmax.bias", packed, "sequences end to end have no matrix of queries by keys"),
            ("softmax.bias", spec.softcap, cap),
            ("softmax.bias", spec.columns != 128 or not spec.meets_early, room),
            ("softmax.bias", "dq" not in spec.gradients, "attention_bwd_dq, which would make dQ, adds no bias: qkv"),
            ("softmax.bias", spec.ordered, order),
            ("softmax.bias", spec.apart, "sums of dK and dV take the bias's SMEM: schedule.heads must be together"),
            ("rings.dq.stages", spec.dq_stages != 1, "one buffer of dQ leaves room for a tile of the bias: 1"),
            ("softmax.bias", spec.is_listed, "a walk over lists leaves no registers to add a bias: no mask.blocks"),
        ),
    ]
