"""A launch as JSON in the Trace Event Format, which Perfetto shows: a process is a CTA, a thread one of its tasks.

All tasks of an SM share its clock, so that their intervals lie exactly one under the other. Clocks of different SMs are
laid over each other by the global timer, which goes forward in steps (32 ns on an H200, 1 us on some GPUs): between
SMs, also between the CTAs of a cluster, an order within such a step is not told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from tlxgen.profile.records import Record, Recorded

Item = dict[str, Any]


def to_json(recorded: Recorded, ctas: int | None = None) -> Item:
    """The timeline of the first `ctas` CTAs that ran, or of all."""
    ran = sorted({r.cta for r in recorded.records})
    shown = set(ran if ctas is None else ran[:ctas])
    records = [r for r in recorded.records if r.cta in shown]
    clock = _Clock(recorded)
    about = {"kernel": recorded.kernel, "unit": clock.unit, "ctas": f"{len(shown)} of {len(ran)}"}
    items = [*_names(recorded, records), *(i for r in records for i in _intervals(recorded, r, clock))]
    return {"traceEvents": items, "displayTimeUnit": "ns", "otherData": about}


class _Clock:
    """From the clock of an SM to microseconds since the launch began."""

    def __init__(self, recorded: Recorded) -> None:
        records = recorded.records
        self._simulated = recorded.unit == "step"
        spans = [(r.timer[1] - r.timer[0], r.clock[1] - r.clock[0]) for r in records if not r.full]
        longest = max(spans, default=(0, 0))
        self.mhz = 1e3 * longest[1] / longest[0] if longest[0] > 0 else 1e3
        self._zero = min((r.timer[0] for r in records), default=0)
        self._offsets: dict[int, float] = defaultdict(lambda: -float("inf"))
        for r in records:  # the timer is at most a step behind: whatever says the latest is the nearest
            for timer, clock in zip(r.timer, r.clock, strict=True):
                if timer:
                    self._offsets[r.sm] = max(self._offsets[r.sm], (timer - self._zero) / 1e3 - clock / self.mhz)
        self._first = min((r.clock[0] for r in records), default=0)

    @property
    def unit(self) -> str:
        return "1 us is a step of the simulator" if self._simulated else f"1 us is {self.mhz:.0f} clocks"

    def us(self, sm: int, clocks: Any) -> Any:
        if self._simulated:
            return (clocks - self._first).astype(float)
        return clocks / self.mhz + self._offsets[sm]


def _names(recorded: Recorded, records: list[Record]) -> Iterator[Item]:
    for cta, sm in sorted({(r.cta, r.sm) for r in records}):
        name = f"CTA {cta}" + (f", cluster {cta // recorded.cluster}" if recorded.cluster > 1 else "")
        name += "" if recorded.unit == "step" else f", SM {sm}"
        yield {"ph": "M", "name": "process_name", "pid": cta, "args": {"name": name}}
    for r in records:
        where = {"ph": "M", "pid": r.cta, "tid": r.area}
        yield {**where, "name": "thread_name", "args": {"name": recorded.tasks[r.area]}}
        yield {**where, "name": "thread_sort_index", "args": {"sort_index": r.area}}


def _intervals(recorded: Recorded, record: Record, clock: _Clock) -> Iterator[Item]:
    if not record.clocks.size:
        return
    at = np.round(clock.us(record.sm, record.clocks), 4)
    seen: dict[int, int] = defaultdict(int)
    for i, number in enumerate(record.sites[:-1].tolist()):
        site, length = recorded.sites[number], float(np.round(at[i + 1] - at[i], 4))
        seen[number] += 1
        if site.kind == "rest" and not length:
            continue
        about = {"line": site.line, "time": seen[number]} | ({"waits for": site.whom} if site.whom else {})
        item = {"ph": "X", "name": site.name, "cat": site.kind, "pid": record.cta, "tid": record.area}
        yield item | {"ts": float(at[i]), "dur": length, "args": about}
    if record.full:
        yield {
            "ph": "i",
            "name": "no more room for records",
            "s": "t",
            "pid": record.cta,
            "tid": record.area,
            "ts": float(at[-1]),
        }
