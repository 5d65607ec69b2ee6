"""What the child process of a review asks of the generator of its side."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tlxgen import families
from tlxgen.families.base import Family
from tlxgen.review.picture.facts import facts_of
from tlxgen.review.report.asked import _first_plans, _plans
from tlxgen.spec import load

SPEC = Path(__file__).parents[2] / "specs" / "hopper_gemm.yaml"


def test_a_structure_is_planned_until_its_first_variant_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    planned, plan = [], Family.plan

    def counted(self: Family, spec: Any, **named: Any) -> Any:
        planned.append(spec)
        return plan(self, spec, **named)

    monkeypatch.setattr(Family, "plan", counted)
    document = load(SPEC)
    whole = families.of(document).kernels(document).structures
    needed = len(planned)
    with _first_plans(document):
        assert [s.variants[0].plan for s in families.of(document).kernels(document).structures] == [
            s.variants[0].plan for s in whole
        ]
    assert len(planned) - needed == len(whole) < needed
    assert Family.plan is counted


def test_each_structure_has_the_plan_that_it_has_in_the_whole_spec() -> None:
    document = load(SPEC)
    whole = {s.name: s for s in families.of(document).kernels(document).structures}
    found = dict(_plans(str(SPEC), {name: dict(s.values) for name, s in whole.items()}))
    for name, structure in whole.items():
        ours, theirs = (facts_of(p, {}, lambda plan, ring: []) for p in (found[name], structure.variants[0].plan))
        assert ours == theirs


def test_a_work_list_of_an_older_plan_is_shown() -> None:
    (structure, *_) = families.of(load(SPEC)).kernels(load(SPEC)).structures
    plan = structure.plan
    old = SimpleNamespace(kind=plan.work.name, tail=plan.work.tail, cluster=plan.work.cluster)
    given = {name: getattr(plan, name) for name in ("family", "arch", "cluster", "roles", "rings", "turns", "budgets")}
    assert facts_of(SimpleNamespace(**given, work=old), {}, lambda plan, ring: [])["work"]["kind"] == plan.work.name
