"""What the driver is asked, of one that stands in for it."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tlxgen.bench import cuda


class Driver:
    """libcuda with one GPU; `broken` names a function that fails."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            if name == "cuDeviceGetName":
                arguments[0].value = b"NVIDIA H200"
            if name == "cuDeviceGetAttribute":
                arguments[0]._obj.value = {16: 132, 75: 9, 76: 0}[arguments[1]]
            return 100 if name == self.broken else 0

        return call


@pytest.fixture
def torch_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(text: str | None) -> None:
        (tmp_path / "version.py").write_text(text or "")
        found = SimpleNamespace(origin=str(tmp_path / "__init__.py")) if text is not None else None
        monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: found)

    return make


def test_a_gpu_is_described_without_torch(torch_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_of("__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver())
    found = cuda.describe()
    assert found and (found["name"], found["sms"], found["capability"]) == ("NVIDIA H200", 132, [9, 0])
    assert found["versions"]["cuda"] == "13.0" and found["versions"]["tlxgen"]


@pytest.mark.parametrize("broken", ["cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute"])
def test_a_driver_that_fails_describes_nothing(broken: str, torch_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_of("cuda = '13.0'\n")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver(broken))
    assert cuda.describe() is None


@pytest.mark.parametrize("text", [None, "cuda: Optional[str] = None\n"])
def test_without_a_torch_for_cuda_nothing_is_described(
    text: str | None, torch_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_of(text)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver())
    assert cuda.describe() is None
