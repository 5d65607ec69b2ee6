from __future__ import annotations

from pathlib import Path

import pytest

from .project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project with a cache of its own."""
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project")
