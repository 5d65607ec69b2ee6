"""One verdict for all findings of a program: the most likely cause, and the facts about its barriers.

The run that showed the first error is repeated with a ledger of its barriers. The ledger gives suspects, which are
changes of one number of the kernel. The first suspect with which the same run has no error is the verdict, and that run
is its proof. If there is none, because a whole wait, arrival or copy is missing, rules over the ledger find the cause.
Work is counted in steps, so the verdict does not depend on the machine.
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

STEPS = 100_000  # limit of the work: a few seconds
LONGEST = 100_000  # limit of the steps of a run with a ledger
TRIED = 16  # limit of the changes that are tried
# Findings that a change of a barrier, a slot or a wait can repair.
MENDED = {"deadlock", "tx-mismatch", "over-arrival", "parity-overrun", "async-lifetime", "race-read-write",
          "race-write-write"}  # fmt: skip


@dataclass(frozen=True)
class BarrierFacts:
    """The facts about an array of barriers: its count, its arrivals in a phase with their lines, and its bytes."""

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
    """The `cause` in one line, with the lines to look at. `proof` is the change that repairs the run, if there is one.
    `seen` is the finding that shows the cause best, and `barriers` are those of the launch, the relevant ones first."""

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
    """The verdict on the first run of a report with errors (or with warnings, if there are only those); None without
    findings. It runs the program again, for at most `work` steps."""
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
    """Repeats the run of a finding. Returns the ledger of its launch, or of the first launch, and all findings."""
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
    """The first suspect with whose change the run has no error."""
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
    """The finding that is closest to a cause: an error at its lines, or else the first finding."""
    errors = [f for f in findings if f.severity == "error"] or list(findings)
    return next((f for f in errors if set(places) & set(f.places)), errors[0])


def _facts(ledger: Ledger, text: str) -> tuple[BarrierFacts, ...]:
    """The facts of each array of barriers. Arrays that a text names come first."""
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
