"""What `verify` records, when that holds, and which modules `--changed` therefore runs; what `build --check` says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tlxgen import lock
from tlxgen.families import kernels_of
from tlxgen.loading import HOST
from tlxgen.proof import Simulator, read
from tlxgen.verbs import proofs as proofs_verb
from tlxgen.verify import StructureJob
from tlxgen.working import Working

from .conftest import CASES, Lab

ROOT = Path(__file__).parents[2]
A, B = "k_in_flight0", "k_in_flight1"
CHANGED = ("verify", "specs/k.yaml", "--changed")


@pytest.fixture
def proven(lab: Lab) -> Lab:
    """Two modules, both verified."""
    lab.project.spec("k")
    lab.project.build("k")
    assert lab.invoke("verify", "specs/k.yaml").exit_code == 0
    return lab


def check(lab: Lab, *options: str) -> tuple[int, str]:
    result = lab.invoke("build", "specs/k.yaml", "--check", *options)
    return result.exit_code, result.output


def test_a_record_says_what_was_run_on_what_by_whom(proven: Lab) -> None:
    record = proven.entry(A)["verified"]
    keys = "subject simulator cases_by libraries schedules cases sms runs steps coverage findings seal"
    assert list(record) == keys.split()
    assert record["subject"] == proven.entry(A)["subject"] != proven.entry(B)["subject"]
    assert set(record["libraries"]) == {"torch", "fbtriton"} and len(record["simulator"]) == 64
    assert ["random", 1] in record["schedules"] and record["cases"] == json.loads(json.dumps(CASES))
    assert (record["runs"], record["steps"], record["findings"]) == (2 * len(record["schedules"]), 7, [])


def test_changed_runs_nothing_that_is_proven(proven: Lab) -> None:
    result = proven.invoke(*CHANGED, "--json", "found.json")
    assert (result.exit_code, proven.names) == (0, [])
    assert result.output == "2 modules of 2 proven already: not run again\n"
    targets = json.loads(Path("found.json").read_text())["targets"]
    assert [(t["target"], t["status"]) for t in targets] == [(A, "proven"), (B, "proven")]
    assert targets[0]["proof"]["subject"] == proven.entry(A)["subject"]
    assert check(proven, "--proven") == (0, "specs/k.yaml: up to date (2 modules, 2 variants, 0 rejected)\n")


def test_changed_runs_what_a_new_axis_adds_and_what_another_constant_changes(proven: Lab) -> None:
    proven.project.spec("k", "variants:\n  axes: {tasks.mma.in_flight: [0, 1], rings.ab.full: [shared, separate]}\n")
    proven.project.build("k")
    assert proven.invoke(*CHANGED).exit_code == 0
    assert len(proven.names) == 4  # modules that have another name are others, whatever is in them
    proven.project.spec("k", "rings: {ab: {stages: 3}}\nvariants:\n  axes: {tasks.mma.in_flight: [0, 1]}\n")
    proven.project.build("k")
    status, output = check(proven)
    assert status == 0 and f"  unproven: {A}, {B} (tlxgen verify --changed specs/k.yaml)\n" in output
    assert check(proven, "--proven")[0] == 1
    assert proven.invoke(*CHANGED).exit_code == 0 and proven.names == [A, B]


def test_what_no_run_depends_on_changes_no_record(proven: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment of a template, the version in a header, a description."""
    monkeypatch.setattr("tlxgen.build._Job.render", _remarked())
    proven.project.spec("k", "description: another\nvariants:\n  axes: {tasks.mma.in_flight: [0, 1]}\n")
    built = proven.project.build("k")
    assert f"{A}.py" in built.changed and "# a remark" in (proven.project.folder("k") / f"{A}.py").read_text()
    proven.invoke(*CHANGED)
    assert proven.names == []


def _remarked() -> object:
    from tlxgen.build import _Job

    render = _Job.render
    return lambda job: render(job).replace("import torch\n", "import torch  # a remark\n\n", 1)


def test_beside_other_host_code_than_the_shipped_nothing_is_proven(proven: Lab) -> None:
    """A comment is no other code."""
    folder, spec = proven.project.folder("k"), Path("specs/k.yaml")
    kernels = kernels_of(spec).some()
    work = Working(spec, folder, folder, {})
    job = StructureJob(spec, A, folder / f"{A}.py", None)
    proofs = proofs_verb.Proofs()
    proofs.add([job], work, kernels)
    subject, text = proven.entry(A)["subject"], (folder / HOST).read_text()
    assert proofs.subject(job) == subject
    (folder / HOST).write_text(text + "\n# a remark\n")
    assert proofs.subject(job) == subject
    (folder / HOST).write_text(text + "\n\nMORE = 1\n")
    assert proofs.subject(job) == ""


def test_more_seeds_need_another_record_and_fewer_do_not_weaken_it(proven: Lab) -> None:
    proven.invoke(*CHANGED, "--seeds", "5")
    assert proven.names == [A, B]
    strong = proven.entry(A)["verified"]
    proven.invoke("verify", "specs/k.yaml")
    assert proven.names == [A, B] and proven.entry(A)["verified"] == strong
    proven.invoke(*CHANGED, "--seeds", "5")
    assert proven.names == []


def test_a_part_of_what_there_is_to_run_proves_nothing(lab: Lab) -> None:
    lab.project.spec("k", "")
    lab.project.build("k")
    for part in (["--schedule", "lazy"], ["--config", "0"], ["--exhaustive"], ["--replay", "k=0:"]):
        assert lab.invoke("verify", "specs/k.yaml", *part).exit_code == 0 and lab.names == ["k"]
        assert "verified" not in lab.entry()


def test_another_simulator_proves_it_otherwise(proven: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Simulator("0" * 64, {"torch": "2.13.0"})
    for place in ("tlxgen.verbs.proofs", "tlxgen.proof"):  # build imports it where it is asked for
        monkeypatch.setattr(f"{place}.simulator_of", lambda *judges: other)
    status, output = check(proven, "--proven")
    assert status == 0 and f"  proven by another simulator: {A}, {B}\n" in output
    result = proven.invoke(*CHANGED, "--any-simulator")
    assert proven.names == []
    assert result.output == "2 modules of 2 proven already, 2 of them by another simulator: not run again\n"
    proven.invoke(*CHANGED)
    assert proven.names == [A, B] and proven.entry(A)["verified"]["simulator"] == "0" * 64
    proven.invoke(*CHANGED)
    assert proven.names == []


def test_another_choice_of_the_same_cases_is_told_to_the_record_and_other_cases_are_run(
    proven: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = proven.entry(A)["verified"]
    other = Simulator(record["simulator"], record["libraries"], "0" * 64)
    for place in ("tlxgen.verbs.proofs", "tlxgen.proof"):
        monkeypatch.setattr(f"{place}.simulator_of", lambda *judges: other)
    now = {A: CASES, B: (*CASES, (0, (7, 7, 7)))}
    monkeypatch.setattr(proofs_verb, "cases_now", lambda known, module: now[module.stem])
    assert f"  proven by another simulator: {A}, {B}\n" in check(proven)[1]
    proven.invoke(*CHANGED, "--any-simulator")
    assert proven.names == [] and proven.entry(A)["verified"] == record
    result = proven.invoke(*CHANGED)
    assert proven.names == [B] and "1 module of 2 proven already: not run again\n" in result.output
    assert proven.entry(A)["verified"]["cases_by"] == proven.entry(B)["verified"]["cases_by"] == "0" * 64
    assert "another simulator" not in check(proven)[1]
    proven.invoke(*CHANGED)
    assert proven.names == []


def test_a_choice_of_cases_that_fails_is_left_to_a_run(proven: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    record = proven.entry(A)["verified"]
    other = Simulator(record["simulator"], record["libraries"], "0" * 64)
    for place in ("tlxgen.verbs.proofs", "tlxgen.proof"):
        monkeypatch.setattr(f"{place}.simulator_of", lambda *judges: other)
    monkeypatch.setattr(proofs_verb, "cases_now", lambda known, module: 1 // 0)
    assert proven.invoke(*CHANGED).exit_code == 0 and proven.names == [A, B]


def test_a_record_names_the_cases_that_its_module_has() -> None:
    spec, name = ROOT / "specs" / "hopper_rms_norm_residual.yaml", "hopper_rms_norm_residual_grid"
    kernels = kernels_of(spec).some()
    folder = ROOT / "generated" / spec.stem
    known = proofs_verb._Known(Working(spec, folder, folder, {}), kernels.structure(name), kernels.family)
    recorded = read(lock.read(folder)["structures"][name])
    assert recorded and recorded.cases == proofs_verb.cases_now(known, folder / f"{name}.py")


def test_without_a_digest_of_the_simulator_nothing_is_proven_or_recorded(
    proven: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = proven.entry(A)["verified"]
    for place in ("tlxgen.verbs.proofs", "tlxgen.proof"):  # build imports it where it is asked for
        monkeypatch.setattr(f"{place}.simulator_of", lambda *judges: None)
    assert check(proven, "--proven")[0] == 1
    proven.invoke(*CHANGED, "--any-simulator")
    assert proven.names == [A, B] and proven.entry(A)["verified"] == before


def test_findings_are_recorded_run_again_and_no_proof(lab: Lab) -> None:
    lab.project.spec("k", "")
    lab.project.build("k")
    lab.finds = ("deadlock",)
    assert lab.invoke(*CHANGED).exit_code == 1
    (finding,) = lab.entry()["verified"]["findings"]
    assert finding == {"id": "deadlock", "severity": "error", "message": "m", "lines": [5]}
    assert lab.invoke(*CHANGED).exit_code == 1 and lab.names == ["k"]
    status, output = check(lab, "--proven")
    assert status == 1 and "  findings: k (tlxgen verify --changed specs/k.yaml)\n" in output
    lab.finds = ()
    assert lab.invoke(*CHANGED).exit_code == 0 and lab.names == ["k"]
    assert check(lab, "--proven")[0] == 0


def test_warnings_are_no_proof_for_the_strict(lab: Lab) -> None:
    lab.project.spec("k", "")
    lab.project.build("k")
    lab.finds, lab.severity = ("missing-fence",), "warning"
    assert lab.invoke(*CHANGED).exit_code == 0
    lab.invoke(*CHANGED)
    assert lab.names == []
    assert lab.invoke(*CHANGED, "--strict").exit_code == 1 and lab.names == ["k"]


def test_what_could_not_be_run_keeps_what_is_known(proven: Lab) -> None:
    before = proven.entry(A)["verified"]
    proven.stuck = (A,)
    assert proven.invoke("verify", "specs/k.yaml").exit_code == 2
    assert proven.entry(A)["verified"] == before


def test_each_module_is_recorded_as_soon_as_it_is_done(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is killed goes on where it was."""
    lab.project.spec("k")
    lab.project.build("k")
    note = proofs_verb.Proofs.note

    def killed(*arguments: object) -> None:
        note(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(proofs_verb.Proofs, "note", killed)
        assert lab.invoke(*CHANGED).exit_code != 0 and lab.names == [A]
    lab.invoke(*CHANGED)
    assert lab.names == [B]


def test_a_lock_that_cannot_be_written_is_told_when_all_has_been_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.project.spec("k")
    lab.project.build("k")

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lock, "write_atomic", full)
    result = lab.invoke("verify", "specs/k.yaml")
    assert lab.names == [A, B] and "cannot write generated/k/lock.json" in str(result.exception)


ALTERATIONS = {
    "a run more": lambda record: record.update(runs=99),
    "no findings": lambda record: record.update(findings=[]),
    "no seal": lambda record: record.pop("seal"),
    "of another module": lambda record: record.update(subject="0" * 64),
}


@pytest.mark.parametrize("change", ALTERATIONS)
def test_a_record_that_somebody_altered_is_none(lab: Lab, change: str) -> None:
    lab.project.spec("k", "")
    lab.project.build("k")
    lab.finds, lab.severity = ("missing-fence",), "warning"
    lab.invoke(*CHANGED)
    lab.alter("k", ALTERATIONS[change])
    assert "  unproven: k" in check(lab)[1]
    lab.invoke(*CHANGED)
    assert lab.names == ["k"]


@pytest.mark.parametrize(
    "change", [{"cases": "all"}, {"schedules": [["sleepy", 0]]}, {"findings": None}, {"libraries": []}], ids=str
)
def test_a_record_that_says_what_none_can_say_is_none(proven: Lab, change: dict[str, object]) -> None:
    proven.alter(A, lambda record: record.update(change), seal=True)
    proven.invoke(*CHANGED)
    assert proven.names == [A]


def test_the_record_of_another_module_proves_nothing_here(proven: Lab) -> None:
    other = dict(proven.entry(B)["verified"])
    proven.alter(A, lambda record: (record.clear(), record.update(other)))
    proven.invoke(*CHANGED)
    assert proven.names == [A]
    proven.alter(A, lambda record: (record.clear(), record.update(other)), seal=True)
    proven.invoke(*CHANGED)
    assert proven.names == [A]


def test_a_merge_conflict_is_one_error_and_loses_no_record(proven: Lab) -> None:
    path = proven.project.folder("k") / lock.NAME
    lines = path.read_text().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if '"rejected"' in line)
    path.write_text("".join([*lines[:place], "<<<<<<< ours\n", "=======\n", ">>>>>>> theirs\n", *lines[place:]]))
    result = proven.invoke(*CHANGED)
    assert "the lock has a merge conflict" in str(result.exception) and proven.names == []
    assert "results that hold are kept" in proven.project.build("k").notes[0]
    proven.invoke(*CHANGED)
    assert proven.names == []


def test_a_merge_that_breaks_a_record_says_what_to_verify_again(proven: Lab) -> None:
    proven.alter(A, lambda record: record.update(steps=8))
    path = proven.project.folder("k") / lock.NAME
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "<<<<<<< ours\n", "=======\n", ">>>>>>> theirs\n", *lines[1:]]))
    assert proven.project.build("k").notes == (f"lock.json had a merge conflict; verify again: {A}",)


def test_a_lock_of_an_older_tlxgen_has_to_be_built_first(lab: Lab) -> None:
    lab.project.spec("k", "")
    lab.project.build("k")
    held = lock.read(lab.project.folder("k"))
    held["structures"]["k"] = {n: v for n, v in held["structures"]["k"].items() if n != "subject"}
    held["structures"]["k"]["verified"] = {"source": "0", "host": "0", "runs": 3, "errors": 0, "warnings": 0}
    lock.write(lab.project.folder("k"), held)
    assert "generated/k was built by an older tlxgen: nothing is recorded" in lab.invoke(*CHANGED).output
    assert lab.names == ["k"]
    lab.project.build("k")
    assert "verified" in lab.entry() or lab.invoke(*CHANGED).exit_code == 0


def test_build_verify_records_what_it_wrote(lab: Lab) -> None:
    lab.project.spec("k")
    assert lab.invoke("build", "specs/k.yaml", "--verify").exit_code == 0 and lab.names == [A, B]
    lab.invoke(*CHANGED)
    assert lab.names == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--changed", "--schedule", "lazy"], "--schedule cannot be combined with --changed"),
        (["--changed", "--exhaustive"], "--exhaustive cannot be combined with --changed"),
        (["--any-simulator"], "--any-simulator needs --changed"),
        (["--seed", "1"], "--seed needs --audit"),
        (["--since", "HEAD"], "--since needs --audit"),
        (["--audit", "1", "--seeds", "3"], "--seeds has no effect beside --audit"),
        (["--audit", "1", "--changed"], "--changed has no effect beside --audit"),
    ],
)
def test_options_that_do_nothing_are_refused(lab: Lab, options: list[str], said: str) -> None:
    lab.project.spec("k", "")
    result = lab.invoke("verify", "specs/k.yaml", *options)
    assert said in str(result.exception) and lab.names == []


def test_proven_goes_with_check(lab: Lab) -> None:
    lab.project.spec("k", "")
    assert lab.invoke("build", "specs/k.yaml", "--proven").exit_code == 2
