"""templates/lib/_host.py, which every generated folder has a copy of, as the plain Python that it is."""

from __future__ import annotations

from types import ModuleType

import pytest

from tlxgen.loading import HOST, load_file
from tlxgen.stamp import templates

pytest.importorskip("torch")
pytest.importorskip("triton")


@pytest.fixture
def host() -> ModuleType:
    """Fresh: it knows of no call, and of no memory."""
    return load_file(templates() / "lib" / HOST)
