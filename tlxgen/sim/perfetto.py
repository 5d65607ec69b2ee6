"""Writes traces as JSON in the Trace Event Format, which Perfetto and chrome://tracing show.

A process is a CTA (of one launch, if there are several). A thread is a task, or a lane of an engine. A step is shown as
a microsecond. Format: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from .trace import Lane, Span, Trace

Item = dict[str, Any]


def to_json(traces: Sequence[Trace]) -> Item:
    """The launches of a run, one after the other."""
    items: list[Item] = []
    start, numbers = 0, count(1)
    for i, trace in enumerate(traces):
        name = f"launch {i} " if len(traces) > 1 else ""
        items += _Launch(trace, 1000 * i, name, start, numbers).items()
        start += trace.steps + 1
    return {"traceEvents": items, "displayTimeUnit": "ms", "otherData": {"unit": "1 us is a step of the scheduler"}}


class _Launch:
    """One launch, which starts at step `start`, as processes that are numbered from `first` on."""

    def __init__(self, trace: Trace, first: int, name: str, start: int, numbers: Iterator[int]) -> None:
        self._trace, self._first, self._name, self._start, self._numbers = trace, first, name, start, numbers
        self._rows: dict[Lane, list[int]] = {}  # the end of the last span of each thread of a lane
        self._threads: dict[tuple[Lane, int], int] = {}
        self._placed = {span: self._thread(span) for span in trace.spans}

    def _end(self, span: Span) -> int:
        return self._trace.steps if span.end is None else span.end

    def _thread(self, span: Span) -> int:
        """The thread of a span. Spans of a task nest; those of an engine overlap, so they are spread over threads."""
        rows = self._rows.setdefault(span.lane, [])
        row = 0
        if span.lane.engine:
            row = next((i for i, end in enumerate(rows) if end <= span.begin), len(rows))
        rows[row : row + 1] = [self._end(span)]
        return self._threads.setdefault((span.lane, row), len(self._threads) + 1)

    def _at(self, lane: Lane, thread: int, step: int, phase: str, name: str, **more: Any) -> Item:
        item = {"ph": phase, "name": name, "pid": self._first + lane.cta, "tid": thread, "ts": self._start + step}
        return item | more

    def items(self) -> Iterator[Item]:
        yield from self._names()
        for span in self._trace.spans:
            yield self._span(span)
            if span.issuer is not None and (span.issuer, 0) in self._threads:
                yield from self._arrow(span.issuer, self._threads[span.issuer, 0], span.begin, span, self._end(span))
        for release in self._trace.releases:
            source = release.source
            yield from self._arrow(source.lane, self._placed[source], release.step, release.target, release.step)
        for phase in self._trace.phases:
            thread = self._threads.get((phase.lane, 0), 0)
            name = f"{phase.barrier}: phase {phase.number} complete"
            yield self._at(phase.lane, thread, phase.step, "i", name, s="t", cat="barrier")
        for key, (step, lane) in self._trace.found_at.items():
            yield self._at(lane or Lane(0, False, ""), 0, step, "i", key[0], s="g", cat="finding")

    def _names(self) -> Iterator[Item]:
        for cta in sorted({lane.cta for lane in self._rows}):
            pid = self._first + cta
            yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"{self._name}CTA {cta}"}}
        for (lane, row), thread in self._threads.items():
            name = f"{lane.name} {row}" if len(self._rows[lane]) > 1 else lane.name
            where = {"pid": self._first + lane.cta, "tid": thread}
            yield {"ph": "M", "name": "thread_name", **where, "args": {"name": name}}
            yield {"ph": "M", "name": "thread_sort_index", **where, "args": {"sort_index": thread + 500 * lane.engine}}

    def _span(self, span: Span) -> Item:
        about = {"line": str(span.place), "objects": ", ".join(span.objects)}
        name = f"{span.name} {span.objects[0]}" if span.objects and span.kind != "blocked" else span.name
        length = self._end(span) - span.begin
        return self._at(span.lane, self._placed[span], span.begin, "X", name, dur=length, cat=span.kind, args=about)

    def _arrow(self, source: Lane, thread: int, begin: int, target: Span, end: int) -> Iterator[Item]:
        """An arrow from an operation's issue to its completion, or from an arrival to the wait that it ends."""
        link = {"cat": "flow", "id": next(self._numbers)}
        yield self._at(source, thread, begin, "s", target.kind, **link)
        yield self._at(target.lane, self._placed[target], end, "f", target.kind, bp="e", **link)
