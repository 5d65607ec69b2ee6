"""Every fault in mutants.py is caught; those that are not are known, with the reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.sim.mutants import KILLED, MANY, PARTS, SURVIVORS, Mutant
from tests.sim.support import run_case, run_mutant, source
from tlxgen.sim import Report


@cache
def report_of(mutant: Mutant) -> Report:
    """What is found of a mutant, which several tests ask for."""
    with TemporaryDirectory() as folder:
        return run_mutant(mutant, Path(folder))


@pytest.mark.parametrize("mutant", KILLED, ids=lambda m: m.name.replace(" ", "_"))
def test_a_fault_is_found(mutant: Mutant) -> None:
    report = report_of(mutant)
    assert report.seen
    assert all(s.finding.places for s in report.seen if s.finding.id not in OF_THE_RESULT)


OF_THE_RESULT = {"wrong-numbers", "output-unwritten", "out-of-bounds"}  # found when the launch is over: no line


def test_many_parts_are_added_up() -> None:
    """On twelve SMs a tile has more parts than who adds them up reads at a time; on the usual four it has not."""
    report = run_case(PARTS, source(PARTS), 0, MANY, sms=12)
    assert not report.seen, str(report)


@pytest.mark.parametrize(("mutant", "reason"), SURVIVORS, ids=lambda x: x.name if isinstance(x, Mutant) else "")
def test_a_survivor_is_clean_for_the_reason_given(mutant: Mutant, reason: str, tmp_path: Path) -> None:
    assert reason
    assert not run_mutant(mutant, tmp_path).seen


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("release dropped", {"deadlock"}),
        ("released before the dot is done", {"async-lifetime"}),
        ("last dot not waited for", {"async-lifetime"}),
        ("bytes of A alone", {"tx-mismatch"}),
        ("slot past the ring", {"out-of-bounds"}),
        ("store wait at exit dropped", {"pending-at-exit"}),
        ("drain dropped", {"remote-to-exited-cta"}),
        ("every CTA does all", {"redundant-write"}),
        ("one item too few", {"output-unwritten", "wrong-numbers"}),
        ("turns not counted", {"parity-overrun"}),
        ("turn of 128 threads", {"barrier-misuse"}),
        ("full of one warp", {"over-arrival"}),
        ("fence dropped", {"missing-fence"}),
        ("refill not awaited", {"race-read-write", "race-write-write"}),
        ("never ends", {"no-progress"}),
        ("raises", {"kernel-error"}),
        ("cluster not met", {"remote-before-start"}),
        ("parts not waited for", {"race-read-write"}),
        ("last acquire dropped", {"remote-to-exited-cta"}),
        ("grid not awaited", {"before-grid-wait"}),
        ("grid awaited after a load", {"before-grid-wait"}),
    ],
)
def test_a_fault_is_called_by_its_name(name: str, ids: set[str]) -> None:
    mutant = next(m for m in KILLED if m.name == name)
    assert ids <= report_of(mutant).ids
