"""Selects variants by a tuned file: those that were fastest on a shape, and a few general ones for all other shapes.

`tlxgen tune` writes the file. This module only reads it, so that `build` stays a pure function of checked-in files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tlxgen.errors import SpecError
from tlxgen.plan import Plan
from tlxgen.spec import Document, Renamed, Source
from tlxgen.spec.renamed import values as values_now

from .structure import Structure, Variant, by_problem

SMS, MOST_SMS = 132, 10_000  # SMs of an H200, for a table that does not say; limit of what a table may say
GENERAL = 8  # limit of the general variants, which are for shapes outside of the table
NEAR = 1.02  # their estimates over the best ones, as a geometric mean, at which no more are added
EXTENTS = (64, 256, 1024, 4096, 16384)  # extents of the shapes that they are chosen by

Shape = tuple[int, ...]


def keep(
    structures: Sequence[Structure],
    document: Document,
    table: Source,
    *,
    shapes: Sequence[Shape],
    usual: Sequence[Shape] = (),
    costs: Callable[[Plan, Sequence[Shape], int], list[float]],
    computed: Callable[[Any], Any],
    own: Callable[[str], Any],
    renamed: Sequence[Renamed] = (),
) -> list[Structure]:
    """Returns `structures` with only the table's winners, the spec's `variants.always`, and the general variants.

    Structures without a variant left are dropped. General variants are chosen for each function, that is, among the
    structures that compute the same thing. `document` is the spec; `shapes`, `usual`, `costs`, `computed` and `renamed`
    are its family's; `own` gives the spec's value at a path without its axes. Raises SpecError if the table names a
    key or value that the spec does not have.
    """
    if table.data.get("kernel") != document.data["name"]:
        text = f"this is the table of {table.data.get('kernel')}, not of {document.data['name']}"
        raise SpecError(text, location=table.where(("kernel",)))
    problems = by_problem(structures, computed)
    problem_of = {id(s): i for i, together in enumerate(problems) for s in together}
    found = _winners(structures, document, table, own, renamed)
    winners = {(problem_of[id(variant[0])], shape): variant for shape, variant in found}
    always = list(_always(structures, document))
    sms = table.data.get("sms", SMS)
    if type(sms) is not int or not 0 < sms <= MOST_SMS:
        text = f"the SMs of a device are a number in 1..{MOST_SMS}"
        raise SpecError(text, location=table.where(("sms",)), remedy=f"run tlxgen tune {document.path}")
    given, device = [*winners.values(), *always], str(table.data.get("device", ""))
    wanted = {id(variant) for _, variant in given}
    for i, together in enumerate(problems):
        mine = [(s, v) for s, v in given if problem_of[id(s)] == i]
        general = _general(together, mine, usual or _grid(shapes), lambda plan, some: costs(plan, some, sms))
        wanted |= {id(variant) for _, variant in general}
    kept = []
    for structure in structures:
        variants = tuple(v for v in structure.variants if id(v) in wanted)
        if variants:
            index = {id(v): i for i, v in enumerate(variants)}
            won = {shape: index[id(v)] for (_, shape), (owner, v) in winners.items() if owner is structure}
            kept.append(replace(structure, variants=variants, tuned=won, tuned_on=(device, sms)))
    return kept


def _winners(
    structures: Sequence[Structure],
    document: Document,
    table: Source,
    own: Callable[[str], Any],
    renamed: Sequence[Renamed],
) -> Iterator[tuple[Shape, tuple[Structure, Variant]]]:
    """Yields a shape, and the structure and variant that were fastest on it.

    The table of a run that rounded shapes up to classes says which shapes it measured; rows for several shapes come
    before rows for one.
    """
    remedy = f"the spec has changed since: run tlxgen tune {document.path}"
    rows, won = table.data.get("classes"), []
    for i, row in enumerate(rows if isinstance(rows, list) else ()):
        try:
            winner = row["winner"]
            values = values_now(winner["values"], renamed)
            shapes = [tuple(each["shape"]) for each in winner.get("shapes") or ({"shape": row["class"]},)]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise SpecError("not a class with a winner", location=table.where(("classes", i)), remedy=remedy) from None
        for structure in structures:
            found = [v for v in structure.variants if same(v.values, values, own)]
            if found:
                won += [(-len(shapes), shape, (structure, found[0])) for shape in shapes]
                break
        else:
            where = table.where(("classes", i, "winner"))
            name = document.data["name"]
            raise SpecError(f"no variant of {name} fits this winner", location=where, remedy=remedy)
    yield from ((shape, variant) for _, shape, variant in sorted(won, key=lambda entry: entry[0]))


def _always(structures: Sequence[Structure], document: Document) -> Iterator[tuple[Structure, Variant]]:
    """The variants that `variants.always` names. Raises SpecError for an entry that matches no variant."""
    for i, asked in enumerate(document.data.get("variants", {}).get("always", ())):
        wanted = {(path, str(_plain(value))) for path, value in asked.items()}
        found = [(s, v) for s in structures for v in s.variants if wanted <= _items(v.values)]
        if not found:
            where = document.where(("variants", "always", i))
            raise SpecError("no variant is as this says, by axes and their values", location=where)
        yield from found


def _items(values: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(path, str(_plain(value))) for path, value in values.items()}


def same(values: Mapping[str, Any], given: Any, own: Callable[[str], Any]) -> bool:
    """Whether a variant's axis values are those of a table, which has lists in place of tuples.

    For an axis that is newer than the table, the value is the spec's own without the axis (`own`).
    """
    mine, there = _plain(dict(values)), _plain(given)
    if not isinstance(there, dict) or not there.keys() <= mine.keys():
        return False
    return all(value == (there[path] if path in there else _plain(own(path))) for path, value in mine.items())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _general(
    structures: Sequence[Structure],
    winners: list[tuple[Structure, Variant]],
    shapes: Sequence[Shape],
    costs_of: Callable[[Plan, Sequence[Shape]], list[float]],
) -> list[tuple[Structure, Variant]]:
    """The variants to add to the winners for shapes outside of the table, by the family's estimate.

    The variant that helps most over `shapes` is added, again and again, until the estimates are within NEAR of the best
    ones or there are GENERAL variants.
    """
    if not shapes:
        return []
    choices = [(s, v) for s in structures for v in s.variants if v.plan]
    cost = {id(v): costs_of(v.plan, shapes) for _, v in choices if v.plan}
    best = [min(column) for column in zip(*cost.values(), strict=True)]
    if not all(best):
        return []
    reached = [min((cost[id(v)][i] for _, v in winners), default=math.inf) for i in range(len(shapes))]
    chosen: list[tuple[Structure, Variant]] = []
    while len(chosen) < GENERAL and _behind(reached, best) > NEAR:
        chosen.append(min(choices, key=lambda c: _behind(_lower(reached, cost[id(c[1])]), best)))
        reached = _lower(reached, cost[id(chosen[-1][1])])
    return chosen


def _grid(shapes: Sequence[Shape]) -> list[Shape]:
    """Shapes of small and large extents in all combinations, with as many extents as `shapes` have."""
    ranks = {len(shape) for shape in shapes}
    return list(itertools.product(EXTENTS, repeat=ranks.pop())) if len(ranks) == 1 else []


def _lower(a: list[float], b: list[float]) -> list[float]:
    return [min(pair) for pair in zip(a, b, strict=True)]


def _behind(reached: list[float], best: list[float]) -> float:
    """The geometric mean of reached over best."""
    if math.inf in reached:
        return math.inf
    return math.exp(sum(math.log(r / b) for r, b in zip(reached, best, strict=True)) / len(best))
