"""The parent's side of a child: what it takes for a hang."""

from __future__ import annotations

import time

import pytest

from tlxgen.bounded import Child


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
