"""Expands a spec's axes into points. Each point has a validated spec, or the reasons for its rejection."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tlxgen.errors import Location, SpecError, SpecErrors
from tlxgen.spec.document import Document
from tlxgen.spec.expression import FAULTS, Expression, ExpressionFault, compile_expression, lookup
from tlxgen.spec.model import CommonSpec, default_of
from tlxgen.spec.nearest import hint
from tlxgen.spec.paths import axis_paths, matches, paths
from tlxgen.spec.source import DataPath
from tlxgen.spec.validate import Fault, collect, located

MAX_POINTS = 1_000_000_000
MAX_LISTED = 1_000_000  # points that are listed one by one to say why a value has no variants
MAX_TRIED = 1000  # limit of the axis values that are tried if the rest of the spec is invalid
_AXES: DataPath = ("variants", "axes")
_CONDITIONS: tuple[DataPath, ...] = (("variants", "require"), ("variants", "exclude"))


@dataclass(frozen=True)
class Point:
    """One combination of the axes' values.

    It has either a spec, whose `variants` are empty, or the reasons for its rejection. `blamed` has, for each reason,
    the path in the document of the key that caused it.
    """

    values: dict[str, Any]
    spec: CommonSpec | None
    rejected: tuple[str, ...] = ()
    blamed: tuple[DataPath, ...] = ()


@dataclass(frozen=True)
class Expansion:
    """All points of a spec, in an order in which the last axis varies fastest. Without axes there is one point.

    Conditions on the axes reject most points of a large product. Such points are only counted, and are made only if
    `points` is read. `judged` has the others, by their number in the order.
    """

    axes: dict[str, tuple[Any, ...]]
    judged: Mapping[int, Point]
    sieve: Sieve

    @cached_property
    def points(self) -> list[Point]:
        """All points, in order."""
        return [self.judged.get(i) or self._condemned(i) for i in range(len(self))]

    @property
    def examples(self) -> list[Point]:
        """All points or, where they are too many, those that were judged, among which each value of an axis is."""
        return self.points if len(self) <= MAX_LISTED else [point for _, point in sorted(self.judged.items())]

    def __len__(self) -> int:
        return math.prod(map(len, self.axes.values()))

    @property
    def accepted(self) -> list[Point]:
        """The points that have a spec."""
        return [point for _, point in sorted(self.judged.items()) if point.spec is not None]

    @cached_property
    def rules(self) -> dict[str, int]:
        """Rule -> how many points it rejects. A point that several rules reject counts for each of them.

        A rule is a condition (`require: tile.m == 128`), or a model's message on a combination of keys.
        """
        counts = self.sieve.counts()
        for number, point in self.judged.items():
            early = self.sieve.broken(self.sieve.indices(number))
            counts.subtract(self.sieve.rule(*each) for each in early)
            counts.update(self.sieve.rule(*each) for each in zip(point.rejected, point.blamed, strict=True))
        return dict(+counts)

    def _condemned(self, number: int) -> Point:
        indices = self.sieve.indices(number)
        values = {path: self.axes[path][i] for path, i in zip(self.axes, indices, strict=True)}
        return Point(values, None, *zip(*self.sieve.broken(indices), strict=True))


def expand(document: Document, model: type[CommonSpec]) -> Expansion:
    """Expands all points of the document's axes, validated by `model` and filtered by `require` and `exclude`.

    A combination that a model validator or a condition refuses is a rejected point. All other faults are raised
    together as SpecErrors: invalid fields, axes that the model does not have, invalid values, conditions that cannot be
    evaluated, and combinations that are illegal at every point.
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
    """A function of a spec that returns the reasons why the document's conditions reject it.

    The function raises ExpressionFault if a condition cannot be evaluated.
    """
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

    @property
    def rule(self) -> str:
        return f"{self.kind}: {self.expression.text}"

    def reason(self, spec: Any) -> str | None:
        """Why the condition rejects `spec`, or mappings with its names; None if not. Raises ExpressionFault."""
        result = self.expression.evaluate(spec)
        if not isinstance(result, bool):
            raise ExpressionFault(f"{self.expression.text} gives {result!r}, which is neither true nor false")
        if result is (self.kind == "require"):
            return None
        values = self.expression.values(spec)
        return f"{self.kind}: {self.expression.text} is {str(result).lower()}" + (f" ({values})" if values else "")


class Sieve:
    """The conditions that only read values of the axes. Each combination of the values that they read is judged once.

    They reject most points of a large product, without an enumeration of these points: a walk over the axes stops at
    the first axis at which a condition is broken whatever the further axes are, and the number of points that a
    combination stands for is the product of the lengths of the axes that the condition does not read.
    """

    def __init__(self, axes: Sequence[_Axis], conditions: Sequence[_Condition], model: type[CommonSpec]) -> None:
        self._axes = axes
        self._sizes = [len(axis.values) for axis in axes]
        self._rules = {condition.place: condition.rule for condition in conditions}
        given = ((condition, self._given(condition.expression)) for condition in conditions)
        self._conditions = [_Early(condition, numbers, axes, model) for condition, numbers in given if numbers]
        self._reading = [[c for c in self._conditions if i in c.numbers] for i in range(len(axes))]

    def _given(self, expression: Expression) -> tuple[int, ...]:
        """The numbers of the axes that give all names of an expression; empty if a name is not given by one axis."""
        found: set[int] = set()
        for name in expression.names:
            inside = [i for i, a in enumerate(self._axes) if f"{name}.".startswith(f"{a.path}.")]
            if not inside:
                return ()
            found.update(inside)
        return tuple(sorted(found))

    def left(self, wrong: Container[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
        """The value indices of each point that no condition rejects and that has none of the `wrong` (axis, value)."""
        return self._below((), wrong)

    def _below(self, indices: tuple[int, ...], wrong: Container[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
        axis = len(indices)
        if axis == len(self._sizes):
            yield indices
            return
        values = [value for value in range(self._sizes[axis]) if (axis, value) not in wrong]
        for condition in self._reading[axis]:
            values = condition.passing(indices, values)
        for value in values:
            yield from self._below((*indices, value), wrong)

    def broken(self, indices: Sequence[int]) -> list[tuple[str, DataPath]]:
        """The reason and the path of each condition that rejects a point."""
        return [(reason, c.place) for c in self._conditions if (reason := c.reason(indices))]

    def counts(self) -> Counter[str]:
        """How many points each condition rejects."""
        counts: Counter[str] = Counter()
        for condition in self._conditions:
            others = math.prod(size for i, size in enumerate(self._sizes) if i not in condition.numbers)
            counts[self._rules[condition.place]] += others * condition.count()
        return counts

    def rule(self, reason: str, blamed: DataPath) -> str:
        """The rule of a reason: the condition that is blamed, or the reason itself."""
        return self._rules.get(blamed, reason)

    def number(self, indices: Sequence[int]) -> int:
        """The number of a point in the order of all points."""
        number = 0
        for size, index in zip(self._sizes, indices, strict=True):
            number = number * size + index
        return number

    def indices(self, number: int) -> tuple[int, ...]:
        """The indices of the values of a point."""
        found = []
        for size in reversed(self._sizes):
            number, index = divmod(number, size)
            found.append(index)
        return tuple(reversed(found))


class _UndecidedError(Exception):
    """A condition's verdict depends on the value of an axis that is not fixed yet."""

    def __init__(self, axis: int) -> None:
        super().__init__(axis)
        self.axis = axis


class _Early:
    """A condition on the values of some axes, given by their `numbers`.

    It is evaluated with some of these axes fixed, and often they decide it: `a and b` is false if `a` is. A value that
    is a default, which only the spec has, never breaks it, unless the default is `fixed`. Neither does a fault, which
    is reported where there is a spec.
    """

    def __init__(
        self, condition: _Condition, numbers: tuple[int, ...], axes: Sequence[_Axis], model: type[CommonSpec]
    ) -> None:
        self.place, self.numbers = condition.place, numbers
        self._condition, self._axes = condition, {number: axes[number] for number in numbers}
        self._lacking: set[tuple[int, int]] = set()  # axis, index of a value that does not say all of the names
        self._filled: dict[tuple[int, int], dict[str, Any]] = defaultdict(dict)  # what fixed defaults say for it
        self._names = {name: self._values(name, model) for name in condition.expression.names}
        self._known: dict[tuple[int, ...], bool] = {}
        self._kinds: dict[int, list[tuple[int, int]]] = {}  # by axis

    def _values(self, name: str, model: type[CommonSpec]) -> tuple[int, list[Any]]:
        """The axis that gives a name, and the name's values for those of the axis."""
        number, axis = next((n, a) for n, a in self._axes.items() if f"{name}.".startswith(f"{a.path}."))
        within, values = name[len(axis.path) + 1 :], []
        for index, value in enumerate(axis.values):
            values.append(lookup(value, within))
            if values[-1] is None and name in model.fixed and isinstance(value, dict):
                values[-1] = self._filled[number, index][name] = default_of(model, name)
            elif values[-1] is None:
                self._lacking.add((number, index))
        return number, values

    def rejects(self, indices: Sequence[int]) -> bool:
        """Whether it rejects all points whose first axes have the values at `indices`."""
        return self._rejects(tuple(indices[number] for number in self.numbers if number < len(indices)))

    def passing(self, indices: Sequence[int], values: Sequence[int]) -> list[int]:
        """The `values` of the next axis but those with which, after `indices`, it rejects all points."""
        fixed = [indices[number] for number in self.numbers if number < len(indices)]
        return [value for value in values if not self._rejects((*fixed, value))]

    def _rejects(self, key: tuple[int, ...]) -> bool:
        """Whether it rejects all points in which the first of its own axes have the values of `key`."""
        found = self._known.get(key)
        if found is None:
            try:
                found = self._verdict(dict(zip(self.numbers, key, strict=False)))
            except _UndecidedError:
                found = False
            self._known[key] = found
        return found

    def reason(self, indices: Sequence[int]) -> str | None:
        """Why it rejects a point; None if it does not."""
        if not self.rejects(indices):
            return None
        data: dict[str, Any] = {}
        for number, axis in self._axes.items():
            data = _with_value(data, axis.keys, axis.values[indices[number]])
            for name, value in self._filled[number, indices[number]].items():
                data = _with_value(data, tuple(name.split(".")), value)
        return self._condition.reason(data)

    def count(self) -> int:
        """How many combinations of its axes' values it rejects."""
        return self._count({})

    def _count(self, fixed: dict[int, int]) -> int:
        try:
            rejects = self._verdict(fixed)
        except _UndecidedError as undecided:
            number = undecided.axis
            return sum(many * self._count({**fixed, number: first}) for first, many in self._alike(number))
        return rejects * math.prod(len(axis.values) for number, axis in self._axes.items() if number not in fixed)

    def _alike(self, number: int) -> list[tuple[int, int]]:
        """Values of an axis, as far as the condition tells them apart: the first of each kind, and how many it has."""
        if number not in self._kinds:
            kinds: dict[tuple[str, bool], list[int]] = defaultdict(list)
            for i in range(len(self._axes[number].values)):
                said = [values[i] for of, values in self._names.values() if of == number]
                kinds[repr(said), (number, i) in self._lacking].append(i)
            self._kinds[number] = [(some[0], len(some)) for some in kinds.values()]
        return self._kinds[number]

    def _verdict(self, fixed: Mapping[int, int]) -> bool:
        """Whether it rejects all points with the `fixed` indices. Raises _UndecidedError if it depends on others."""
        if self._lacking and not self._lacking.isdisjoint(fixed.items()):
            return False

        def read(name: str) -> Any:
            number, values = self._names[name]
            if number not in fixed:
                raise _UndecidedError(number)
            return values[fixed[number]]

        try:
            result = self._condition.expression.run(read)
        except FAULTS:
            return False
        if not isinstance(result, bool) or result is (self._condition.kind == "require"):
            return False
        for number, _ in self._lacking:
            if number not in fixed:
                raise _UndecidedError(number)
        return True


class _Expander:
    """Makes specs of the points that the sieve leaves, and of further points, so that each axis value is tried.

    It collects errors. A value that is invalid by itself is tried only once.
    """

    def __init__(
        self, document: Document, model: type[CommonSpec], axes: Mapping[str, Any], conditions: list[_Condition]
    ) -> None:
        self.document = document
        self.model = model
        self.axes = [_Axis(path, tuple(path.split(".")), tuple(values)) for path, values in axes.items()]
        self.conditions = conditions
        self.sieve = Sieve(self.axes, conditions, model)
        self.base = {key: value for key, value in document.data.items() if key != "variants"}
        self.errors: dict[tuple[Location | None, str], SpecError] = {}
        self.wrong: set[tuple[int, int]] = set()  # (axis, value) pairs that already gave an error
        self.broken: set[DataPath] = set()  # conditions that already gave an error
        self.judged: dict[int, Point] = {}

    def run(self) -> Expansion:
        for indices in self._each_value():
            self._point(indices)
        for indices in self.sieve.left(self.wrong):
            self._point(indices)
        for message, path in [] if self.errors else _everywhere(list(self.judged.values())):
            self._error(message, self.document.where(path, key=path[:2] != _AXES or len(path) == 3))
        if self.errors:
            raise SpecErrors(self.errors.values())
        return Expansion({axis.path: axis.values for axis in self.axes}, self.judged, self.sieve)

    def _each_value(self) -> Iterator[tuple[int, ...]]:
        """Points that try each value of each axis, together with values that are not known to be invalid."""
        for number, axis in enumerate(self.axes):
            for value in range(len(axis.values)):
                seen = -1
                while seen < len(self.wrong) and (number, value) not in self.wrong:
                    seen = len(self.wrong)
                    indices = [self._sound(i) for i in range(len(self.axes))]
                    indices[number] = value
                    yield tuple(indices)

    def _sound(self, number: int) -> int:
        """The first value of an axis that is not known to be invalid."""
        values = range(len(self.axes[number].values))
        return next((v for v in values if (number, v) not in self.wrong), 0)

    def _point(self, indices: tuple[int, ...]) -> None:
        """Judges a point, unless it has been judged."""
        number = self.sieve.number(indices)
        if number in self.judged:
            return
        data: dict[str, Any] = self.base
        values = {}
        for axis, index in zip(self.axes, indices, strict=True):
            values[axis.path] = axis.values[index]
            data = _with_value(data, axis.keys, values[axis.path])
        spec, faults = collect(data, self.model)
        if spec is None:
            for fault in faults:
                if not fault.cross:
                    self._blame(fault, indices)
            found = {fault.message: self._brought(fault.path, indices) for fault in faults}
            self.judged[number] = Point(values, None, tuple(found), tuple(found.values()))
            return
        reasons = [(reason, c.place) for c in self.conditions if (reason := self._judge(c, spec))]
        self.judged[number] = Point(values, None, *zip(*reasons, strict=True)) if reasons else Point(values, spec)

    def _brought(self, path: DataPath, indices: tuple[int, ...]) -> DataPath:
        """The document's path of a point's value at `path`: that of the axis value, or `path` itself."""
        return next(
            (
                (*_AXES, axis.path, index, *path[len(axis.keys) :])
                for axis, index in zip(self.axes, indices, strict=True)
                if path[: len(axis.keys)] == axis.keys
            ),
            path,
        )

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
        """Locates a field's fault at the axis value that caused it, or else at the document's field."""
        for number, (axis, index) in enumerate(zip(self.axes, indices, strict=True)):
            if fault.path[: len(axis.keys)] == axis.keys:
                self.wrong.add((number, index))
                self._add(_of_value(self.document, axis.path, index, fault))
                return
        self._error(fault.message, fault.at(self.document.where(fault.path, key=fault.key)))

    def _error(self, message: str, location: Location) -> None:
        self._add(SpecError(message, location=location))

    def _add(self, error: SpecError) -> None:
        self.errors.setdefault((error.location, error.message), error)


def _everywhere(points: Sequence[Point]) -> list[tuple[str, DataPath]]:
    """The reasons, other than conditions, that reject all points, with their paths. They are faults of the spec."""
    common = _reasons(points[0]) if points else {}
    for point in points:
        here = _reasons(point)
        common = {each: path if here[each] == path else each[1] for each, path in common.items() if each in here}
        if not common:
            break
    return [(text, path) for (text, _), path in common.items() if path[:2] not in _CONDITIONS]


def _reasons(point: Point) -> dict[tuple[str, DataPath], DataPath]:
    """(Reason of a rejected point, path of the axis or key that caused it) -> path to report."""
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
    """The axes as the document has them. They are empty if they are not a mapping, which validation reports."""
    variants = data.get("variants")
    axes = variants.get("axes") if isinstance(variants, dict) else None
    return axes if isinstance(axes, dict) else {}


def _value_errors(document: Document, model: type[CommonSpec], axes: Mapping[str, Any]) -> list[SpecError]:
    """Errors for invalid axis values of a document that has other faults. Each value is tried on its own."""
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
    """The error for an invalid value of an axis."""
    inner = fault.path[len(path.split(".")) :]
    location = document.where((*_AXES, path, index, *inner), key=fault.key and bool(inner))
    return SpecError(f"{fault.message} ({path})", location=fault.at(location))


def _supplied(missing: DataPath | None, axes: Iterable[str]) -> bool:
    """Whether an axis gives the missing key, or a key below it."""
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
        if value is None:  # the mapping is absent or null, and the axis creates it
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
            if not isinstance(text, str):  # validation reports it
                continue
            try:
                expression = compile_expression(text)
                expression.check_names(names)
                conditions.append(_Condition(kind, expression, place))
            except ExpressionFault as fault:
                errors.append(SpecError(str(fault), location=document.where(place).inside(text, fault.offset)))
    return conditions, errors
