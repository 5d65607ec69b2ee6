"""Finds the likely cause of a failure by rules over the ledger of the run.

They are used if no single change repairs the run, because a whole wait, arrival or copy is missing. The rules look at
the tasks that wait, that arrive, and that access the buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .findings import Finding, Place
from .ledger import Account, Came, Ledger
from .trace import Lane, Span
from .words import counted, lines, listed, number, ordinal, parties, tasks

# Findings that are their own cause.
PLAIN = (
    "kernel-error", "no-progress", "out-of-bounds", "misaligned", "barrier-misuse", "before-grid-wait",
    "remote-before-start", "warp-hazard", "global-race", "global-write-conflict",
)  # fmt: skip
RACES = ("async-lifetime", "race-read-write", "race-write-write")
# The order in which findings are reported if no rule applies. The last ones are usually consequences of others.
RANK = (*PLAIN, "tx-mismatch", "over-arrival", *RACES, "remote-to-exited-cta", "pending-at-exit", "parity-overrun",
        "deadlock", "missing-fence", "uninitialised", "redundant-write", "output-unwritten",
        "wrong-numbers")  # fmt: skip
_RESULT = {"wrong-numbers", "output-unwritten"}


@dataclass(frozen=True)
class Cause:
    """The cause of a failure, in one line, and the lines of the kernel to look at."""

    text: str
    places: tuple[Place, ...]
    finding: Finding


def plain(findings: Sequence[Finding]) -> Cause | None:
    """The cause, if one of the findings is its own cause."""
    found = min((f for f in findings if f.id in PLAIN and f.places), key=lambda f: PLAIN.index(f.id), default=None)
    return None if found is None else Cause(found.message, found.places, found)


def cause(ledger: Ledger, findings: Sequence[Finding]) -> Cause:
    """The most likely cause of one or more findings."""
    rules: Sequence[Callable[[Ledger, Sequence[Finding]], Cause | None]] = (
        _expectation, _sizes, _overfull, _wait, _race, _deadlock,
    )  # fmt: skip
    findings = sorted(findings, key=lambda f: f.severity != "error")  # in their order, with warnings last
    for rule in rules:
        if found := rule(ledger, findings):
            return found
    errors = [f for f in findings if f.severity == "error"]
    first = min(errors or findings, key=lambda f: RANK.index(f.id))
    text = first.message
    if first.id in _RESULT and {f.id for f in errors} <= _RESULT:
        text = f"no barrier, copy or buffer is at fault in this run: indices, masks or arithmetic are ({text})"
    elif first.id == "missing-fence":
        text = f"a fence is missing: {text}"
    return Cause(text, first.places, first)


def _expectation(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """The cause that copies deliver bytes to a barrier that expects none."""
    for account in ledger.accounts():
        if account.takes_bytes and not account.expecting() and account.loads:
            text = (
                f"nobody expects bytes on {account.array}: {account.sizes[1]} come in a phase, from line "
                f"{lines(account.loads)}, and a barrier_expect_bytes is missing"
            )
            return Cause(
                text, (*account.loads, account.place), _first(findings, "deadlock", "tx-mismatch", "over-arrival")
            )
    return None


def _sizes(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """The cause that more, or fewer, bytes arrive than are expected."""
    finding = next((f for f in findings if f.id in ("tx-mismatch", "deadlock")), None)
    for account in ledger.accounts():
        expected, brought, _ = account.sizes if account.takes_bytes else (0, 0, None)
        lacks = any(ledger.barriers[label].bytes > 0 for label in account.labels)
        over = any(f"{label} received" in f.message for label in account.labels for f in findings)
        if not (account.exact or lacks or over):
            continue
        if finding is not None and (brought > expected or brought < expected and lacks):
            return Cause(account.said_sizes, (*account.expecting(), *account.loads), finding)
    return None


def _overfull(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """The cause that a phase has more arrivals than the barrier counts."""
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
    """The cause of a deadlock: a wait for an arrival that never comes. Barriers without any arrival come first."""
    finding = next((f for f in findings if f.id == "deadlock"), None)
    if finding is None:
        return None
    if text := _met_by_nobody(ledger):
        return Cause(text, finding.places, finding)
    stuck = ledger.stuck()
    accounts = {label: account for account in ledger.accounts() for label in account.labels}
    for told in (_out_of_order, _before, _nobody, _often, _too_few, _ended, _seldom, _circle):
        for lane, label in stuck:
            if text := told(ledger, accounts[label], lane, label):
                waits = [w.place for w in ledger.awaited[label] if w.lane == lane]
                return Cause(text, (*waits[-1:], accounts[label].place), finding)
    return None


def _nobody(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    if account.came:
        return ""
    text = f"nobody ever arrives on {account.array}, which counts {account.count} and {_waiter(ledger, lane, label)}"
    for other in ledger.accounts():
        if other.came and not other.waits:
            who = parties(other.parties())
            return f"{text}, and nobody waits for {other.array}, on which {who} arrives: the wrong barrier"
    return f"{text}: {_lacking(ledger, lane)}"


def _too_few(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    """Text for a phase in which some tasks have arrived, and others, which arrived before, have not."""
    barrier = ledger.barriers[label]
    here = [c for c in ledger.came[label] if c.phase == barrier.phase + 1]
    arrived = sum(c.count for c in here)
    if here and 0 < arrived < account.count:
        missing = [x for x in _partners(ledger, lane) if x not in {c.lane.name for c in here}]
        who = f", {tasks(missing)} {'does' if len(missing) == 1 else 'do'} not" if missing else ""
        who = f"{parties(account.parties(label))}{who}"
        return f"{account.array} counts {account.count}, and only {counted(arrived)}a phase: {who}"
    if not ledger.came[label] and account.came:
        return (
            f"nobody arrives on {label.partition(' of ')[0]}, which {_waiter(ledger, lane, label)}: the arrivals on "
            f"{account.array} are on other slots ({parties(account.parties())}), or {_lacking(ledger, lane)}"
        )
    return ""


def _ended(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    """Text for a wait whose earlier arrivers have ended, or wait for the waiting task themselves."""
    running = {ledger.lane(t).name for t in ledger.hub.tasks if not t.finished}
    ended = [p for p in account.parties(label) if p.task not in running]
    if ended:
        calls = number(sum(p.calls for p in ended), "arrival")
        waiter = _waiter(ledger, lane, label).replace(" waits for ", f" waits for {account.array} ")
        return f"{waiter}, and whoever arrives there has ended, after {calls}: {parties(ended)}"
    return ""


def _out_of_order(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    """Text for slots that are waited for in another order than they are filled."""
    if not any(c.expected for c in account.came):
        return ""
    cta = label.rpartition(" of ")[2]
    mine = [x for x in account.labels if x.rpartition(" of ")[2] == cta]
    used = {(w.barrier, w.wanted) for w in account.waits}
    full = [(x, n) for x in mine for n in range(1, ledger.barriers[x].phase + 1)]
    idle = [(x.partition(" of ")[0], n) for x, n in full if (x, n) not in used]
    if not idle:
        return ""
    (slot, fill), waits = idle[0], [w for w in ledger.awaited[label] if w.lane == lane][-1]
    return (
        f"slots of {account.array} are counted in two ways: nobody has waited for the {ordinal(fill)} fill of {slot}, "
        f"and {tasks([lane.name])} waits for the {ordinal(waits.wanted)} of {label.partition(' of ')[0]} at line "
        f"{waits.place.line}"
    )


def _before(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    """Text for a task of the CTA that releases a slot more often than it has waited for it."""
    for freed in ledger.accounts():
        for came in (c for c in freed.came if not c.expected and not c.engine and c.lane.cta == lane.cta):
            rings = [
                a for a in ledger.accounts()
                if a is not freed and a.slots == freed.slots and any(w.lane == came.lane for w in a.waits)
            ]  # fmt: skip
            if rings and all(_ahead(ledger, freed, a, came) for a in rings):
                return (
                    f"line {came.place.line} arrives on {came.barrier.partition(' of ')[0]} before its task has "
                    f"waited for {rings[0].array} of that slot: it gives back what it has not used"
                )
    return ""


def _ahead(ledger: Ledger, freed: Account, ring: Account, came: Came) -> bool:
    """Whether an arrival precedes the corresponding wait of the same task for the same slot."""
    slot = came.barrier.removeprefix(freed.array).partition(" of ")[0]
    before = [c for c in freed.came if (c.lane, c.barrier) == (came.lane, came.barrier) and c.step <= came.step]
    waits = [w for w in ring.waits if w.lane == came.lane and w.barrier.startswith(f"{ring.array}{slot} ")]
    return len(before) > sum(w.step <= came.step for w in waits)


def _often(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    return _uneven(ledger, lane, lambda waits, calls: calls > waits > 0, "often")


def _seldom(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    return _uneven(ledger, lane, lambda waits, calls: waits > calls + 2, "seldom")


def _uneven(ledger: Ledger, lane: Lane, odd: Callable[[int, int], bool], how: str) -> str:
    """Text for a task of the CTA that releases more slots than it waits for, or fewer, even counting those in use."""
    for account in ledger.accounts():
        for party in account.parties():
            waits = {
                a.array: sum(w.lane.name == party.task and w.lane.cta == lane.cta for w in a.waits)
                for a in ledger.accounts()
                if a is not account
            }
            calls = sum(c.lane.cta == lane.cta for c in account.of(party))
            array, most = max(waits.items(), key=lambda one: one[1], default=("", 0))
            if not any(c.expected for c in account.came) and odd(most, calls):
                where = " of a peer CTA" * party.remote
                return (
                    f"{account.array}{where} is arrived on too {how}: {tasks([party.task])} waits for {array} "
                    f"{number(most, 'time')}, and arrives {number(calls, 'time')}, at line {lines(party.places)}"
                )
    return ""


def _circle(ledger: Ledger, account: Account, lane: Lane, label: str) -> str:
    waits = [
        f"{tasks([one.name])} for {x.partition(' of ')[0]} at line {ledger.awaited[x][-1].place.line}"
        for one, x in ledger.stuck()
        if one.cta == lane.cta
    ]
    return f"tasks wait for each other: {listed(waits)}"


def _met_by_nobody(ledger: Ledger) -> str:
    """Text for a named barrier or cluster barrier at which all that have arrived wait for others."""
    held = [s for s in ledger.spans if s.kind == "blocked" and s.end is None and s.objects]
    meeting = [s for s in held if s.objects[0] not in ledger.barriers and s.name.startswith(s.objects[0])]
    families = {s.lane.name.partition(" replica ")[0] for s in meeting}
    if not meeting or any(s.lane.name.partition(" replica ")[0] in families for s in held if s not in meeting):
        return ""
    span = meeting[0]
    complete = sum(p.barrier == span.objects[0] for p in ledger.phases)
    came = [a for a in ledger.arrivals.get(span.objects[0], ()) if a.phase > complete]
    who = "; ".join(f"{tasks([a.lane.name])} at line {a.place.line}" for a in came)
    return f"{span.name}: {who}; nobody else comes, or comes in another order"


def _waiter(ledger: Ledger, lane: Lane, label: str) -> str:
    places = [w.place for w in ledger.awaited[label] if w.lane == lane][-1:]
    return f"{tasks([lane.name])} waits for at line {lines(places)}"


def _partners(ledger: Ledger, lane: Lane) -> list[str]:
    """The tasks that wait for this task's arrivals or loads, and so should arrive for it in turn."""
    mine = {label for label, came in ledger.came.items() if any(c.lane == lane for c in came)}
    mine |= {label for label, came in ledger.promised.items() if any(p.lane == lane for p in came)}
    return sorted({w.lane.name for label in mine for w in ledger.awaited[label]} - {lane.name})


def _lacking(ledger: Ledger, lane: Lane) -> str:
    """Text for what is missing, and in which task."""
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
    """One side of a race: the access at a line, and the tasks that execute it."""

    place: Place
    spans: list[Span]

    @property
    def lanes(self) -> set[str]:
        return {lane.name for lane in self.who}

    @property
    def who(self) -> set[Lane]:
        return {s.issuer or s.lane for s in self.spans}

    @property
    def engine(self) -> str:
        return next((s.name for s in self.spans if s.kind == "asynchronous"), "")


def _sides(ledger: Ledger, finding: Finding) -> list[_Side]:
    """The sides of the race on the buffer that the finding names."""
    sides = []
    for place in finding.places:
        there = [s for s in ledger.spans if s.place == place and s.kind != "blocked"]
        named = [
            s for s in there if any(f"{x}," in f"{finding.message}," or f"{x} " in finding.message for x in s.objects)
        ]
        sides.append(_Side(place, named or there))
    return sides


def _wait(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """The cause that a task uses the data of a copy without a wait on the barrier on which the copy completes."""
    for finding in findings:
        if finding.id not in (*RACES, "uninitialised"):
            continue
        for side, other in _pairs(ledger, finding):
            for account in ledger.accounts():
                if side.place not in account.loads:
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
    elif sides:  # a read of memory that was never written: look at the loads into the same ring
        rings = {x.partition("[")[0] for s in sides[0].spans for x in s.objects}
        for place in {s.place for s in ledger.spans if s.kind == "asynchronous" and _touches(s, rings)} - {
            sides[0].place
        }:
            yield _Side(place, [s for s in ledger.spans if s.place == place and s.kind != "blocked"]), sides[0]


def _touches(span: Span, rings: set[str]) -> bool:
    return any(x.partition("[")[0] in rings for x in span.objects)


def _race(ledger: Ledger, findings: Sequence[Finding]) -> Cause | None:
    """The cause of a race between two unordered accesses, for the pair about which most is known."""
    said = []
    for finding in (f for f in findings if f.id in RACES and len(f.places) == 2):
        new, old = _sides(ledger, finding)
        for rank, rule in enumerate((_shared, _own, _unawaited, _same_line, _early, _as_it_is)):
            if text := rule(ledger, finding, new, old):
                said.append((rank, Cause(text, finding.places, finding)))
                break
    return min(said, key=lambda one: one[0])[1] if said else None


def _shared(ledger: Ledger, finding: Finding, new: _Side, old: _Side) -> str:
    both = "whose bytes are also" in finding.message
    return f"two buffers that share their bytes are in use at a time: {finding.message}" if both else ""


def _own(ledger: Ledger, finding: Finding, new: _Side, old: _Side) -> str:
    """Text for a race of a task with an operation that it has issued itself."""
    if new.place == old.place or new.who != old.who or len(new.who) > 1 or not old.engine:
        return ""
    missing = f"a wait for the {old.engine} of line {old.place.line} is missing before line {new.place.line}"
    return f"{missing}: {finding.message}"


def _released(ledger: Ledger, old: _Side) -> list[Account]:
    """The barrier arrays on which the reading tasks arrive."""
    return [a for a in ledger.accounts() if {c.lane.name for c in a.came if not c.expected} & old.lanes]


def _unawaited(ledger: Ledger, finding: Finding, new: _Side, old: _Side) -> str:
    """Text for a writer that never waits for an arrival of the readers."""
    released = _released(ledger, old)
    if not released or new.who == old.who or any({w.lane.name for w in a.waits} & new.lanes for a in released):
        return ""
    return (
        f"{tasks(sorted(new.lanes))} never waits for {listed(a.array for a in released)}, on which "
        f"{tasks(sorted(old.lanes))} arrives, before line {new.place.line} uses what line {old.place.line} does"
    )


def _same_line(ledger: Ledger, finding: Finding, new: _Side, old: _Side) -> str:
    if new.place != old.place or len(new.who) < 2:
        return ""
    return f"{tasks(sorted(new.lanes))} use the same slot at line {new.place.line}: {finding.message}"


def _early(ledger: Ledger, finding: Finding, new: _Side, old: _Side) -> str:
    """Text for readers that arrive before they have read, so that the writer's wait does not help."""
    awaited = [a for a in _released(ledger, old) if {w.lane.name for w in a.waits} & new.lanes]
    if not awaited or new.who == old.who:
        return ""
    where = lines(c.place for a in awaited for c in a.came if c.lane.name in old.lanes)
    arrays = listed(a.array for a in awaited)
    return f"{arrays} may be arrived on (line {where}) before line {old.place.line} is done: {finding.message}"


def _as_it_is(ledger: Ledger, finding: Finding, new: _Side, old: _Side) -> str:
    return finding.message


def _first(findings: Sequence[Finding], *ids: str) -> Finding:
    """The first finding with the first of these ids that occurs, or the first finding of all."""
    for id in ids:
        for finding in findings:
            if finding.id == id:
                return finding
    return findings[0]
