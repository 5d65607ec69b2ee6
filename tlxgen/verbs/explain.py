"""`tlxgen explain`: prints what a key, a value or a word means, and when to choose which value."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tlxgen import families
from tlxgen.errors import TlxgenError
from tlxgen.explain import Found, Key, Word, find, keys_of, nearest, words
from tlxgen.explain.topics import alike
from tlxgen.record import head
from tlxgen.terminal import emphasised

MOST = 110  # limit of the columns of text
AFTER = "tlxgen explain WORD: a key of a spec (tasks.mma.order), the end of one (order), a value, or one of the above"


def run(text: str, kernel: str | None, as_json: bool) -> int:
    """Prints what `text` means or, without one, what can be asked. Returns 0. Raises TlxgenError for unknown words."""
    known = _families(kernel)
    if not text.strip():
        print(json.dumps(_topics(known), indent=1) if as_json else "\n".join(_overview(known)))
        return 0
    found = find(text, known)
    if not found:
        near = nearest(text, known)
        meant = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        raise TlxgenError(f"nothing is called {text!r} here", remedy=meant or "tlxgen explain lists what is known")
    print(json.dumps(to_json(text, found), indent=1) if as_json else "\n".join(_told(found)))
    return 0


def complete(incomplete: str) -> list[str]:
    """The keys and words that start with `incomplete`, for a shell's completion."""
    known, _ = families.loaded()
    names = {k.path for f in known.values() for k in keys_of(f)} | {n for w in words() for n in w.names}
    return sorted(name for name in names if name.startswith(incomplete))


def to_json(text: str, found: Found) -> dict[str, Any]:
    """The same as data; docs/cli.md describes it."""
    return {
        **head("explain"),
        "asked": text,
        "words": [{"names": list(w.names), "text": w.text} for w in found.words],
        "families": [{"name": f.name, "keys": [k.path for k in keys_of(f)]} for f in found.families],
        "keys": [_key_to_json(key) for key in found.keys],
        "values": [
            {"family": k.family, "path": k.path, "value": v, "text": dict(k.values)[v]} for k, v in found.values
        ],
    }


def _key_to_json(key: Key) -> dict[str, Any]:
    return {
        "family": key.family,
        "path": key.path,
        "text": key.text,
        "kind": key.kind,
        "values": [{"value": value, "text": text} for value, text in key.values],
        "defaults": dict(key.defaults),
        "inside": list(key.inside),
        "parameter": key.parameter or None,
        "rules": list(key.rules),
    }


def _topics(known: dict[str, families.Family]) -> dict[str, Any]:
    return {
        **head("explain"),
        "families": {name: [k.path for k in keys_of(family)] for name, family in known.items()},
        "words": [list(word.names) for word in words()],
    }


def _families(kernel: str | None) -> dict[str, families.Family]:
    """The families that are asked about. Raises TlxgenError for an unknown name."""
    if kernel is not None:
        if kernel not in families.names():
            raise TlxgenError(f"no kernel family {kernel!r}", remedy=f"families: {', '.join(families.names())}")
        return {kernel: families.load(kernel)}
    good, broken = families.loaded()
    for error in broken.values():
        print(emphasised(f"note: left out: {error.message}", sys.stderr), file=sys.stderr)
    return good


def _overview(known: dict[str, families.Family]) -> Iterator[str]:
    yield "Kernel families"
    yield from _entries({name: _summary(family) for name, family in known.items()})
    yield ""
    yield "Words"
    yield from _wrapped(", ".join(word.names[0] for word in words()), indent=2)
    yield ""
    yield AFTER


def _told(found: Found) -> Iterator[str]:
    blocks = [
        *([_named(word), *_text(word.text)] for word in found.words),
        *(_of_family(family) for family in found.families),
        *(list(_of_key(group)) for group in alike(found.keys)),
        *_of_values(found.values),
    ]
    for i, block in enumerate(blocks):
        if i:
            yield ""
        yield from block


def _named(word: Word) -> str:
    first, *others = word.names
    return f"{first} (also: {', '.join(others)})" if others else first


def _text(text: str) -> Iterator[str]:
    """The paragraphs of a text, each wrapped."""
    for i, paragraph in enumerate(text.split("\n\n")):
        if i:
            yield ""
        yield from _wrapped(" ".join(paragraph.split()), indent=2)


def _of_family(family: families.Family) -> list[str]:
    entries = _entries({key.path: key.text for key in keys_of(family) if "." not in key.path})
    return [f"{family.name}, a kernel family", *_wrapped(_summary(family), indent=2), "", "  Keys of a spec:", *entries]


def _summary(family: families.Family) -> str:
    return " ".join((family.model.__doc__ or "").split())


def _of_key(group: Sequence[Key]) -> Iterator[str]:
    key = group[0]
    yield f"{key.path}, a key of {', '.join(k.family for k in group)}"
    if key.text:
        yield from _wrapped(_without_values(key), indent=2)
    if key.inside:
        by_path = {k.path: k for k in keys_of(families.load(key.family))}
        yield ""
        yield from _entries({path: _without_values(by_path[path]) for path in key.inside})
        return
    told = [value for value, text in key.values if text]
    if told:
        yield ""
        yield from _entries(dict(key.values))
        yield ""
    yield from _facts(key, listed=bool(told))


def _facts(key: Key, listed: bool) -> Iterator[str]:
    """Further lines about a key: its values if no text lists them, its default, and the parameter that it becomes."""
    values = "" if listed else ", ".join(value for value, _ in key.values)
    kind = " or ".join(filter(None, [values, key.kind]))
    if kind and not listed:
        yield from _wrapped(f"Value: {kind}.", indent=2)
    if key.defaults:
        distinct = set(key.defaults.values())
        each = (f"{value} on {arch}" for arch, value in key.defaults.items())
        yield f"  Default: {distinct.pop() if len(distinct) == 1 else ', '.join(each)}."
    if key.parameter:
        yield f"  On an axis it changes a constant: {key.parameter}, one triton.Config for each value."
    elif key.defaults and key.path.split(".")[0] not in ("description", "variants", "check", "bake", "keep", "tuned"):
        yield "  On an axis it changes the program: one module for each value."
    if key.rules:
        yield f"  Change it where a variant is rejected for: {', '.join(key.rules)}."


def _of_values(values: Sequence[tuple[Key, str]]) -> Iterator[list[str]]:
    """Lines about values. A value with the same meaning for several keys has one entry."""
    groups: dict[tuple[str, str], list[Key]] = {}
    for key, value in values:
        groups.setdefault((value, dict(key.values)[value]), []).append(key)
    for (value, text), keys in groups.items():
        paths: dict[str, list[str]] = {}
        for key in keys:
            paths.setdefault(key.path, []).append(key.family)
        where = "; ".join(f"{path} ({', '.join(names)})" for path, names in paths.items())
        yield [*_wrapped(f"{value}, a value of {where}", indent=0), *_wrapped(text, indent=2)]


def _without_values(key: Key) -> str:
    """A key's text without the texts of its values, which the schema appends if it does not enumerate values."""
    text = key.text
    for value, told in key.values:
        text = text.replace(f" {value}: {told}", "")
    return text


def _entries(texts: Mapping[str, str]) -> Iterator[str]:
    """Lines with names, and their texts in a second column."""
    column = max(map(len, texts), default=0) + 4
    for name, text in texts.items():
        first, *others = textwrap.wrap(text, max(30, _width() - column)) or [""]
        yield f"  {name:<{column - 2}}{first}".rstrip()
        yield from (f"{' ' * column}{line}" for line in others)


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, _width(), initial_indent=" " * indent, subsequent_indent=" " * indent)


def _width() -> int:
    return min(MOST, shutil.get_terminal_size((MOST, 24)).columns)
