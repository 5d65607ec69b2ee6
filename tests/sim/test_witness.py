"""Replays, the shortest run to a finding, its story, and its trace for Perfetto."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sim import litmus
from tests.sim.mutants import KILLED
from tests.sim.support import run_mutant
from tlxgen.sim import (
    DEVICE,
    RUNS,
    Budget,
    ReplayError,
    Report,
    Script,
    Seen,
    Session,
    Witness,
    sample,
    verify,
    witness,
)
from tlxgen.sim.script import Block

ROUNDS = 12


def rare_turn(session: Session) -> None:
    litmus.rare_turn[(1,)](torch.zeros(1, device=DEVICE), ROUNDS=ROUNDS, FIXED=False)


def dead(session: Session) -> None:
    litmus.named[(1,)](torch.zeros(1, device=DEVICE), FIRST=384, SECOND=384)


def mutant(name: str, folder: Path) -> Report:
    return run_mutant(next(m for m in KILLED if m.name == name), folder)


@pytest.fixture(scope="module")
def rare() -> Seen:
    """A race that needs one task to be slow, as the exhaustive search finds it."""
    found = verify(rare_turn, exhaustive=Budget()).seen
    return next(s for s in found if s.finding.id == "race-read-write")


@pytest.fixture(scope="module")
def shown(rare: Seen) -> Witness:
    return witness(rare)


# Replays.

KEYS = ["0", "3", "0.1", "12.10", "0.1e0", "1e2.0e3", "e4"]
blocks = st.builds(Block, st.sampled_from(KEYS), st.integers(0, 99))
held = st.builds(Block, st.just("0.1"), st.just(0), st.just(True))
launches = st.lists(st.lists(blocks | held, min_size=1).map(tuple), max_size=3).map(tuple)
scripts = st.builds(Script, st.integers(0, 99), launches, st.integers(0, 9))


@given(scripts)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_list_of_decisions_is_read_as_it_is_printed(script: Script) -> None:
    assert Script.parse(str(script)) == script


@pytest.mark.parametrize("text", ["", "0", "x:0", "0:0.1y2", "0:1..2", "1@2@0:"])
def test_what_is_no_list_of_decisions_is_refused(text: str) -> None:
    with pytest.raises(ReplayError):
        verify(rare_turn, replay=text)


def test_a_finding_of_the_exhaustive_search_is_replayed(rare: Seen) -> None:
    again = verify(rare_turn, replay=str(rare.script))
    assert rare.finding in [s.finding for s in again.seen]
    assert again.runs == 1
    assert not verify(rare_turn, replay="0:").seen  # other decisions, no finding


def test_a_shortened_run_shows_the_same_finding_again(rare: Seen, shown: Witness) -> None:
    assert [s.finding for s in verify(rare_turn, replay=str(shown.script)).seen][0] == rare.finding


def test_no_decision_of_a_shortened_run_can_be_left_out(rare: Seen, shown: Witness) -> None:
    assert shown.shortest.minimal
    (decisions,) = shown.script.launches
    assert [str(d) for d in decisions] == ["0", "0.3x1", "-0.3"]  # one task is slow after its store, and that is all
    for i in range(len(decisions)):
        shorter = replace(shown.script, launches=(decisions[:i] + decisions[i + 1 :],))
        assert rare.finding.key not in {s.finding.key for s in verify(rare_turn, replay=str(shorter)).seen}


@pytest.mark.parametrize("name", ["bytes of A alone", "released before the dot is done", "turns not counted"])
def test_a_witness_is_the_same_each_time_and_no_longer_than_the_run_it_comes_from(name: str, tmp_path: Path) -> None:
    seen = mutant(name, tmp_path).seen[0]
    assert seen.case is not None
    first, again = witness(seen, 20_000), witness(seen, 20_000)
    assert (first.script, first.text) == (again.script, again.text)
    assert first.finding.key == seen.finding.key
    replayed = verify(seen.case.program, replay=str(first.script), limits=seen.case.limits)
    assert first.finding in [s.finding for s in replayed.seen]


# Stories.


def test_a_deadlock_says_who_waits_for_whom_and_that_nobody_comes(tmp_path: Path) -> None:
    report = mutant("release dropped", tmp_path)
    text = witness(report.seen[0]).text
    assert len(text.splitlines()) <= 40 and all(len(line) <= 132 for line in text.splitlines())
    assert "waits for ab_empty[0] of CTA 0 parity 0: 0 phases complete, 0 of 2 arrived" in text
    assert "nobody ever arrives there" in text
    assert "tlx.barrier_wait(ab_empty[slot], phase ^ 1)" in text  # the line as it stands in the source
    arrived = r"arrived in this phase: nobody; in all: CTA 0 task of line \d+ at line \d+ \(1x\), CTA 0 TMA load"
    assert re.search(arrived, text)


def test_a_deadlock_at_a_named_barrier_says_who_came() -> None:
    text = witness(verify(dead).seen[0]).text
    assert "A waits for named barrier 8: 256 of 384 threads have come" in text
    assert "arrived in this phase: task of line" in text


def test_a_race_shows_both_sides(rare: Seen, shown: Witness) -> None:
    lines = shown.text.splitlines()
    assert lines[0].startswith("witness of race-read-write: ")
    assert any("tlx.local_store(tile[0]" in line for line in lines)
    assert any("value = tlx.local_load(tile[0])  [tile[0]]" in line for line in lines)
    assert len({line.split()[0] for line in lines[1:3]}) == 2  # two parties, A and B


# Traces.


def events(data: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    return [e for e in data["traceEvents"] if e["ph"] == phase]


def check(data: dict[str, Any]) -> None:
    """What the Trace Event Format asks for: https://perfetto.dev/docs/faq, "nested slices", and the flow events."""
    json.dumps(data)
    named = {(e["name"], e["pid"], e.get("tid")) for e in events(data, "M")}
    slices: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for e in events(data, "X"):
        assert e["dur"] >= 0 and e["ts"] >= 0 and e["name"]
        assert ("process_name", e["pid"], None) in named and ("thread_name", e["pid"], e["tid"]) in named
        slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for spans in slices.values():
        open_: list[int] = []
        for begin, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            while open_ and open_[-1] <= begin:
                open_.pop()
            assert not open_ or end <= open_[-1], "slices of one thread nest"
            open_.append(end)
    starts, ends = ({e["id"]: e for e in events(data, p)} for p in "sf")
    assert starts.keys() == ends.keys()
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"] and ends[number]["bp"] == "e"
        for e in (start, ends[number]):
            assert any(b <= e["ts"] <= t for b, t in slices[e["pid"], e["tid"]]), "an arrow ends in a slice"


def test_a_trace_has_all_tasks_and_engines_arrows_and_phases(tmp_path: Path) -> None:
    report = mutant("released before the dot is done", tmp_path)
    data = witness(report.seen[0]).json
    check(data)
    kinds = {e["cat"] for e in events(data, "X")}
    assert kinds == {"operation", "blocked", "asynchronous"}
    names = {e["args"]["name"] for e in events(data, "M") if e["name"] == "thread_name"}
    assert "program" in names and any(n.startswith("TMA load") for n in names)
    assert any(re.fullmatch(r"task of line \d+", n) for n in names)
    assert {e["name"] for e in events(data, "i") if e["cat"] == "finding"} == {"async-lifetime"}
    assert any(e["name"] == "ab_full[0] of CTA 0: phase 1 complete" for e in events(data, "i"))
    assert {e["name"] for e in events(data, "s")} == {"asynchronous", "blocked"}


def test_a_clean_program_has_a_trace_too() -> None:
    def program(session: Session) -> None:
        for _ in range(2):
            litmus.hand_over[(1,)](torch.zeros(1, device=DEVICE), WAIT=True, FENCE=False)

    data = sample(verify(program, RUNS[:1]))
    assert data is not None
    check(data)
    processes = {e["args"]["name"] for e in events(data, "M") if e["name"] == "process_name"}
    assert processes == {"launch 0 CTA 0", "launch 1 CTA 0"}
    assert sample(Report()) is None
