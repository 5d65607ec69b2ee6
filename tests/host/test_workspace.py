"""Memory that kernels share: one stream after the other, never two at once."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

torch = pytest.importorskip("torch")

CPU = torch.device("cpu")


class Stream:
    """What _host.py asks about the stream that it launches on."""

    def __init__(self, host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host, self.handle, self.capturing, self.waits = host, 7, False, 0
        self.capture: int | None = None
        active = SimpleNamespace(get_current_stream=lambda device: self.handle)
        monkeypatch.setattr(host, "driver", SimpleNamespace(active=active))
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.capturing)
        monkeypatch.setattr(torch.cuda, "synchronize", self.wait)
        monkeypatch.setattr(host, "capture_of", lambda stream: self.capture)

    def wait(self, device: int) -> None:
        assert not self.capturing, "not allowed in a capture"
        self.waits += 1

    def workspace(self, words: int = 132) -> Any:
        return self.host.workspace(CPU, 1000, words)


@pytest.fixture
def stream(host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Stream:
    return Stream(host, monkeypatch)


def place(tensor: torch.Tensor) -> range:
    return range(tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size())


def disjoint(tensors: Iterable[torch.Tensor]) -> bool:
    places = sorted(map(place, tensors), key=lambda p: p.start)
    return all(p.stop <= q.start for p, q in pairwise(places))


def test_a_stream_has_one_workspace_and_no_two_have_the_same(stream: Stream) -> None:
    sums, words = stream.workspace()
    assert all(map(operator.is_, stream.workspace(), (sums, words)))
    assert (sums.numel(), sums.dtype, words.numel(), words.dtype) == (1000, torch.float32, 132, torch.int32)
    stream.handle = 8
    others = stream.workspace()
    assert disjoint([sums, words, *others])
    assert not words.any() and not others[1].any() and stream.waits == 1


def test_the_launches_of_a_captured_stream_share_words_and_no_two_graphs_do(stream: Stream) -> None:
    """A graph of thousands of launches, and the next one, need no more zeros than a stream of them."""
    eager = stream.workspace()
    stream.capturing, stream.capture = True, 3
    first = [stream.workspace() for _ in range(3000)]
    few, stream.handle = stream.workspace(words=4), 8
    beside = stream.workspace()
    stream.handle, stream.capture = 7, 4
    second = [stream.workspace() for _ in range(3)]
    stream.capturing = False
    for words in (first, second):
        assert all(one is words[0][1] for _, one in words)
    assert disjoint([eager[1], first[0][1], few[1], beside[1], second[0][1], stream.workspace(words=8)[1]])


def test_without_the_drivers_word_every_launch_that_is_captured_has_its_own_words(stream: Stream) -> None:
    eager = stream.workspace()
    stream.capturing = True
    captured = [stream.workspace() for _ in range(3)]
    stream.capturing = False
    assert disjoint([eager[1], *(words for _, words in captured)])
    assert all(map(operator.is_, stream.workspace(), eager))
    stream.handle = 8
    assert disjoint([stream.workspace()[1], eager[1], *(words for _, words in captured)])


def test_a_capture_that_comes_first_or_when_all_zeros_are_given_away_makes_its_own(stream: Stream) -> None:
    stream.capturing = True
    first = stream.workspace()[1]
    stream.capturing = False
    _, eager = stream.workspace()
    stream.capturing = True
    many = [stream.workspace(words=1 << 17)[1] for _ in range(3)]  # of 2**18 in all
    assert disjoint([first, eager, *many]) and not any(words.any() for words in many)
    stream.capturing = False
    stream.handle = 8
    assert disjoint([stream.workspace(words=1 << 17)[1], first, eager, *many]) and stream.waits == 2


def test_the_driver_is_asked_for_the_capture(host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def query(stream: Any, status: Any, capture: Any, *rest: Any) -> int:
        asked.append((stream.value, rest))
        capture._obj.value = 1 << 40
        return failed

    library = SimpleNamespace(cuStreamGetCaptureInfo_v2=query)
    monkeypatch.setattr(host.ctypes, "CDLL", lambda name: library)
    failed = 0
    assert host.capture_of(9) == 1 << 40 and asked == [(9, (None, None, None))]
    failed = 1
    assert host.capture_of(9) is None
    del library.cuStreamGetCaptureInfo_v2
    assert host.capture_of(9) is None
    monkeypatch.setattr(host.ctypes, "CDLL", Mock(side_effect=OSError))
    assert host.capture_of(9) is None


def test_another_number_of_words_is_another_workspace(stream: Stream) -> None:
    """Kernels of two modules: the one that needs more must not get the words of the other."""
    few, many = stream.workspace(words=4), stream.workspace(words=400)
    assert (few[1].numel(), many[1].numel()) == (4, 400) and disjoint([few[1], many[1]])


class Slow(dict[Any, Any]):
    """A table that is looked at, and changed only after others have had the time to look at it, too."""

    def get(self, *key: Any) -> Any:
        found = super().get(*key)
        time.sleep(0.005)
        return found


def at_once(ask: Callable[[], Any], threads: int = 8) -> list[Any]:
    """What threads get that ask at the same time."""
    ready = Barrier(threads)

    def asking(_: int) -> Any:
        ready.wait()
        return ask()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(asking, range(threads)))


def test_threads_that_ask_at_once_get_disjoint_words(host: ModuleType, stream: Stream) -> None:
    host.ZEROS = Slow()
    taken = [host.zeros(CPU, 1000) for _ in range(3)]
    for _ in range(3):
        taken += at_once(lambda: host.zeros(CPU, 1000))
    assert disjoint(taken) and not any(words.any() for words in taken)
    assert stream.waits == 1
