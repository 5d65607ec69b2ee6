"""A run on a real Dask scheduler with two workers; skipped where Dask, an extra, is not installed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import pytest

from tests.tune.conftest import MODULE, Project
from tlxgen.errors import ToolchainError
from tlxgen.tune import worker
from tlxgen.tune.lab import dask_pools

GIVES_UP_S = 600  # a guard against waiting for ever
SHAPES = ((4096, 4096, 4096), (512, 512, 512), (64, 64, 64))


def until(lines: Callable[[], list[str]], count: int) -> list[str]:
    """Waits for so many lines."""
    deadline = time.monotonic() + GIVES_UP_S
    while len(found := lines()) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_a_dask_cluster_writes_the_same_file(project: Project) -> None:
    distributed = pytest.importorskip("distributed")
    project.tune(*SHAPES, candidates=6)
    local = project.table.read_bytes()
    subprocess.run(["rm", "-r", str(project.root / "cache" / "tune" / "results")], check=True)
    count = len(project.log)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        project.tune(*SHAPES, candidates=6, dask=cluster.scheduler_address, timeout_s=120.0)
    assert project.table.read_bytes() == local
    assert len(project.log) == 2 * count


def test_the_children_of_a_cluster_start_before_there_is_work(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("FAKE_START_S", "1")  # long enough for no thread to take another's child
    with distributed.LocalCluster(n_workers=2, threads_per_worker=3, dashboard_address=None) as cluster:
        pools = dask_pools(cluster.scheduler_address, 8, "gemm", MODULE)
        pools.start()
        pools.start()
        begun = until(lambda: project.begun, 6)
        pools.close()
    assert len({line.split()[1] for line in begun}) == 6  # a child for the GPU of each worker, and two that compile


def test_the_children_of_a_worker_with_the_preload_are_those_that_a_run_uses(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(worker, "MODULE", MODULE)
    monkeypatch.setenv("FAKE_START_S", "0.5")
    options = {"n_workers": 1, "threads_per_worker": 3, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(preload=["tlxgen.tune.worker"], **options) as cluster:
        ready = until(lambda: project.ready, 3)
        project.tune(*SHAPES, candidates=6, dask=cluster.scheduler_address, timeout_s=120.0, workers=7)
    assert len({line.split()[1] for line in ready}) == 3
    assert {line.split()[1] for line in project.begun} == {line.split()[1] for line in ready}


def test_a_scheduler_that_is_not_there_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ToolchainError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        dask_pools("tcp://127.0.0.1:9", 1, "gemm")


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ToolchainError, match=r"(?s)Dask is not installed.*tlxgen\[dask\]"):
        dask_pools("tcp://127.0.0.1:9", 1, "gemm")
