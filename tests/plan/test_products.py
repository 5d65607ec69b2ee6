"""How many wgmma products may be under way when one is done: those that were issued after it."""

from __future__ import annotations

import pytest

from tlxgen.plan.products import Products


def test_products_complete_in_the_order_of_issue() -> None:
    flight = Products()
    for name in ("scores", "dp", "next_scores"):
        assert flight.issue(name) == ""  # prints nothing
    assert [flight.after("scores"), flight.after("dp"), flight.after("next_scores")] == [2, 1, 0]


def test_the_last_product_of_a_name_is_waited_for() -> None:
    flight = Products()
    for name in ("dk", "dk", "dq"):
        flight.issue(name)
    assert flight.after("dk") == 1


def test_nothing_is_waited_for_that_was_not_issued_or_is_done() -> None:
    flight = Products()
    flight.issue("acc")
    flight.issue("scores")
    flight.after("scores")  # acc, which was issued before, is done too
    with pytest.raises(ValueError, match="nothing of acc is under way, only nothing"):
        flight.after("acc")
