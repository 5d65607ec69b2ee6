"""A spec's axes -> its points, each a validated spec or the reasons why it is none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from tlxgen.errors import Location, SpecError, SpecErrors
from tlxgen.spec.document import Document
from tlxgen.spec.expression import Expression, ExpressionFault, compile_expression
from tlxgen.spec.model import CommonSpec
from tlxgen.spec.nearest import hint
from tlxgen.spec.paths import axis_paths, matches, paths
from tlxgen.spec.source import DataPath
from tlxgen.spec.validate import Fault, collect, located

MAX_POINTS = 1_000_000
MAX_TRIED = 1000  # values of an axis that are tried where the rest of the spec is wrong
_AXES: DataPath = ("variants", "axes")
_CONDITIONS: tuple[DataPath, ...] = (("variants", "require"), ("variants", "exclude"))


@dataclass(frozen=True)
class Point:
    """One combination of the axes' values.

    It has either a spec, of which `variants` is empty, or the reasons for its rejection; `blamed`: for each of them the
    path, in the document, of what brought it.
    """

    values: dict[str, Any]
    spec: CommonSpec | None
    rejected: tuple[str, ...] = ()
    blamed: tuple[DataPath, ...] = ()


@dataclass(frozen=True)
class Expansion:
    """All points of a spec, the last axis fastest; one point without values when there are no axes."""

    axes: dict[str, tuple[Any, ...]]
    points: list[Point]

    @property
    def accepted(self) -> list[Point]:
        """The points that have a spec."""
        return [point for point in self.points if point.spec is not None]


def expand(document: Document, model: type[CommonSpec]) -> Expansion:
    """Every point of the document's axes, validated by `model` and held against `require` and `exclude`.

    A combination that a model validator or a condition refuses is a rejected point. Everything else is raised as
    SpecErrors, all of it at once: wrong fields, axes that the model does not have, values that no field takes,
    conditions that cannot be evaluated, and an illegal combination that is one at every point.
    """
    _, faults = collect(document.data, model)
    axes = _raw_axes(document.data)
    if axes:
        faults = [fault for fault in faults if not fault.cross and not _supplied(fault.missing, axes)]
    errors = located(document, faults)
    if not any(fault.path[:1] == ("variants",) for fault in faults):
        errors += _axis_errors(document, model, axes)
    conditions, faulty = _conditions(document, model)
    errors += faulty
    if errors:
        raise SpecErrors([*errors, *_value_errors(document, model, axes)])
    return _Expander(document, model, axes, conditions).run()


def at_point(document: Document, values: Mapping[str, Any]) -> dict[str, Any]:
    """The document's data with these values of its axes, or of other paths, and without `variants`."""
    data = {key: value for key, value in document.data.items() if key != "variants"}
    for path, value in values.items():
        data = _with_value(data, tuple(path.split(".")), value)
    return data


def judge(document: Document, model: type[CommonSpec]) -> Callable[[CommonSpec], tuple[str, ...]]:
    """What says why the document's conditions reject a spec; it raises ExpressionFault where it cannot."""
    conditions, _ = _conditions(document, model)
    return lambda spec: tuple(reason for condition in conditions if (reason := condition.reason(spec)))


@dataclass(frozen=True)
class _Axis:
    path: str
    keys: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class _Condition:
    kind: str  # require or exclude
    expression: Expression
    place: DataPath

    def reason(self, spec: Any) -> str | None:
        """Why the condition rejects `spec`, or mappings with its names; None if not. Raises ExpressionFault."""
        result = self.expression.evaluate(spec)
        if not isinstance(result, bool):
            raise ExpressionFault(f"{self.expression.text} gives {result!r}, which is neither true nor false")
        if result is (self.kind == "require"):
            return None
        values = self.expression.values(spec)
        return f"{self.kind}: {self.expression.text} is {str(result).lower()}" + (f" ({values})" if values else "")


class _Expander:
    """Walks the product of the axes. Errors are gathered, and a value that is wrong by itself is tried only once.

    Most points of a large product fall by a condition on what the axes themselves give: that is judged before a spec is
    made of the point, once for each combination of those values.
    """

    def __init__(
        self, document: Document, model: type[CommonSpec], axes: Mapping[str, Any], conditions: list[_Condition]
    ) -> None:
        self.document = document
        self.model = model
        self.axes = [_Axis(path, tuple(path.split(".")), tuple(values)) for path, values in axes.items()]
        self.conditions = conditions
        self.base = {key: value for key, value in document.data.items() if key != "variants"}
        self.errors: dict[tuple[Location | None, str], SpecError] = {}
        self.wrong: set[tuple[int, int]] = set()  # (axis, value) pairs that already gave an error
        self.broken: set[DataPath] = set()  # conditions that already gave an error
        # (axis, value) pairs that no point has shown to be legal by themselves yet
        self.unseen = {(i, j) for i, axis in enumerate(self.axes) for j in range(len(axis.values))}
        # Conditions on what the axes give: the axes' numbers, their values' indices, and the reasons by those.
        early = ((condition, self._given(condition.expression)) for condition in conditions)
        self.early = [(c, axes, itemgetter(*axes), dict[Any, str | None]()) for c, axes in early if axes]

    def _given(self, expression: Expression) -> tuple[int, ...]:
        """Numbers of the axes that give all names of an expression; none if one is not, or not alone, of an axis."""
        found: set[int] = set()
        for name in expression.names:
            inside = [i for i, a in enumerate(self.axes) if f"{name}.".startswith(f"{a.path}.")]
            if not inside:
                return ()
            found.update(inside)
        return tuple(sorted(found))

    def run(self) -> Expansion:
        points: list[Point] = []
        paths = [axis.path for axis in self.axes]
        places = itertools.product(*(range(len(axis.values)) for axis in self.axes))
        combinations = itertools.product(*(axis.values for axis in self.axes))
        for indices, combination in zip(places, combinations, strict=True):
            if self.wrong and any(pair in self.wrong for pair in enumerate(indices)):
                continue
            points.append(self._point(indices, dict(zip(paths, combination, strict=True))))
        for message, path in [] if self.errors else _everywhere(points):
            self._error(message, self.document.where(path, key=path[:2] != _AXES or len(path) == 3))
        if self.errors:
            raise SpecErrors(self.errors.values())
        return Expansion({axis.path: axis.values for axis in self.axes}, points)

    def _point(self, indices: tuple[int, ...], values: dict[str, Any]) -> Point:
        known = not self.unseen or self.unseen.isdisjoint(enumerate(indices))
        if known and (early := self._early(indices)):
            return Point(values, None, *zip(*early, strict=True))
        data: dict[str, Any] = self.base
        for axis in self.axes:
            data = _with_value(data, axis.keys, values[axis.path])
        spec, faults = collect(data, self.model)
        if spec is None:
            plain = [fault for fault in faults if not fault.cross]
            for fault in plain:
                self._blame(fault, indices)
            if not plain:
                self.unseen.difference_update(enumerate(indices))
            found = {fault.message: self._brought(fault.path, indices) for fault in faults}
            return Point(values, None, tuple(found), tuple(found.values()))
        self.unseen.difference_update(enumerate(indices))
        reasons = [(reason, c.place) for c in self.conditions if (reason := self._judge(c, spec))]
        return Point(values, None, *zip(*reasons, strict=True)) if reasons else Point(values, spec)

    def _early(self, indices: tuple[int, ...]) -> list[tuple[str, DataPath]]:
        """The reasons of those conditions that need nothing but the axes' values, and where these stand."""
        reasons = []
        for condition, axes, key_of, known in self.early:
            key = key_of(indices)
            if key not in known:
                known[key] = self._by_axes(condition, axes, indices)
            if reason := known[key]:
                reasons.append((reason, condition.place))
        return reasons

    def _brought(self, path: DataPath, indices: tuple[int, ...]) -> DataPath:
        """Where the document has what a point has at `path`: at an axis' value, or there."""
        return next(
            (
                (*_AXES, axis.path, index, *path[len(axis.keys) :])
                for axis, index in zip(self.axes, indices, strict=True)
                if path[: len(axis.keys)] == axis.keys
            ),
            path,
        )

    def _by_axes(self, condition: _Condition, axes: tuple[int, ...], indices: tuple[int, ...]) -> str | None:
        data: dict[str, Any] = {}
        for i in axes:
            data = _with_value(data, self.axes[i].keys, self.axes[i].values[indices[i]])
        if any(value is None for value in condition.expression.read(data)):
            return None  # a default, which the spec knows
        try:
            return condition.reason(data)
        except ExpressionFault:
            return None  # told of where there is a spec

    def _judge(self, condition: _Condition, spec: CommonSpec) -> str | None:
        if condition.place in self.broken:
            return None
        try:
            return condition.reason(spec)
        except ExpressionFault as fault:
            self.broken.add(condition.place)
            self._error(str(fault), self.document.where(condition.place))
            return None

    def _blame(self, fault: Fault, indices: tuple[int, ...]) -> None:
        """Places a field's fault at the axis value that brought it, else where the document has the field."""
        for number, (axis, index) in enumerate(zip(self.axes, indices, strict=True)):
            if fault.path[: len(axis.keys)] == axis.keys:
                self.wrong.add((number, index))
                self._add(_of_value(self.document, axis.path, index, fault))
                return
        self._error(fault.message, self.document.where(fault.path, key=fault.key))

    def _error(self, message: str, location: Location) -> None:
        self._add(SpecError(message, location=location))

    def _add(self, error: SpecError) -> None:
        self.errors.setdefault((error.location, error.message), error)


def _everywhere(points: Sequence[Point]) -> list[tuple[str, DataPath]]:
    """What makes every point none, and is no condition, with its place: a fault of the spec."""
    common = _reasons(points[0]) if points else {}
    for point in points:
        here = _reasons(point)
        common = {each: path if here[each] == path else each[1] for each, path in common.items() if each in here}
        if not common:
            break
    return [(text, path) for (text, _), path in common.items() if path[:2] not in _CONDITIONS]


def _reasons(point: Point) -> dict[tuple[str, DataPath], DataPath]:
    """What a point is rejected for and the axis or key that brought it -> its place."""
    found = zip(point.rejected, point.blamed, strict=True)
    return {(text, path[: len(_AXES) + 1] if path[: len(_AXES)] == _AXES else path): path for text, path in found}


def _with_value(data: Mapping[str, Any], keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    """`data` with `value` at `keys`; copies only the mappings on the way, since points share all others."""
    copy = dict(data)
    if len(keys) == 1:
        copy[keys[0]] = value
    else:
        inner = copy.get(keys[0])
        copy[keys[0]] = _with_value(inner if isinstance(inner, dict) else {}, keys[1:], value)
    return copy


def _raw_axes(data: Mapping[str, Any]) -> dict[str, Any]:
    """The axes as the document has them; empty when they are not even a mapping, which validation has found then."""
    variants = data.get("variants")
    axes = variants.get("axes") if isinstance(variants, dict) else None
    return axes if isinstance(axes, dict) else {}


def _value_errors(document: Document, model: type[CommonSpec], axes: Mapping[str, Any]) -> list[SpecError]:
    """The axes' values that no field takes, of a document that is wrong elsewhere: each is tried on its own."""
    valid = axis_paths(model)
    errors: list[SpecError] = []
    for path, values in axes.items():
        keys = tuple(path.split("."))
        if not matches(path, valid) or not isinstance(values, list):
            continue
        for index, value in enumerate(values[:MAX_TRIED]):
            _, faults = collect(_with_value(document.data, keys, value), model)
            inside = [f for f in faults if f.path[: len(keys)] == keys and not f.cross]
            errors += [_of_value(document, path, index, fault) for fault in inside]
    return errors


def _of_value(document: Document, path: str, index: int, fault: Fault) -> SpecError:
    """What is wrong with a value of an axis."""
    inner = fault.path[len(path.split(".")) :]
    location = document.where((*_AXES, path, index, *inner), key=fault.key and bool(inner))
    return SpecError(f"{fault.message} ({path})", location=location)


def _supplied(missing: DataPath | None, axes: Iterable[str]) -> bool:
    """Whether some axis gives the missing key, or a key below it."""
    return missing is not None and any(tuple(path.split("."))[: len(missing)] == missing for path in axes)


def _axis_errors(document: Document, model: type[CommonSpec], axes: Mapping[str, Any]) -> list[SpecError]:
    valid = axis_paths(model)
    errors = []
    for path in axes:
        message = _axis_fault(path, axes, valid, document.data)
        if message:
            errors.append(SpecError(message, location=document.where((*_AXES, path), key=True)))
    product = math.prod(len(values) for values in axes.values())
    if product > MAX_POINTS:
        sizes = " * ".join(str(len(values)) for values in axes.values())
        message = f"the axes have {sizes} = {product:,} points, more than {MAX_POINTS:,}"
        errors.append(SpecError(message, location=document.where(_AXES, key=True)))
    return errors


def _axis_fault(path: str, axes: Mapping[str, Any], valid: dict[str, Any], data: Mapping[str, Any]) -> str | None:
    if not matches(path, valid):
        return f"unknown axis {path!r}{hint(path, valid, noun='axes')}"
    outer = next((other for other in axes if path.startswith(other + ".")), None)
    if outer is not None:
        return f"the axes {outer!r} and {path!r} overlap"
    value: Any = data
    keys = path.split(".")
    for depth, key in enumerate(keys[:-1], start=1):
        value = value.get(key)
        if value is None:  # absent or null: the axis makes the mapping
            return None
        if not isinstance(value, dict):
            return f"the axis {path!r} needs {'.'.join(keys[:depth])!r} to be a mapping, which it is not here"
    return None


def _conditions(document: Document, model: type[CommonSpec]) -> tuple[list[_Condition], list[SpecError]]:
    variants = document.data.get("variants")
    names = {path: annotation for path, annotation in paths(model).items() if path.split(".")[0] != "variants"}
    conditions: list[_Condition] = []
    errors: list[SpecError] = []
    for kind in ("require", "exclude"):
        texts = variants.get(kind) if isinstance(variants, dict) else None
        for index, text in enumerate(texts if isinstance(texts, list) else ()):
            place: DataPath = ("variants", kind, index)
            if not isinstance(text, str):  # validation has found it
                continue
            try:
                expression = compile_expression(text)
                expression.check_names(names)
                conditions.append(_Condition(kind, expression, place))
            except ExpressionFault as fault:
                errors.append(SpecError(str(fault), location=document.where(place).inside(text, fault.offset)))
    return conditions, errors
