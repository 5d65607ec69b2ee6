"""The rule on releases: no load of TMEM or SMEM is in flight, or still to come, where its slot may be given back.

A slot is given back by an arrive on an mbarrier, by a commit of tcgen05 or by an arrive of the cluster. Whoever waits
for that may write the slot at once, and a load that has not read it by then returns values of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .code import Code, Instruction, parse
from .flight import in_flight
from .opcodes import is_load, release_of
from .order import read_behind

IN_FLIGHT, OF_OTHERS, BEHIND = "in flight", "in flight in other warps", "behind it"
UNFENCED = "in flight, not fenced"


@dataclass(frozen=True)
class Early:
    """A release that comes too early for a load, and where the load is then."""

    release: Instruction
    load: Instruction
    where: str

    def to_json(self) -> dict[str, Any]:
        release, load = self.release, self.load
        return {
            "at": f"{release.address:04x}",
            "release": str(release),
            "how": release_of(release),
            "load_at": f"{load.address:04x}",
            "load": str(load),
            "scoreboard": load.write,
            "where": self.where,
        }


@dataclass(frozen=True)
class Releases:
    """What the rule looked at, and what it found.

    `unfenced`: loads of SMEM at releases that are in order for threads, and not for TMA. They are counted and no fault:
    which slot a release gives back, and who fills it, is not in the code.
    `unseen`: loads and releases that control was not seen to reach.
    """

    loads: int
    releases: int
    early: tuple[Early, ...] = ()
    unfenced: tuple[Early, ...] = ()
    unseen: int = 0

    def to_json(self) -> dict[str, Any]:
        """The counts, and each finding with the address, the instruction, the load and its scoreboard."""
        counts = {"loads": self.loads, "releases": self.releases}
        rare = {"unseen": self.unseen} if self.unseen else {}
        if self.unfenced:
            rare["unfenced"] = len(self.unfenced)
        return counts | rare | {"early": [early.to_json() for early in self.early]}


def check(text: str) -> Releases:
    """Applies the rule to what `nvdisasm -c -hex` printed of one kernel. Raises ValueError and FlowError."""
    return check_code(parse(text))


def check_code(code: Code) -> Releases:
    """Applies the rule. Raises FlowError."""
    loads = [p for p, i in enumerate(code.instructions) if is_load(i)]
    releases = [p for p, i in enumerate(code.instructions) if release_of(i)]
    if not loads or not releases:
        return Releases(len(loads), len(releases))
    flying, seen = in_flight(code)
    unfenced = [_early(code, f.release, f.load, UNFENCED) for f in flying if f.in_order]
    early = [_early(code, f.release, f.load, OF_OTHERS if f.others else IN_FLIGHT) for f in flying if not f.in_order]
    early += [_early(code, b.release, b.load, BEHIND) for b in read_behind(code)]
    unseen = sum(position not in seen for position in (*loads, *releases))
    early.sort(key=_place)
    unfenced.sort(key=_place)
    return Releases(len(loads), len(releases), tuple(early), tuple(unfenced), unseen)


def _early(code: Code, release: int, load: int, where: str) -> Early:
    return Early(code.instructions[release], code.instructions[load], where)


def _place(early: Early) -> tuple[int, int, str]:
    return early.release.address, early.load.address, early.where


def told(found: Mapping[str, Any] | None) -> Iterator[tuple[str, bool]]:
    """What `Releases.to_json` has to say to people: a line for each release, and whether it is a fault."""
    if not found:
        return
    if unknown := found.get("unknown"):
        yield f"whether a slot is given back too early is not known: {unknown}", False
    if unseen := found.get("unseen"):
        yield f"whether a slot is given back too early is not known at {unseen} loads and releases out of reach", False
    for place, others in _by_release(found.get("early", ())):
        behind = place["where"] == BEHIND
        flies = "comes behind it, before any wait" if behind else _flies(place)
        yield f"{_given_back(place)} too early: {_load(place)} {flies}{others}", True


def _by_release(found: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The first finding of each release, and how many more there are."""
    for _, same in groupby(found, key=lambda early: early["at"]):
        first, *more = same
        yield first, f" (and {len(more)} more)" if more else ""


def _given_back(place: Mapping[str, Any]) -> str:
    return f"{place['how']} at {place['at']} ({place['release']}) may give a slot back"


def _load(place: Mapping[str, Any]) -> str:
    return f"the load at {place['load_at']} ({place['load']})"


def _flies(place: Mapping[str, Any]) -> str:
    return f"is {place['where']}, on scoreboard {place['scoreboard']}"
