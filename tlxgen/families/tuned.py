"""What a tuned file makes of a spec's kernels: the variants that won a shape class, and a few for all other shapes.

The file is that of `tlxgen tune`; here it is only read, so that `build` stays a pure function of checked-in files.
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

from .structure import Structure, Variant

SMS, MOST_SMS = 132, 10_000  # of an H200, if a table does not say; of any device
GENERAL = 4  # variants at most that are kept for shapes outside of all classes
NEAR = 1.05  # how close to the best estimate for each shape those must come, on the geometric mean
EXTENTS = (64, 256, 1024, 4096, 16384)  # of the shapes that they are chosen by

Shape = tuple[int, ...]


def keep(
    structures: Sequence[Structure],
    document: Document,
    table: Source,
    *,
    shapes: Sequence[Shape],
    costs: Callable[[Plan, Sequence[Shape], int], list[float]],
    renamed: Sequence[Renamed] = (),
) -> list[Structure]:
    """`structures` with the winners of the table and the general variants alone; without those that have none left.

    `document` is the spec; `shapes`, `costs` and `renamed` are its family's. Raises SpecError where the table names
    what the spec does not have.
    """
    if table.data.get("kernel") != document.data["name"]:
        text = f"this is the table of {table.data.get('kernel')}, not of {document.data['name']}"
        raise SpecError(text, location=table.where(("kernel",)))
    winners = dict(_winners(structures, document, table, renamed))
    sms = table.data.get("sms", SMS)
    if type(sms) is not int or not 0 < sms <= MOST_SMS:
        text = f"the SMs of a device are a number in 1..{MOST_SMS}"
        raise SpecError(text, location=table.where(("sms",)), remedy=f"run tlxgen tune {document.path}")
    general = _general(structures, list(winners.values()), shapes, lambda plan, some: costs(plan, some, sms))
    wanted = {id(variant) for _, variant in [*winners.values(), *general]}
    kept = []
    for structure in structures:
        variants = tuple(v for v in structure.variants if id(v) in wanted)
        if variants:
            index = {id(v): i for i, v in enumerate(variants)}
            won = {shape: index[id(v)] for shape, (owner, v) in winners.items() if owner is structure}
            kept.append(replace(structure, variants=variants, tuned=won))
    return kept


def _winners(
    structures: Sequence[Structure], document: Document, table: Source, renamed: Sequence[Renamed]
) -> Iterator[tuple[Shape, tuple[Structure, Variant]]]:
    """Shape class -> the structure and the variant that won it."""
    remedy = f"the spec has changed since: run tlxgen tune {document.path}"
    rows = table.data.get("classes")
    for i, row in enumerate(rows if isinstance(rows, list) else ()):
        try:
            shape, values = tuple(row["class"]), values_now(row["winner"]["values"], renamed)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise SpecError("not a class with a winner", location=table.where(("classes", i)), remedy=remedy) from None
        for structure in structures:
            found = [v for v in structure.variants if same(v.values, values)]
            if found:
                yield shape, (structure, found[0])
                break
        else:
            where = table.where(("classes", i, "winner"))
            name = document.data["name"]
            raise SpecError(f"no variant of {name} fits this winner", location=where, remedy=remedy)


def same(values: Mapping[str, Any], given: Any) -> bool:
    """Whether a variant's axis values are those of a table, where tuples are lists."""
    return bool(_plain(dict(values)) == _plain(given))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _general(
    structures: Sequence[Structure],
    winners: list[tuple[Structure, Variant]],
    given: Sequence[Shape],
    costs_of: Callable[[Plan, Sequence[Shape]], list[float]],
) -> list[tuple[Structure, Variant]]:
    """The variants to add to the winners for shapes outside of all classes, by the family's estimate.

    One at a time, the one that helps most over a grid of shapes, until NEAR the best of all or until there are GENERAL.
    """
    ranks = {len(shape) for shape in given}
    if len(ranks) != 1:
        return []
    shapes = list(itertools.product(EXTENTS, repeat=ranks.pop()))
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


def _lower(a: list[float], b: list[float]) -> list[float]:
    return [min(pair) for pair in zip(a, b, strict=True)]


def _behind(reached: list[float], best: list[float]) -> float:
    """Geometric mean of reached over best."""
    if math.inf in reached:
        return math.inf
    return math.exp(sum(math.log(r / b) for r, b in zip(reached, best, strict=True)) / len(best))
