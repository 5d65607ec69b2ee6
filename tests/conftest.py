"""Keeps every test, and every process that a test starts, out of the user's cache, and judges none by the clock."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("tlxgen", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # both read the clock
settings.load_profile("tlxgen")
CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CACHE] = os.environ["TLXGEN_CACHE_DIR"] = tempfile.mkdtemp(prefix="tlxgen-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash.get(CACHE, ""), ignore_errors=True)
