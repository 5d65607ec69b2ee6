"""YAML 1.2 core-schema scalars, and the words that messages use for values."""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INF = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_KEYWORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_KEYWORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_TAGS: dict[str, type] = {"int": int, "float": float, "bool": bool, "null": type(None)}
_MAX_INT = 2**63


class ScalarFault(ValueError):
    """A scalar that cannot be read; the message is for the user."""


def scalar(text: str, *, plain: bool, tag: str | None = None) -> Scalar:
    """The value of a YAML scalar. `tag` is an explicit core tag without prefix ('int'), or '!'. Raises ScalarFault."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ScalarFault("the text holds half of a surrogate pair")
    if tag in ("!", "str") or (tag is None and not plain):
        return text
    if tag is None:
        return _resolve(text)
    if tag not in _TAGS:
        raise ScalarFault(f"the tag !!{tag[:60]} is not supported")
    value = _resolve(text)
    if tag == "float" and type(value) is int:
        return float(value)
    if type(value) is not _TAGS[tag]:
        raise ScalarFault(f"{describe(text)} is not a !!{tag}")
    return value


def _resolve(text: str) -> Scalar:
    if text in _KEYWORDS:
        return _KEYWORDS[text]
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    infinity = _INF.fullmatch(text)
    if infinity:
        return float(infinity[1] + "inf")
    return float("nan") if text in (".nan", ".NaN", ".NAN") else text


def _integer(text: str) -> int:
    # The length guards against Python's own limit on digits, and against its cost.
    base = 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10
    value = int(text[2:] if base != 10 else text, base) if len(text) < 100 else _MAX_INT
    if not -_MAX_INT <= value < _MAX_INT:
        raise ScalarFault("the integer does not fit 64 bits")
    return value


def type_name(value: object) -> str:
    """'a list', 'the integer 3': what a value is, for 'this is ...'."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "a mapping" if isinstance(value, dict) else describe(value)


def describe(value: object) -> str:
    """'the text 'abc'', 'a list': a value with its type, for 'got ...'. At most about 80 characters."""
    if isinstance(value, str):
        shown = repr(value)
        return f"the text {shown if len(shown) <= 62 else shown[:58] + '...' + shown[0]}"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the integer {value}"
    if isinstance(value, float):
        return f"the number {value}"
    return type_name(value)
