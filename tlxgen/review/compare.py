"""Tables of the differences between the kernels of two specs, from their plans and compile results alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tlxgen.plan.budget import partitions, register_split

from .differences import (
    BY_AXES,
    BY_NAME,
    BY_ORDER,
    COLUMNS,
    Compiled,
    Facts,
    Round,
    Row,
    add,
    by,
    differences,
    figures,
    matched,
    sequences,
    stripped,
)
from .tables import Table

if TYPE_CHECKING:
    from tlxgen.families import Kernels, Structure, Variant
    from tlxgen.plan import Plan

MOST_VARIANTS = 10  # limit of the rows of variants that changed their verdict, were removed or were added


class Pair(NamedTuple):
    """Two structures to compare, or one without a counterpart (None). `by` names the round that paired them."""

    a: Structure | None
    b: Structure | None
    by: str = ""


def tables(
    a: Kernels,
    b: Kernels,
    compiled_a: Mapping[str, Compiled] | None = None,
    compiled_b: Mapping[str, Compiled] | None = None,
) -> list[Table]:
    """Tables of the differences of structures and variants, and of each pair of structures; empty if nothing differs.

    `compiled_*` are the compile results of these plans, by structure name. They are compared if both sides have them.
    """
    pairs = structures(a, b)
    found = [_structures(pairs), _variants(a, b)]
    for pair in pairs:
        if pair.a and pair.b:
            table = _structure(a, b, pair.a, pair.b)
            results = [(side or {}).get(s.name) for side, s in ((compiled_a, pair.a), (compiled_b, pair.b))]
            add(table, "Compiled", figures(results[0], results[1], a.name, b.name))
            found.append(table)
    return [t for t in found if t.rows]


def structures(a: Kernels, b: Kernels) -> list[Pair]:
    """Pairs each structure of `a` with one of `b`.

    It is the one with the same name after the spec's name, else the one with the same values on the axes in which
    structures differ, else the next one that is left.
    """
    paths_a, paths_b = ({p: None for s in k.structures for p in s.values} for k in (a, b))
    every, shared = {**paths_a, **paths_b}, [p for p in paths_a if p in paths_b]
    rounds: list[Round[Structure]] = [
        (BY_NAME, lambda s: stripped(s.name, a.name), lambda s: stripped(s.name, b.name)),
        by(BY_AXES, lambda s: _point(s.variants[0], every, paths_a.keys() & paths_b.keys())),
    ]
    if shared:
        rounds.append(by(BY_AXES, lambda s: _point(s.variants[0], shared, shared)))
    rounds.append(by(BY_ORDER, lambda _: 0))
    return [Pair(*found) for found in matched(a.structures, b.structures, rounds)]


def _point(variant: Variant, paths: Iterable[str], on_both: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """A variant's values at `paths`.

    On an axis of both specs it is the axis value. On an axis of one spec, the other variant has the value of its spec.
    """
    on_both = set(on_both)
    return tuple((p, str(variant.values[p] if p in on_both else _resolved(variant, p))) for p in paths)


def _resolved(variant: Variant, path: str) -> Any:
    node: Any = variant.spec
    if node is None:  # an illegal combination has no spec
        return variant.values.get(path)
    for key in path.split("."):
        node = getattr(node, key, None)
    if node is None and variant.plan:  # a guard
        return next((p.value for p in variant.plan.parameters if p.name == path), None)
    return node


def _structures(pairs: Sequence[Pair]) -> Table:
    table, rows = Table("Structures", COLUMNS), list[Row]()
    for a, b, made_by in pairs:
        if a is None or b is None:
            only = a or b
            assert only
            configs = f"{only.name}, {len(only.variants)} configs"
            rows.append(("", configs, "", "removed") if a else ("", "", configs, "added"))
        elif made_by != BY_NAME:
            rows.append(("", a.name, b.name, f"compared by {made_by}"))
    add(table, "Structures", rows)
    return table


def _variants(a: Kernels, b: Kernels) -> Table:
    table = Table("Variants", COLUMNS)
    counts = ({"kept": {"": len(k.kept)}, "rejected": {"": len(k.rejected)}} for k in (a, b))
    add(table, "Counts", differences(*counts))
    all_a, all_b = [*a.kept, *a.rejected], [*b.kept, *b.rejected]
    rows: dict[str, list[Row]] = {"Turned": [], "Removed": [], "Added": []}
    for x, y, _ in matched(all_a, all_b, [_by_point(all_a, all_b)]):
        if x is None or y is None:
            only = x or y
            assert only
            part, change = ("Removed", "removed") if x else ("Added", "added")
            rows[part].append((only.label, _brief(x), _brief(y), change))
        elif bool(x.reasons) != bool(y.reasons):
            rows["Turned"].append((y.label, _verdict(x), _verdict(y), "rejected" if y.reasons else "kept"))
    for part, some in rows.items():
        more = len(some) - MOST_VARIANTS
        add(table, part, some[:MOST_VARIANTS])
        add(table, "", [(f"and {more} more", "", "", "")] if more > 0 else [])
    return table


def _brief(variant: Variant | None) -> str:
    """The verdict on a variant without its numbers, which `tlxgen list` prints."""
    if variant is None or not variant.reasons:
        return _verdict(variant) if variant else ""
    return f"rejected: {', '.join(r.split(':')[0] for r in variant.reasons)}"


def _verdict(variant: Variant) -> str:
    if variant.reasons:
        return f"rejected: {'; '.join(variant.reasons)}"
    smem = next((b.used for b in variant.plan.budgets if b.name == "SMEM"), 0) if variant.plan else 0
    return f"kept, SMEM {smem} B"


def _by_point(a: Sequence[Variant], b: Sequence[Variant], without: Iterable[str] = ()) -> Round[Variant]:
    """The round that pairs variants with equal values on all axes of either side except those `without`."""
    axes_a, axes_b = ({p: None for v in side for p in v.values} for side in (a, b))
    on_both = axes_a.keys() & axes_b.keys()
    paths = [p for p in {**axes_a, **axes_b} if p not in set(without)]
    return by(BY_AXES, lambda v: _point(v, paths, on_both))


def _structure(kernels_a: Kernels, kernels_b: Kernels, a: Structure, b: Structure) -> Table:
    """A table of the differences of two structures, with the numbers of the first pair of configs that differ."""
    round_ = _by_point(a.variants, b.variants, {**a.values, **b.values})
    common = [(x, y) for x, y, _ in matched(a.variants, b.variants, [round_]) if x and y]
    configs = common or [(a.variants[0], b.variants[0])]
    found = [(y, parts) for x, y in configs if (parts := _plans(x, y, kernels_a.name, kernels_b.name))]
    table = Table(b.name if a.name == b.name else f"{a.name} -> {b.name}", COLUMNS)
    if not found:
        return table
    variant, first = found[0]
    if common:
        table.note = f"numbers of {variant.label}; {len(found)} of {len(common)} configs that both have differ"
    else:
        table.note = f"no config that both have; numbers of A's {a.variants[0].label} and B's {b.variants[0].label}"
    for part, rows in first.items():
        add(table, part, rows)
    return table


def _plans(a: Variant, b: Variant, name_a: str, name_b: str) -> dict[str, list[Row]]:
    """Part -> differences of the plans of two variants."""
    assert a.plan and b.plan
    facts_a, facts_b = _facts(a.plan, name_a), _facts(b.plan, name_b)
    rows = {part: differences(facts_a[part], facts_b[part]) for part in facts_a}
    rows["Steps"] = _steps(a.plan, b.plan)
    return {part: some for part, some in rows.items() if some}


def _steps(a: Plan, b: Plan) -> list[Row]:
    """The differences of the roles' steps."""
    steps_a, steps_b = ({r.name: list(map(str, r.steps)) for r in plan.roles} for plan in (a, b))
    return [
        row for name in steps_a if name in steps_b for row in sequences(f"{name} step", steps_a[name], steps_b[name])
    ]


def _facts(plan: Plan, name: str) -> dict[str, Facts]:
    """A plan as facts, with kernel names without the spec's name in front."""
    return {
        "Roles": _roles(plan),
        "Rings": _rings(plan),
        "Barriers": {
            b.name: {
                "kind": b.kind,
                "how many": b.slots.value,
                "count": b.count,
                "arrived on by": b.who,
                "bytes": b.bytes.value if b.bytes else "",
            }
            for b in plan.barriers
        },
        "Turns": {
            t.name: {
                "role": t.role,
                "kind": t.kind,
                "replicas": t.replicas,
                "first id": t.first_id,
                "threads": t.threads,
            }
            for t in plan.turns
        },
        "Meetings": {
            m.name: {"role": m.role, "replicas": m.replicas, "id": m.id, "threads": m.threads} for m in plan.meetings
        },
        "Signals": {s.name: {"": s.means, "scope": s.scope, "words a tile": s.words} for s in plan.signals},
        "Work list": {"": {"kind": plan.work.name, "last wave": plan.work.tail, "CTAs an item": plan.work.cluster}},
        "Parameters": {
            p.name: {"": p.value, "in the source": "constant (baked)" if p.baked else "tl.constexpr (kept)"}
            for p in plan.parameters
        },
        "Launch": _launch(plan, name),
        "Budgets": dict(_budgets(plan)),
    }


def _roles(plan: Plan) -> Facts:
    split = register_split(plan)
    left = split.maxnreg if split.default is None else split.default
    return {
        r.name: {
            "warps": r.warps,
            "replicas": r.replicas,
            "registers": r.registers or (left if r.default else split.maxnreg),
            "guard": r.guard or "",
        }
        for r in plan.roles
    }


def _rings(plan: Plan) -> Facts:
    facts: dict[str, dict[str, object]] = {}
    for ring in plan.rings:
        facts[ring.name] = fields = {"slots": ring.slots.value, "banks": ring.banks, "guard": ring.guard or ""}
        fields["filled by"] = f"{ring.fill.role}, by {ring.fill.means}"
        fields["drained by"] = ", ".join(f"{d.replicas * d.ctas * d.arrivals} x {d.role}" for d in ring.drains)
        for tile in ring.tiles:
            fields[f"tile {tile.name}"] = " x ".join(str(s.value) for s in tile.shape)
            fields[f"tile {tile.name} groups"] = tile.groups
            fields[f"tile {tile.name} dtype"] = tile.dtype.name
        fields["bytes"] = ring.smem_bytes
    return facts


def _launch(plan: Plan, name: str) -> Facts:
    facts: dict[str, dict[str, object]] = {"arch": {"": plan.arch.name}, "family": {"": plan.family}}
    facts["warp specialised"] = {"": plan.specialized}
    for launch in plan.launches:
        fields = {"warps": launch.num_warps, "cluster": " x ".join(map(str, launch.cluster))}
        facts[stripped(launch.kernel, name)] = fields
    return facts


def _budgets(plan: Plan) -> Iterator[tuple[str, Mapping[str, object]]]:
    for budget in plan.budgets:
        name = budget.name if budget.unit in budget.name else f"{budget.name} {budget.unit}"
        yield name, {"": budget.used, "limit": budget.limit}
        for use in budget.uses:
            if use.amount:  # "12 mbarriers" and "16 mbarriers" are one use
                yield f"{budget.name}: {use.what.lstrip('0123456789 ')}", {"": use.amount}
    split = register_split(plan)
    yield "registers at launch", {"": split.maxnreg}
    yield "registers moved between tasks", {"": "yes" if split.applied else f"no: {split.reason}"}
    if plan.roles:
        granted = dict(zip((r.name for r in partitions(plan.roles)), split.partitions, strict=True))
        default = split.maxnreg if split.default is None else split.default
        for role in plan.roles:
            yield f"registers granted to {role.name}", {"": granted.get(role.name, default)}
