"""Pages that teach by commands print what they say; every command and snippet of a document is held by some test."""

from __future__ import annotations

import functools
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.docs import forked, walkthrough
from tests.docs.walkthrough import DOCS, EXCERPT, PAGES, ROOT, blocks, differs, excerpt, run, steps, write_files
from tlxgen.cli import app
from tlxgen.families import loaded, of
from tlxgen.spec import load

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]
OTHERS = {  # the blocks of these are held by tests of their own
    "README.md": "tests/docs/test_readme.py",
    "api.md": "tests/api/test_api.py",
    "packages.md": "tests/package/test_host.py",
    "first-family.md": "tests/examples/test_first_family.py",
    "profile.md": "tests/profiling/test_docs.py",
    "specs.md": "tests/docs/test_pages.py",
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_prints_what_it_says(path: Path, tmp_path: Path) -> None:
    for module in ("torch", "networkx", "triton.language.extra.tlx"):
        pytest.importorskip(module)
    page = path.read_text()
    write_files(page, tmp_path)
    if path == walkthrough.GALLERY:
        walkthrough.stand_in(tmp_path)
    shown = steps(page)
    assert shown
    for step in shown:
        status, output = run(step.command, tmp_path)
        assert status == 0, (step.command, output)
        assert differs(step, output) == "", (step.command, output)
    for drawn in tmp_path.glob("docs/pictures/*.svg"):
        assert drawn.read_bytes() == (DOCS / "pictures" / drawn.name).read_bytes(), drawn.name


@pytest.mark.parametrize(
    "command",
    [
        "tlxgen show none.yaml",
        "tlxgen list tiny.yaml",
        'tlxgen show none.yaml || echo "exit status $?"',
        'tlxgen verify fails.py:main || echo "exit status $?"',
    ],
)
def test_a_forked_command_is_what_a_shell_runs(command: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text("kernel: norm_fwd\nname: tiny\narch: sm90\ntile: {n: 256}\n")
    (tmp_path / "fails.py").write_text("import os, sys\ndef main():\n    raise OSError(os.getcwd(), sys.path[:2])\n")
    assert forked.words_of(command.removesuffix(walkthrough.FAILS)) and forked.words_of(f"true; {command}") is None
    found, expected = (run(each, tmp_path) for each in (command, f"true; {command}"))
    assert found[0] == expected[0]
    assert walkthrough.TIME.sub("T s", found[1]) == walkthrough.TIME.sub("T s", expected[1])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_an_excerpt_is_of_its_file(path: Path) -> None:
    found = EXCERPT.findall(path.read_text())
    assert found or path.name not in ("gallery.md", "tuning.md")
    for file, block in found:
        assert block == excerpt(file, block), file


def test_the_gallery_has_every_family_with_a_picture_and_a_passage() -> None:
    text = walkthrough.GALLERY.read_text()
    sections = text.split("\n## ")[1:]
    shown = set()
    for section in sections:
        (file,) = [file for file, _ in EXCERPT.findall(section)]
        (spec,) = re.findall(r"tlxgen show (specs/\w+\.yaml)", section)
        assert Path(file).parts[1] == Path(spec).stem
        assert f"(pictures/{Path(file).stem}.svg)" in section
        shown.add(of(load(ROOT / spec)).name)
    assert shown == set(loaded()[0])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_command_is_one_that_there_is(path: Path) -> None:
    """The verb and its options are known, and the specs of the repository that it names are there."""
    text = path.read_text()
    lines = [line for kind in ("bash", "console") for block in blocks(text, kind) for line in block.splitlines()]
    lines = [re.split(r"\s#\s", line)[0] for line in lines]
    spans = re.findall(r"`(tlxgen [a-z][^`]*)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    found = [c for line in [*lines, *spans] for c in re.findall(r"(?:^|[\s/])(tlxgen [a-z].*)", line)]
    for command in found:
        known(command, in_repository=path.name not in {p.name for p in PAGES})


@functools.cache
def commands() -> dict[str, Any]:
    """The verbs of the command line, by name."""
    return typer.main.get_command(app).commands


def known(command: str, in_repository: bool) -> None:
    """Fails for a command of tlxgen that the command line would refuse as such."""
    verbs = commands()
    said = re.split(r"[|>&]|  #", command)[0].translate(str.maketrans("", "", "[]"))
    verb, *rest = shlex.split(said)[1:]
    assert verb in verbs, command
    options = {name for parameter in verbs[verb].params for name in (*parameter.opts, *parameter.secondary_opts)}
    named = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    assert named <= options | {"-h"}, command
    if in_repository:
        specs = [w for w in rest if re.fullmatch(r"specs/(hopper|blackwell)\w*\.yaml", w)]
        assert [w for w in specs if not (ROOT / w).exists()] == [], command


WRONG = ("tlxgen bild x.yaml", "tlxgen build --chek x.yaml", "tlxgen show specs/hopper_no.yaml")


@pytest.mark.parametrize("command", WRONG)
def test_a_command_that_there_is_not_is_found(command: str) -> None:
    with pytest.raises(AssertionError):
        known(command, in_repository=True)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_is_held_by_a_test(path: Path) -> None:
    text = path.read_text()
    if path in PAGES or path.name in OTHERS:
        assert path in PAGES or (ROOT / OTHERS[path.name]).exists()
        return
    left = [kind for kind in ("console", "python") for _ in blocks(text, kind)]
    assert left == [], "add the page to PAGES, or name its test in OTHERS"


def test_the_figures_of_the_simulators_page_are_those_of_the_records() -> None:
    page = (DOCS / "simulator.md").read_text()
    results = ROOT / "benchmarks" / "results"
    for name in ("simulator_mutants.md", "simulator_mutants_mxfp8.md", "simulator_mutants_tutorials.md"):
        counted = re.search(r"(\d+) of (\d+) faults are found", (results / name).read_text())
        assert counted
        assert f"| {counted[1]} | {counted[2]} | " in row(page, name)
    planted = json.loads((results / "simulator_planted.json").read_text())
    assert f"| {planted['found']} | {planted['faults']} | " in row(page, "simulator_planted.json")
    beside = (results / "simulator_agreement_h200.md").read_text()
    for ours, there, words in (
        ("finding", "hangs", "caught in the simulator and hang here"),
        ("finding", "wrong numbers", "caught in the simulator and wrong here"),
        ("finding", "right numbers", "caught in the simulator and right here"),
        ("clean", "right numbers", "clean in the simulator and right here"),
    ):
        count = re.search(rf"(\d+) {words}", beside)
        assert count and f"| {ours} | {there} | {count[1]} |" in page
    assert "Clean in the simulator and not right here: 0" in beside and "| clean | anything else | 0 |" in page


def row(page: str, record: str) -> str:
    (found,) = [line for line in page.splitlines() if line.startswith("|") and f"/{record})" in line]
    return found
