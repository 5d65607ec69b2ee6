"""Changes that may repair a kernel, the most likely first, derived from its ledger: counts that differ from arrivals,
bytes that differ from copies, phases of waits, slots, and operations that waits leave in flight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .change import ArrivalsOf, BytesOf, Change, CountOf, ParityOf, PendingsOf, SlotOf
from .findings import Finding, Place
from .ledger import Account, Ledger, Wait
from .words import counted, number, ordinal, parties, tasks

CERTAIN = 100  # the score of a change that the ledger alone shows: bytes that differ from the expected ones
Rule = Literal["other", "filled", "freed"]
_RULES: tuple[tuple[Rule, int], ...] = (("other", 58), ("filled", 52), ("freed", 50))


@dataclass(frozen=True)
class Suspect:
    """A change, the verdict and lines if it repairs the run, and the change in words."""

    score: int
    change: Change
    cause: str
    places: tuple[Place, ...]
    cure: str


def suspects(ledger: Ledger, findings: Sequence[Finding]) -> list[Suspect]:
    """All changes worth a try, the most likely first."""
    accounts = ledger.accounts()
    stuck = {label for _, label in ledger.stuck()}
    about = {a.array for a in accounts if any(x in stuck or any(x in f.message for f in findings) for x in a.labels)}
    found = [*_bytes(accounts)]
    for account in accounts:
        near = account.array in about
        found += _counts(account, near, any(label in stuck for label in account.labels), findings)
        found += _phases(account, near)
        found += _arrivals(account, findings)
    found += _pendings(ledger, findings)
    found += _slots(ledger, findings)
    return sorted(found, key=lambda suspect: -suspect.score)


def _bytes(accounts: Sequence[Account]) -> Iterator[Suspect]:
    for account in accounts:
        if account.takes_bytes and (place := account.sizes[2]):
            expected, brought, _ = account.sizes
            if expected != brought:
                places = (place, *account.loads)
                cure = f"{brought} bytes are expected"
                yield Suspect(
                    CERTAIN if account.exact else 61, BytesOf(place, brought), account.said_sizes, places, cure
                )


def _counts(account: Account, near: bool, stuck: bool, findings: Sequence[Finding]) -> Iterator[Suspect]:
    """Changes of a count: to that of all arrivals on a barrier, to that of one party, and to the adjacent numbers."""
    unit = min((c.count for c in account.came), default=1)
    arrivals = [account.arrivals_of(label) for label in account.labels]
    every = max((sum(a.values()) for a in arrivals), default=0)
    one = max((max(a.values(), default=0) for a in arrivals), default=0)
    over = any(f.id == "over-arrival" and any(x in f.message for x in account.labels) for f in findings)
    scores: dict[int, int] = defaultdict(int)
    for count, score in (
        (every, 62),
        (one, 40),
        (account.count - unit, 30),
        (account.count + unit, 28),
        (2 * every, 20),
    ):
        scores[count] = max(scores[count], score)
    for count, score in scores.items():
        if count <= 0 or count == account.count:
            continue
        score += 20 * (over and count > account.count) + 12 * (stuck and count < account.count)
        what = "threads " * account.per_thread
        who = parties(account.parties())
        cause = f"{account.array} counts {account.count}, and {counted(count, what)}a phase: {who}"
        yield Suspect(
            score - 25 * (not near), CountOf(account.array, count), cause, (account.place,), f"it counts {count}"
        )


def _phases(account: Account, near: bool) -> Iterator[Suspect]:
    """Changes of the phase of the waits at each line."""
    by_place: dict[Place, list[Wait]] = defaultdict(list)
    for wait in account.waits:
        by_place[wait.place].append(wait)
    for place, waits in by_place.items():
        for rule, score in _RULES:
            odd = _odd(waits, rule)
            if odd is None:
                continue
            when, wait = odd
            had, needs = wait.wanted & 1 ^ 1, wait.wanted & 1
            passed = "passes at once" if wait.wanted <= wait.phase else "blocks"
            cause = (
                f"line {place.line} waits for the wrong phase of {account.array}: the {when} wait of "
                f"{tasks([wait.lane.name])} there is for parity {had}, and {passed} with "
                f"{number(wait.phase, 'phase')} complete"
            )
            change = ParityOf(place, account.array, rule)
            yield Suspect(score - 25 * (not near), change, cause, (place,), f"it waits for parity {needs} there")


def _odd(waits: Sequence[Wait], rule: Rule) -> tuple[str, Wait] | None:
    """The first wait whose parity violates a rule, with its ordinal in its task; None if all obey it."""
    numbers: dict[object, int] = defaultdict(int)
    for wait in waits:
        key = (wait.lane, wait.barrier)
        numbers[key] += 1
        expected = {"other": wait.wanted + 1, "filled": numbers[key], "freed": numbers[key] - 1}[rule]
        if expected - wait.wanted & 1:
            return ordinal(numbers[key]), wait
    return None


def _arrivals(account: Account, findings: Sequence[Finding]) -> Iterator[Suspect]:
    """Changes of the lines that arrive, where there may be too many arrivals."""
    over = any(f.id == "over-arrival" for f in findings)
    for place in sorted({c.place for c in account.came if not c.expected and not c.engine}):
        cause = (
            f"line {place.line} arrives on {account.array} once too often: it counts {account.count}, and more arrive"
        )
        yield Suspect(45 if over else 18, ArrivalsOf(place, 0), cause, (place, account.place), "it does not arrive")


def _pendings(ledger: Ledger, findings: Sequence[Finding]) -> Iterator[Suspect]:
    early = any(f.id in ("async-lifetime", "race-read-write", "race-write-write") for f in findings)
    for place, left in ledger.pendings.items():
        for most in sorted({max(0, left - 1), 0} - {left}, reverse=True):
            cause = f"line {place.line} leaves {number(left, 'operation')} under way, and may leave at most {most}"
            cure = f"it leaves {most} under way"
            yield Suspect((56 if early else 8) - (most < left - 1), PendingsOf(place, most), cause, (place,), cure)


def _slots(ledger: Ledger, findings: Sequence[Finding]) -> Iterator[Suspect]:
    """Changes of the slots at the lines of the findings, by one slot forward or back."""
    places = {place for f in findings for place in f.places}
    for place, array in sorted(one for one in ledger.indexed if one[0] in places):
        for step, found, right in ((-1, "one too far on", "one slot before"), (1, "one too early", "one slot after")):
            cause = f"line {place.line} uses the wrong slot of {array}, {found}"
            yield Suspect(35, SlotOf(place, array, step), cause, (place,), f"it is {right}")
