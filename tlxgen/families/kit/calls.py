"""Prints a value as Python source. This module imports nothing of tlxgen."""

from __future__ import annotations

from typing import Any


def call_text(value: Any) -> str:
    """The call that makes a named tuple, with keyword arguments for the fields that differ from their defaults."""
    given = {name: x for name, x in value._asdict().items() if x != value._field_defaults.get(name, _none)}
    return f"{type(value).__name__}({', '.join(f'{name}={_text(x)}' for name, x in given.items())})"


_none = object()


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f'"{value}"' if isinstance(value, str) else repr(value)
