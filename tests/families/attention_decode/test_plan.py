"""What the plan of decoding derives, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.families.attention_bwd import specs
from tlxgen.arch import Sm90
from tlxgen.families.attention_decode.cost import bytes_moved, clocks
from tlxgen.plan import Plan


def plan_of(values: dict[str, Any]) -> Plan:
    return specs.plan_of(values, "attention_decode")


def test_a_default_has_enough_on_its_way_to_keep_memory_busy() -> None:
    for head_dim in (64, 128):
        plan = plan_of({"problem.head_dim": head_dim})
        assert sum(ring.smem_bytes for ring in plan.rings) >= Sm90.dram_in_flight
        assert not plan.reasons


@pytest.mark.parametrize(("keys", "more"), [("dense", set()), ("lengths", {"seqlens_k_ptr"})])
def test_a_kernel_has_the_arguments_that_its_keys_need(keys: str, more: set[str]) -> None:
    names = {a.name for a in plan_of({"problem.keys": keys}).launches[0].arguments}
    assert {n for n in names if n in ("seqlens_k_ptr", "block_table_ptr")} == more
    assert ("N_K" in names) == (keys == "dense")


def test_a_page_is_read_by_its_own_order_of_dimensions() -> None:
    views = [a.view for a in plan_of({"problem.keys": "paged"}).launches[0].arguments if a.kind == "descriptor"]
    assert views == ["t.transpose(1, 2)"] * 2


def test_slots_that_do_not_fit_are_rejected_for_smem() -> None:
    (reason,) = plan_of({"rings.kv.stages": 7}).reasons
    assert reason.rule == "smem"


def test_the_target_is_hopper() -> None:
    with pytest.raises(Exception, match="does not target sm100"):
        spec = specs.spec_of({}, "attention_decode").model_copy(update={"arch": "sm100"})
        raise ValueError(spec.faults()[0][1])


def test_what_it_costs_is_the_bytes_of_keys_and_values() -> None:
    plan = plan_of({})
    shape = (4, 64, 8, 1, 32768)
    assert bytes_moved(plan.facts, shape) == pytest.approx(4 * 8 * 32768 * 2 * 128 * 2, rel=1e-3)  # type: ignore[arg-type]
    assert clocks(plan, shape, 132) < clocks(plan, (4, 64, 8, 1, 65536), 132)
    assert clocks(plan, shape, 132) < clocks(plan, (4, 64, 8, 16, 32768), 132)  # two tiles of rows read K twice


def test_consumers_that_take_tiles_in_turns_have_slots_of_their_own() -> None:
    """Else a consumer waits for a slot's next phase but one, and parity lets it pass."""
    turns = {"tasks.mma.replicate": 2, "tasks.mma.divide": "keys"}
    assert not plan_of({**turns, "rings.kv.stages": 4}).reasons
    (reason,) = plan_of({**turns, "rings.kv.stages": 3}).reasons
    assert reason.rule == "slots-of-each"
    with pytest.raises(ValueError, match="one consumer has all keys"):
        specs.spec_of({"tasks.mma.divide": "keys"}, "attention_decode")
