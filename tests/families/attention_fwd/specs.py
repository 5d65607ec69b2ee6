"""Attention specs made of dotted paths, and their plans."""

from __future__ import annotations

from typing import Any

from tlxgen.families.attention_fwd import AttentionFwd
from tlxgen.families.attention_fwd.spec import AttentionSpec
from tlxgen.plan import Plan


def data_of(values: dict[str, Any]) -> dict[str, Any]:
    """The mapping of a spec: the least there can be, and `values` at their dotted paths."""
    data: dict[str, Any] = {"kernel": "attention_fwd", "name": "some", "arch": "sm90"}
    for path, value in values.items():
        *parents, last = path.split(".")
        node = data
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    return data


def plan_of(values: dict[str, Any]) -> Plan:
    spec = AttentionSpec.model_validate(data_of(values))
    return AttentionFwd().plan(spec, guards={}, baked={})
