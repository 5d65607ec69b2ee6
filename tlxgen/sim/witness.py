"""Explains a finding to users: a short run to it, as a table of the tasks' operations, and the waits at its end."""

from __future__ import annotations

import linecache
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from string import ascii_uppercase

from .findings import Finding, Key, Place
from .launch import Session
from .minimise import STEPS, Shortest, shortest
from .perfetto import Item, to_json
from .repeatable import Case, Recorded
from .runs import Report, Seen
from .script import Script, Scripted
from .trace import Lane, Span, Trace

WIDTH = 132
SOURCE = 72  # limit of the characters of a source line
ROWS = 18  # limit of the shown operations, which are the last ones
LEAD = 8  # limit of the operations among them that do not use the finding's objects
PARTIES = 6
_INDENT = " " * 6


@dataclass(frozen=True)
class Witness:
    """A run to a finding, with a trace of each launch."""

    finding: Finding
    shortest: Shortest
    traces: list[Trace]

    @property
    def script(self) -> Script:
        return self.shortest.script

    @property
    def json(self) -> Item:
        """The traces in the Trace Event Format."""
        return to_json(self.traces)

    @property
    def text(self) -> str:
        """The explanation, in at most about 40 lines."""
        number = sum(map(len, self.script.launches))
        least = "" if not number else ", none to spare" if self.shortest.minimal else ", maybe not the fewest"
        how = f"{number} decisions{least}" if number else "in the order of the tasks"
        head = f"witness of {self.finding.id}: {self.shortest.steps} steps, {how}"
        trace = next((t for t in self.traces if self.finding.key in t.found_at), None)
        lines = _Story(self.finding, trace).lines() if trace else ["  noticed after the kernels had ended"]
        return "\n".join([head, *lines])


def witness(seen: Seen, work: int = STEPS) -> Witness:
    """A short run to a finding of a report, with traces. `work` limits the steps for shortening it."""
    assert seen.case is not None, "a finding that was not made by `verify` cannot be run again"
    found = shortest(seen.case, seen.finding.key, seen.director, seen.seed, work)
    traces, session = traced(seen.case, found.script, seen.finding.key)
    finding = next(f for f in session.findings.all if f.key == seen.finding.key)
    return Witness(finding, replace(found, script=replace(found.script, part=seen.part)), traces)


def traced(case: Case, script: Script, until: Key | None = None) -> tuple[list[Trace], Session]:
    """Runs a script up to the finding `until`, with a trace of each launch."""
    traces: list[Trace] = []

    def watcher() -> Trace:
        traces.append(Trace())
        return traces[-1]

    session = case.run(Recorded(Scripted(script), watcher), script.seed, until)
    return traces, session


def explain(report: Report, told: set[str], work: int = STEPS) -> Iterator[tuple[Seen, Witness]]:
    """Yields a witness of the first finding of each id that is not in `told`, and adds the id to `told`.

    A finding that needs more than `work` steps, such as an endless loop, has none.
    """
    for seen in report.seen:
        if seen.finding.id not in told and seen.case is not None and seen.steps <= work:
            told.add(seen.finding.id)
            yield seen, witness(seen, work)


def sample(report: Report) -> Item | None:
    """A run of the first verified program in the Trace Event Format; None if there is none."""
    return to_json(traced(report.first, Script(0))[0]) if report.first else None


@dataclass(frozen=True)
class _Row:
    step: int
    lane: Lane
    place: Place | None
    text: str
    objects: tuple[str, ...]


class _Story:
    """The part of a trace that concerns a finding."""

    def __init__(self, finding: Finding, trace: Trace) -> None:
        self._finding, self._trace = finding, trace
        self._step, self._actor = trace.found_at[finding.key]
        self._held = [s for s in trace.spans if s.kind == "blocked" and s.end is None]
        self._about = self._labels()
        lanes = list(dict.fromkeys(self._stuck() if finding.id == "deadlock" else self._parties()))
        self._lanes = dict(zip(lanes[:PARTIES], ascii_uppercase, strict=False))
        self._spans = {lane: [s for s in trace.spans if s.lane == lane] for lane in self._lanes}

    def lines(self) -> list[str]:
        lines = [f"  {letter}  {lane}" for lane, letter in self._lanes.items()]
        lines.append(f"   step  {' ' * len(self._lanes)}   line")
        lines += [self._line(row) for row in self._rows()]
        if self._finding.id == "deadlock":
            lines += self._waits()
        return [self._short(line).rstrip()[:WIDTH] for line in lines]

    # The tasks and objects of the finding.

    def _labels(self) -> set[str]:
        """The buffers and barriers in question: those of waits that never end, those in the message, or else those that
        were used last at the lines of the finding."""
        if self._finding.id == "deadlock":
            return {label for span in self._held for label in span.objects}
        spans = self._trace.spans
        labels = {label for span in spans for label in span.objects}
        named = {x for x in labels if re.search(re.escape(x) + r"(?!\d)", self._finding.message)}
        last = [[s for s in spans if s.place == place][-1:] for place in self._finding.places]
        return named or {label for found in last for s in found for label in s.objects}

    def _parties(self) -> Iterator[Lane]:
        """The task that caused the finding, and the last tasks at the lines of the finding."""
        if self._actor is not None:
            yield self._actor
        for place in self._finding.places:
            there = [s for s in self._trace.spans if s.place == place and s.kind != "blocked"]
            there = [s for s in there if self._about.intersection(s.objects)] or there
            others = [s for s in there if s.lane != self._actor] or there
            yield from (lane for s in others[-1:] for lane in (s.lane, s.issuer) if lane is not None)

    def _stuck(self) -> Iterator[Lane]:
        """The tasks of one CTA that wait for a barrier, and the tasks that arrive there. A program that waits for its
        tasks is included only if there is nothing else."""
        held = sorted([s for s in self._held if s.objects] or self._held, key=lambda s: s.lane)
        mine = [s for s in held if s.lane.cta == held[0].lane.cta]
        yield from (s.lane for s in mine)
        arrivals = [a for s in mine for label in s.objects for a in self._trace.arrivals.get(label, ())]
        yield from (a.lane for a in arrivals if not a.lane.engine)

    # Their operations.

    def _rows(self) -> list[_Row]:
        """The operations that use the objects in question, and the last operations of all."""
        rows = [row for spans in self._spans.values() for span in spans for row in self._of(span)]
        rows.sort(key=lambda row: row.step)
        lead = {id(row) for row in [row for row in rows if row.place][-LEAD:]}
        return [row for row in rows if self._about.intersection(row.objects) or id(row) in lead][-ROWS:]

    def _of(self, span: Span) -> Iterator[_Row]:
        objects = ", ".join(span.objects)
        if span.kind == "operation":
            source = linecache.getline(span.place.path, span.place.line).strip()
            source = source if len(source) <= SOURCE else source[: SOURCE - 3] + "..."
            note = f"  [{objects}]" if objects else ""
            yield _Row(span.begin, span.lane, span.place, source + note, span.objects)
        elif span.kind == "asynchronous":
            at = f"{span.name} of line {span.place.line} [{objects}]"
            step = self._trace.steps if span.end is None else span.end
            how = "has not completed" if span.end is None else "completes"
            yield _Row(step, span.lane, None, f"{at} {how}", span.objects)
        elif span.objects:
            until = f"until step {span.end}" if span.end is not None else "for ever" if self._dead else "still"
            yield _Row(span.begin, span.lane, None, f"waits {until}: {span.name}", span.objects)

    @property
    def _dead(self) -> bool:
        return self._finding.id == "deadlock"

    def _line(self, row: _Row) -> str:
        marks = (letter if lane == row.lane else self._mark(lane, row.step) for lane, letter in self._lanes.items())
        place = str(row.place.line) if row.place else ""
        return f"{row.step:>7}  {''.join(marks)}  {place:>5}  {row.text}"

    def _mark(self, lane: Lane, step: int) -> str:
        """The mark of a track at a step: `:` while blocked, `|` while active, and a blank before and after."""
        now = {s.kind for s in self._spans[lane] if s.begin <= step and (s.end is None or step < s.end)}
        return ":" if "blocked" in now else "|" if now else " "

    def _short(self, text: str) -> str:
        """A text without the number of the CTA, if there is only one."""
        if any(span.lane.cta for span in self._trace.spans):
            return text
        return text.replace(" of CTA 0", "").replace("CTA 0 ", "")

    # Their waits at the end.

    def _waits(self) -> Iterator[str]:
        """Lines about the waits at the end: the task, the barrier, and the tasks that have arrived there."""
        waits: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for task in (t for t in self._trace.hub.tasks if t.blocked is not None):
            lane = self._trace.lane(task)
            span = next(s for s in self._held if s.lane == lane)
            if lane in self._lanes and task.blocked is not None:
                waits.setdefault((task.blocked(), span.objects), []).append(self._lanes[lane])
        for (why, objects), letters in waits.items():
            yield f"  {', '.join(letters)} waits for {why}"
            for label in objects:
                yield from textwrap.wrap(self._arrived(label), WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        others = sum(s.lane not in self._lanes for s in self._held)
        if others:
            yield f"  {others} more wait, in this CTA or others"

    def _arrived(self, label: str) -> str:
        arrivals = self._trace.arrivals.get(label, [])
        if not arrivals:
            return "nobody ever arrives there"
        complete = sum(p.barrier == label for p in self._trace.phases)
        now = ", ".join(f"{a.lane} at line {a.place.line}" for a in arrivals if a.phase > complete)
        lines = Counter((a.lane, a.place.line) for a in arrivals)
        ever = ", ".join(f"{lane} at line {line} ({times}x)" for (lane, line), times in lines.items())
        return f"arrived in this phase: {now or 'nobody'}; in all: {ever}"
