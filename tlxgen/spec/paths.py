"""The dotted paths of a spec model, read from its fields' annotations."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from tlxgen.spec.model import CommonSpec, SpecModel
from tlxgen.spec.source import DataPath

ANY = "*"  # any key of a mapping with free keys
_ITEM = "[]"  # any index of a list; it is not part of a dotted path

# Keys that name or describe a spec, or control tlxgen. They are not properties of a variant, so they cannot be axes.
_NO_AXIS = frozenset({"kernel", "name", "description", "variants", "check", "bake", "keep", "tuned"})


@cache
def paths(model: type[SpecModel]) -> dict[str, Any]:
    """Every dotted path of `model` -> its annotation, parents before children, in field order.

    Members of a union of models are merged: a path in several of them has the union of their annotations. `*` stands
    for a free key.
    """
    return _merged(_walk(model, "", ()))


def axis_paths(model: type[CommonSpec]) -> dict[str, Any]:
    """The part of `paths` that `variants.axes` may name."""
    return {path: annotation for path, annotation in paths(model).items() if path.split(".")[0] not in _NO_AXIS}


def matches(path: str, valid: dict[str, Any]) -> bool:
    """Whether `valid` holds `path`, free keys included."""
    if path in valid:
        return True
    parts = path.split(".")
    return all(parts) and any(_fits(parts, other.split(".")) for other in valid if ANY in other)


def texts(annotation: Any) -> list[str] | None:
    """The texts that a value, or an item of a list, may be; empty for a number or a mapping; None if any text may."""
    if annotation is str or annotation is Any:
        return None
    if get_origin(annotation) is Literal:
        return [value for value in get_args(annotation) if isinstance(value, str)]
    if get_origin(annotation) is dict:
        return []
    inner = [texts(each) for each in get_args(annotation) if each is not Ellipsis and _is_type(each)]
    return None if None in inner else [text for found in inner if found for text in found]


def _is_type(annotation: Any) -> bool:
    """Whether this is a type, not metadata of `Annotated`."""
    return isinstance(annotation, type) or get_origin(annotation) is not None or annotation is Any


def _fits(parts: list[str], pattern: list[str]) -> bool:
    return len(parts) == len(pattern) and all(want in (ANY, part) for want, part in zip(pattern, parts, strict=True))


def keys_at(model: type[SpecModel], path: DataPath) -> list[str]:
    """The fixed keys that a mapping at `path` may have; empty when they are free or unknown."""
    here: list[Any] = [model]
    for part in path:
        step = [_children(annotation) for annotation in here]
        wild = _ITEM if isinstance(part, int) else ANY
        here = [children.get(str(part), children.get(wild)) for children in step]
        here = [annotation for annotation in here if annotation is not None]
    return list(dict.fromkeys(key for annotation in here for key in _children(annotation) if key not in (ANY, _ITEM)))


def _walk(annotation: Any, prefix: str, inside: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    if annotation in inside:  # a recursive model
        return
    for key, child in _children(annotation).items():
        if key != _ITEM:
            yield prefix + key, child
            yield from _walk(child, f"{prefix}{key}.", (*inside, annotation))


def _children(annotation: Any) -> dict[str, Any]:
    """Key -> annotation, for the keys directly below `annotation`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: field.annotation for name, field in annotation.model_fields.items()}
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _children(args[0])
    if origin in (Union, types.UnionType):
        return _merged(item for arg in args for item in _children(arg).items())
    if origin is dict:
        return {ANY: args[1]}
    if origin is tuple and args:
        return _merged((_ITEM, arg) for arg in args if arg is not Ellipsis)
    return {}


def _merged(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The items as a mapping. A key that occurs twice has the union of its annotations."""
    merged: dict[str, Any] = {}
    for key, annotation in items:
        known = merged.get(key)
        merged[key] = annotation if known is None or known == annotation else Union[known, annotation]
    return merged


def own(model: type[BaseModel], data: Any, keys: Sequence[str]) -> Any:
    """The value of a spec at a path without axes: its own, or the model's default."""
    field = model.model_fields.get(keys[0])
    if field is None:
        return None
    inner = model_in(field.annotation)
    if isinstance(data, Mapping) and keys[0] in data:
        here = data[keys[0]]
        return own(inner, here, keys[1:]) if len(keys) > 1 and inner else here
    if not field.is_required():
        here = field.get_default(call_default_factory=True)
        return reduce(lambda value, key: getattr(value, key, None), keys[1:], here)
    return own(inner, {}, keys[1:]) if len(keys) > 1 and inner else None


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(model_in, get_args(annotation))), None)
