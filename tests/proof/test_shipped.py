"""Of each spec that ships something was verified as it is, and of no module was anything found.

Running all of them takes longer with each family. Their records say what was done, and `tlxgen build --check` names the
modules that have none yet; .ci/verify runs those again whose modules have changed, and a sample of the others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen import families, lock
from tlxgen.proof import read, simulator_of, state_of
from tlxgen.spec import load
from tlxgen.verbs.verify import Options

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_has_clean_records(spec: Path) -> None:
    """That records are of the modules as they are built now is the subject of tests/build/test_shipped.py."""
    simulator = simulator_of(*families.of(load(spec)).judged_by)
    entries = lock.read(ROOT / "generated" / spec.stem)["structures"]
    records = {name: read(entry) for name, entry in entries.items()}
    states = {n: state_of(r, entries[n].get("subject", ""), simulator, Options().want) for n, r in records.items()}
    assert any(state.is_proven for state in states.values()), f"tlxgen verify --changed specs/{spec.name}"
    assert [name for name, record in records.items() if record and record.findings] == []


def test_continuous_integration_runs_what_changed_and_a_sample() -> None:
    """The commit's hash decides on the sample, so that nobody chooses it and everybody can repeat it."""
    script = (ROOT / ".ci" / "verify").read_text()
    assert "--audit" in script and '--seed "$commit"' in script and "--since" in script
    assert "bash .ci/verify" in (ROOT / ".ci" / "run").read_text()
