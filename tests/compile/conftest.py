"""Fixtures for the compile tests: a folder for generated modules, and jobs on the tiny kernels."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from tlxgen.compile import Argument, Job

KERNELS = Path(__file__).parent / "kernels"

needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("compiles"):
            item.add_marker(needs_triton)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "compiles: runs fbtriton in child processes; slow, needs no GPU")


def add_one(
    module: Path = KERNELS / "tiny.py", *, id: str = "add_one", block: int = 128, kernel: str = "add_one"
) -> Job:
    """The smallest job there is."""
    arguments = (Argument("x", "*fp32"), Argument("n", "i32"), Argument("BLOCK", "constexpr"))
    return Job(id, str(module), kernel, "sm90", arguments, {"BLOCK": block}, ("x",))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a module and gives its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
