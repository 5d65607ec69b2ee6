"""Descriptions of a key's values, what each does and when to choose it, for the JSON Schema and `tlxgen explain`.

This module imports nothing of tlxgen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TEXTS = "enumDescriptions"  # the keyword that editors know; it is parallel to `enum`


class Choices:
    """The texts of a key's values, for a field's `json_schema_extra`."""

    def __init__(self, texts: Mapping[Any, str]) -> None:
        self.texts = dict(texts)

    def __call__(self, schema: dict[str, Any]) -> None:
        """Adds each text to its value or, if the schema does not enumerate values, to the description."""
        listed: list[str] = []
        for part in _enumerations(schema):
            part[TEXTS] = [self.texts.get(value, "") for value in part["enum"]]
            listed += map(yaml, part["enum"])
        others = [f"{yaml(value)}: {text}" for value, text in self.texts.items() if yaml(value) not in listed]
        schema["description"] = " ".join([schema.get("description", ""), *others]).strip()


def choices(texts: Mapping[Any, str] | None = None, /, **named: str) -> Choices:
    """A text for each value of a key, which says what it does and when to choose it: `choices(tma="...")`."""
    return Choices({**(texts or {}), **named})


def yaml(value: Any) -> str:
    """A plain value as YAML."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _enumerations(schema: Any) -> Iterator[dict[str, Any]]:
    """The parts of a field's schema that list its values."""
    if not isinstance(schema, dict):
        return
    if "enum" in schema:
        yield schema
    for part in (*schema.get("anyOf", ()), schema.get("items")):
        yield from _enumerations(part)
