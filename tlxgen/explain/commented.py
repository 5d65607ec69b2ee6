"""A spec to begin with: what it has to say, and every other key in a comment, with its default and what it means."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from tlxgen.errors import TlxgenError
from tlxgen.families import Family
from tlxgen.spec import CommonSpec

from .keys import ARCHES, Key, keys_of, shown

SCHEMA = "spec.schema.json"  # lies beside the spec, for editors
HEAD = """\
# yaml-language-server: $schema={schema}
# {what}
# Keys in comments have the values that they are shown with. `tlxgen explain KEY` says more of each.
kernel: {kernel}
name: {name}
arch: {arch}
"""
PROBLEM = "problem"  # the key for what is computed, which is not printed as a comment
WIDTH = 112
_OWN = ("kernel", "name", "arch", "variants")  # what is not printed from the model
_SENTENCE = re.compile(r"^(.*?[.])(?=\s|$)")


def commented(family: Family, name: str, arch: str) -> str:
    """The text of a spec of the family. Raises TlxgenError for an architecture that it has no kernel for."""
    spec = _spec(family, arch)
    keys = {key.path: key for key in keys_of(family)}
    what = " ".join((family.model.__doc__ or "").split())
    lines = HEAD.format(schema=SCHEMA, what=what, kernel=family.name, name=name, arch=arch).splitlines()
    given = {top: value for top, value in spec.model_dump(mode="json").items() if top not in _OWN}
    for top in sorted(given, key=lambda top: (top != PROBLEM, top in CommonSpec.model_fields)):
        block = list(_block(family, arch, keys, top, given[top]))
        is_problem = top == PROBLEM
        lines += ["", *(block if is_problem else (f"# {line}" for line in block))] if block else []
    lines += ["", "variants:  # every combination of the axes' values", *_axes(family)]
    return "\n".join(lines) + "\n"


def uncommented(text: str) -> str:
    """The text with every key that is in a comment."""
    return re.sub(r"^# (?=\s*[\w.\"]+:( |$))", "", text, flags=re.MULTILINE)


def _spec(family: Family, arch: str) -> Any:
    given = {"kernel": family.name, "name": "a_name", "arch": arch}
    try:
        return family.model.model_validate(given)
    except ValueError as error:
        has = ", ".join(a for a in ARCHES if _accepts(family, {**given, "arch": a}))
        raise TlxgenError(
            f"the kernel family {family.name} has no kernel for {arch}", remedy=f"it has {has}"
        ) from error


def _accepts(family: Family, data: Mapping[str, Any]) -> bool:
    try:
        family.model.model_validate(data)
    except ValueError:
        return False
    return True


def _axes(family: Family) -> Iterator[str]:
    yield "  axes:" if family.first_axes else "  axes: {}"
    for path, values in family.first_axes.items():
        effect = "a constant: one triton.Config each" if path in family.config_axes else "the program: one module each"
        yield f"    {path}: {shown(values)}  # changes {effect}"


def _block(family: Family, arch: str, keys: Mapping[str, Key], path: str, value: Any) -> Iterator[str]:
    """The lines of a key and of the keys below it, without keys that the architecture does not have."""
    key, depth = keys.get(path), "  " * path.count(".")
    name = path.rpartition(".")[2]
    if isinstance(value, dict) and key and key.inside:
        inside = [line for child, v in value.items() for line in _block(family, arch, keys, f"{path}.{child}", v)]
        if inside:
            yield f"{depth}{name}:  # {_first(key)}"
            yield from inside
    elif key and _accepts(family, _only(family, arch, path, value)):
        values = " | ".join(v for v, _ in key.values)
        comment = " ".join(filter(None, [f"{values}." if values else "", _first(key)]))
        line = f"{depth}{name}: {shown(value)}"
        if len(line) + len(comment) > WIDTH:
            yield from textwrap.wrap(comment, WIDTH, initial_indent=f"{depth}# ", subsequent_indent=f"{depth}# ")
            yield line
        else:
            yield f"{line}  # {comment}"


def _only(family: Family, arch: str, path: str, value: Any) -> dict[str, Any]:
    """A spec that says nothing but the value at the path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return {"kernel": family.name, "name": "a_name", "arch": arch, **value}


def _first(key: Key) -> str:
    """The first sentence of a key's text."""
    found = _SENTENCE.match(key.text)
    return found[1] if found else key.text
