"""Only `build` writes source: `compile` and `verify` look at what a spec gives now, or at a module as it lies there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tlxgen import lock
from tlxgen.cli import app
from tlxgen.compile import Job as CompileJob
from tlxgen.compile import Outcome, Resources
from tlxgen.errors import LockError, SpecError, TlxgenError
from tlxgen.loading import HOST
from tlxgen.verbs import compile as compile_verb
from tlxgen.verbs import verify as verify_verb
from tlxgen.verify import Result as Verified
from tlxgen.verify import StructureJob

from .project import TWO, Project

THREE = "rings: {ab: {stages: 3}}\n"
FIGURES = Resources(168, 0, 0, 0, 1024, 0, 0, 0, 12, (1, 1, 1), None, (), None, 99, "ptx", None, "cubin")
SEEN: dict[str, str] = {}  # the text of each module that was looked at, by its structure


def fake_compile(jobs: Sequence[CompileJob], **options: object) -> list[Outcome]:
    for job in jobs:
        SEEN[Path(job.module).stem] = Path(job.module).read_text()
        assert (Path(job.module).parent / HOST).is_file()
    return [Outcome(job.id, FIGURES) for job in jobs]


def fake_verify(
    jobs: Sequence[StructureJob], *options: object, on_done: Callable[[StructureJob, Verified], object]
) -> Iterator[Verified]:
    for job in jobs:
        SEEN[job.structure] = job.module.read_text()
        assert (job.module.parent / HOST).is_file()
        place = {"path": str(job.module.resolve()), "line": 7}
        finding = {"id": "x", "severity": "error", "message": "m", "places": [place], "schedule": "lazy", "seed": 0}
        found = Verified(job.structure, [{**finding, "fix": f"see {job.module.resolve()}:7"}], runs=3)
        on_done(job, found)
        yield found


@pytest.fixture
def faked(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in which nothing is really compiled or simulated."""
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(compile_verb, "compile_all", fake_compile)
    monkeypatch.setattr(verify_verb, "verify_all", fake_verify)
    SEEN.clear()
    return project


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def edit(path: Path) -> None:
    path.write_text(path.read_text().replace("import torch\n", "import torch  # mine\n", 1))


VERBS = {"compile": "compiled", "verify": "verified"}


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_as_built_is_recorded_and_nothing_else_is_written(faked: Project, verb: str) -> None:
    faked.spec("k")
    faked.build("k")
    before = faked.times()
    result = invoke(verb, "specs/k.yaml")
    assert "nothing is recorded" not in result.output
    after = faked.times()
    assert {name for name in after if after[name] != before.get(name)} == {"k/lock.json"}
    entries = lock.read(faked.folder("k"))["structures"]
    assert all(VERBS[verb] in entry for entry in entries.values()) and len(entries) == 2
    assert faked.build("k").up_to_date
    written = faked.times()
    invoke(verb, "specs/k.yaml")
    assert faked.times() == written  # the same again is no news


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["k.py", HOST])
def test_an_edited_file_stays_and_nothing_is_recorded(faked: Project, verb: str, name: str) -> None:
    faked.spec("k", "")
    faked.build("k")
    edit(faked.folder("k") / name)
    before = faked.times()
    result = invoke(verb, "specs/k.yaml")
    assert faked.times() == before
    lines = [line for line in result.output.splitlines() if "nothing is recorded" in line]
    what = f"generated/k differs from what specs/k.yaml gives now ({name})"
    assert lines == [f"{what}: nothing is recorded of that (tlxgen build specs/k.yaml)"]
    assert "# mine" not in SEEN["k"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_changed_spec_is_looked_at_as_it_is_now(faked: Project, verb: str) -> None:
    faked.spec("k", "")
    faked.build("k")
    faked.spec("k", THREE)
    before = faked.times()
    assert "differs from what specs/k.yaml gives now (k.py)" in invoke(verb, "specs/k.yaml").output
    assert '"STAGES": 3' in SEEN["k"]
    assert faked.times() == before


@pytest.mark.parametrize("verb", VERBS)
def test_of_several_modules_those_that_are_as_read_are_recorded(faked: Project, verb: str) -> None:
    faked.spec("k", TWO)
    faked.build("k")
    edit(faked.folder("k") / "k_in_flight0.py")
    assert "(k_in_flight0.py)" in invoke(verb, "specs/k.yaml").output
    entries = lock.read(faked.folder("k"))["structures"]
    assert {name for name, entry in entries.items() if VERBS[verb] in entry} == {"k_in_flight1"}


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_built_is_looked_at_and_not_written(faked: Project, verb: str) -> None:
    faked.spec("k", "")
    assert "generated/k is not built: nothing is recorded" in invoke(verb, "specs/k.yaml").output
    assert SEEN and not (faked.root / "generated").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_a_module_is_looked_at_as_it_lies_there(faked: Project, verb: str) -> None:
    faked.spec("k")
    faked.build("k")
    path = faked.folder("k") / "k_in_flight0.py"
    assert "nothing is recorded" not in invoke(verb, str(path)).output
    entries = lock.read(faked.folder("k"))["structures"]
    assert {name for name, entry in entries.items() if VERBS[verb] in entry} == {"k_in_flight0"}
    edit(path)
    before = faked.times()
    result = invoke(verb, "generated/k/k_in_flight0.py")
    assert "k_in_flight0.py is not what the last build made: nothing is recorded" in result.output
    assert "# mine" in SEEN["k_in_flight0"] and faked.times() == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_copy_of_a_module_is_of_its_spec_and_not_recorded(faked: Project, verb: str) -> None:
    faked.spec("k", "")
    faked.build("k")
    mine = faked.folder("k") / "mine.py"
    mine.write_bytes((faked.folder("k") / "k.py").read_bytes())
    before = faked.times()
    assert "mine.py is not what the last build made" in invoke(verb, "generated/k/mine.py").output
    assert faked.times() == before


def test_results_name_the_places_in_generated(faked: Project) -> None:
    faked.spec("k", "")
    faked.build("k")
    invoke("verify", "specs/k.yaml", "--json", "record.json")
    ((finding,),) = (t["findings"] for t in json.loads(Path("record.json").read_text())["targets"])
    assert finding["places"] == [{"path": "generated/k/k.py", "line": 7}]
    assert finding["fix"] == "see generated/k/k.py:7"


@pytest.mark.parametrize("option", ["--json", "--trace"])
def test_a_record_that_cannot_be_written_is_told_before_the_work(faked: Project, option: str) -> None:
    faked.spec("k", "")
    (faked.root / "file").write_text("")
    for place in ("specs", "file/record.json"):
        with pytest.raises(TlxgenError, match=f"^{place} cannot be written: "):
            invoke("verify", "specs/k.yaml", option, place)
    assert not SEEN


def test_a_pipe_in_the_place_of_a_module_is_not_waited_for(faked: Project) -> None:
    os.mkfifo("k.py")
    for verb in VERBS:
        with pytest.raises(SpecError, match="k.py:1:1: this is a pipe or a device, not a Python file"):
            invoke(verb, "k.py")


def test_verified_says_what_was_run_and_holds_while_its_subject_stands(faked: Project) -> None:
    faked.spec("k", "")
    faked.build("k")
    for part in (["--schedule", "lazy"], ["--config", "0"]):
        invoke("verify", "specs/k.yaml", *part)
        assert "verified" not in lock.read(faked.folder("k"))["structures"]["k"]
    invoke("verify", "specs/k.yaml")
    entry = lock.read(faked.folder("k"))["structures"]["k"]
    assert entry["verified"]["subject"] == entry["subject"] and len(entry["verified"]["findings"]) == 1
    faked.spec("k", "# a remark\n")
    faked.build("k")
    assert "verified" in lock.read(faked.folder("k"))["structures"]["k"]
    faked.spec("k", THREE)
    faked.build("k")
    assert "verified" not in lock.read(faked.folder("k"))["structures"]["k"]


def test_results_of_a_module_that_is_built_anew_meanwhile_are_not_recorded(
    faked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    faked.spec("k", "")
    faked.build("k")

    def slow(jobs: Sequence[CompileJob], **options: Any) -> list[Outcome]:
        faked.spec("k", THREE)
        faked.build("k")
        return fake_compile(jobs)

    monkeypatch.setattr(compile_verb, "compile_all", slow)
    invoke("compile", "specs/k.yaml")
    assert "compiled" not in lock.read(faked.folder("k"))["structures"]["k"]


def test_a_build_keeps_what_was_recorded_while_it_worked(faked: Project) -> None:
    from tlxgen.build import prepare

    spec = faked.spec("k", "")
    faked.build("k")
    (faked.folder("k") / HOST).unlink()
    prepared = prepare(spec)
    faked.build("k")
    invoke("compile", "specs/k.yaml")
    prepared.write()
    assert "compiled" in lock.read(faked.folder("k"))["structures"]["k"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_lock_that_is_none_is_told_before_the_work(faked: Project, verb: str) -> None:
    faked.spec("k", "")
    faked.build("k")
    (faked.folder("k") / "lock.json").write_text("[]")
    with pytest.raises(LockError, match=r"generated/k/lock\.json:1:1"):
        invoke(verb, "specs/k.yaml")
    assert not SEEN


def test_compile_prints_one_json_object(faked: Project) -> None:
    faked.spec("k")
    data = json.loads(invoke("compile", "--json", "specs/k.yaml").stdout)
    (note,) = data["notes"]
    assert "is not built: nothing is recorded" in note
    assert [row["structure"] for row in data["kernels"]] == ["k_in_flight0", "k_in_flight1"]
    row = data["kernels"][0]
    assert (row["kernel"], row["constants"]["STAGES"], row["resources"]["registers"]) == ("k_in_flight0_kernel", 4, 168)
    assert {finding["hard"] for finding in row["findings"]} == {True}  # FIGURES are not as planned


def test_rows_that_somebody_wrote_are_compiled_and_held_against_no_plan(faked: Project) -> None:
    faked.spec("k", "")
    faked.build("k")
    path = faked.folder("k") / "k.py"
    path.write_text(path.read_text().replace('"STAGES": 4', '"STAGES": 2'))
    jobs: list[CompileJob] = []
    compile_verb.compile_all = lambda some, **options: jobs.extend(some) or fake_compile(some)  # type: ignore
    assert "1 have no plan: the spec has no such config" in " ".join(invoke("compile", str(path)).output.split())
    assert [job.constants["STAGES"] for job in jobs] == [2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def (\n", r"generated/k/k\.py:\d+:5: not Python"),
        ("CONFIGS = 5\n", "CONFIGS is not a list"),
        ("x = 1\n", "no table CONFIGS"),
    ],
)
@pytest.mark.parametrize("verb", VERBS)
def test_a_module_that_cannot_be_run_is_one_error(faked: Project, verb: str, text: str, message: str) -> None:
    faked.spec("k", "")
    faked.build("k")
    path = faked.folder("k") / "k.py"
    path.write_text(path.read_text().partition("CONFIGS = ")[0] + text)
    with pytest.raises(SpecError, match=message):
        invoke(verb, "generated/k/k.py")


@pytest.mark.parametrize("verb", VERBS)
def test_a_module_whose_spec_is_gone_or_makes_it_no_more_is_an_error(faked: Project, verb: str) -> None:
    spec = faked.spec("k")
    faked.build("k")
    module = "generated/k/k_in_flight0.py"
    faked.spec("k", "")
    with pytest.raises(SpecError, match="specs/k.yaml:1:1: this spec makes no module k_in_flight0 now"):
        invoke(verb, module)
    spec.unlink()
    with pytest.raises(SpecError, match=r"k_in_flight0\.py:1:1: specs/k.yaml, the spec of this .* is in no"):
        invoke(verb, module)


def test_an_edited_module_is_run_by_the_simulator(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    project.spec("k", "")
    project.build("k")
    path = project.folder("k") / "k.py"
    path.write_text(path.read_text() + "\n\nundefined\n")
    result = invoke("verify", "generated/k/k.py", "--schedule", "lazy")
    assert result.exit_code == 2 and "importing k.py raised NameError" in result.output, result.output
