"""What the records of modules that ship say: nothing was found, and all was seen that a run can exercise.

Running all modules would take longer with each family. .ci/verify runs the records again whose modules have changed,
and a sample of the others; of the modules that have no record yet tests/sim/test_generated.py runs what has changed of
late, and a sample.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.support import kernels
from tlxgen import lock
from tlxgen.coverage import Summary
from tlxgen.proof import read
from tlxgen.verify.structures import waivers_of

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_the_records_of_a_shipped_spec_are_clean(spec: Path) -> None:
    entries = lock.read(ROOT / "generated" / spec.stem)["structures"]
    records = {name: read(entry) for name, entry in entries.items()}
    assert {name: record.findings for name, record in records.items() if record and record.findings} == {}


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_the_records_of_a_shipped_spec_say_that_all_was_seen(spec: Path) -> None:
    """At the default settings; what no run can exercise is excepted, with a reason."""
    seen = summaries(spec.stem)
    if not seen:
        pytest.skip(f"there is no record yet: tlxgen verify --changed specs/{spec.name}")
    assert {name: summary.line for name, summary in seen.items() if not summary.full} == {}


def test_every_exception_is_needed() -> None:
    """A family's reason why something cannot be seen, which not one record of all modules that it is for has needed."""
    needed: set[tuple[str, str]] = set()
    open_: set[tuple[str, str]] = set()  # of modules without a record, or with one that has no reasons in it
    offered: set[tuple[str, str]] = set()
    for spec in SPECS:
        made, seen = kernels(spec.stem), summaries(spec.stem)
        problem = made.family.problem()
        for structure in made.structures:
            reasons = {w.reason for v in structure.variants for w in waivers_of(problem, v.spec)}
            record = seen.get(structure.name)
            used = set(record.reasons) if record else set()
            offered |= {(problem.__name__, why) for why in reasons}
            needed |= {(problem.__name__, why) for why in used}
            if record is None or record.excepted and not used:
                open_ |= {(problem.__name__, why) for why in reasons}
    assert offered - needed - open_ == set()


def summaries(name: str) -> dict[str, Summary]:
    """What the records of a spec's modules say of coverage."""
    entries = lock.read(ROOT / "generated" / name)["structures"]
    records = {structure: read(entry) for structure, entry in entries.items()}
    return {s: Summary.from_json(r.coverage) for s, r in records.items() if r and r.coverage}


def test_continuous_integration_runs_what_changed_and_a_sample() -> None:
    """The commit's hash decides on the sample, so that nobody chooses it and everybody can repeat it."""
    script = (ROOT / ".ci" / "verify").read_text()
    assert "--audit" in script and '--seed "$commit"' in script and "--since" in script
    assert "bash .ci/verify" in (ROOT / ".ci" / "run").read_text()
