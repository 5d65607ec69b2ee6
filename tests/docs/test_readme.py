"""The README: its spec, kernel and picture belong together, and its commands are some of the first tutorial's."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.docs.walkthrough import DOCS, README, Step, blocks, differs, passages, run, steps
from tlxgen.cli import app

PAGE = README.read_text()
TUTORIAL = (DOCS / "first-spec.md").read_text()
SPEC = Path("specs", "my_gemm.yaml")


def test_its_spec_and_commands_are_the_tutorials() -> None:
    assert blocks(PAGE, "yaml")[0] in TUTORIAL
    shown = steps(PAGE)
    assert [step.command.split()[1] for step in shown] == ["build", "verify"]
    for step in shown:
        first = next(s for s in steps(TUTORIAL) if s.command == step.command)
        assert differs(step, "\n".join(first.shown)) == ""


def test_its_kernel_is_what_its_spec_gives(my_gemm: Path) -> None:
    """Line by line, in order, less the indentation; "..." stands for lines that are left out."""
    assert "`my_gemm_pingpong.py`" in PAGE
    text = (my_gemm / "generated" / "my_gemm" / "my_gemm_pingpong.py").read_text()
    for passage in passages(blocks(PAGE, "python")[0]):
        assert textwrap.indent(passage, " " * 8) in text


def test_its_picture_is_of_its_plan(my_gemm: Path, tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    assert "(docs/pictures/my_gemm_pingpong.svg)" in PAGE
    drawn = tmp_path / "drawn.svg"
    status, output = run(f"tlxgen show {SPEC} --structure my_gemm_pingpong --svg {drawn}", my_gemm)
    assert status == 0, output
    assert (DOCS / "pictures" / "my_gemm_pingpong.svg").read_bytes() == drawn.read_bytes()


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


def test_every_verb_is_in_the_table_of_the_command_line() -> None:
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    table = (DOCS / "cli.md").read_text().partition("## Verbs")[2].partition("\n## ")[0]
    rows = {line.split("`")[1].split()[1] for line in table.splitlines() if line.startswith("| `tlxgen ")}
    assert rows == names
