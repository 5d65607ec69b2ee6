"""A rendered task that does not synchronise as its plan says is refused, with the role and the step."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tlxgen import families
from tlxgen.errors import StepError
from tlxgen.families import Structure
from tlxgen.plan import Plan
from tlxgen.render import environment, steps
from tlxgen.render.module import context, render
from tlxgen.spec import load

SPECS = Path(__file__).parents[2] / "specs"


def structures(spec: str) -> dict[str, Structure]:
    document = load(SPECS / f"{spec}.yaml")
    return {s.name: s for s in families.of(document).kernels(document).structures}


def rendered(structure: Structure, spec: str) -> str:
    """The text of a structure before the libcst passes."""
    family = families.of(load(SPECS / f"{spec}.yaml"))
    return environment.render(environment.environment(families.templates(family)), family.template, context(structure))


@pytest.fixture(scope="module")
def gemm() -> tuple[str, Plan]:
    (structure,) = (s for name, s in structures("hopper_gemm").items() if name.endswith("pingpong"))
    return rendered(structure, "hopper_gemm"), structure.plan


RELEASE = "tlx.barrier_arrive(ab_empty[last])"
MUTANTS = [
    (
        RELEASE,
        "pass",
        "role mma, after 'wgmma_wait acc (1 under way)': 'release ab' in the plan, 'hand mma_turn' in the source",
    ),
    (RELEASE, f"{RELEASE}\n{{indent}}tlx.fence('async_shared')", "'hand mma_turn' in the plan, 'fence' in the source"),
    ("tlx.barrier_wait(ab_full[slot], phase)", "pass", "'wait ab' in the plan, 'multiply acc' in the source"),
    (
        "tlx.async_dot_wait(1, acc)",
        "tlx.async_dot_wait(2, acc)",
        "'wgmma_wait acc (1 under way)' in the plan, 'wgmma_wait acc (2 under way)'",
    ),
    (
        "store_wait(C_STAGES - 1)",
        "store_wait(C_STAGES)",
        "'store_wait (C_STAGES - 1 under way)' in the plan, 'store_wait (C_STAGES under way)'",
    ),
    ('tlx.fence("async_shared")', "pass", "'fence' in the plan, 'store c' in the source"),
    ("tlx.async_descriptor_load(b_desc", "print(b_desc", "role load, after 'load a': 'load b' in the plan, its end"),
    ("tlx.barrier_wait(ab_empty[slot], phase ^ 1)", "pass", "role load, first: 'acquire ab' in the plan, 'expect ab'"),
]


def test_every_source_has_the_steps_of_its_plan(gemm: tuple[str, Plan]) -> None:
    steps.check(*gemm, {})


@pytest.mark.parametrize(("old", "new", "words"), MUTANTS)
def test_a_task_that_does_otherwise_is_refused(gemm: tuple[str, Plan], old: str, new: str, words: str) -> None:
    text, plan = gemm
    found = re.search(rf"^( *).*{re.escape(old)}", text, re.MULTILINE)
    assert found
    with pytest.raises(StepError, match=re.escape(words)):
        steps.check(text.replace(old, new.format(indent=found[1]), 1), plan, {})


@pytest.mark.parametrize("call", ["tlx.cluster_barrier()", "tl.debug_barrier()", "tl.atomic_add(a, 1)", "tlx.new()"])
def test_what_may_synchronise_and_is_no_step_is_refused(gemm: tuple[str, Plan], call: str) -> None:
    text, plan = gemm
    with pytest.raises(StepError, match=r"role mma: \w+\.\w+ is not a step of a plan"):
        steps.check(text.replace("c_count = 0", f"c_count = {call}", 1), plan, {})


def test_a_method_of_a_result_is_no_call_of_the_language(gemm: tuple[str, Plan]) -> None:
    text, plan = gemm
    steps.check(text.replace("c_count = 0", "c_count = tlx.local_load(c_tiles[0]).to(tl.float32)", 1), plan, {})
    with pytest.raises(StepError, match=r"role mma: tlx\.new is not a step of a plan"):
        steps.check(text.replace("c_count = 0", "c_count = tlx.new().to(tl.float32)", 1), plan, {})


def test_a_source_without_the_kernel_is_refused(gemm: tuple[str, Plan]) -> None:
    _, plan = gemm
    with pytest.raises(StepError, match=f"no kernel {plan.launches[0].kernel} in the source"):
        steps.check("A = 1", plan, {})


def test_a_task_that_is_missing_is_refused(gemm: tuple[str, Plan]) -> None:
    text, plan = gemm
    with pytest.raises(StepError, match="1 tasks in the source, 2 roles in the plan"):
        steps.check(text.replace("with tlx.async_task(num_warps=4", "with other(num_warps=4"), plan, {})


def test_a_build_holds_the_source_against_the_plan() -> None:
    (structure,) = (s for name, s in structures("hopper_gemm").items() if name.endswith("pingpong"))
    load_role, *others = structure.plan.roles
    less = replace(load_role, steps=load_role.steps[1:])
    faulty = replace(structure, plan=replace(structure.plan, roles=(less, *others)))
    family = families.of(load(SPECS / "hopper_gemm.yaml"))
    with pytest.raises(StepError, match="role load, first: 'expect ab' in the plan, 'acquire ab' in the source"):
        render(faulty, title="", provenance={}, templates=families.templates(family), template=family.template)


@pytest.mark.parametrize("spec", ["hopper_gemm_helped", "hopper_gemm_tail", "hopper_attention_bwd_schedules"])
def test_structures_that_hand_off_otherwise_show_other_steps(spec: str) -> None:
    """Turns, meetings, products ahead, prefetches, tails: each is another order of steps."""
    shown: dict[str, list[str]] = {}
    for name, structure in structures(spec).items():
        texts = "; ".join(f"{r.name}: {', '.join(map(str, r.steps))}" for r in structure.plan.roles)
        shown.setdefault(texts, []).append(name)
        steps.check(rendered(structure, spec), structure.plan, {})
    ways = {"hopper_gemm_helped": 4, "hopper_gemm_tail": 4, "hopper_attention_bwd_schedules": 5}
    assert len(shown) >= ways[spec], shown
    assert all(len({part_of(n) for n in names}) == 1 for names in shown.values()), shown


def part_of(name: str) -> str:
    """The part of a structure's name that says how its tasks hand on."""
    words = ("named", "mbarrier", "ahead", "no_ahead", "prefetch0", "prefetch2", "cooperative", "pingpong")
    return " ".join(w for w in words if re.search(rf"_{w}(_|$)", name))
