"""The parent's side of a child: what it takes for a hang."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tlxgen.bounded import LOG_FILE, Child


def test_an_answer_that_came_while_the_parent_was_held_up_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Child._read

    def held_up(self: Child, wait_s: float) -> bool:
        said = read(self, wait_s)
        time.sleep(0.6)
        return said

    child = Child("tests.bounded.echo")
    try:
        child.ask({}, 10)
        monkeypatch.setattr(Child, "_read", held_up)
        assert not child.ask({"wait": 0.2}, 0.4).fate
        assert child.ask({"hang": True}, 0.4).fate == "timed out after 0.4 s"
    finally:
        child.close()


def test_a_scratch_folder_belongs_to_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VISIBLE", "not to a child with an environment of its own")
    child = Child("tests.bounded.echo", scratch=lambda folder: {"ECHO_MARK": folder})
    try:
        first = child.ask({}, 30)
        folder = first.messages[1]["folder"]
        assert first.messages[1] == {"mark": folder, "visible": "", "folder": folder}
        assert first.log == "as it goes\n" == child.ask({}, 30).log  # of the request alone
        assert Path(folder, LOG_FILE).read_text() == 2 * "as it goes\n"
        lost = child.ask({"crash": True}, 30)
        assert lost.fate == "crashed with SIGSEGV" and "Segmentation fault" in lost.log and lost.stack
        assert not Path(folder).exists()
        again = child.ask({}, 30).messages[1]["folder"]
        assert again != folder
    finally:
        child.close()
    assert not Path(again).exists()
