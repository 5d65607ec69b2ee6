"""A run on a real Dask scheduler with two workers; skipped where Dask, an extra, is not installed."""

from __future__ import annotations

import subprocess

import pytest

from tests.tune.conftest import Project
from tlxgen.errors import ToolchainError
from tlxgen.tune.lab import dask_pools

SHAPES = ((4096, 4096, 4096), (512, 512, 512), (64, 64, 64))


def test_a_dask_cluster_writes_the_same_file(project: Project) -> None:
    distributed = pytest.importorskip("distributed")
    project.tune(*SHAPES, candidates=6)
    local = project.table.read_bytes()
    subprocess.run(["rm", "-r", str(project.root / "cache" / "tune" / "results")], check=True)
    count = len(project.log)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        project.tune(*SHAPES, candidates=6, dask=cluster.scheduler_address, timeout_s=20.0)
    assert project.table.read_bytes() == local
    assert len(project.log) == 2 * count


def test_a_scheduler_that_is_not_there_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ToolchainError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        dask_pools("tcp://127.0.0.1:9")


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ToolchainError, match=r"(?s)Dask is not installed.*tlxgen\[dask\]"):
        dask_pools("tcp://127.0.0.1:9")
