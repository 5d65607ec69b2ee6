"""One verdict for all findings of a program: what is most likely wrong, and what the barriers have to say about it.

The run that showed the first error is made again, with a ledger of its barriers. From the ledger come suspects: changes
to one number of the kernel. The first with which the same run has no error is the verdict, and proof of itself. Where
there is none, because a wait, an arrival or a copy is missing as a whole, rules over the ledger say what is. Work is
counted in steps, so that the verdict is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from .causes import Cause, cause, plain
from .findings import Finding, Place, UnsupportedOp
from .ledger import Ledger
from .machine import Limits
from .minimise import PER_RUN
from .repeatable import Case, Recorded
from .runs import Report, Seen
from .suspects import CERTAIN, Suspect, suspects
from .words import lines, number, tasks

STEPS = 100_000  # of work: a few seconds
LONGEST = 100_000  # steps of a run that a ledger is kept of
TRIED = 16  # changes
# What a change to a barrier, a slot or a wait can mend.
MENDED = {"deadlock", "tx-mismatch", "over-arrival", "parity-overrun", "async-lifetime", "race-read-write",
          "race-write-write"}  # fmt: skip


@dataclass(frozen=True)
class BarrierFacts:
    """What is known of an array of barriers: its count, who arrives where and how often in a phase, and its bytes."""

    array: str
    slots: int
    place: Place
    count: int
    arrivals: tuple[str, ...]
    expected: int | None = None
    brought: int | None = None

    def __str__(self) -> str:
        sizes = "" if self.expected is None else f"; bytes a phase: {self.expected} expected, {self.brought} come"
        return f"{self.array}[{self.slots}] counts {self.count}; {'; '.join(self.arrivals) or 'nobody arrives'}{sizes}"


@dataclass(frozen=True)
class Verdict:
    """`cause` in a line, with the lines to look at. `proof` is the change that mends the run, if one does. `seen` is
    the finding that shows it best, `barriers` those of the launch, the ones in question first."""

    cause: str
    places: tuple[Place, ...]
    seen: Seen
    proof: str = ""
    barriers: tuple[BarrierFacts, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        proof = f" ({self.proof})" if self.proof else ""
        where = ", ".join(map(str, dict.fromkeys(self.places)))
        return f"most likely: {self.cause}{proof} [{where}]"


def diagnose(report: Report, work: int = STEPS) -> Verdict | None:
    """What is most likely wrong, from the first run of a report that has errors (or warnings, where there are only
    those); None where nothing was found. Runs the program again, at most `work` steps."""
    first = next(iter(report.errors or report.seen), None)
    if first is None:
        return None
    own = [s for s in report.seen if s.case is first.case and s.run == first.run]
    findings = [s.finding for s in own]
    if first.case is None or first.steps > LONGEST:
        return _told(plain(findings) or cause(Ledger(), findings), own)
    ledger, findings = _observed(first)
    own = [replace(first, finding=f) for f in findings]
    found = plain(findings)
    if found is None and not MENDED.isdisjoint(f.id for f in findings):
        mended = _tried(first, suspects(ledger, findings), work)
        if mended is not None:
            about = _telling(findings, mended.places)
            facts = _facts(ledger, mended.cause)
            proof = f"the same run has no error where {mended.cure}"
            return Verdict(mended.cause, mended.places, replace(first, finding=about), proof, facts)
    return _told(found or cause(ledger, findings), own, ledger)


def _told(found: Cause, own: Sequence[Seen], ledger: Ledger | None = None) -> Verdict:
    seen = next(s for s in own if s.finding == found.finding)
    return Verdict(found.text, found.places, seen, "", _facts(ledger, found.text) if ledger else ())


def _observed(seen: Seen) -> tuple[Ledger, list[Finding]]:
    """The run of a finding again: the ledger of the launch that showed it, or of the first, and all its findings."""
    ledgers: list[Ledger] = []

    def watcher() -> Ledger:
        ledgers.append(Ledger())
        return ledgers[-1]

    assert seen.case is not None
    session = seen.case.run(Recorded(seen.director, watcher), seen.seed)
    findings = session.findings.all
    keys = [f.key for f in findings if f.severity == "error"] or [f.key for f in findings]
    showing = [one for one in ledgers if any(key in one.found_at for key in keys)]
    return next(iter(showing or ledgers), Ledger()), findings


def _tried(seen: Seen, some: Iterable[Suspect], work: int) -> Suspect | None:
    """The first change with which the run has no error."""
    assert seen.case is not None
    found = list(some)[:TRIED]
    found = [s for s in found if s.score >= CERTAIN] or found
    for suspect in found:
        if work <= 0:
            return None
        case: Case = replace(seen.case, change=suspect.change, limits=Limits(min(work, seen.case.limits.steps)))
        try:
            session = case.run(seen.director, seen.seed, "error")
        except UnsupportedOp:
            continue
        work -= session.steps + PER_RUN
        if all(f.severity != "error" for f in session.findings.all):
            return suspect
    return None


def _telling(findings: Sequence[Finding], places: Sequence[Place]) -> Finding:
    """The finding that is nearest to a cause: an error at its lines, or else the first."""
    errors = [f for f in findings if f.severity == "error"] or list(findings)
    return next((f for f in errors if set(places) & set(f.places)), errors[0])


def _facts(ledger: Ledger, text: str) -> tuple[BarrierFacts, ...]:
    """Of each array of barriers, those that a text names first."""
    found = []
    for account in ledger.accounts():
        arrivals = []
        for party in account.parties():
            often = party.calls / max(1, account.phases)
            times = f"{often:.2g} a phase" if account.phases else number(party.calls, "time")
            engine = f"by {party.engine}, " * bool(party.engine)
            remote = " of a peer" * party.remote
            arrivals.append(f"{tasks([party.task])}{remote}: {engine}line {lines(party.places)}, {times}")
        sizes = account.sizes[:2] if account.takes_bytes else (None, None)
        found.append(BarrierFacts(account.array, account.slots, account.place, account.count, tuple(arrivals), *sizes))
    return tuple(sorted(found, key=lambda one: one.array not in text))
