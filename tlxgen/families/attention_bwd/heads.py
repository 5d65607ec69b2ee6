"""Whose CTAs walk the heads of Q that share a head of K and V: one CTA all of them, or each a CTA of its own."""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic import Field

from tlxgen.families import kit
from tlxgen.spec import Fault, SpecModel, choices


class Schedule(SpecModel):
    """Which CTA does what."""

    heads: Literal["together", "apart"] = Field(
        "together",
        description="sm90: who walks the heads of Q that share a head of K and V.",
        json_schema_extra=choices(
            together="The CTA of a tile of keys walks all of them: dK and dV stay in registers, with the same bits "
            "every time. Choose it where there are tiles of keys for all SMs.",
            apart="Each has a CTA of its own for a tile of keys, which adds its dK and dV up in fp32, as dQ is: in no "
            "fixed order, and rounded by the kernel after. Choose it for short sequences with few heads of K and V; a "
            "function that has modules of both picks by shape.",
        ),
    )


class Scheduled(Protocol):
    """What of a spec decides whether heads can be apart."""

    @property
    def arch(self) -> str: ...
    @property
    def apart(self) -> bool: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def wide(self) -> bool: ...


def faults_of(spec: Scheduled) -> list[Fault]:
    """Where heads apart are not to be had."""
    held = "on sm100 the sums of dK and dV are in tensor memory until all heads have been walked"
    order = "CTAs of their own add dK and dV as they come, only adds to dQ have an order: rings.dq.adds must be any"
    pieces = "above a head_dim of 128 dK and dV leave in pieces"
    return kit.faults.where(
        ("schedule.heads", spec.apart and spec.arch != "sm90", held),
        ("schedule.heads", spec.apart and spec.ordered, order),
        ("schedule.heads", spec.apart and spec.wide, pieces),
    )
