"""What the plan of a norm's backward derives, and which specs and variants cannot be."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from tlxgen.families.norm_bwd import NormBwd
from tlxgen.families.norm_bwd.cost import bytes_moved, clocks

from .specs import plan_of, spec_of

WIDE = {"tile.n": 16384, "tasks.reduce.again": True}


def test_a_ring_of_copies_has_no_barriers_and_its_filler_reads_it() -> None:
    plan = plan_of({"rings.rows.stages": 3, "tile.n": 4096})
    ring = plan.ring("rows")
    assert plan.barriers == () and ring.smem_bytes == 3 * 2 * 4096 * 2
    assert [str(s) for s in plan.roles[0].steps if "wait" in s.kind] == ["load_wait"] * 2
    assert plan_of({"rings.rows.stages": 0}).rings == ()


@pytest.mark.parametrize(("norm", "values"), [("layer", 2), ("rms", 1)])
def test_a_slot_of_sums_has_the_values_of_each_cta_and_is_full_with_all_of_them(norm: str, values: int) -> None:
    ring = plan_of({"cluster.n": 4, "problem.norm": norm, "tile.m": 2}).ring("sums")
    assert ring.full_barrier and ring.full_barrier.bytes and ring.empty_barrier is None
    assert ring.full_barrier.bytes.value == 2 * values * 4 * 4
    assert ring.smem_bytes == 2 * ring.full_barrier.bytes.value


@pytest.mark.parametrize(
    ("values", "launched"),
    [
        ({"problem.bias": True}, ["kernel", "finish_kernel"]),
        ({"tasks.reduce.sums": False}, ["kernel", "columns_kernel", "finish_kernel"]),
        ({"problem.weight": "none", "tasks.reduce.sums": False}, ["kernel"]),
    ],
)
def test_sums_that_are_not_added_up_beside_dx_have_a_kernel(values: dict[str, Any], launched: list[str]) -> None:
    assert [x.kernel for x in plan_of(values).launches] == launched


def test_what_a_thread_holds_must_fit_the_registers_of_the_launch() -> None:
    (reason,) = plan_of({**WIDE, "tasks.reduce.again": False, "tasks.reduce.warps": 16, "problem.bias": True}).reasons
    assert reason.rule == "registers"
    assert not plan_of(WIDE).reasons


def test_ctas_that_share_an_sm_must_fit_its_smem() -> None:
    spec = spec_of({"tile.n": 4096, "rings.rows.stages": 7})
    assert (spec.warps, spec.registers, spec.ctas) == (8, 128, 2)
    (reason,) = plan_of({"tile.n": 4096, "rings.rows.stages": 7}).reasons
    assert str(reason) == "smem: 2 CTAs share an SM, by their registers, and take 245760 B of 232448 B"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"problem.norm": "rms", "problem.bias": True}, "RMSNorm has no bias"),
        ({"problem.weight": "none", "problem.bias": True}, "there is none"),
        ({"problem.stats": True}, "always arguments"),
        ({"tile.n": 5000}, "a power of two, not 5000"),
        ({"tile.chunks": 2}, "chunks are read from memory"),
        ({"tasks.reduce.registers": 100}, "a multiple of 8"),
        ({"schedule.kind": "grid"}, "Input should be 'persistent'"),
        ({"name": "clocks"}, "needs the name clocks for something else"),
    ],
)
def test_a_faulty_spec_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values)


def test_a_structure_is_rendered_with_all_that_some_variant_has() -> None:
    plain = spec_of({"rings.rows.stages": 0})
    wide = spec_of({**WIDE, "cluster.n": 8, "rings.rows.stages": 0, "tasks.reduce.sums": False})
    ring = spec_of({"rings.rows.stages": 3})
    found = NormBwd().fullest([plain, wide, ring])
    assert (found.cluster.n, found.rings.rows.stages, found.tasks.reduce.sums) == (8, 3, False)


def test_rows_that_a_config_cannot_take_are_never_picked() -> None:
    assert clocks(plan_of({}), (10, 8193), 132) == math.inf  # too many
    assert clocks(plan_of({}), (10, 1001), 132) == math.inf  # no chunks of 16 bytes to copy
    assert clocks(plan_of({"rings.rows.stages": 0}), (10, 1001), 132) < math.inf
    assert bytes_moved(spec_of({}), (10, 100)) == 10 * (600 + 8)
