"""Children that are forked are children like others: they answer, end, and are told of as if each had been started."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tlxgen.bounded import Answer, Child, Nursery, end_kept, kept

MODULE = "tests.bounded.echo"
Make = Callable[..., Child]


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def make(nursery: Nursery) -> Iterator[Make]:
    children: list[Child] = []

    def make(stop: threading.Event | None = None, **environment: str) -> Child:
        children.append(Child(MODULE, stop, environment, nursery))
        return children[-1]

    yield make
    for child in children:
        child.close()


def facts(answer: Answer) -> dict[str, Any]:
    assert not answer.fate, answer
    return {key: value for message in answer.messages for key, value in message.items()}


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_fork_is_this_process_s_child_in_a_session_of_its_own(make: Make) -> None:
    first, second = (facts(make().ask({}, 300)) for _ in range(2))
    assert first["pid"] == first["session"] != second["pid"]
    assert first["parent"] == second["parent"] == os.getpid()
    # One process has imported for both, and it is neither.
    assert first["loaded_by"] == second["loaded_by"] not in (0, first["pid"], second["pid"])


def test_its_environment_is_that_of_its_start(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts(make(ECHO_MARK="a").ask({}, 300))["mark"] == "a"
    monkeypatch.setenv("ECHO_VISIBLE", "later")
    found = facts(make().ask({}, 300))
    assert (found["mark"], found["visible"]) == ("", "later")


def test_how_it_ends_is_told(make: Make) -> None:
    child = make()
    pid = facts(child.ask({}, 300))["pid"]
    crashed = child.ask({"crash": True}, 300)
    assert crashed.fate == "crashed with SIGSEGV" and any(f.function == "handle" for f in crashed.stack)
    assert facts(child.ask({}, 300))["pid"] != pid  # another has taken its place
    hung = child.ask({"hang": True}, 0.3)
    assert hung.fate == "timed out after 0.3 s" and any(f.function == "handle" for f in hung.stack)


def test_closing_a_child_ends_it(make: Make) -> None:
    child = make()
    pid = facts(child.ask({}, 300))["pid"]
    child.close()
    assert not alive(pid)


def test_many_at_a_time(make: Make) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda child: facts(child.ask({}, 300)), [make() for _ in range(16)]))
    assert len({f["pid"] for f in found}) == 16 and len({f["loaded_by"] for f in found}) == 1


def test_without_its_nursery_a_child_starts_by_itself(make: Make, nursery: Nursery) -> None:
    nursery.close()
    assert facts(make().ask({}, 300))["loaded_by"] == 0


def test_what_cannot_be_imported_there_is_said_by_the_child(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_BROKEN", "1")  # preload() fails, which a child of its own does not call
    assert facts(make().ask({}, 300))["loaded_by"] == 0


def test_who_is_interrupted_starts_nothing(make: Make, nursery: Nursery) -> None:
    stop = threading.Event()
    child = make(stop)
    stop.set()
    nursery.close()
    assert child.ask({}, 300).fate == "interrupted"


def test_a_nursery_is_kept_for_children_whose_libraries_would_be_imported_alike() -> None:
    try:
        one = kept({"ECHO_MARK": "a"})
        assert kept({"ECHO_MARK": "b"}) is one is not kept({"TRITON_INTERPRET": "1"})
        child = Child("tests.bounded.echo", nursery=one)
        assert facts(child.ask({}, 300))["loaded_by"]
        child.close()
        end_kept()
        assert kept({}) is not one
        later = Child("tests.bounded.echo", nursery=one)
        assert facts(later.ask({}, 300))["loaded_by"] == 0  # it has ended
        later.close()
    finally:
        end_kept()


def test_a_module_without_a_start_is_run_as_a_program_in_the_scratch_folder(nursery: Nursery) -> None:
    child = Child("tests.bounded.program", nursery=nursery, scratch=lambda folder: {"ECHO_MARK": folder})
    try:
        first = facts(child.ask({}, 300))
        assert first["mark"] == first["folder"] == os.path.realpath(first["folder"]) != os.getcwd()
        assert child.ask({}, 300).log == "as it goes\n"
    finally:
        child.close()
