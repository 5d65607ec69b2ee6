"""The keys of a family's specs, each with what the JSON Schema says of it and of its values."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from tlxgen.families import Family
from tlxgen.spec import CommonSpec
from tlxgen.spec.choices import TEXTS, Choices, yaml

ARCHES: tuple[str, ...] = get_args(CommonSpec.model_fields["arch"].annotation)
Schema = Mapping[str, Any]
_BOUNDS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}


@dataclass(frozen=True)
class Key:
    """A key of a family's specs. `values`: those that are listed, each with its text, which may be empty.

    `defaults`: by the architecture; empty for a key that every spec has to give, and for a mapping. `inside`: the keys
    of a mapping. `parameter`: the constexpr parameter, or launch option, that the key is an axis of constants for.
    """

    family: str
    path: str
    text: str
    kind: str
    values: tuple[tuple[str, str], ...]
    defaults: Mapping[str, str]
    inside: tuple[str, ...]
    parameter: str
    rules: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


@functools.cache
def keys_of(family: Family) -> tuple[Key, ...]:
    """All keys of the family's specs. A mapping comes before its keys."""
    schema = family.model.model_json_schema()
    defaults = dict(_defaults(family))
    return tuple(_key(family, path, node, schema, defaults) for path, node in _walk(schema, schema, "", ()))


def _key(family: Family, path: str, node: Schema, root: Schema, defaults: Mapping[str, Any]) -> Key:
    parts = list(_parts(node, root))
    inside = tuple(dict.fromkeys(name for part in parts for name in part.get("properties", {})))
    found = {} if inside else {arch: at for arch, spec in defaults.items() if (at := _at(spec, path, node))}
    return Key(
        family=family.name,
        path=path,
        text=str(node.get("description") or next((p["description"] for p in parts if "description" in p), "")),
        kind="" if inside else _kind(parts),
        values=tuple(_values(parts, _choices(family, path))),
        defaults=found,
        inside=tuple(f"{path}.{name}" for name in inside),
        parameter=family.config_axes.get(path, ""),
        rules=tuple(sorted(rule for rule, blamed in family.blame.items() if blamed == path)),
    )


def _walk(node: Schema, root: Schema, prefix: str, inside: tuple[str, ...]) -> Iterator[tuple[str, Schema]]:
    for part in _parts(node, root):
        title = str(part.get("title"))
        if "properties" in part and title in inside:  # a model that holds itself
            continue
        for name, child in part.get("properties", {}).items():
            yield prefix + name, child
            yield from _walk(child, root, f"{prefix}{name}.", (*inside, title))


def _parts(node: Schema, root: Schema) -> Iterator[Schema]:
    """What a schema stands for: itself, what it refers to, and the members of a union."""
    if "$ref" in node:
        yield from _parts(root["$defs"][str(node["$ref"]).rpartition("/")[2]], root)
    for member in (*node.get("anyOf", ()), *node.get("allOf", ())):
        yield from _parts(member, root)
    if "anyOf" not in node and "$ref" not in node:
        yield node


def _kind(parts: list[Schema]) -> str:
    """What a value is, in a few words."""
    return " or ".join(dict.fromkeys(filter(None, (_of_one(part) for part in parts))))


def _of_one(part: Schema) -> str:
    if "enum" in part or "const" in part:
        return ""  # values are listed
    if part.get("type") == "array":
        items = part.get("items", {})
        return f"a list of {_of_one(items) or 'these'}" if isinstance(items, dict) else "a list"
    kinds = {"integer": "integer", "number": "number", "boolean": "true or false", "null": "null", "string": "text"}
    kind = "a mapping" if part.get("type") == "object" else kinds.get(str(part.get("type")), "any value")
    bounds = [f"{words} {part[name]}" for name, words in _BOUNDS.items() if name in part]
    return f"{kind}, {' and '.join(bounds)}" if bounds else kind


def _values(parts: list[Schema], choices: Choices | None) -> Iterator[tuple[str, str]]:
    listed: dict[str, str] = {}
    for part in parts:
        for one in (part, part.get("items")):
            if isinstance(one, dict):
                values = one.get("enum", [one["const"]] if "const" in one else [])
                texts = one.get(TEXTS) or [""] * len(values)
                listed |= dict(zip(map(yaml, values), texts, strict=True))
    for value, text in (choices.texts if choices else {}).items():
        listed.setdefault(yaml(value), text)
    yield from listed.items()


def _choices(family: Family, path: str) -> Choices | None:
    """What the model's field says of its values."""
    extra = None
    model: Any = family.model
    for name in path.split("."):
        field = next((m.model_fields[name] for m in _models(model) if name in m.model_fields), None)
        if field is None:
            return None
        extra, model = field.json_schema_extra, field.annotation
    return extra if isinstance(extra, Choices) else None


def _models(annotation: Any) -> Iterator[Any]:
    if hasattr(annotation, "model_fields"):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _defaults(family: Family) -> Iterator[tuple[str, Any]]:
    """A spec that says nothing, by architecture; none where the family has no kernel for it."""
    for arch in ARCHES:
        try:
            yield arch, family.model.model_validate({"kernel": family.name, "name": "a_name", "arch": arch})
        except ValueError:
            continue


def _at(spec: Any, path: str, node: Schema) -> str:
    """The value at a path of a spec that says nothing; empty for what has none there."""
    if path in ("kernel", "name", "arch"):
        return ""
    for name in path.split("."):
        if spec is None:  # a task that is not there: what it would have
            return yaml(node["default"]) if "default" in node else ""
        spec = getattr(spec, name, None)
    return shown(spec)


def shown(value: Any) -> str:
    """A value as a spec has it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return "{}" if value == {} else '""' if value == "" else yaml(value)
