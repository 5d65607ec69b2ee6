"""What the plan of an attention kernel derives for sm100, and what of a spec for sm90 is the same there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tlxgen.errors import NoVariantError, SpecErrors
from tlxgen.families import Structure
from tlxgen.families.attention_fwd import AttentionFwd
from tlxgen.plan import Plan, complete
from tlxgen.review.show import plan_tables
from tlxgen.spec import load

from . import specs

SPECS = Path(__file__).resolve().parents[3] / "specs"
SHIPPED = sorted(SPECS.glob("blackwell_attention_fwd*.yaml"))


def plan_of(values: dict[str, Any] | None = None) -> Plan:
    return specs.plan_of({"arch": "sm100", **(values or {})})


def reasons(values: dict[str, Any]) -> dict[str, str]:
    return {r.rule: r.text for r in plan_of(values).reasons}


def counts(plan: Plan) -> dict[str, tuple[str, int, int]]:
    return {b.name: (b.kind, b.count, b.slots.value) for b in plan.barriers}


def test_one_thread_multiplies_for_two_tasks_of_the_softmax_and_four_warps_correct() -> None:
    made = [(r.name, r.warps, r.replicas, r.default, r.registers) for r in plan_of().roles]
    assert made == [
        ("correction", 4, 1, True, None),
        ("softmax", 4, 2, False, 184),
        ("mma", 1, 1, False, 40),
        ("load", 1, 1, False, 40),
    ]
    assert [r.registers for r in plan_of({"schedule.kind": "grid"}).roles[2:]] == [24, 24]
    assert [r.name for r in plan_of({"tasks.store": {}}).roles][-1] == "store"


def test_a_tile_goes_round_on_four_barriers_a_group() -> None:
    assert counts(plan_of()) == {
        "q_full": ("tx", 1, 2),
        "q_empty": ("commit", 1, 2),
        "kv_full": ("tx", 1, 3),
        "kv_empty": ("commit", 1, 3),
        "s_full": ("commit", 1, 2),
        "p_full": ("leader", 1, 2),
        "acc_full": ("commit", 1, 2),
        "acc_empty": ("leader", 1, 2),
        "factor_full": ("leader", 1, 4),
    }


def test_a_barrier_for_each_slice_of_p_and_an_arrival_for_each_thread() -> None:
    made = counts(plan_of({"rings.s.slices": 4, "rings.s.arrive": "warp"}))
    assert made["p_full"] == ("warp", 128, 8)
    assert (made["factor_full"], made["acc_empty"]) == (("warp", 128, 4), ("warp", 128, 2))


def test_a_cta_of_a_grid_never_releases_q() -> None:
    made = counts(plan_of({"schedule.kind": "grid"}))
    assert "q_full" in made and "q_empty" not in made


@pytest.mark.parametrize(("store", "count"), [(False, 5), (True, 6)])
def test_every_task_reads_which_item_is_next(store: bool, count: int) -> None:
    plan = plan_of({"schedule.kind": "clc", **({"tasks.store": {}} if store else {})})
    assert {b.name: b.count for b in plan.source_barriers} == {"clc full": 1, "clc empty": count}
    assert sum(r.replicas for r in plan.roles) == count
    assert "UGETNEXTWORKID" in plan.expected_opcodes


def test_the_column_map_shows_where_p_lies() -> None:
    assert [str(c) for c in plan_of().tmem] == [
        *("s[0] 0..127", "s[1] 128..255", "acc[0] 256..383", "acc[1] 384..511"),
        *("p[0] 0..63 over s[0]", "p[1] 128..191 over s[1]"),
    ]
    (table,) = [t for t in plan_tables(plan_of()) if t.title == "TMEM"]
    assert [row[0] + ">" + row[4] for row in table.rows if row[4]] == ["p[0]>s[0]", "p[1]>s[1]"]


@pytest.mark.parametrize(
    ("values", "rule", "words"),
    [
        ({"tile.n": 256, "rings.kv.stages": 2}, "tmem", "needs 768 of 512 columns, 256 too many (s[0] 0..255,"),
        ({"problem.head_dim": 256, "tile.n": 64, "rings.kv.stages": 1}, "tmem", "acc[1] 384..639"),
        ({"rings.kv.stages": 4}, "smem", "ring kv 131072"),
        ({"rings.q.stages": 2}, "smem", "ring q 131072"),
        ({"tile.m": 128}, "tcgen05-m", "64 rows a group (BLOCK_M // 2)"),
        ({"rings.s.slices": 4, "tile.n": 64}, "slices", "16 keys a slice (64 / 4); a slice has at least 32 keys"),
        ({"rings.kv.stages": 1}, "ring-depth", "2 slots at least"),
        ({"tasks.softmax.registers": 152}, "accumulator", "128 accumulator registers a thread"),
        ({"tasks.softmax.registers": 240}, "registers", "drops the whole split"),
        ({"tasks.mma.registers": None}, "registers", "TLX wants all or none"),
    ],
)
def test_a_variant_that_does_not_fit_says_why_in_numbers(values: dict[str, Any], rule: str, words: str) -> None:
    assert words in reasons(values)[rule]


def with_ring(name: str, **changes: Any) -> list[str]:
    """The reasons of the plan whose ring of that name has `changes`."""
    plan = plan_of()
    rings = tuple(replace(r, **changes) if r.name == name else r for r in plan.rings)
    return [str(r) for r in complete(replace(plan, rings=rings, reasons=())).reasons]


def test_p_lies_over_s_because_who_writes_it_is_the_only_one_who_reads_s() -> None:
    plan = plan_of()
    (taken,), (multiplied,) = plan.ring("s").drains, plan.ring("p").drains
    assert (taken.role, taken.until, multiplied.role) == (plan.ring("p").fill.role, "p", plan.ring("s").fill.role)
    unsafe = "alias: p cannot take the buffers of s: "
    made = with_ring("s", drains=(taken, replace(taken, role="correction", via=("acc",))))
    assert unsafe + "1 x correction may still read them when softmax writes" in made
    made = with_ring("s", drains=(replace(taken, until=""),))
    assert made == [unsafe + "softmax releases them before p has left"]


def test_p_must_fit_over_s() -> None:
    wide = tuple(replace(t, dtype=plan_of().ring("s").tiles[0].dtype) for t in plan_of().ring("p").tiles)
    assert with_ring("p", tiles=wide) == []
    (text,) = with_ring("p", tiles=wide * 2)
    assert text == "alias: p cannot take the buffers of s: 2 banks of 131072 B against 2 banks of 65536 B"


def test_o_takes_q_s_place_once_all_products_are_done_and_q_goes_back_when_o_has_left() -> None:
    plan = plan_of({"rings.o.reuse": "q", "rings.kv.stages": 5})
    (drain,) = plan.ring("q").drains
    assert (drain.role, drain.until, drain.after) == ("correction", "o", ("mma", "acc")) and not plan.reasons
    assert counts(plan)["q_empty"] == ("leader", 1, 2)
    rings = tuple(replace(r, drains=(replace(drain, after=("mma", "p")),)) if r.name == "q" else r for r in plan.rings)
    (reason,) = complete(replace(plan, rings=rings, reasons=())).reasons
    assert str(reason) == "order: correction releases a slot of q that mma reads: mma tells nobody by p"


@pytest.mark.parametrize(
    ("ring", "via", "words"),
    [
        ("p", ("acc",), "it is correction that learns of it, not softmax"),
        ("p", ("factor",), "mma tells nobody by factor"),
        ("factor", ("acc",), "it is mma that learns of it, not softmax"),
        ("factor", ("s",), "correction tells nobody by s"),
    ],
)
def test_a_slot_goes_back_without_a_barrier_only_if_others_tell_the_filler(
    ring: str, via: tuple[str, ...], words: str
) -> None:
    (drain,) = plan_of().ring(ring).drains
    assert with_ring(ring, drains=(replace(drain, via=via),)) == [
        f"order: a slot of {ring} goes back without a barrier: {words}"
    ]


@pytest.mark.parametrize("path", sorted(SPECS.glob("hopper_attention_fwd*.yaml")), ids=lambda p: p.stem)
def test_a_spec_for_sm90_is_one_for_sm100_or_says_why_not(path: Path) -> None:
    document = load(path)
    document = replace(document, data={**document.data, "arch": "sm100"})
    # Queries for consumers of 64 rows, four tiles of D = 256 in TMEM, other head sizes, fp8, and what is of sm90 alone.
    others = ("d64", "d96", "d192_dv128", "d256", "fp8", "fp8_d256", "bias", "blocks")
    small = {f"hopper_attention_fwd_{x}" for x in others}
    if path.stem in small:
        with pytest.raises((SpecErrors, NoVariantError)):
            AttentionFwd().kernels(document).some()
    else:
        kernels = AttentionFwd().kernels(document).some()
        assert all(r for v in kernels.rejected for r in v.reasons)


@pytest.mark.parametrize("arch", ["sm90", "sm100"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_least_spec_is_one_for_both(arch: str, causal: bool, tmp_path: Path) -> None:
    text = f"kernel: attention_fwd\nname: least\narch: {arch}\n" + "mask: {kind: causal}\n" * causal
    (tmp_path / "least.yaml").write_text(text)
    (structure,) = AttentionFwd().kernels(load(tmp_path / "least.yaml")).structures
    assert structure.plan.arch.name == arch and not structure.plan.reasons


@pytest.fixture(scope="module")
def structures() -> list[Structure]:
    return [s for path in SHIPPED for s in AttentionFwd().kernels(load(path)).structures]


def test_no_shipped_variant_takes_more_columns_than_there_are(structures: list[Structure]) -> None:
    assert len(structures) >= 60
    for variant in (v for s in structures for v in s.variants):
        assert variant.plan and 0 < sum(c.count for c in variant.plan.tmem if not c.over) <= 512
