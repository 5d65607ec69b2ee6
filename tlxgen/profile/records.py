"""The buffer of an instrumented launch, read: for each task of each CTA its stamps, in clocks of its SM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tlxgen.errors import ProfileError
from tlxgen.profile.sites import Site

HEADER, SLACK = 8, 72  # words of an area before and behind its records, as _stamps.py has them
KEPT = 4  # what divides the words of a row, as _stamps.py has it
_WHOLE = 1 << 32  # clocks that a stamp tells apart

Words = np.ndarray[Any, np.dtype[np.int32]]
Clocks = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Record:
    """What a task of a CTA has recorded: `clocks` of its stamps, and at which of the launch's sites each stands.

    `sm` is where it ran, `timer` the global timer when it began and ended, in ns, `clock` the SM's clock then. `full`:
    it had no more room; what came later is not told. `lost`: clocks of intervals that were too long to be told.
    """

    cta: int
    area: int
    sm: int
    timer: tuple[int, int]
    clock: tuple[int, int]
    clocks: Clocks
    sites: Clocks
    full: bool
    lost: int

    @property
    def time(self) -> int:
        """Clocks from its first stamp to its last."""
        return int(self.clocks[-1] - self.clocks[0])


@dataclass(frozen=True, eq=False)
class Recorded:
    """One launch: `tasks` names the areas of a CTA, `ctas` counts those of the grid, `cluster` those of a cluster.
    `unit` is what a clock is: a clock of the SM, or a step of the simulator."""

    kernel: str
    tasks: tuple[str, ...]
    sites: tuple[Site, ...]
    ctas: int
    cluster: int
    records: tuple[Record, ...]
    room: int
    unit: str = "clock"

    @property
    def full(self) -> int:
        """How many tasks had no more room for records."""
        return sum(r.full for r in self.records)


def read(
    buffer: Words, stamps: Mapping[str, Any], *, kernel: str, ctas: int, cluster: int, room: int, unit: str = "clock"
) -> Recorded:
    """What a launch of `ctas` CTAs has left in its buffer, which has room for `room` words a task; `stamps` is the text
    of the file beside the twin. Tasks that never ran are left out. Raises ProfileError for another buffer, and for one
    that a thread has written which is not its task's first."""
    tasks, roles = tuple(stamps["tasks"]), stamps["roles"]
    sites = tuple(Site.from_json(site) for site in stamps["sites"])
    words = HEADER + room + SLACK
    if buffer.size != ctas * len(tasks) * words:
        raise ProfileError(f"{kernel}: a buffer of {buffer.size} words is not of {ctas} CTAs with {room} words a task")
    firsts = [next((i for i, site in enumerate(sites) if site.task == role), 0) for role in roles]
    rows = [{first: count for task, first, count in stamps["rows"] if task == role} for role in roles]
    records = []
    for number, area in enumerate(buffer.reshape(-1, words)):
        if area[0]:
            cta, task = divmod(number, len(tasks))
            if (int(area[0]) - 1) % stamps["threads"][task]:
                raise ProfileError(
                    f"{kernel}: the first thread of {tasks[task]} is {area[0] - 1}, which does not stamp"
                )
            records.append(_record(cta, task, area, room, firsts[task], rows[task]))
    return Recorded(kernel, tasks, sites, ctas, cluster, tuple(records), room, unit)


def _record(cta: int, task: int, area: Words, room: int, first: int, rows: Mapping[int, int]) -> Record:
    written = area[HEADER : HEADER + room]
    heads, used, full = _heads(written, rows)
    counts = np.array([rows[int(written[head])] for head in heads], np.int64)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(np.array(heads, np.int64), counts)
    low, numbers = written[at + 1 + within].view(np.uint32).astype(np.int64), written[at] + within
    begin, end = _times(area[2:6]), _times(area[HEADER + (room if full else used) + 1 :][:4])
    steps = np.diff(low, prepend=begin[1] % _WHOLE) % _WHOLE
    clocks: Clocks = begin[1] + np.cumsum(steps)
    lost = (end[1] - int(clocks[-1])) // _WHOLE * _WHOLE if clocks.size and not full else 0
    sm, timer, clock = int(area[1]), (begin[0], end[0]), (begin[1], end[1])
    return Record(cta, task, sm, timer, clock, clocks, first - 1 + numbers, full=full, lost=max(0, lost))


def _heads(written: Words, rows: Mapping[int, int]) -> tuple[list[int], int, bool]:
    """Where the rows of an area begin, how many words they take, and whether the next one found no room."""
    heads: list[int] = []
    at = 0
    while at < written.size and (count := rows.get(int(written[at]))):
        words = (count // KEPT + 1) * KEPT
        if at + words > written.size:
            return heads, at, True
        heads.append(at)
        at += words
    return heads, at, at == written.size


def _times(words: Sequence[int] | Words) -> tuple[int, int]:
    """The global timer and the clock, of their halves."""
    time, time_high, clock, clock_high = (int(w) & 0xFFFFFFFF for w in words)
    return time | time_high << 32, clock | clock_high << 32
