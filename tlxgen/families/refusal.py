"""Errors and warnings for a spec, or an axis value, that has no variant left: reasons in numbers, places, remedies."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tlxgen.errors import Location, NoVariantError, SpecWarning
from tlxgen.spec import DataPath, Document

from . import nearest
from .nearest import Planner
from .structure import Structure, Variant
from .structure import text_of as spelt

RULES = 3  # limit of the rules that a warning names; those that reject most variants come first


def nothing_left(family: Planner, document: Document, rejected: Sequence[Variant]) -> NoVariantError:
    """The error that says why no variant is left. Variants with the same reasons share one text."""
    name, first = document.data["name"], rejected[0]
    found = nearest.changes(family, document, first)
    where = _where(family, document, rejected, found)
    if len({variant.reasons for variant in rejected}) == 1:
        of_all = f" in any of its {len(rejected)} variants" if len(rejected) > 1 else ""
        text = f"{name} cannot be built{of_all}: {'; '.join(first.reasons)}"
        return NoVariantError(text, location=where, remedy=nearest.proposal(found))
    remedy = "\n".join(_examples(family, document, rejected)).strip()
    return NoVariantError(f"all {len(rejected)} variants of {name} are rejected", location=where, remedy=remedy)


def _where(
    family: Planner, document: Document, rejected: Sequence[Variant], found: Sequence[nearest.Change]
) -> Location:
    """The location of the key that all rejected variants are blamed on, or that of `name`.

    The blamed key is one that the spec gives and whose change alone makes the first variant fit. If there is none, it
    is the key that most likely breaks the rule.
    """
    first, blamed = rejected[0], [_blamed(family, variant) for variant in rejected]
    common = [path for path in blamed[0] if all(path in others for others in blamed)]
    if not common:
        return document.where(("name",))
    if first.plan is None:
        return document.where(common[0], key=common[0][:2] == ("variants", "axes"))
    changed = [path for change in found for path in change.values]
    by_rule = [".".join(map(str, path)) for path in common]
    paths = itertools.chain(changed, by_rule, nearest.unusual(family, document, first))
    given = (where for path in paths if (where := document.given(path, first.values)))
    return next(given, document.where(("name",)))


def _blamed(family: Planner, variant: Variant) -> list[DataPath]:
    """For each reason of a rejected variant, the path of the key that is blamed."""
    if variant.plan is None:
        axes = ("variants", "axes")
        return [path[:3] if path[:2] == axes else path for path in variant.blamed]
    return [tuple(family.blame.get(reason.rule, "name").split(".")) for reason in variant.plan.reasons]


def _examples(family: Planner, document: Document, rejected: Sequence[Variant], most: int = 8) -> Iterator[str]:
    """Lines about the rejected variants. Variants with the same reasons share a line."""
    alike: dict[tuple[str, ...], list[Variant]] = {}
    for variant in rejected:
        alike.setdefault(variant.reasons, []).append(variant)
    for i, (reasons, variants) in enumerate(itertools.islice(alike.items(), most)):
        proposed = nearest.proposal(nearest.changes(family, document, variants[0], pairs=i == 0))
        more = f" and {len(variants) - 1} more" if len(variants) > 1 else ""
        yield f"    {variants[0].label}{more}: {'; '.join([*reasons, *([proposed] if proposed else [])])}"
    if left := sum(map(len, itertools.islice(alike.values(), most, None))):
        yield f"    and {left} more: tlxgen list shows them all"


def warn_of_unused(
    document: Document,
    axes: Mapping[str, Sequence[Any]],
    structures: Sequence[Structure],
    rejected: Callable[[], Sequence[Variant]],
) -> None:
    """Issues a SpecWarning for each axis value of which no variant is left, while other values have variants.

    `rejected` is called only if there is such a value.
    """
    unused = {(path, i): value for path, values in axes.items() for i, value in enumerate(values)}
    if not structures:
        return
    for variant in (variant for structure in structures for variant in structure.variants):
        found = [key for key, value in unused.items() if variant.values[key[0]] is value]
        for key in found:
            del unused[key]
        if not unused:
            return
    for (path, i), value in unused.items():
        without = [variant for variant in rejected() if variant.values[path] is value]
        where = document.where(("variants", "axes", path, i))
        warnings.warn(
            f"{where}: no variant is left with {path}={spelt(value)}: {_why(without)}", SpecWarning, stacklevel=2
        )


def _why(rejected: Sequence[Variant]) -> str:
    """The reason that all rejected variants have, or how many of them each rule rejects."""
    reasons = Counter(reason for variant in rejected for reason in variant.reasons)
    if len(reasons) == 1:
        return next(iter(reasons))
    rules = Counter(rule for v in rejected for rule in dict.fromkeys(r.partition(":")[0] for r in v.reasons))
    return f"{len(rejected)} rejected, by " + ", ".join(f"{rule} {count}" for rule, count in rules.most_common(RULES))
