"""Severities are coloured on a terminal, and nowhere else; NO_COLOR is honoured."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tlxgen.terminal import emphasised

RED = "\x1b[1;31m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(folder: Path, **environment: str) -> str:
    """What a faulty spec gives on a pseudo-terminal."""
    (folder / "bad.yaml").write_text("kernel: gemm\nname: bad\narch: sm90\ntiles: 3\n")
    ours, theirs = pty.openpty()
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "tlxgen", "list", "bad.yaml"]
    done = subprocess.run(command, cwd=folder, env={**plain, "TERM": "xterm", **environment}, stderr=theirs)
    os.close(theirs)
    assert done.returncode == 2
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:  # Linux's end of a pseudo-terminal
        pass
    os.close(ours)
    return text.decode()


def test_a_fault_is_coloured_on_a_terminal(tmp_path: Path) -> None:
    text = on_a_terminal(tmp_path)
    assert text.startswith("\x1b[1mbad.yaml:4:1:\x1b[0m unknown key 'tiles'") and f"{RED}^" in text


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colour_can_be_done_without(tmp_path: Path, environment: dict[str, str]) -> None:
    text = on_a_terminal(tmp_path, **environment)
    assert "\x1b" not in text and text.startswith("bad.yaml:4:1: unknown key")


@pytest.mark.parametrize(
    ("text", "coloured"),
    [
        ("error: no", f"{RED}error\x1b[0m: no"),
        ("  warning redundant-write: x", "  \x1b[1;33mwarning\x1b[0m redundant-write: x"),
        ("note: old", "\x1b[1;36mnote\x1b[0m: old"),
        ("errors are many", "errors are many"),
        ("a.yaml:1:2: no", "\x1b[1ma.yaml:1:2:\x1b[0m no"),
    ],
)
def test_what_is_coloured(monkeypatch: pytest.MonkeyPatch, text: str, coloured: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "")  # empty is as if it were not set
    assert emphasised(text, Terminal()) == coloured
    assert emphasised(text, io.StringIO()) == text
    monkeypatch.setenv("NO_COLOR", "1")
    assert emphasised(text, Terminal()) == text
