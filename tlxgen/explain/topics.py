"""Finds what a word means: a key by its path or the end of it, a value, a parameter, a family, a rule, a finding."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tlxgen.families import Family

from .keys import Key, keys_of
from .words import Word, words


@dataclass(frozen=True)
class Found:
    """What was found of a word: entries of the list of words, families, keys, and values of keys."""

    words: tuple[Word, ...] = ()
    families: tuple[Family, ...] = ()
    keys: tuple[Key, ...] = ()
    values: tuple[tuple[Key, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.families or self.keys or self.values)


def find(text: str, families: Mapping[str, Family]) -> Found:
    """All meanings of `text`. A full path of a spec means that key alone."""
    wanted = normal(text)
    keys = [key for family in families.values() for key in keys_of(family)]
    exact = tuple(key for key in keys if normal(key.path) == wanted)
    if exact and "." in wanted:
        return Found(keys=exact)
    ends = tuple(key for key in keys if f".{normal(key.path)}".endswith(f".{wanted}"))
    constants = tuple(key for key in keys if normal(key.parameter) == wanted and key not in ends)
    return Found(
        words=tuple(word for word in words() if wanted in map(normal, word.names)),
        families=tuple(family for name, family in families.items() if normal(name) == wanted),
        keys=ends + constants,
        values=tuple((key, value) for key in keys for value, told in key.values if told and normal(value) == wanted),
    )


def nearest(text: str, families: Mapping[str, Family], most: int = 4) -> list[str]:
    """The known words that are spelled most like `text`."""
    known = {normal(name): name for name in _names(families)}
    wanted = normal(text)
    close = difflib.get_close_matches(wanted[:100], known, n=most, cutoff=0.6)
    parts = {part for name in close for part in [known[name]]}
    inside = [name for key, name in known.items() if len(wanted) > 3 and wanted in key and name not in parts]
    return [*(known[name] for name in close), *sorted(inside, key=len)][:most]


def normal(text: str) -> str:
    """A word without what spellings differ in."""
    return " ".join(text.lower().replace("_", " ").replace("-", " ").split())


def _names(families: Mapping[str, Family]) -> Iterator[str]:
    for word in words():
        yield from word.names
    yield from families
    for family in families.values():
        for key in keys_of(family):
            yield from (key.path, key.name, *filter(None, [key.parameter]))
            yield from (value for value, told in key.values if told)


def alike(keys: Iterable[Key]) -> list[Sequence[Key]]:
    """The keys in groups that differ in nothing but the family."""
    groups: dict[object, list[Key]] = {}
    for key in keys:
        same = (key.path, key.text, key.kind, key.values, tuple(key.defaults.items()), key.parameter, key.rules)
        groups.setdefault((*same, key.inside), []).append(key)
    return list(groups.values())
