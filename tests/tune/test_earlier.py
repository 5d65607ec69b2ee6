"""A run that tunes some classes leaves the others of the file as they are."""

from __future__ import annotations

import pytest

from tests.tune.conftest import MODULE, Project
from tlxgen.errors import TlxgenError
from tlxgen.verbs import tune as verb

A, B, C = (4096, 4096, 4096), (512, 512, 512), (64, 64, 64)


def test_classes_that_are_not_tuned_stay(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.tune(A, B, C, candidates=6)
    whole = project.table.read_bytes()
    project.tune(B, candidates=6)
    assert project.table.read_bytes() == whole
    assert "kept 2 shapes of earlier runs" in capsys.readouterr().out
    project.table.unlink()
    for shape in (C, A, B):  # one after the other gives the same as together
        project.tune(shape, candidates=6)
    assert project.table.read_bytes() == whole


def test_faults_stay_with_their_classes(project: Project) -> None:
    broken = project.best(*A).key
    project.faults({broken: "wrong"})
    project.tune(A, B, exhaustive=True)
    whole = project.table.read_text()
    assert whole.count("- fault: wrong") == 2
    project.tune(B, exhaustive=True)
    assert project.table.read_text() == whole


def test_a_kept_class_says_the_versions_that_it_was_measured_with(project: Project) -> None:
    project.tune(A, B, candidates=6)
    text = project.table.read_text()
    project.table.write_text(text.replace('tlxgen: "0"', 'tlxgen: "before"'))
    project.tune(B, candidates=6)
    data = project.tune(B, candidates=6)
    first, second = data["classes"]  # type: ignore[misc]
    assert first["class"] == list(B) and "versions" not in first  # type: ignore[index,operator]
    assert second["versions"]["tlxgen"] == "before"  # type: ignore[index]
    assert project.table.read_text().count("before") == 1


def test_a_class_whose_winner_is_gone_goes_too(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.tune(A, B, exhaustive=True)
    won = project.best(*A).values["schedule.group_m"]
    others = [g for g in (1, 4, 8, 16) if g != won]
    project.spec.write_text(
        project.spec.read_text().replace("group_m: [1, 4, 8, 16]", f"group_m: {others}")  # B's is tuned again
    )
    data = project.tune(B, exhaustive=True)
    assert [row["class"] for row in data["classes"]] == [list(B)]  # type: ignore[attr-defined]
    assert "are gone, whose winners the spec no longer has" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change, why",
    [
        (("kernel: g", "kernel: h"), "it is the table of h on Fake H200"),
        (("device: Fake H200", "device: B200"), "it is the table of g on B200"),
        (("classes:", "<<<<<<< HEAD\nclasses:"), "it is not a table of tlxgen tune"),
        (("- class:", "-\n  class:"), "it is not as tlxgen tune writes it"),
    ],
)
def test_what_is_no_table_of_this_kernel_is_not_overwritten(
    project: Project, change: tuple[str, str], why: str
) -> None:
    project.tune(A, candidates=6)
    project.table.write_text(project.table.read_text().replace(*change))
    before, measured = project.table.read_bytes(), len(project.log)
    with pytest.raises(TlxgenError, match=f"would be overwritten: {why}"):
        verb.run(project.spec, verb.Options(shapes=(B,), module=MODULE, candidates=6))
    assert project.table.read_bytes() == before and len(project.log) == measured
