"""Why nothing is left of a spec: reasons in numbers, where they come from, and the nearest change that helps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tlxgen.errors import Location, NoVariantError
from tlxgen.spec import DataPath, Document

from . import nearest
from .nearest import Planner
from .structure import Variant


def nothing_left(family: Planner, document: Document, rejected: Sequence[Variant]) -> NoVariantError:
    """Why no variant is left, once if all have the same reasons; placed where the numbers come from."""
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
    """The key that all rejected variants are blamed on, else that of the name.

    That is, of the keys that alone make the first variant fit, one that the spec gives; if none does, the key that a
    rule is most likely broken by.
    """
    first, blamed = rejected[0], [_blamed(family, variant) for variant in rejected]
    common = [path for path in blamed[0] if all(path in others for others in blamed)]
    if not common:
        return document.where(("name",))
    if first.plan is None:
        return document.where(common[0])
    changed = [path for change in found for path in change.values]
    by_rule = [".".join(map(str, path)) for path in common]
    paths = itertools.chain(changed, by_rule, nearest.unusual(family, document, first))
    given = (where for path in paths if (where := document.given(path, first.values)))
    return next(given, document.where(("name",)))


def _blamed(family: Planner, variant: Variant) -> list[DataPath]:
    """What brought each of the reasons of a rejected variant."""
    if variant.plan is None:
        return list(variant.blamed)
    return [tuple(family.blame.get(reason.rule, "name").split(".")) for reason in variant.plan.reasons]


def _examples(family: Planner, document: Document, rejected: Sequence[Variant], most: int = 8) -> Iterator[str]:
    """The rejected variants, those with the same reasons together."""
    alike: dict[tuple[str, ...], list[Variant]] = {}
    for variant in rejected:
        alike.setdefault(variant.reasons, []).append(variant)
    for i, (reasons, variants) in enumerate(itertools.islice(alike.items(), most)):
        proposed = nearest.proposal(nearest.changes(family, document, variants[0], pairs=i == 0))
        more = f" and {len(variants) - 1} more" if len(variants) > 1 else ""
        yield f"    {variants[0].label}{more}: {'; '.join([*reasons, *([proposed] if proposed else [])])}"
    if left := sum(map(len, itertools.islice(alike.values(), most, None))):
        yield f"    and {left} more: tlxgen list shows them all"
