"""Backward specs made of dotted paths, and their plans."""

from __future__ import annotations

from typing import Any

from tlxgen import families
from tlxgen.plan import Plan


def data_of(values: dict[str, Any], kernel: str = "attention_bwd") -> dict[str, Any]:
    """The mapping of a spec: the least there can be, and `values` at their dotted paths."""
    data: dict[str, Any] = {"kernel": kernel, "name": "some", "arch": "sm90"}
    for path, value in values.items():
        *parents, last = path.split(".")
        node = data
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    return data


def spec_of(values: dict[str, Any], kernel: str = "attention_bwd") -> Any:
    return families.load(kernel).model.model_validate(data_of(values, kernel))


def plan_of(values: dict[str, Any], kernel: str = "attention_bwd") -> Plan:
    return families.load(kernel).plan(spec_of(values, kernel), guards={}, baked={})
