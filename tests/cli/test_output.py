"""Output that cannot be written is one line, or none where its reader has ended, and exit status 2, for every verb."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
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


# Forks whose standard output and error it is given, each of which ends as Python does: imports come once.
SERVER = """
import gc, json, os, sys
import black, jinja2, tlxgen.api, tlxgen.cli, tlxgen.verbs.build
import tlxgen.lock, tlxgen.render.module, tlxgen.review.diff, tlxgen.review.listing, tlxgen.review.show
import tlxgen.verbs.explain, tlxgen.verbs.schema
from tlxgen import stamp
from tlxgen.families import loaded
from tlxgen.render import environment
loaded()
templates = environment.environment(stamp.templates())
for name in environment.closure(stamp.templates(), "gemm/module.py.j2"):
    templates.get_template(name)
gc.freeze()
for line in sys.stdin:
    words, folder, output, errors = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.chdir(folder)
os.environ["TLXGEN_CACHE_DIR"] = folder + "/cache"
if output == "pipe":
    reading, writing = os.pipe()
    os.close(reading)
else:
    writing = os.open(output, os.O_WRONLY)
os.dup2(writing, 1)
os.dup2(os.open(errors, os.O_WRONLY), 2)
sys.argv = ["tlxgen", *words]
tlxgen.cli.main()
"""


@pytest.fixture(scope="module")
def forked() -> Iterator[Callable[[list[str], str], tuple[int, str]]]:
    """Runs a command with its output to a file, or to a pipe whose reader has ended: its status, and its errors."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", SERVER]
    server = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin and server.stdout

    def run(verb: list[str], output: str) -> tuple[int, str]:
        assert server.stdin and server.stdout
        with tempfile.NamedTemporaryFile("r") as errors:
            server.stdin.write(json.dumps([verb, os.getcwd(), output, errors.name]) + "\n")
            server.stdin.flush()
            return int(server.stdout.readline()), errors.read()

    yield run
    server.stdin.close()
    assert server.wait() == 0


def shell(verb: list[str], rest: str) -> subprocess.CompletedProcess[str]:
    """The command with redirections; its own exit status, whatever it is piped into."""
    words = [sys.executable, "-m", "tlxgen", *verb]
    return subprocess.run(
        ["bash", "-c", f'"$@" {rest}; exit ${{PIPESTATUS[0]}}', "bash", *words], capture_output=True, text=True
    )


@each_verb
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(verb: list[str], forked: Callable[[list[str], str], tuple[int, str]]) -> None:
    assert forked(verb, "/dev/full") == (2, "error: cannot write the output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line_of_a_whole_process() -> None:
    done = shell(["--version"], "> /dev/full")
    assert (done.returncode, done.stderr) == (2, "error: cannot write the output: No space left on device\n")


@some_verbs
def test_a_reader_that_has_ended_is_no_error_to_tell(
    verb: list[str], forked: Callable[[list[str], str], tuple[int, str]]
) -> None:
    assert forked(verb, "pipe") == (2, "")


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
