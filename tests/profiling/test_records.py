"""The buffer of a launch, read: clocks that wrap, areas that are full, tasks that never ran; and the sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tlxgen.errors import ProfileError
from tlxgen.profile.perfetto import to_json
from tlxgen.profile.records import HEADER, KEPT, SLACK, Recorded, read
from tlxgen.profile.sites import Site
from tlxgen.profile.times import times_of

SITES = [
    Site(0, "", "rest", "", 1),
    Site(0, "wait ab", "wait", "the TMA loads of load", 2),
    Site(0, "multiply acc", "product", "", 3),
    Site(1, "load a", "load", "", 4),
    Site(1, "", "rest", "", 5),
]
# Three rows of mma and two of load, of a stamp each but for the last of load.
STAMPS: dict[str, Any] = {
    "tasks": ["mma 0", "mma 1", "load"],
    "roles": [0, 0, 1],
    "rows": [[0, 1, 1], [0, 2, 1], [0, 3, 1], [1, 1, 2]],
    "threads": [128, 128, 1024],
    "sites": [s.to_json() for s in SITES],
}
ROOM = 32
WORDS = HEADER + ROOM + SLACK


def area(
    stamps: list[tuple[int, int]],
    *,
    sm: int = 7,
    timer: int = 1 << 40,
    mhz: int = 1000,
    room: int = ROOM,
    first: int = 0,
) -> Any:
    """What a task leaves that comes to stamps (clock, number), as the device code writes it: rows of a stamp, or of two
    of which the second has the number 0."""
    words = np.zeros(HEADER + room + SLACK, np.uint32)
    begin, end = stamps[0][0], stamps[-1][0]

    def times(at: int, clock: int) -> None:
        now = timer + (clock - begin) * 1000 // mhz
        words[at : at + 4] = [now & 0xFFFFFFFF, now >> 32, clock & 0xFFFFFFFF, clock >> 32]

    words[0], words[1] = 1 + first, sm
    times(2, begin)
    place, within = HEADER, 0

    def after() -> int:
        return min(place + -(-within // KEPT) * KEPT, HEADER + room)

    for clock, number in stamps:
        if number:
            place, within = after(), 1
            words[place : place + KEPT] = number, *[0xABCD] * (KEPT - 1)  # what no stamp fills is anything
        words[place + within] = clock & 0xFFFFFFFF
        within += 1
    place = after()
    words[place] = 0
    times(place + 1, end)
    return words.view(np.int32)


NEVER = np.zeros(WORDS, np.int32)
START = (6 << 32) - 40  # the lower 32 bits wrap between the first stamps


def launch(*areas: Any, ctas: int = 1, cluster: int = 1, unit: str = "clock") -> Recorded:
    return read(np.concatenate(areas), STAMPS, kernel="k", ctas=ctas, cluster=cluster, room=ROOM, unit=unit)


def test_clocks_are_told_in_full_and_numbers_are_those_of_the_task() -> None:
    mma = [(START, 1), (START + 30, 2), (START + 130, 3), (START + (1 << 32), 1)]
    load = [(START + 5, 1), (START + 10, 0)]
    found = launch(area(mma), NEVER, area(load, sm=9))
    first, second = found.records
    assert first.clocks.tolist() == [clock for clock, _ in mma]
    assert first.sites.tolist() == [0, 1, 2, 0]
    assert (first.sm, first.area, first.full, first.lost) == (7, 0, False, 0)
    assert second.sites.tolist() == [3, 4]
    assert (second.sm, second.area, second.cta) == (9, 2, 0)


def test_an_area_that_is_full_says_so_and_tells_what_it_has() -> None:
    stamps = [(START + 10 * i, 1 + i % 3) for i in range(40)]
    (full,) = launch(area(stamps), NEVER, NEVER).records
    assert full.full
    assert full.clocks.tolist() == [clock for clock, _ in stamps[: ROOM // KEPT]]
    (whole,) = launch(area(stamps[: ROOM // KEPT - 1]), NEVER, NEVER).records
    assert not whole.full


def test_an_interval_that_is_too_long_to_be_told_is_missed() -> None:
    (record,) = launch(
        area([(START, 1), (START + 3 * (1 << 32) + 50, 2), (START + 3 * (1 << 32) + 60, 1)]), NEVER, NEVER
    ).records
    assert record.lost == 3 * (1 << 32)
    (task,) = times_of(launch(area([(START, 1), (START + 3 * (1 << 32) + 50, 2)]), NEVER, NEVER))
    assert task.told < 0.01


def test_another_buffer_is_refused() -> None:
    with pytest.raises(ProfileError, match="is not of 2 CTAs with 32 words a task"):
        launch(NEVER, NEVER, NEVER, ctas=2)


def test_a_row_that_does_not_fit_is_left_out() -> None:
    load = [(START, 1), (START + 1, 0)] * 20
    (record,) = launch(NEVER, NEVER, area(load)).records
    assert record.full and len(record.clocks) == 2 * (ROOM // KEPT)


def test_a_task_whose_first_thread_does_not_stamp_is_refused() -> None:
    assert launch(area([(0, 1)], first=128), NEVER, NEVER).records
    with pytest.raises(ProfileError, match="the first thread of mma 0 is 64, which does not stamp"):
        launch(area([(0, 1)], first=64), NEVER, NEVER)


def test_times_are_means_of_a_cta_and_add_up() -> None:
    one = area([(0, 1), (10, 2), (110, 3), (120, 2), (200, 1)])
    other = area([(1000, 1), (1020, 2), (1320, 3), (1400, 1)])
    (task,) = times_of(launch(one, NEVER, NEVER, other, NEVER, NEVER, ctas=2))
    assert (task.task, task.ctas, task.clocks, task.told) == ("mma 0", 2, 300, 1.0)
    by_name = {o.what: o for o in task.operations}
    assert by_name["wait ab"].clocks == (100 + 80 + 300) / 2
    assert by_name["wait ab"].times == 3 / 2
    assert by_name["wait ab"].share == pytest.approx(480 / 600)
    assert by_name["multiply acc"].clocks == (10 + 80) / 2
    assert sum(o.share for o in task.operations) == pytest.approx(1)
    assert task.share("wait") + task.share("product") + task.share("rest") == pytest.approx(1)


def test_ctas_of_an_sm_share_its_clock_and_sms_are_laid_over_each_other_by_the_timer() -> None:
    early = area([(1000, 1), (3000, 2)], sm=1, timer=1 << 40, mhz=2000)
    late = area([(4000, 1), (8000, 2)], sm=1, timer=(1 << 40) + 1500, mhz=2000)
    other = area([(900_000, 1), (902_000, 2)], sm=2, timer=(1 << 40) + 500, mhz=2000)
    none = (NEVER, NEVER)
    data = to_json(launch(early, *none, late, *none, other, *none, ctas=3, cluster=1))
    spans = {e["pid"]: (e["ts"], e["dur"]) for e in data["traceEvents"] if e["ph"] == "X"}
    assert spans == {0: (0, 1), 1: (1.5, 2), 2: (0.5, 1)}
    assert data["otherData"]["unit"] == "1 us is 2000 clocks"
    names = {e["pid"]: e["args"]["name"] for e in data["traceEvents"] if e["name"] == "process_name"}
    assert names == {0: "CTA 0, SM 1", 1: "CTA 1, SM 1", 2: "CTA 2, SM 2"}


def test_a_timeline_has_a_track_a_task_and_says_who_is_waited_for() -> None:
    one = area([(0, 1), (10, 2), (110, 3), (120, 2), (200, 1)])
    data = to_json(launch(one, one, area([(0, 1), (5, 0)]), NEVER, NEVER, NEVER, ctas=2, cluster=2, unit="step"), 1)
    tracks = [e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"]
    assert tracks == ["mma 0", "mma 1", "load"]
    spans = [e for e in data["traceEvents"] if e["ph"] == "X" and e["tid"] == 0]
    assert [(e["name"], e["ts"], e["dur"]) for e in spans] == [
        ("rest", 0, 10), ("wait ab", 10, 100), ("multiply acc", 110, 10), ("wait ab", 120, 80),
    ]  # fmt: skip
    assert spans[3]["args"] == {"line": 2, "time": 2, "waits for": "the TMA loads of load"}
    assert data["otherData"]["ctas"] == "1 of 1"
