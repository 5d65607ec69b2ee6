"""Steps as data: their words, and which of them a rendered source must have."""

from __future__ import annotations

import pytest

from tlxgen.plan import Step
from tlxgen.plan.steps import compared, merged, steps


@pytest.mark.parametrize(
    ("text", "step", "shown"),
    [
        ("acquire ab", Step("acquire", "ab"), "acquire ab"),
        ("wgmma_wait acc 1", Step("wgmma_wait", "acc", "1"), "wgmma_wait acc (1 under way)"),
        ("wgmma_wait acc", Step("wgmma_wait", "acc", "0"), "wgmma_wait acc"),
        ("store_wait C_STAGES - 1", Step("store_wait", "", "C_STAGES - 1"), "store_wait (C_STAGES - 1 under way)"),
        ("store_wait", Step("store_wait", "", "0"), "store_wait"),
        ("fence", Step("fence"), "fence"),
        (": mask, softmax", Step("do", "mask, softmax"), "mask, softmax"),
    ],
)
def test_steps_from_words(text: str, step: Step, shown: str) -> None:
    assert steps(text) == (step,)
    assert str(step) == shown


def test_no_words_are_no_step_and_other_words_are_a_mistake() -> None:
    assert steps("", "fence") == steps("fence")
    with pytest.raises(ValueError, match="'aquire ab' begins with no kind of step"):
        steps("aquire ab")


def test_neighbours_that_are_the_same_are_one() -> None:
    assert merged(steps("load a", "load a", "load b", "load a")) == steps("load a", "load b", "load a")


def test_words_are_not_compared_nor_what_a_constant_guard_leaves_out() -> None:
    declared = (*steps("publish c", when="STORE"), *steps("store c", when="not STORE"), *steps(": gelu", "store_wait"))
    assert compared(declared, {}) == steps("publish c", "store c", "store_wait")
    assert compared(declared, {"STORE": True}) == steps("publish c", "store_wait")
    assert compared(declared, {"STORE": False}) == steps("store c", "store_wait")


def test_a_depth_is_a_number_where_its_parameter_is_a_constant() -> None:
    assert compared(steps("store_wait C_STAGES - 1"), {"C_STAGES": 2}) == steps("store_wait 1")
    assert compared(steps("store_wait C_STAGES - 1"), {"STAGES": 4}) == steps("store_wait C_STAGES - 1")
