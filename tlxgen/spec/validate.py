"""Validates a document by its model. One run reports every fault, each at its location in the file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from tlxgen.errors import Location, SpecError, SpecErrors
from tlxgen.spec.document import Document
from tlxgen.spec.expression import ExpressionFault
from tlxgen.spec.model import SpecFault, SpecModel
from tlxgen.spec.nearest import hint, nearest
from tlxgen.spec.paths import keys_at
from tlxgen.spec.scalars import describe
from tlxgen.spec.source import DataPath, holds

_Spec = TypeVar("_Spec", bound=SpecModel)


@dataclass(frozen=True)
class Fault:
    """One fault of the data, not yet placed in a file.

    `key` locates the fault at the key rather than at the value. `cross` marks a fault of a model validator, where each
    field is valid but their combination is not. `missing` is the path of an absent key. `expected` describes valid
    values; only a fault of the value itself has it, and the members of a union are merged by it. `counted` marks a list
    with too few items.
    """

    path: DataPath
    message: str
    key: bool = False
    cross: bool = False
    missing: DataPath | None = None
    expected: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    counted: bool = False
    inside: tuple[str, int] | None = None  # a text that is the value, and the place in it

    def at(self, location: Location) -> Location:
        """The place of the fault in the value that is at `location`."""
        return location.inside(*self.inside) if self.inside else location


def validate(document: Document, model: type[_Spec]) -> _Spec:
    """The spec that `document` describes. Raises SpecErrors with every fault found."""
    spec, faults = collect(document.data, model)
    if spec is None:
        raise SpecErrors(located(document, faults))
    return spec


def collect(data: Mapping[str, Any], model: type[_Spec]) -> tuple[_Spec | None, list[Fault]]:
    """The spec, or None and its faults (at least one)."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        errors = [(tuple(item["loc"]), item) for item in error.errors(include_url=False)]
        return None, _Collapse(model).faults(errors, (), data)


def located(document: Document, faults: Iterable[Fault]) -> list[SpecError]:
    """The faults as errors at their places, each once."""
    placed = {(fault.at(document.where(fault.path, key=fault.key)), fault.message): None for fault in faults}
    return [SpecError(message, location=location) for location, message in placed]


def dotted(path: DataPath) -> str:
    """('ops', 0, 'kind') as 'ops[0].kind'."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


class _Collapse:
    """Turns pydantic's flat errors, which repeat a fault for each member of a union, into one fault a location."""

    def __init__(self, model: type[SpecModel]) -> None:
        self.model = model

    def faults(self, errors: list[tuple[DataPath, Any]], path: DataPath, value: Any) -> list[Fault]:
        """The faults at and below `path`, where the data is `value`; the errors' locations are relative to `path`."""
        found: list[Fault] = []
        children: dict[str | int, list[tuple[DataPath, Any]]] = {}
        members: dict[str | int, list[tuple[DataPath, Any]]] = {}
        for loc, error in errors:
            if not loc or loc == ("[key]",) or (len(loc) == 1 and error["type"] == "missing"):
                found += self._leaf(loc, error, path, value)
            elif holds(value, loc[0]):
                children.setdefault(loc[0], []).append((loc[1:], error))
            else:  # this part is not in the data: it is pydantic's name for a member of a union
                members.setdefault(loc[0], []).append((loc[1:], error))
        if children:  # pydantic counts only valid items
            found = [fault for fault in found if not fault.counted]
        for part, below in children.items():
            found += self.faults(below, (*path, part), value[part])
        return found + _union([self.faults(below, path, value) for below in members.values()], path, value)

    def _leaf(self, loc: DataPath, error: Any, path: DataPath, value: Any) -> list[Fault]:
        kind, context = error["type"], error.get("ctx", {})
        if loc == ("[key]",):
            rule = f" must match {context['pattern']}" if "pattern" in context else f": {error['msg']}"
            return [Fault(path, f"the key {path[-1]!r}{rule}", key=True)]
        if kind == "missing":
            missing = (*path, str(loc[0]))
            return [Fault(path, f"missing key {loc[0]!r}{_inside(path)}", key=True, missing=missing)]
        if kind == "extra_forbidden":
            valid = keys_at(self.model, path[:-1])
            message = f"unknown key {path[-1]!r}{_inside(path[:-1])}{hint(str(path[-1]), valid, noun='keys')}"
            return [Fault(path, message, key=True)]
        if kind in ("value_error", "assertion_error"):
            return _raised(context.get("error"), path, value, cross=isinstance(value, Mapping))
        if kind == "union_tag_not_found":
            name = context["discriminator"].strip("'")
            return [Fault(path, f"missing key {name!r}{_inside(path)}", key=True, missing=(*path, name))]
        if kind == "union_tag_invalid":
            name, tags = context["discriminator"].strip("'"), context["expected_tags"]
            return [_wrong((*path, name), value[name] if holds(value, name) else None, (tags,), _choices(tags))]
        return [_expected(kind, context, error["msg"], path, value)]


def _union(members: list[list[Fault]], path: DataPath, value: Any) -> list[Fault]:
    """The faults of the member that the value was most likely meant for, or one fault that says what is expected."""
    if len(members) < 2:
        return members[0] if members else []
    inner = [faults for faults in members if not any(fault.expected and fault.path == path for fault in faults)]
    if inner:  # the value has this member's type, and the fault is deeper
        return min(inner, key=len)
    here = [fault for faults in members for fault in faults if fault.expected and fault.path == path]
    expected = dict.fromkeys(text for fault in here for text in fault.expected)
    return [_wrong(path, value, tuple(expected), tuple(choice for fault in here for choice in fault.choices))]


def _raised(error: object, path: DataPath, value: object, *, cross: bool) -> list[Fault]:
    if isinstance(error, SpecFault) and error.faults:
        return [Fault((*path, *below), message, key=True, cross=cross) for below, message in error.faults]
    inside = (value, error.offset) if isinstance(error, ExpressionFault) and isinstance(value, str) else None
    return [Fault(path, str(error) or "this is not valid", cross=cross, inside=inside)]


def _expected(kind: str, context: dict[str, Any], message: str, path: DataPath, value: Any) -> Fault:
    if kind in ("literal_error", "enum"):
        return _wrong(path, value, (context["expected"],), _choices(context["expected"]))
    if kind in _EXPECTED:
        return replace(_wrong(path, value, (_EXPECTED[kind](context),), ()), counted=kind == "too_short")
    return Fault(path, f"{message.removeprefix('Input ')}, got {describe(value)}")


def _wrong(path: DataPath, value: Any, expected: tuple[str, ...], choices: tuple[str, ...]) -> Fault:
    listed = ", ".join(expected[:-1]) + (" or " if len(expected) > 1 else "") + expected[-1]
    near = nearest(value, choices) if isinstance(value, str) else None
    did_you_mean = f"; did you mean {near!r}?" if near else ""
    message = f"expected {listed}, got {describe(value)}{did_you_mean}"
    return Fault(path, message, expected=expected, choices=choices)


def _inside(path: DataPath) -> str:
    return f" in {dotted(path)}" if path else ""


def _choices(expected: str) -> tuple[str, ...]:
    """The texts among pydantic's "'a', 'b' or 'c'"."""
    words = expected.replace(" or ", ", ").split(", ")
    quoted = [word for word in words if len(word) > 1 and word[0] == word[-1] and word[0] in "'\""]
    return tuple(str(ast.literal_eval(word)) for word in quoted)


def _items(context: dict[str, Any], bound: str, length: str) -> str:
    count = context[length]
    return f"{bound} {count} item{'' if count == 1 else 's'}"


_EXPECTED: dict[str, Callable[[dict[str, Any]], str]] = {
    "int_type": lambda _: "an integer",
    "int_from_float": lambda _: "an integer",
    "float_type": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "bool_type": lambda _: "true or false",
    "string_type": lambda _: "text",
    "none_required": lambda _: "null",
    "tuple_type": lambda _: "a list",
    "list_type": lambda _: "a list",
    "dict_type": lambda _: "a mapping",
    "model_type": lambda _: "a mapping",
    "model_attributes_type": lambda _: "a mapping",
    "greater_than": lambda c: f"a number greater than {c['gt']}",
    "greater_than_equal": lambda c: f"a number of at least {c['ge']}",
    "less_than": lambda c: f"a number less than {c['lt']}",
    "less_than_equal": lambda c: f"a number of at most {c['le']}",
    "multiple_of": lambda c: f"a multiple of {c['multiple_of']}",
    "too_short": lambda c: _items(c, "at least", "min_length"),
    "too_long": lambda c: _items(c, "at most", "max_length"),
    "string_too_short": lambda c: f"text of at least {c['min_length']} characters",
    "string_too_long": lambda c: f"text of at most {c['max_length']} characters",
    "string_pattern_mismatch": lambda c: f"text that matches {c['pattern']}",
}
