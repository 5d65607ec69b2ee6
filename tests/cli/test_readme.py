"""The README: its first kernel prints what the page says, and its table of verbs is that of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli import walkthrough
from tests.cli.walkthrough import Step, differs, run, section_of, spec_of, steps_of
from tlxgen.cli import app

PAGE = walkthrough.PAGE.read_text()
STEPS = [step for block in walkthrough.BLOCK.findall(section_of(PAGE)) for step in steps_of(block)]


def test_the_first_kernel_is_built_listed_shown_verified_changed_and_compared() -> None:
    verbs = [step.command.split()[1] for step in STEPS if step.command.startswith("tlxgen ")]
    assert [v for v in ("build", "list", "show", "verify", "diff") if v not in verbs] == []


@pytest.mark.skipif(walkthrough.ROOT.joinpath(".git").exists() is False, reason="needs git")
def test_each_command_prints_what_the_page_says(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton.language.extra.tlx")
    (tmp_path / "specs").mkdir()
    (tmp_path / walkthrough.SPEC).write_text(spec_of(PAGE))
    for step in STEPS:
        status, output = run(step.command, tmp_path)
        assert status == 0, (step.command, output)
        assert differs(step, output) == "", (step.command, output)
        assert not re.search(r"[1-9]\d* rejected|Rejected", output)  # an example keeps all that it promises


@pytest.mark.parametrize(
    ("shown", "output", "wrong"),
    [
        (["a  b", "c"], "a b\n\n ───\nc\n", ""),
        (["a", "c"], "a\nb\nc\n", "c"),
        (["a", "...", "c"], "a\nb\nc\n", ""),
        (["a"], "a\nb\n", "(and then) b"),
        (["a", "..."], "a\nb\n", ""),
        (["took 3.5 s"], "took 12 s\n", ""),
        (["took 3 steps"], "took 4 steps\n", "took 3 steps"),
    ],
)
def test_a_difference_is_found(shown: list[str], output: str, wrong: str) -> None:
    assert differs(Step("x", tuple(shown)), output) == wrong


def test_every_verb_is_in_the_table() -> None:
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    rows = set(re.findall(r"^\| `tlxgen (\w+)", PAGE, re.MULTILINE))
    assert rows == names
