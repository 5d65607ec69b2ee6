"""Output that cannot be written is one line, or none where its reader has ended, and exit status 2, for every verb."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = "kernel: gemm\nname: g\narch: sm90\ntile: {n: 128}\n"
VERBS = (
    ["--version"],
    ["--help"],
    ["build", "g.yaml"],
    ["build", "--check", "g.yaml"],
    ["list", "g.yaml"],
    ["show", "g.yaml"],
    ["diff", "g.yaml", "h.yaml"],
    ["schema"],
    ["explain"],
    ["explain", "order", "--json"],
)
each_verb = pytest.mark.parametrize("verb", VERBS, ids=" ".join)
some_verbs = pytest.mark.parametrize("verb", [["--version"], ["build", "g.yaml"], ["schema"]], ids=" ".join)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.yaml").write_text(SPEC)
    (tmp_path / "h.yaml").write_text(SPEC.replace("name: g", "name: h"))
    return tmp_path


def shell(verb: list[str], rest: str) -> subprocess.CompletedProcess[str]:
    """The command with redirections; its own exit status, whatever it is piped into."""
    words = [sys.executable, "-m", "tlxgen", *verb]
    return subprocess.run(
        ["bash", "-c", f'"$@" {rest}; exit ${{PIPESTATUS[0]}}', "bash", *words], capture_output=True, text=True
    )


@each_verb
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(verb: list[str]) -> None:
    done = shell(verb, "> /dev/full")
    assert (done.returncode, done.stderr) == (2, "error: cannot write the output: No space left on device\n")


@some_verbs
def test_a_reader_that_has_ended_is_no_error_to_tell(verb: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "tlxgen", *verb]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, "")


@some_verbs
def test_without_a_standard_output_it_is_one_error(verb: list[str], folder: Path) -> None:
    done = shell(verb, ">&-")
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output is closed\n") and "Traceback" not in done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["g.yaml", "h.yaml"]


@pytest.mark.parametrize("where", ["2> /dev/full", "2>&-", "2>&- <&-"])
@pytest.mark.parametrize("verb", [["build", "none.yaml"], ["nope"]], ids=" ".join)
def test_an_error_that_nobody_can_read_is_still_exit_2(verb: list[str], where: str) -> None:
    done = shell(verb, where)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("verb", "shown"), [(["init", "caf\u00e9"], "wrote caf?/specs/my_gemm.yaml"), (["list", "g.yaml"], "kept")]
)
def test_what_an_encoding_does_not_have_is_a_question_mark(verb: list[str], shown: str) -> None:
    words = [sys.executable, "-m", "tlxgen", *verb]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and shown in done.stdout


def test_files_are_written_where_there_is_no_fchmod(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    from tlxgen.files import write_atomic

    monkeypatch.delattr(os, "fchmod")
    write_atomic(folder / "a" / "b", b"text")
    assert (folder / "a" / "b").read_bytes() == b"text" and (folder / "a" / "b").stat().st_mode & 0o777 == 0o644
