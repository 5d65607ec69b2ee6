"""Specs of the backward of norms made of dotted paths, and their plans."""

from __future__ import annotations

from typing import Any

from tests.families.attention_bwd import specs
from tlxgen.plan import Plan


def spec_of(values: dict[str, Any]) -> Any:
    return specs.spec_of(values, "norm_bwd")


def plan_of(values: dict[str, Any]) -> Plan:
    return specs.plan_of(values, "norm_bwd")
