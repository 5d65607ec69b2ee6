"""Many specs at once: worker processes build them, and what they say is said here, in the order of the specs."""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from pathlib import Path

import pytest

from tlxgen import ahead
from tlxgen.build import build
from tlxgen.errors import EditedError, Location, SpecError, SpecErrors, SpecWarning
from tlxgen.verbs.build import Options, run

from .project import Project

PLAIN = ""
WARNED = "variants: {axes: {rings.ab.stages: [2, 40]}}\n"


@pytest.fixture
def many(project: Project, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Four specs, of which the third is wrong."""
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 2)
    monkeypatch.chdir(project.root)
    texts = {"one": PLAIN, "two": WARNED, "three": "tiles: 1\n", "four": PLAIN}
    return [project.spec(name, text) for name, text in texts.items()]


def test_workers_build_what_one_process_builds(
    many: list[Path], project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        pytest.warns(SpecWarning, match=r"two.yaml:5:40: no variant is left with rings.ab.stages=40"),
        pytest.raises(SpecErrors, match=r"three.yaml:5:1: unknown key 'tiles'"),
    ):
        run(many, Options())
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in told] == [str(many[i]) for i in (0, 1, 3)]
    for spec in (many[0], many[1], many[3]):
        assert build(spec, check=True).up_to_date


def test_what_is_up_to_date_or_too_few_needs_no_worker(many: list[Path]) -> None:
    for spec in (many[0], many[3]):
        build(spec)
    with ExitStack() as stack:
        assert not ahead.start(stack, many, None, check=False, force=False).pending


@pytest.mark.parametrize(
    "error",
    [
        SpecErrors([SpecError("b", location=Location("x", 2, 1)), SpecError("a", location=Location("x", 1, 1))]),
        EditedError("text", location=Location("x", 1, 2, "line"), remedy="mend it"),
    ],
)
def test_errors_come_through_a_pipe(error: SpecError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error) and copy.location == error.location
