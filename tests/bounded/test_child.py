"""The parent's side of a child: what it takes for a hang."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tlxgen.bounded import LOG_FILE, Child


def test_an_answer_that_came_while_the_parent_was_held_up_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of the test's own: it is late when the parent has looked once, and the answer is there by then."""
    read, now, came, answers = Child._read, 0.0, b"", True

    def held_up(self: Child, wait_s: float) -> bool:
        nonlocal now, came
        now += 100.0
        if not answers:
            return read(self, wait_s)
        if came:
            self._pending += came
            return True
        assert self._process and self._process.stdout
        while b'"end"' not in came:
            came += os.read(self._process.stdout.fileno(), 1 << 16)
        return False

    child = Child("tests.bounded.echo")
    try:
        child.ask({}, 300)
        monkeypatch.setattr(Child, "_read", held_up)
        monkeypatch.setattr("tlxgen.bounded.child.time", SimpleNamespace(monotonic=lambda: now, sleep=time.sleep))
        assert not child.ask({}, 60).fate
        answers = False
        assert child.ask({"hang": True}, 60).fate == "timed out after 60 s"
    finally:
        child.close()


def test_a_scratch_folder_belongs_to_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VISIBLE", "not to a child with an environment of its own")
    child = Child("tests.bounded.echo", scratch=lambda folder: {"ECHO_MARK": folder})
    try:
        first = child.ask({}, 300)
        folder = first.messages[1]["folder"]
        assert first.messages[1] == {"mark": folder, "visible": "", "folder": folder}
        assert first.log == "as it goes\n" == child.ask({}, 300).log  # of the request alone
        assert Path(folder, LOG_FILE).read_text() == 2 * "as it goes\n"
        lost = child.ask({"crash": True}, 300)
        assert lost.fate == "crashed with SIGSEGV" and "Segmentation fault" in lost.log and lost.stack
        assert not Path(folder).exists()
        again = child.ask({}, 300).messages[1]["folder"]
        assert again != folder
    finally:
        child.close()
    assert not Path(again).exists()
