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
GENERATED = "::test_a_generated_module_without_a_record_is_clean["


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CACHE] = os.environ["TLXGEN_CACHE_DIR"] = tempfile.mkdtemp(prefix="tlxgen-tests-")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup` a file's tests stay together, as what they share is made once a process; those of
    generated modules, which take longest, stay together by the folder of the module."""
    for item in items:
        name = item.callspec.params["name"] if GENERATED in item.nodeid else ""  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.xdist_group(f"{item.path.relative_to(item.config.rootpath)} {name}".strip()))


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash.get(CACHE, ""), ignore_errors=True)
