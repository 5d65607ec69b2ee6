"""The record of foreign kernels: that it is whole, explained, and holds no foreign code; how it is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.foreign.__main__ import HERE, PAGE, RECORD, main, row_of, unexpected, unquoted
from benchmarks.foreign.about import SUFFIX, About, Explained, Kernel, blob
from benchmarks.foreign.page import as_markdown
from tlxgen.cases import load

ABOUTS = {path.name.removesuffix(SUFFIX): About.read(path) for path in sorted(HERE.glob(f"*{SUFFIX}"))}
ROWS: list[dict[str, Any]] = json.loads(RECORD.read_text())["kernels"]


def test_every_kernel_came_to_a_verdict_and_every_finding_is_explained() -> None:
    assert {row["verdict"] for row in ROWS} <= {"clean", "findings"}
    for row in ROWS:
        assert row["runs"] >= 4 * len(row["cases"]), row["kernel"]  # every schedule
        for finding in row["findings"]:
            assert finding["judgment"] in ("real", "harmless") and finding["why"], row["kernel"]


def test_the_record_is_of_the_kernels_that_are_declared() -> None:
    found = {(row["declared"], row["kernel"]): row for row in ROWS}
    declared = {(name, title): (about, k) for name, about in ABOUTS.items() for title, k in about.kernels.items()}
    assert found.keys() == declared.keys()
    for key, (about, kernel) in declared.items():
        row = found[key]
        assert (row["commit"], row["files"], row["cases"]) == (about.commit, kernel.files, list(kernel.cases)), key
        assert not unexpected(row, kernel)


def test_there_are_enough_kernels_that_people_wrote() -> None:
    assert len(ROWS) >= 25
    assert sum(row["made_by"] != "hand" for row in ROWS) <= 5


@pytest.mark.parametrize("name", ABOUTS)
def test_cases_are_declared_and_of_one_kernel(name: str) -> None:
    declared = [case.name for case in load(HERE / f"{name}.verify.yaml")]
    assert sorted(c for kernel in ABOUTS[name].kernels.values() for c in kernel.cases) == sorted(declared)


def test_the_page_is_that_of_the_record() -> None:
    assert PAGE.read_text() == as_markdown(ROWS)


def test_a_witness_has_no_statements_and_no_paths() -> None:
    lines = [line for row in ROWS for f in row["findings"] for line in f.get("witness", ())]
    assert lines
    assert not [line for line in lines if "tlx." in line or "tl.load" in line]
    assert "/tmp/" not in RECORD.read_text() and "/home/" not in RECORD.read_text()
    step = "         87  |:C     94  tlx.barrier_arrive(a_empty[buf], 1)  [a_empty[1] of CTA 1]"
    assert unquoted(step) == ["         87  |:C     94  [a_empty[1] of CTA 1]"]
    wait = "        121  A::         waits until step 126: a_empty[1] of CTA 1 parity 1: 1 phases complete"
    assert unquoted(wait) == [wait]


def test_files_are_held_against_the_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = b"kernel = 1\n"
    kernel = Kernel(files={"a/k.py": blob(text), "a/missing.py": "0"}, cases=("one",))
    about = About(repository="owner/name", commit="0123456789abcdef", kernels={"k": kernel})
    for folder in ("owner+name", "owner+name@0123456789ab"):  # the second, of the commit itself, comes first
        (tmp_path / folder / "a").mkdir(parents=True)
        (tmp_path / folder / "a" / "k.py").write_bytes(text if "@" in folder else b"kernel = 2\n")
    assert [line.rpartition(": ")[2] for line in about.differing(tmp_path)] == [
        "not there (owner/name at 0123456789ab)"
    ]
    (tmp_path / "owner+name@0123456789ab" / "a" / "k.py").write_bytes(b"kernel = 3\n")
    assert len(list(about.differing(tmp_path))) == 2
    assert main([str(tmp_path), "sched2tlx"]) == 2
    assert "not there (facebookexperimental/triton" in capsys.readouterr().err


def test_a_finding_is_judged_by_its_lines_first(tmp_path: Path) -> None:
    kernel = Kernel(
        files={},
        cases=("one",),
        findings=(
            Explained(id="deadlock", judgment="harmless", why="any"),
            Explained(id="deadlock", lines=(7,), judgment="real", why="that line"),
            Explained(id="race-read-write", judgment="real", why="unseen"),
        ),
    )
    about = About(repository="o/n", commit="c", kernels={"k": kernel})

    def finding(line: int, id_: str = "deadlock") -> dict[str, Any]:
        places = [{"path": f"{tmp_path}/o+n/k.py", "line": line}]
        return {"id": id_, "severity": "error", "message": "m", "places": places, "schedule": "lazy", "seed": 0}

    result = {"runs": 5, "steps": 9, "findings": [finding(7), finding(8), finding(9, "no-progress")]}
    row = row_of("k", "n", about, kernel, {"one": result}, tmp_path)
    assert [f["why"] for f in row["findings"]] == ["that line", "any", ""]
    assert row["findings"][0]["places"] == [{"path": "k.py", "line": 7}]
    assert len(unexpected(row, kernel)) == 2  # what nobody explained, and what nobody found
