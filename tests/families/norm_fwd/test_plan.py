"""What the plan of a norm derives, and which specs and variants cannot be."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.families.norm_bwd import specs as backward
from tlxgen.families.norm_fwd import NormFwd
from tlxgen.families.norm_fwd.cost import bytes_moved, clocks
from tlxgen.plan import Size, complete

from .specs import plan_of, spec_of

STAGED = {"schedule.kind": "staged"}


def test_one_cta_has_a_row_without_ring_or_barrier() -> None:
    plan = plan_of({})
    assert plan.rings == plan.barriers == () and plan.cluster == (1, 1, 1)
    assert [str(step) for step in plan.roles[0].steps] == ["sums of x", "y"]


@pytest.mark.parametrize(("norm", "values"), [("layer", 2), ("rms", 1)])
def test_sums_have_the_values_of_each_cta_and_are_full_with_all_of_them(norm: str, values: int) -> None:
    plan = plan_of({"cluster.n": 4, "problem.norm": norm, "tile.m": 2})
    ring = plan.ring("sums")
    assert ring.full_barrier and ring.full_barrier.bytes and ring.empty_barrier is None
    assert (ring.full_barrier.kind, ring.full_barrier.count) == ("tx", 1)
    assert ring.full_barrier.bytes.value == ring.smem_bytes == 2 * values * 4 * 4
    assert (ring.slots.value, ring.drains) == (1, ())  # a grid exchanges once
    assert [str(step) for step in plan.roles[0].steps][0] == "expect sums"


def test_a_ring_that_goes_back_by_its_own_full_barrier_needs_two_slots() -> None:
    plan = backward.plan_of({"cluster.n": 4, "problem.bias": True})
    assert not plan.reasons
    one = (replace(r, slots=Size.literal(1)) if r.name == "sums" else r for r in plan.rings)
    assert [r.rule for r in complete(replace(plan, rings=tuple(one))).reasons] == ["order"]


def test_a_row_lies_in_smem_without_a_barrier() -> None:
    plan = plan_of({**STAGED, "tile.n": 8192})
    assert (plan.ring("x").smem_bytes, plan.barriers) == (8192 * 2, ())
    assert [str(step) for step in plan.roles[0].steps] == ["load x", "load_wait", "sums of x", "y"]
    (reason,) = plan_of({**STAGED, "tile.n": 16384, "tile.m": 8}).reasons
    assert reason.rule == "smem"


@pytest.mark.parametrize("kind", ["grid", "staged"])
def test_a_residual_is_read_with_x_and_its_sum_is_a_result(kind: str) -> None:
    plan = plan_of({"schedule.kind": kind, "tile.n": 2048, "problem.norm": "rms", "problem.residual": True})
    assert [a.name for a in plan.host.inputs] == ["x", "residual", "weight", "eps"]
    assert [a.name for a in plan.host.results] == ["out", "residual_out"]
    pointers = [(a.name, a.of) for a in plan.launches[0].of_kind("address")]
    assert pointers[3:] == [("y_ptr", "out"), ("residual_out_ptr", "residual_out")]
    assert [ring.smem_bytes for ring in plan.rings] == [2 * 2048 * 2] * (kind == "staged")
    assert bytes_moved(plan.facts, (10, 100)) == 10 * 4 * 100 * 2


def test_warps_and_registers_follow_from_the_tile_and_the_weights() -> None:
    spec = spec_of({"tile.n": 16384})
    assert (spec.warps, spec.registers) == (16, 64)  # 32 for x in fp32, 16 for weights
    assert spec_of({"tile.n": 8192, "problem.bias": True}).registers == 80  # and 16: three CTAs of 8 warps an SM
    assert spec_of({**STAGED, "tile.n": 16384}).registers == 80  # three CTAs of 8 warps
    assert plan_of({}).launches[0].maxnreg == 64


def test_what_a_thread_holds_must_fit_the_registers_of_the_launch() -> None:
    (reason,) = plan_of({"tile.n": 16384, "tasks.reduce.warps": 8, "tasks.reduce.registers": 64}).reasons
    assert str(reason) == "registers: reduce needs about 96 registers a thread; it gets 64"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"problem.norm": "rms", "problem.bias": True}, "RMSNorm has no bias"),
        ({"problem.weight": "none", "problem.bias": True}, "there is none"),
        ({"tile.n": 5000}, "a power of two, not 5000"),
        ({"tasks.reduce.registers": 100}, "a multiple of 8"),
        ({"name": "clocks"}, "needs the name clocks for something else"),
    ],
)
def test_a_faulty_spec_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values)


def test_a_structure_is_rendered_from_its_variant_with_a_cluster() -> None:
    few, many = spec_of({}), spec_of({"cluster.n": 8})
    assert NormFwd().fullest([few, many, few]) is many


def test_a_row_that_the_ctas_do_not_hold_is_never_picked() -> None:
    assert clocks(plan_of({}), (10, 8193), 132) == math.inf
    assert clocks(plan_of({"tile.n": 16384}), (4096, 8192), 132) > clocks(plan_of({}), (4096, 8192), 132)
    staged = plan_of({**STAGED, "tile.n": 4096})
    assert [clocks(staged, (1000, n), 132) < math.inf for n in (4096, 4097, 4104, 4095, 4088)] == [
        True,
        *[False] * 3,
        True,
    ]
    assert bytes_moved(spec_of({"problem.stats": True}), (10, 100)) == 10 * (400 + 8)
