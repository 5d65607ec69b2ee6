"""A rule is one condition: true or false of a variant's numbers, and the same text in a kernel's parameters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlxgen.plan import Condition, Reason, Rule, Size, complete
from tlxgen.plan.rule import at_least, between, equal, multiple_of, one_of

from .toy import plan

EXTENT = st.integers(0, 300)


@given(EXTENT, EXTENT, st.sampled_from([1, 2, 3, 64]))
def test_text_and_truth_agree(m: int, n: int, unit: int) -> None:
    whole, other = Size.of("BLOCK_M", m), Size.of("BLOCK_N", n)
    for size in (whole, whole // 2, whole * other, whole + other, (whole + other) * 2):
        for condition in (
            at_least(size, unit),
            between(size, unit, 128),
            one_of(size, 64, 128),
            multiple_of(size, unit),
            equal(size, other),
        ):
            assert eval(condition.text, {"BLOCK_M": m, "BLOCK_N": n}) is condition.holds, condition.text


@pytest.mark.parametrize("holds", [True, False])
def test_a_broken_rule_is_a_reason(holds: bool) -> None:
    rule = Rule("wgmma-n", Condition("BLOCK_N >= 32", holds), "BLOCK_N = 16, ", "wgmma takes 32 to 256")
    reasons = complete(plan(rules=(rule,))).reasons
    assert reasons == (() if holds else (Reason("wgmma-n", "BLOCK_N = 16, wgmma takes 32 to 256"),))
