"""`tlxgen list`: prints a spec's structures, and why variants are rejected; single variants on request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen.errors import ReviewError
from tlxgen.families import Kernels, Structure, Variant, kernels_of
from tlxgen.plan import Plan
from tlxgen.record import head

from .registers import granted, per_task
from .tables import Table, show

MOST_STRUCTURES = 60  # limits of the overview's lines: structures, and
MOST_RULES = 25


@dataclass(frozen=True)
class Wanted:
    """The variants that are listed one by one. By default there are none.

    `rule` selects rejected ones: by its name (`smem`), the kind of a condition (`require`), or a part of its text.
    """

    kept: bool = False
    rejected: bool = False
    rule: str | None = None


def print_variants(spec: Path, wanted: Wanted, *, as_json: bool = False) -> None:
    """Prints an overview, with a line for each structure and each rule, or the wanted variants.

    JSON has all variants if none is selected. Raises NoVariantError, after it has printed, if no variant is left, and
    ReviewError for a rule that rejects none.
    """
    kernels = kernels_of(spec)
    rules = _rules(kernels, wanted.rule)
    if as_json:
        everything = not (wanted.kept or wanted.rejected)
        print(
            json.dumps(_record(kernels, rules, everything or wanted.kept, everything or wanted.rejected), default=str)
        )
    elif wanted.kept or wanted.rejected:
        if wanted.kept:
            show([_kept(kernels)])
        if wanted.rejected:
            for variant in _rejected(kernels, rules):
                print(f"{variant.label}: {'; '.join(variant.reasons)}")
    else:
        _overview(kernels)
    kernels.some()


def _overview(kernels: Kernels) -> None:
    print(_counts(kernels))
    structures = Table("Kept", ("structure", "configs", "SMEM B", "registers"), one_line=True)
    for structure in kernels.structures[:MOST_STRUCTURES]:
        plans = [v.plan for v in structure.variants if v.plan]
        smem = sorted({smem_of(plan) for plan in plans})
        size = f"{smem[0]}" if len(smem) == 1 else f"{smem[0]}..{smem[-1]}"
        structures.add(structure.name, len(plans), size, "; or ".join(dict.fromkeys(map(per_task, plans))))
    _more(structures, len(kernels.structures) - MOST_STRUCTURES)
    note = "A variant counts for each rule that it breaks; the numbers are those of the first."
    rules = Table("Rejected, by rule", ("variants", "rule"), note=note, one_line=True)
    for rule, count in sorted(kernels.rules.items(), key=lambda item: -item[1])[:MOST_RULES]:
        rules.add(count, _with_numbers(kernels, rule))
    _more(rules, len(kernels.rules) - MOST_RULES)
    show([structures, rules])
    if kernels.structures or kernels.rejections:
        print("each variant: --kept, --rejected [RULE], --json")


def _more(table: Table, count: int) -> None:
    if count > 0:
        table.add(f"and {count} more", *[""] * (len(table.columns) - 1))


def _counts(kernels: Kernels) -> str:
    """'demo: 8 variants; 6 are kept in 2 structures, 2 are rejected'."""
    kept, rejected, left = len(kernels.kept), kernels.rejections, kernels.left_out
    text = f"{kernels.name}: {_many(kept + rejected + left, 'variant')}; "
    text += f"{kept} kept in {_many(len(kernels.structures), 'structure')}, {rejected} rejected"
    if left:
        text += f", {left} that fit left out ({kernels.document.data['tuned']} has the winners)"
    return text


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _with_numbers(kernels: Kernels, rule: str) -> str:
    """A rule. One of the plan has the numbers of the first variant that breaks it."""
    reasons = (r for v in kernels.unfit if v.plan for r in v.plan.reasons)
    return " ".join(next((str(r) for r in reasons if r.rule == rule), rule).split())


def _kept(kernels: Kernels) -> Table:
    table = Table(f"{len(kernels.kept)} kept", ("variant", "structure", "SMEM B", "registers"))
    for structure in kernels.structures:
        for variant in structure.variants:
            assert variant.plan
            table.add(variant.label, structure.name, smem_of(variant.plan), per_task(variant.plan))
    return table


def _rules(kernels: Kernels, wanted: str | None) -> set[str] | None:
    """The rules that `wanted` names; None for all. Raises ReviewError if it names none that rejects a variant."""
    if wanted is None:
        return None
    exact = {rule for rule in kernels.rules if wanted in (rule, rule.partition(":")[0])}
    found = exact or {rule for rule in kernels.rules if wanted in rule}
    if not found:
        known = ", ".join(dict.fromkeys(rule.partition(":")[0] for rule in kernels.rules)) or "none"
        raise ReviewError(f"no variant is rejected by a rule {wanted!r}", remedy=f"rules that reject some: {known}")
    return found


def _rejected(kernels: Kernels, rules: set[str] | None) -> Iterable[Variant]:
    """The variants that at least one of the rules rejects."""
    if rules is None:
        return kernels.rejected
    return (variant for variant in kernels.rejected if not rules.isdisjoint(kernels.rules_of(variant)))


def _record(kernels: Kernels, rules: set[str] | None, kept: bool, rejected: bool) -> dict[str, Any]:
    """The overview as data, with the wanted variants."""
    document = kernels.document
    return {
        **head("list"),
        "spec": document.path,
        "kernel": kernels.family.name,
        "name": kernels.name,
        "arch": document.data["arch"],
        "variants": {"kept": len(kernels.kept), "rejected": kernels.rejections, "left_out": kernels.left_out},
        "structures": [_structure(structure, kept) for structure in kernels.structures],
        "rejected": {
            "rules": dict(kernels.rules),
            **({"variants": [_plain(v) for v in _rejected(kernels, rules)]} if rejected else {}),
        },
    }


def _structure(structure: Structure, kept: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"name": structure.name, "values": structure.values, "configs": len(structure.variants)}
    if kept:
        record["variants"] = list(_planned(structure.variants))
    return record


def _planned(variants: Iterable[Variant]) -> Iterator[dict[str, Any]]:
    for variant in variants:
        assert variant.plan
        parameters = {p.name: p.value for p in variant.plan.parameters}
        yield {
            "values": variant.values,
            "parameters": parameters,
            "smem_bytes": smem_of(variant.plan),
            "registers": granted(variant.plan),
        }


def _plain(variant: Variant) -> Mapping[str, Any]:
    return {"values": variant.values, "reasons": variant.reasons}


def smem_of(plan: Plan) -> int:
    """Bytes of shared memory that a CTA needs."""
    return next(b.used for b in plan.budgets if b.name == "SMEM")
