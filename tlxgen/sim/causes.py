"""What is wrong, as the ledger of a failed run says it by itself: where no change that was tried mends the run, because
what is missing is not there to be changed. Each rule looks at who waits, who arrives, and who touches what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .findings import Finding, Place
from .ledger import Account, Ledger
from .trace import Lane, Span
from .words import counted, lines, listed, number, parties, tasks

# A finding that is its own cause: nothing that went before is to blame for it.
PLAIN = (
    "kernel-error", "out-of-bounds", "barrier-misuse", "before-grid-wait", "remote-before-start", "warp-hazard",
    "global-race", "global-write-conflict",
)  # fmt: skip
RACES = ("async-lifetime", "race-read-write", "race-write-write")
# What is told when no rule fits, the first that there is: what comes last most often follows from the rest.
RANK = (*PLAIN, "tx-mismatch", "over-arrival", *RACES, "remote-to-exited-cta", "pending-at-exit", "parity-overrun",
        "deadlock", "no-progress", "missing-fence", "uninitialised", "redundant-write", "output-unwritten",
        "wrong-numbers")  # fmt: skip
_RESULT = {"wrong-numbers", "output-unwritten"}


@dataclass(frozen=True)
class Cause:
    """What is wrong, in a line, and where to look."""

    text: str
    places: tuple[Place, ...]
    finding: Finding


def plain(findings: Sequence[Finding]) -> Cause | None:
    """A finding that says it all."""
    found = min((f for f in findings if f.id in PLAIN), key=lambda f: PLAIN.index(f.id), default=None)
    return None if found is None else Cause(found.message, found.places, found)


def cause(ledger: Ledger, findings: Sequence[Finding]) -> Cause:
    """The likeliest cause of findings, of which there is at least one."""
    rules: Sequence[Callable[[Ledger, Sequence[Finding]], Cause | None]] = (_expectation, _overfull, _wait, _deadlock, _race)
    for rule in rules:
        if found := rule(ledger, findings):
            return found
    first = min(findings, key=lambda f: RANK.index(f.id))
    text = first.message
    if first.id in _RESULT and {f.id for f in findings if f.severity == "error"} <= _RESULT:
        text = f"no barrier, copy or buffer is at fault in this run: indices, masks or arithmetic are ({text})"
    elif first.id == "missing-fence":
        text = f"a fence is missing: {text}"
    return Cause(text, first.places, first)


def _expectation(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """Copies bring bytes that nobody expects."""
    for account in ledger.accounts():
        if account.takes_bytes and not account.expecting() and account.loads:
            text = (
                f"nobody expects bytes on {account.array}: {account.brought} come in a phase, from line "
                f"{lines(account.loads)}, and a barrier_expect_bytes is missing"
            )
            return Cause(text, (*account.loads, account.place), _first(findings, "deadlock", "tx-mismatch", "over-arrival"))
    return None


def _overfull(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """More arrivals in a phase than the barrier counts."""
    for finding in (f for f in findings if f.id == "over-arrival"):
        for account in ledger.accounts():
            for label in account.labels:
                if f"{label}," in finding.message and "lacks bytes" not in finding.message:
                    barrier = ledger.barriers[label]
                    now = sum(c.count for c in ledger.came[label] if c.phase == barrier.phase + 1)
                    text = (
                        f"{account.array} counts {account.count}, and {counted(now)}in one phase: "
                        f"{parties(account.parties(label))}"
                    )
                    return Cause(text, (account.place, *finding.places), finding)
    return None


# Deadlocks.


def _deadlock(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """Who waits for an arrival that never comes: rather where nobody arrives than where some do."""
    finding = next((f for f in findings if f.id == "deadlock"), None)
    if finding is None:
        return None
    stuck = ledger.stuck()
    accounts = {label: account for account in ledger.accounts() for label in account.labels}
    for told in (_nobody, _too_few, _ended):
        for lane, label in stuck:
            if text := told(ledger, accounts[label], lane, label):
                waits = [w.place for w in ledger.awaited[label] if w.lane == lane]
                return Cause(text, (*waits[-1:], accounts[label].place), finding)
    return None


def _nobody(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    if account.came:
        return ""
    text = f"nobody ever arrives on {account.array}, which counts {account.count} and {_waiter(ledger, lane, label)}"
    return f"{text}: {_lacking(ledger, lane)}"


def _too_few(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    """Some arrive and some who might do not, in the phase that is under way."""
    barrier = ledger.barriers[label]
    here = [c for c in ledger.came[label] if c.phase == barrier.phase + 1]
    arrived = sum(c.count for c in here)
    if here and 0 < arrived < account.count:
        missing = [x for x in _partners(ledger, lane) if x not in {c.lane.name for c in here}]
        who = f", {tasks(missing)} {'does' if len(missing) == 1 else 'do'} not" if missing else ""
        text = f"{account.array} counts {account.count}, and only {counted(arrived)}a phase: {parties(account.parties(label))}{who}"
        return f"{text}; {_waiter(ledger, lane, label).removeprefix('is ')}" if False else text
    if not ledger.came[label] and account.came:
        return (
            f"nobody arrives on {label.partition(' of ')[0]}, which {_waiter(ledger, lane, label)}: the arrivals on "
            f"{account.array} are on other slots ({parties(account.parties())}), or {_lacking(ledger, lane)}"
        )
    return ""


def _ended(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    """Those who arrived before have come to their end, or wait for the one who waits here."""
    running = {ledger.lane(t).name for t in ledger.hub.tasks if not t.finished}
    ended = [p for p in account.parties(label) if p.task not in running]
    if ended:
        calls = number(sum(p.calls for p in ended), "arrival")
        return f"{account.array} {_waiter(ledger, lane, label)}, after {calls}: {parties(ended)}, which has ended"
    return ""


def _waiter(ledger: Ledger, lane: Lane, label: str) -> str:
    places = [w.place for w in ledger.awaited[label] if w.lane == lane][-1:]
    return f"{tasks([lane.name])} waits for at line {lines(places)}"


def _partners(ledger: Ledger, lane: Lane) -> list[str]:
    """The tasks that wait for what a task arrives on or loads to: who should arrive for it in turn."""
    mine = {label for label, came in ledger.came.items() if any(c.lane == lane for c in came)}
    mine |= {label for label, came in ledger.promised.items() if any(p.lane == lane for p in came)}
    return sorted({w.lane.name for label in mine for w in ledger.awaited[label]} - {lane.name})


def _lacking(ledger: Ledger, lane: Lane) -> str:
    """What is missing, and whose it is."""
    partners = _partners(ledger, lane)
    multiplies = {s.issuer.name for s in ledger.spans if s.name == "tcgen05.mma" and s.issuer}
    what = "a commit" if multiplies.intersection(partners) else "an arrive (release)"
    whose = multiplies.intersection(partners) or partners
    if not partners and multiplies:
        what, whose = "a commit", multiplies
    return f"{what} is missing" + (f" in {tasks(sorted(whose))}" if whose else "")


# Races.


@dataclass(frozen=True)
class _Side:
    """One party of a race: what it does at its line, and which tasks do that."""

    place: Place
    spans: list[Span]

    @property
    def lanes(self) -> set[str]:
        return {s.issuer.name if s.issuer else s.lane.name for s in self.spans}

    @property
    def engine(self) -> str:
        return next((s.name for s in self.spans if s.kind == "asynchronous"), "")


def _sides(ledger: Ledger, finding: Finding) -> list[_Side]:
    return [_Side(p, [s for s in ledger.spans if s.place == p and s.kind != "blocked"]) for p in finding.places]


def _wait(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """Who uses what a copy brings, and never waits for the barrier on which the copy completes."""
    for finding in findings:
        if finding.id not in (*RACES, "uninitialised"):
            continue
        for side, other in _pairs(ledger, finding):
            for account in ledger.accounts():
                if side.place not in account.loads or side.lanes & other.lanes:
                    continue
                idle = sorted(other.lanes - {w.lane.name for w in account.waits})
                if idle and other.place not in account.loads:
                    text = (
                        f"{tasks(idle)} never waits for {account.array}, on which the load of line "
                        f"{side.place.line} completes, before line {other.place.line} uses what it brings"
                    )
                    return Cause(text, (other.place, side.place), finding)
    return None


def _pairs(ledger: Ledger, finding: Finding) -> Iterator[tuple[_Side, _Side]]:
    sides = _sides(ledger, finding)
    if len(sides) == 2:
        yield sides[0], sides[1]
        yield sides[1], sides[0]
    elif sides:  # a read of what was never written: of the loads into the same ring
        rings = {x.partition("[")[0] for s in sides[0].spans for x in s.objects}
        for place in {s.place for s in ledger.spans if s.kind == "asynchronous" and _touches(s, rings)} - {sides[0].place}:
            yield _Side(place, [s for s in ledger.spans if s.place == place and s.kind != "blocked"]), sides[0]


def _touches(span: Span, rings: set[str]) -> bool:
    return any(x.partition("[")[0] in rings for x in span.objects)


def _race(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """Two accesses in no order, by what lies between them."""
    races = [f for f in findings if f.id in RACES]
    finding = next((f for f in races if "whose bytes are also" in f.message), races[0] if races else None)
    if finding is None or len(finding.places) < 2:
        return None
    new, old = _sides(ledger, finding)
    return Cause(_order(ledger, finding, new, old), finding.places, finding)


def _order(ledger: Ledger, finding: Finding, new: _Side, old: _Side) -> str:
    if "whose bytes are also" in finding.message:
        return f"two buffers that share their bytes are in use at a time: {finding.message}"
    if new.place == old.place and len(new.lanes) > 1:
        return f"{tasks(sorted(new.lanes))} use the same slot at line {new.place.line}: {finding.message}"
    if new.lanes == old.lanes and len(new.lanes) == 1 and old.engine:
        return f"a wait for the {old.engine} of line {old.place.line} is missing before line {new.place.line}: {finding.message}"
    if finding.id != "async-lifetime" and old.engine:
        return finding.message
    released = [a for a in ledger.accounts() if {c.lane.name for c in a.came} & old.lanes]
    awaited = [a for a in released if {w.lane.name for w in a.waits} & new.lanes]
    if released and not awaited:
        arrays = listed(a.array for a in released)
        return (
            f"{tasks(sorted(new.lanes))} never waits for {arrays}, on which {tasks(sorted(old.lanes))} arrives, before "
            f"line {new.place.line} overwrites what line {old.place.line} reads"
        )
    if awaited:
        where = lines(c.place for a in awaited for c in a.came if c.lane.name in old.lanes)
        return (
            f"{listed(a.array for a in awaited)} is arrived on (line {where}) before line {old.place.line} is done: "
            f"{finding.message}"
        )
    return finding.message


def _first(findings: Sequence[Finding], *ids: str) -> Finding:
    """The first finding of the first of these ids that there is one of, or else of any."""
    for id in ids:
        for finding in findings:
            if finding.id == id:
                return finding
    return findings[0]
