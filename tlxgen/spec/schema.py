"""The JSON Schema (draft 2020-12) of all kernel families, for editors."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic.json_schema import models_json_schema

from tlxgen.spec.document import EXTENDS
from tlxgen.spec.model import CommonSpec
from tlxgen.spec.paths import ANY, axis_paths

Schema = dict[str, Any]

_DEFS = "#/$defs/"
_PART = "_part"  # suffix of the definitions for a spec with `extends`
_EXTENDS_SCHEMA: Schema = {
    "type": "string",
    "description": "A spec to inherit from, relative to this file: mappings merge, the rest replaces, null removes.",
}


def json_schema(models: dict[str, type[CommonSpec]]) -> Schema:
    """The schema of specs whose `kernel` is a key of `models`. It is deterministic, with a fixed order of keys.

    A second set of definitions, in which no key is required and any may be null, is for specs with `extends`.
    """
    kernels = sorted(models)
    inputs: list[tuple[type[CommonSpec], Literal["validation"]]] = [
        (models[kernel], "validation") for kernel in kernels
    ]
    places, generated = models_json_schema(inputs, ref_template=_DEFS + "{model}")
    defs: dict[str, Schema] = generated.get("$defs", {})
    roots = {kernel: places[models[kernel], "validation"]["$ref"].removeprefix(_DEFS) for kernel in kernels}
    _close_patterns(defs)
    for kernel, root in roots.items():
        _add_axes(defs, root, models[kernel])
    parts = {name + _PART: _partial(definition) for name, definition in defs.items()}
    for root in roots.values():
        parts[root + _PART]["properties"][EXTENDS] = _EXTENDS_SCHEMA
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tlxgen kernel spec",
        "type": "object",
        "properties": {
            "kernel": {"enum": kernels, "description": CommonSpec.model_fields["kernel"].description},
            EXTENDS: _EXTENDS_SCHEMA,
        },
        "allOf": [*(_of_kernel(kernel, root) for kernel, root in roots.items()), _without_kernel(list(roots.values()))],
        "$defs": dict(sorted((defs | parts).items())),
    }


def _close_patterns(schema: Any) -> None:
    """Refuses keys outside a mapping's key pattern. Pydantic refuses them too, but its schema does not say so."""
    if isinstance(schema, list):
        for value in schema:
            _close_patterns(value)
    elif isinstance(schema, dict):
        if isinstance(schema.get("patternProperties"), dict):
            schema.setdefault("additionalProperties", False)
        for value in list(schema.values()):
            _close_patterns(value)


def _of_kernel(kernel: str, root: str) -> Schema:
    full, part = {"$ref": _DEFS + root}, {"$ref": _DEFS + root + _PART}
    return {
        "if": {"properties": {"kernel": {"const": kernel}}, "required": ["kernel"]},
        "then": {"if": {"required": [EXTENDS]}, "then": part, "else": full},
    }


def _without_kernel(roots: list[str]) -> Schema:
    """The schema of a spec without `kernel`, which must extend another spec and match some family."""
    some = {"anyOf": [{"$ref": _DEFS + root + _PART} for root in roots]}
    return {
        "if": {"required": ["kernel"]},
        "else": {"if": {"required": [EXTENDS]}, "then": some, "else": {"required": ["kernel"]}},
    }


def _add_axes(defs: dict[str, Schema], root: str, model: type[CommonSpec]) -> None:
    """Gives `root` a definition of `variants` whose axes are the model's own paths."""
    properties: Schema = {}
    patterns: Schema = {}
    places = dict(_places(defs, _DEFS + root, "", ()))
    for path in axis_paths(model):
        if path not in places:
            continue
        refs: list[Schema] = [{"$ref": ref} for ref in places[path]]
        items: Schema = refs[0] if len(refs) == 1 else {"anyOf": refs}
        values = {"type": "array", "minItems": 1, "uniqueItems": True, "items": items}
        if ANY in path:
            patterns["^" + path.replace(".", r"\.").replace(ANY, "[^.]+") + "$"] = values
        else:
            properties[path] = values
    own = f"{root}_variants"
    variants = defs[root]["properties"]["variants"]
    defs[own] = copy.deepcopy(_resolve(defs, variants))
    axes = defs[own]["properties"]["axes"]
    description = {"description": axes["description"]} if "description" in axes else {}
    defs[own]["properties"]["axes"] = description | {
        "type": "object",
        "properties": properties,
        "patternProperties": patterns,
        "additionalProperties": False,
    }
    defs[root]["properties"]["variants"] = {
        key: value for key, value in variants.items() if key not in ("allOf", "$ref")
    } | {"$ref": _DEFS + own}


def _places(
    defs: dict[str, Schema], place: str, prefix: str, inside: tuple[str, ...]
) -> Iterator[tuple[str, list[str]]]:
    """Dotted path -> JSON pointers of the schemas it may have, for everything below the schema at `place`."""
    children: dict[str, list[str]] = {}
    for container in _containers(defs, place, ()):
        if container in inside:
            continue
        schema = _at(defs, container)
        for name in schema.get("properties", {}):
            children.setdefault(name, []).append(f"{container}/properties/{name}")
        for keyword in ("additionalProperties", "patternProperties"):
            free = schema.get(keyword)
            if isinstance(free, dict) and free:
                child = f"{container}/{keyword}"
                several = keyword == "patternProperties"
                children.setdefault(ANY, []).extend(
                    [f"{child}/{_escape(name)}" for name in free] if several else [child]
                )
        inside = (*inside, container)
    for name, places in children.items():
        yield prefix + name, places
        merged: dict[str, list[str]] = {}
        for child in places:
            for path, below in _places(defs, child, f"{prefix}{name}.", inside):
                merged.setdefault(path, []).extend(below)
        yield from merged.items()


def _containers(defs: dict[str, Schema], place: str, seen: tuple[str, ...]) -> Iterator[str]:
    """The places of the schema at `place`, of the one that it refers to, and of the members of its union."""
    if place in seen:
        return
    schema = _at(defs, place)
    yield place
    if "$ref" in schema:
        yield from _containers(defs, schema["$ref"], (*seen, place))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for index in range(len(schema.get(keyword, []))):
            yield from _containers(defs, f"{place}/{keyword}/{index}", (*seen, place))


def _at(defs: dict[str, Schema], place: str) -> Schema:
    found: Any = defs
    for part in place.removeprefix(_DEFS).split("/"):
        found = found[int(part)] if isinstance(found, list) else found[part.replace("~1", "/").replace("~0", "~")]
    return found if isinstance(found, dict) else {}


def _escape(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _resolve(defs: dict[str, Schema], schema: Schema) -> Schema:
    reference = schema["$ref"] if "$ref" in schema else schema["allOf"][0]["$ref"]
    return _at(defs, reference)


def _partial(schema: Any) -> Any:
    """A copy that refers to the partial definitions, requires no key, and lets each key be null."""
    if isinstance(schema, list):
        return [_partial(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    part: Schema = {}
    for key, value in schema.items():
        if key == "$ref":
            part[key] = _partial_ref(str(value))
        elif key == "properties":
            part[key] = {name: _nullable(_partial(inner)) for name, inner in value.items()}
        elif key in ("default", "const", "enum"):  # values, not schemas
            part[key] = value
        elif key not in ("required", "discriminator"):  # OpenAPI's discriminator would refer to the full definitions
            part[key] = _partial(value)
    return part


def _partial_ref(reference: str) -> str:
    name, slash, rest = reference.removeprefix(_DEFS).partition("/")
    return f"{_DEFS}{name}{_PART}{slash}{rest}"


def _nullable(schema: Mapping[str, Any]) -> Schema:
    kept = {key: value for key, value in schema.items() if key in ("title", "description", "default")}
    return kept | {"anyOf": [{key: value for key, value in schema.items() if key not in kept}, {"type": "null"}]}
