"""The words of verdicts for tasks, lines and numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .findings import Place

_REPLICA = re.compile(r"(.*) replica (\d+)")


@dataclass(frozen=True)
class Party:
    """A task that arrives, in its own CTA or in a peer: the lines, the number of arrivals, and the count of a call."""

    task: str
    remote: bool
    engine: str
    places: tuple[Place, ...]
    calls: int
    count: int


def tasks(names: Iterable[str]) -> str:
    """Tasks by their lines, with the replicas of one together: `the task of line 12 (replicas 0 and 1)`."""
    replicas: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        found = _REPLICA.fullmatch(name)
        base, replica = (found[1], [found[2]]) if found else (name, [])
        replicas[base] += replica
    return listed(f"the {base}{_which(some)}" for base, some in replicas.items())


def _which(replicas: Sequence[str]) -> str:
    if not replicas:
        return ""
    return f" (replica{'s' * (len(replicas) > 1)} {listed(sorted(replicas, key=int))})"


def parties(found: Iterable[Party]) -> str:
    """The tasks that arrive, with their lines."""
    by_lines: dict[tuple[tuple[Place, ...], bool, str], list[str]] = defaultdict(list)
    for party in found:
        by_lines[party.places, party.remote, party.engine].append(party.task)
    said = []
    for (places, remote, engine), names in by_lines.items():
        what = f"a {engine} of " * bool(engine)
        said.append(f"{what}{tasks(names)}{' of a peer CTA' * remote} at line {lines(places)}")
    return "; ".join(said) or "nobody"


def lines(places: Iterable[Place]) -> str:
    """Line numbers."""
    return listed(str(n) for n in sorted({p.line for p in places}))


def listed(some: Iterable[str]) -> str:
    """`a, b and c`."""
    given = list(some)
    return " and ".join([", ".join(given[:-1]), given[-1]] if len(given) > 1 else given)


def number(count: int, noun: str) -> str:
    """`1 phase`, `2 phases`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def counted(count: int, unit: str = "") -> str:
    """`one arrives `, `2 arrive `: of a phase."""
    if unit:
        return f"{count} {unit}arrive "
    words = {1: "one arrives ", 2: "two arrive ", 3: "three arrive ", 4: "four arrive "}
    return words.get(count, f"{count} arrive ")


def ordinal(number: int) -> str:
    """`first`, `4th`."""
    words = {1: "first", 2: "second", 3: "third"}
    return words.get(number, f"{number}th")
