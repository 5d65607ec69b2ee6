"""Help by -h everywhere, and completion in shells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tlxgen import cli
from tlxgen.cli import app

VERBS = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]


def tlxgen(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tlxgen", *words]
    return subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)


@pytest.mark.parametrize("verb", [[], *([v] for v in VERBS)], ids=lambda verb: " ".join(verb) or "none")
def test_h_is_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tlxgen", *verb, "-h"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    output, errors = capsys.readouterr()
    assert (end.value.code, errors) == (0, "")
    assert output.split()[:2] == ["Usage:", "tlxgen"] and "-h, --help" in output


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tlxgen expl", "explain"),
        ("tlxgen explain tasks.mma.o", "tasks.mma.order"),
        ("tlxgen explain rendez", "rendezvous"),
        ("tlxgen init --kernel ge", "gemm"),
        ("tlxgen build --che", "--check"),
        ("tlxgen doctor --for ver", "verify"),
    ],
)
def test_a_shell_completes(tmp_path: Path, words: str, offered: str) -> None:
    count = str(len(words.split()) - 1)
    done = tlxgen(tmp_path, _TLXGEN_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)
    assert offered in done.stdout.split()


def test_a_shell_completes_beside_a_broken_plug_in(tmp_path: Path) -> None:
    """What is typed stays: no note between the words."""
    info = tmp_path / "site" / "odd-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tlxgen.families]\nodd = odd_family:Odd\n")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    words = {"COMP_WORDS": "tlxgen explain tasks.mma.o", "COMP_CWORD": "2"}
    done = tlxgen(tmp_path, _TLXGEN_COMPLETE="complete_bash", PYTHONPATH=path, **words)
    assert sorted(done.stdout.split()) == ["tasks.mma.order", "tasks.mma.overlap"] and done.stderr == ""
