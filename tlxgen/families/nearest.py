"""Finds the smallest changes with which a rejected variant fits, by planning them one after the other.

A search takes up to a second, so it is started only if its result is printed.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, get_origin

from pydantic.fields import FieldInfo

from tlxgen.arch import Arch
from tlxgen.plan import Plan
from tlxgen.spec import CommonSpec, Document, SpecModel, at_point, judge
from tlxgen.spec.expression import ExpressionFault
from tlxgen.spec.validate import collect

from .kit import Axis
from .structure import Value, Variant

PAIRS = 400  # limit of the pairs of changed keys that are tried where no single change helps
COUNT = 64  # up to this value a key is taken for a count, of which every value is tried; above, for an extent
UNIT = 64  # of an extent, powers of two are tried, and the multiples of UNIT
EXTENT = 512  # up to EXTENT
SHOWN = 2  # limit of the changes that are proposed


class Planner(Protocol):
    """The part of `base.Family` that a search needs."""

    @property
    def model(self) -> type[CommonSpec]: ...

    @property
    def axes(self) -> tuple[Axis, ...]: ...

    @property
    def computes(self) -> tuple[str, ...]: ...

    @property
    def blame(self) -> Mapping[str, str]: ...

    def guards(self, spec: Any) -> tuple[str, ...]: ...

    def common(self, specs: Sequence[Any]) -> Mapping[str, Any]: ...

    def plan(self, spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any) -> Plan: ...


@dataclass(frozen=True)
class Change:
    """Other values of a variant's keys, by their paths."""

    values: Mapping[str, Any]

    def __str__(self) -> str:
        return " and ".join(f"{path}: {_spelt(value)}" for path, value in self.values.items())


def changes(family: Planner, document: Document, variant: Variant, *, pairs: bool = True) -> list[Change]:
    """For each key the nearest value with which a rejected variant fits; with `pairs`, else the values of two keys.

    The keys are those of the family's table of axes. Keys that the spec gives come first, and among these the keys that
    the plan's rules blame. The result is empty for a variant without a plan, whose keys contradict each other.
    """
    if variant.plan is None or variant.spec is None:
        return []
    search = _Search(family, document, variant)
    alone = [change for path in search.paths if (change := search.alone(path))]
    return alone or [change for change in [pairs and search.together()] if change]


def proposal(found: Sequence[Change]) -> str:
    """A text such as 'rings.ab.stages: 2 fits; so does tile.n: 128'; empty without changes."""
    texts = [f"so does {change}" if i else f"{change} {_fit(change)}" for i, change in enumerate(found[:SHOWN])]
    return "; ".join(texts)


def _fit(change: Change) -> str:
    return "fits" if len(change.values) == 1 else "together fit"


def unusual(family: Planner, document: Document, variant: Variant) -> Iterator[str]:
    """The keys that the spec gives, without which (at their defaults) the variant would fit."""
    if variant.plan is None or variant.spec is None:
        return
    search = _Search(family, document, variant)
    for keys in _leaves(at_point(document, search.values)):
        if search.fits_without(keys):
            yield ".".join(keys)


class _Search:
    """Plans a variant with changed values."""

    def __init__(self, family: Planner, document: Document, variant: Variant) -> None:
        assert variant.plan and variant.spec
        self.document, self.family, spec = document, family, variant.spec
        guards = self.family.guards(spec)
        self.values = {path: value for path, value in variant.values.items() if path not in guards}
        self.chosen = {guard: bool(variant.values[guard]) for guard in guards if guard in variant.values}
        self.judge = judge(self.document, self.family.model)
        broken = [self.family.blame.get(reason.rule) for reason in variant.plan.reasons]
        own = [axis for axis in self.family.axes if not self._means_something(axis.path)]
        own.sort(key=lambda axis: (not self._gives(axis.path), axis.path not in broken))
        self.now = {axis.path: axis.of(spec) for axis in own}
        self.near = {path: _near(_field(self.family.model, path), path, now) for path, now in self.now.items()}
        self.paths = [path for path, near in self.near.items() if near]

    def _means_something(self, path: str) -> bool:
        """Whether the key decides what is computed."""
        return any(f"{path}.".startswith(f"{key}.") for key in self.family.computes)

    def _gives(self, path: str) -> bool:
        """Whether the spec itself has a value for the key."""
        return self.document.given(path, self.values) is not None

    def alone(self, path: str) -> Change | None:
        return next((Change({path: value}) for value in self.near[path] if self._fits({path: value})), None)

    def together(self) -> Change | None:
        pairs = (
            (i + j, {a: x, b: y})
            for a, b in itertools.combinations(self.paths, 2)
            for i, x in enumerate(self.near[a])
            for j, y in enumerate(self.near[b])
        )
        nearest = sorted(pairs, key=lambda pair: pair[0])[:PAIRS]
        return next((Change(values) for _, values in nearest if self._fits(values)), None)

    def _fits(self, values: Mapping[str, Any]) -> bool:
        """Whether the variant with these values is legal, satisfies the spec's conditions and is within all budgets."""
        return self._plans(at_point(self.document, {**self.values, **values}))

    def fits_without(self, keys: Sequence[str]) -> bool:
        """Whether the variant fits if the spec leaves out the keys."""
        data = copy.deepcopy(at_point(self.document, self.values))
        parent = functools.reduce(lambda node, key: node[key], keys[:-1], data)
        del parent[keys[-1]]
        return self._plans(data)

    def _plans(self, data: Mapping[str, Any]) -> bool:
        spec, _ = collect(data, self.family.model)
        if spec is None:
            return False
        try:
            if self.judge(spec):
                return False
        except ExpressionFault:
            return False
        given = {guard: spec.guards.get(guard, True) for guard in self.family.guards(spec)}
        settings = {guard: self.chosen.get(guard, True) if on == "keep" else on for guard, on in given.items()}
        plan = self.family.plan(spec, guards=settings, baked={}, **self.family.common([spec]))
        return not plan.reasons


def _leaves(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the keys of a spec's data whose values are not mappings."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, key))
        elif above or key not in CommonSpec.model_fields:
            yield (*above, key)


def _field(model: type[SpecModel], path: str) -> FieldInfo | None:
    """The model's field at a dotted path; None below a key whose value is not a model."""
    *parents, last = path.split(".")
    here: Any = model
    for key in parents:
        field = getattr(here, "model_fields", {}).get(key)
        here = field.annotation if field else None
    found: FieldInfo | None = getattr(here, "model_fields", {}).get(last)
    return found


def _near(field: FieldInfo | None, path: str, now: Any) -> list[Any]:
    """Other values of a key, the nearest first. Of two that are equally near, the smaller comes first."""
    if field is None:
        return []
    values = [value for value in _values(field, path) if value != now or type(value) is not type(now)]
    if not _is_number(now):
        return values
    numbers = [value for value in values if _is_number(value)]
    return sorted(numbers, key=lambda value: (_distance(value, now), value))


def _values(field: FieldInfo, path: str) -> list[Any]:
    """The values of a key that are tried: listed values, true and false, counts, and extents."""
    kinds = list(_kinds(field.annotation))
    listed = [value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind) if value is not None]
    if bool in kinds:
        listed += [False, True]
    if int not in kinds:
        return listed
    if path.rpartition(".")[2] == "registers":
        return [*range(Arch.setmaxnreg_min, Arch.setmaxnreg_max + 1, Arch.setmaxnreg_step)]
    bounds = {name: getattr(m, name) for m in field.metadata for name in ("ge", "le") if hasattr(m, name)}
    least, most = int(bounds.get("ge", 1)), int(bounds.get("le", COUNT))
    if most <= COUNT:
        return [*range(least, most + 1)]
    extents = {2**n for n in range(most.bit_length())} | {*range(UNIT, min(most, EXTENT) + 1, UNIT)}
    return [value for value in sorted(extents) if least <= value <= most]


def _kinds(annotation: Any) -> Iterator[Any]:
    """The members of a union, or the type itself."""
    if get_origin(annotation) is Literal or not get_args(annotation):
        yield annotation
        return
    for kind in get_args(annotation):
        yield from _kinds(kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _distance(value: int, now: int) -> float:
    """The absolute logarithm of the ratio of two values; infinite if one of them is 0."""
    return abs(math.log2(value / now)) if value > 0 and now > 0 else math.inf


def _spelt(value: Any) -> str:
    """A value as text of a spec."""
    return str(value).lower() if isinstance(value, bool) else str(value)
