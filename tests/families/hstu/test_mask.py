"""The mask of HSTU as the reference has it, by places, is the one of the definition, pair by pair."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pydantic import ValidationError

from tlxgen.families.hstu import Hstu
from tlxgen.families.hstu.problem import seen_of, shapes
from tlxgen.families.hstu.spec import HstuSpec


def spec(**mask: bool) -> HstuSpec:
    return HstuSpec.model_validate({"kernel": "hstu", "name": "f", "arch": "sm90", "mask": mask})


def sees(row: int, key: int, n: int, context: int, targets: int, near: int, full: int, causal: bool) -> bool:
    """Whether the query at one place sees a key at another."""
    history = n - targets
    if context and history <= context - 1:
        return row == key
    if context and row < context:
        return (key < history if causal else True) or row == key
    if row >= history and key >= history:
        return row == key
    if causal and key > row:
        return False
    if near and row != key:
        start, end = (max(min(x, history), context - 1 if context else 0) for x in (key, row))
        late = full and min(row, history) >= history - full
        return bool(late) or end - start <= near
    return True


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("context", [0, 1, 3])
@pytest.mark.parametrize("near", [0, 4])
def test_pairs(causal: bool, context: int, near: int) -> None:
    if near and not causal:
        pytest.skip("no spec has it")
    for n, targets, full in itertools.product((1, 2, 9, 16), (0, 1, 3), (0, 2)):
        if targets > n:
            continue
        given: dict[str, Any] = {"contextual_seq_len": context, "max_attn_len": near, "min_full_attn_seq_len": full}
        seen = seen_of(spec(causal=causal), n, targets, given)
        expected = [[sees(i, j, n, context, targets, near, full, causal) for j in range(n)] for i in range(n)]
        assert seen.tolist() == expected, (n, targets, full)


def test_a_plain_mask_is_that_of_attention() -> None:
    assert spec().weights["mask"] == "causal"
    assert spec(causal=False).weights["mask"] == "none"
    assert spec(targets=True).weights["mask"] == "history"


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValidationError, match="keys to the right are not counted"):
        spec(causal=False, max_attn_len=True)
    with pytest.raises(ValidationError, match="all queries see all"):
        spec(min_full_attn=True)


def test_queries_are_the_last_keys() -> None:
    assert all(n <= m for *_, n, m in shapes(spec()))
    assert Hstu().wrong_shape((1, 1, 1, 3, 2)) == "3 queries, which are the last of 2 keys"
    assert not Hstu().wrong_shape((1, 1, 1, 2, 3))
