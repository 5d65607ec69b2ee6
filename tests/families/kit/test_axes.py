"""The tables of axes: every path is a key of the spec, and a rule is blamed on one."""

from __future__ import annotations

import pytest

from tlxgen import families
from tlxgen.spec import paths


@pytest.mark.parametrize("name", families.names())
def test_a_table_names_keys_that_there_are_and_blames_a_rule_once(name: str) -> None:
    family = families.load(name)
    known = set(paths(family.model))
    assert {axis.path for axis in family.axes} <= known
    rules = [rule for axis in family.axes for rule in axis.blame]
    assert len(rules) == len(set(rules))
    constants = [axis.parameter for axis in family.axes if axis.parameter]
    assert len(constants) == len(set(constants)) and all(axis.means for axis in family.axes if axis.parameter)
