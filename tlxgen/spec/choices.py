"""What the values of a key do, and when to choose each: said once, for the JSON Schema and for `tlxgen explain`.

LEAF module: imports nothing of tlxgen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TEXTS = "enumDescriptions"  # beside `enum`, in its order: the keyword that editors know


class Choices:
    """The texts of a key's values, for a field's `json_schema_extra`."""

    def __init__(self, texts: Mapping[Any, str]) -> None:
        self.texts = dict(texts)

    def __call__(self, schema: dict[str, Any]) -> None:
        """Puts each text beside its value, or, where values are not enumerated, behind the description."""
        listed: list[str] = []
        for part in _enumerations(schema):
            part[TEXTS] = [self.texts.get(value, "") for value in part["enum"]]
            listed += map(yaml, part["enum"])
        others = [f"{yaml(value)}: {text}" for value, text in self.texts.items() if yaml(value) not in listed]
        schema["description"] = " ".join([schema.get("description", ""), *others]).strip()


def choices(texts: Mapping[Any, str] | None = None, /, **named: str) -> Choices:
    """What each value of a key does, and when to choose it: `choices(tma="...", direct="...")`."""
    return Choices({**(texts or {}), **named})


def yaml(value: Any) -> str:
    """A plain value as a spec has it."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _enumerations(schema: Any) -> Iterator[dict[str, Any]]:
    """The parts of a field's schema that list its values."""
    if not isinstance(schema, dict):
        return
    if "enum" in schema:
        yield schema
    for part in (*schema.get("anyOf", ()), schema.get("items")):
        yield from _enumerations(part)
