"""Host time, on a clock and a GPU that stand in for the real ones."""

from __future__ import annotations

import time

import pytest

torch = pytest.importorskip("torch")

from tlxgen.bench.gpu import HOST_CALLS, Gpu  # noqa: E402


class Woken:
    """A call of 5 us, but of 100 where the thread has just waited for the GPU, and of 20 after that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.since_wait = 0.0, 0
        monkeypatch.setattr(torch.cuda, "synchronize", self.wait)
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def wait(self) -> None:
        self.since_wait = 0

    def __call__(self) -> None:
        self.now += {0: 100e-6, 1: 20e-6}.get(self.since_wait, 5e-6)
        self.since_wait += 1


@pytest.fixture
def gpu() -> Gpu:
    return object.__new__(Gpu)


def test_host_time_is_of_a_stream_of_calls(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.host_us(Woken(monkeypatch)) == pytest.approx(5)


def test_with_no_calls_before_the_wait_is_in_it(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.host_us(Woken(monkeypatch), lead=0) == pytest.approx(5 + (95 + 15) / HOST_CALLS)
