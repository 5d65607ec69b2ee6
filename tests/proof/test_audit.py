"""`verify --audit`: what is drawn, how it is run again, and what counts as a difference."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.build.project import EIGHT
from tlxgen.proof import Simulator

from .conftest import CASES, Lab

A, B = "k_in_flight0", "k_in_flight1"


@pytest.fixture
def proven(lab: Lab) -> Lab:
    """Two modules, both verified."""
    lab.project.spec("k")
    lab.project.build("k")
    assert lab.invoke("verify", "specs/k.yaml", "--seeds", "3").exit_code == 0
    return lab


def git(*arguments: str) -> None:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *settings, *arguments], check=True, capture_output=True)


def test_records_are_run_again_as_they_say(proven: Lab) -> None:
    schedules = tuple(map(tuple, proven.entry(A)["verified"]["schedules"]))
    before = proven.project.files()
    result = proven.invoke("verify", "--audit", "5", "--seed", "x", "--json", "audit.json")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == "2 records of 2, drawn by --seed x"
    assert result.output.splitlines()[-1] == "2 as recorded, 0 not"
    assert proven.names == [A, B] and ("random", 2) in schedules
    assert proven.ways == [schedules] * 2 and proven.ran[0].cases == CASES
    assert proven.ran[0].module == proven.project.folder("k") / f"{A}.py"
    data = json.loads(Path("audit.json").read_text())
    assert data["audit"] == {"seed": "x", "since": None, "records": 2}
    assert [(t["target"], t["status"], t["differences"]) for t in data["targets"]] == [
        (A, "as recorded", []),
        (B, "as recorded", []),
    ]
    assert {k: v for k, v in proven.project.files().items() if k != "audit.json"} == before


def test_the_seed_decides_what_is_drawn(lab: Lab) -> None:
    lab.project.spec("k", EIGHT)
    lab.project.build("k")
    lab.invoke("verify", "specs/k.yaml")
    drawn = []
    for seed in ("a", "a", "b", "c", "d"):
        assert lab.invoke("verify", "specs", "--audit", "3", "--seed", seed).exit_code == 0
        drawn.append(lab.names)
    assert all(len(names) == 3 for names in drawn) and drawn[0] == drawn[1]
    assert len({tuple(names) for names in drawn}) > 1
    first, second = (lab.invoke("verify", "--audit", "1").output.splitlines()[0] for _ in range(2))
    assert first != second  # without a seed, chance decides, and says how to draw the same again


@pytest.mark.parametrize(
    ("severity", "finds", "said"),
    [
        ("error", ("deadlock",), "not recorded: error deadlock"),
        ("warning", ("x",), "not recorded: warning x"),
    ],
)
def test_a_finding_that_is_not_recorded_is_a_difference(
    proven: Lab, severity: str, finds: tuple[str, ...], said: str
) -> None:
    proven.severity, proven.finds = severity, finds
    result = proven.invoke("verify", "--audit", "1")
    assert result.exit_code == 1 and said in result.output and "0 as recorded, 1 not" in result.output


def test_a_finding_that_does_not_come_again_is_a_difference(lab: Lab) -> None:
    lab.project.spec("k", "")
    lab.project.build("k")
    lab.finds = ("deadlock",)
    lab.invoke("verify", "specs/k.yaml")
    assert lab.invoke("verify", "--audit", "1").exit_code == 0
    lab.finds = ()
    result = lab.invoke("verify", "--audit", "1")
    assert result.exit_code == 1 and "recorded, but not found again: error deadlock" in result.output


def test_a_record_that_was_made_up_does_not_count_the_same_steps(proven: Lab) -> None:
    proven.alter(A, lambda record: record.update(steps=8), seal=True)
    result = proven.invoke("verify", "--audit", "2")
    assert result.exit_code == 1 and "steps: 8 recorded, 7 now" in result.output


def test_a_broken_record_is_a_difference(proven: Lab) -> None:
    proven.alter(A, lambda record: record.update(steps=8))
    result = proven.invoke("verify", "--audit", "2")
    assert result.exit_code == 1 and proven.names == [B]
    assert f"k/{A}: differs\n  its record is not as verify wrote it" in result.output


def test_a_module_that_is_not_what_was_verified_is_a_difference(proven: Lab) -> None:
    path = proven.project.folder("k") / f"{A}.py"
    path.write_text(path.read_text().replace("import torch\n", "import torch  # a remark\n", 1))
    assert proven.invoke("verify", "--audit", "2").exit_code == 0
    path.write_text(path.read_text() + "\nMORE = 1\n")
    result = proven.invoke("verify", "--audit", "2")
    assert result.exit_code == 1 and proven.names == [B]
    assert "the module, or what its spec says of it, is not what was verified" in result.output
    path.write_text("no Python")
    assert proven.invoke("verify", "--audit", "2").exit_code == 1


def test_what_a_spec_no_longer_makes_is_a_difference(proven: Lab) -> None:
    proven.project.spec("k", "")
    result = proven.invoke("verify", "--audit", "2")
    assert result.exit_code == 1 and "its spec does not make it" in result.output


def test_by_another_simulator_only_what_it_finds_counts(proven: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tlxgen.verbs.proofs.simulator_of", lambda *judges: Simulator("0" * 64, {}))
    proven.steps = 8
    assert proven.invoke("verify", "--audit", "2").exit_code == 0
    proven.finds = ("deadlock",)
    assert proven.invoke("verify", "--audit", "2").exit_code == 1


def test_what_cannot_be_run_is_exit_2(proven: Lab) -> None:
    proven.stuck = (B,)
    result = proven.invoke("verify", "--audit", "2")
    assert result.exit_code == 2 and f"k/{B}: could not be run to the end\n  it hung" in result.output
    assert "1 as recorded, 0 not; 1 could not be run to the end" in result.output


def test_all_that_has_changed_since_a_commit_is_audited(proven: Lab) -> None:
    git("init", "-q", ".")
    git("add", ".")
    git("commit", "-qm", "both")
    assert proven.invoke("verify", "--audit", "0", "--since", "HEAD").exit_code == 0 and proven.names == []
    proven.project.spec("k", "variants:\n  axes: {tasks.mma.split: [cooperative, pingpong]}\n")
    proven.project.build("k")
    proven.invoke("verify", "specs/k.yaml", "--changed")
    assert proven.invoke("verify", "--audit", "0", "--since", "HEAD").exit_code == 0
    assert proven.names == ["k_cooperative", "k_pingpong"]
    git("add", ".")
    git("commit", "-qm", "others")
    proven.alter("k_pingpong", lambda record: record.update(simulator="0" * 64), seal=True)
    proven.invoke("verify", "--audit", "0", "--since", "HEAD")
    assert proven.names == []  # the module is what it was
    result = proven.invoke("verify", "--audit", "0", "--since", "nowhere")
    assert "'nowhere' is not a commit" in str(result.exception)


def test_where_nothing_is_recorded_there_is_nothing_to_audit(lab: Lab) -> None:
    lab.project.spec("k", "")
    for _ in range(2):
        result = lab.invoke("verify", "--audit", "1")
        assert "no lock has a record of verify" in str(result.exception)
        lab.project.build("k")


def test_only_specs_have_locks(lab: Lab) -> None:
    lab.project.spec("k", "")
    lab.project.build("k")
    assert "has no lock" in str(lab.invoke("verify", "generated/k/k.py", "--audit", "1").exception)
    assert "no such file" in str(lab.invoke("verify", "specs/other.yaml", "--audit", "1").exception)


def test_without_a_target_only_an_audit_has_something_to_do(lab: Lab) -> None:
    result = lab.invoke("verify")
    assert result.exit_code == 2 and "name a target to verify" in result.output
