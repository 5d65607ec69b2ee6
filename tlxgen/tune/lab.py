"""Compiles and measures candidates by two Executors, behind a cache of results.

By default both Executors are pools of threads, each of which drives a child process (worker.py): as many compilers as
requested, and one measuring child a GPU. With Dask both are a running cluster. Compilation runs ahead of measurement.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tlxgen import digest
from tlxgen.errors import ToolchainError

from . import worker
from .results import Result, Results
from .space import Candidate, Shape, Space

Json = dict[str, Any]


@dataclass(frozen=True)
class Device:
    """The GPU that is tuned for, and the versions of all software that a time depends on."""

    name: str
    sms: int
    capability: tuple[int, int]
    versions: Mapping[str, str]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Device:
        """The inverse of a worker's description. Raises KeyError for other data."""
        first, second = data["capability"]
        return cls(str(data["name"]), int(data["sms"]), (first, second), dict(data["versions"]))


@dataclass(frozen=True)
class Limits:
    """Time limits in seconds of a compilation and of a step of a measurement, and the number of parallel compilers."""

    compile_s: float = 120.0
    measure_s: float = 30.0
    workers: int = 2


@dataclass(frozen=True)
class Pools:
    """Executors that compile and measure, the number of GPUs, and a function that ends them without waiting.

    `start` starts their children before there is work, and returns the first GPU's description, if there is one. A run
    that finds all its results in the cache needs no children.
    """

    compiler: Executor
    measurer: Executor
    gpus: int
    close: Callable[[], object]
    start: Callable[[], Future[Json] | None] = lambda: None


class Lab:
    """Compiles and measures the candidates of one space on one kind of device. Safe for several threads.

    `module` is the Python module that child processes run.
    """

    def __init__(
        self,
        space: Space,
        device: Device,
        results: Results,
        pools: Pools,
        *,
        limits: Limits,
        seed: int = 0,
        module: str = worker.MODULE,
    ) -> None:
        self.space, self.device, self.results, self.limits, self.seed = space, device, results, limits, seed
        self._pools = pools
        self._module = module
        self._compiling: dict[str, Future[Json]] = {}
        self._lock = threading.Lock()

    def compile_ahead(self, candidate: Candidate, shape: Shape, turns: int) -> None:
        """Starts the compilation of a candidate that has no result for the shape yet."""
        if self.results.load(candidate.key, shape, turns) is None:
            self._compile(candidate, shape)

    def measure(self, candidates: Sequence[Candidate], shape: Shape, turns: int, prove: bool) -> dict[str, Result]:
        """Key -> result of each candidate, from the cache or from a measurement of all others together."""
        known = {c.key: r for c in candidates if (r := self.results.load(c.key, shape, turns)) is not None}
        missing = [c for c in candidates if c.key not in known]
        found: dict[str, Result] = {}
        compiled = [(c, self._compile(c, shape).result()) for c in missing]
        for candidate, outcome in compiled:
            if outcome["fault"]:
                found[candidate.key] = Result(fault="compile", text=outcome["text"])
        ready = [c for c in missing if c.key not in found]
        if ready:
            task = self._task(ready, shape) | {"turns": turns, "prove": prove, "limit_s": self.limits.measure_s}
            task["candidates"] = [self._data(c) for c in ready]
            answer = self._pools.measurer.submit(worker.measure_task, task).result()
            found |= {key: Result.from_json(value) for key, value in answer.items()}
        for key, result in found.items():
            self.results.store(key, shape, turns, result)
        return known | found

    def _compile(self, candidate: Candidate, shape: Shape) -> Future[Json]:
        """Of one candidate for one kind of shape: Triton specialises on divisibility by 16 and on ones."""
        kind = [(extent % 16 == 0, extent == 1) for extent in shape]
        key = digest.of_text(f"{candidate.key} {kind}")
        with self._lock:
            if key not in self._compiling:
                task = self._task([candidate], shape) | {"candidate": self._data(candidate)}
                if not self._compiling:
                    self._pools.start()
                    for _ in range(self._pools.gpus):
                        self._pools.measurer.submit(worker.rehearse_task, task | {"limit_s": worker.START_S})
                major, minor = self.device.capability
                task |= {"capability": 10 * major + minor, "sms": self.device.sms, "limit_s": self.limits.compile_s}
                task["workers"] = self.limits.workers
                self._compiling[key] = self._pools.compiler.submit(worker.compile_task, task)
            return self._compiling[key]

    def _task(self, candidates: Sequence[Candidate], shape: Shape) -> Json:
        sources = {c.source: self.space.sources[c.source] for c in candidates}
        name = self.space.family.name
        return {"module": self._module, "family": name, "sources": sources, "shape": list(shape), "seed": self.seed}

    @staticmethod
    def _data(candidate: Candidate) -> Json:
        assert candidate.variant.spec
        spec = candidate.variant.spec.model_dump(mode="json", exclude_unset=True)
        return {"key": candidate.key, "source": candidate.source, "options": candidate.options, "spec": spec}


def local_pools(workers: int, gpus: int, family: str, module: str = worker.MODULE) -> Pools:
    """Pools with a thread for each of `workers` compilers and for each GPU. worker.py has their child processes."""
    compiler = ThreadPoolExecutor(workers, "compile")
    measurer = ThreadPoolExecutor(max(1, gpus), "measure")
    task = {"module": module, "workers": workers, "family": family, "limit_s": worker.START_S}

    @functools.cache  # once is enough
    def start() -> Future[Json] | None:
        described = [measurer.submit(worker.describe_task, task) for _ in range(gpus)]
        for _ in range(gpus):
            measurer.submit(worker.warm_task, task)
        for _ in range(workers if gpus else 0):
            compiler.submit(worker.start_task, task)
        return described[0] if described else None

    def close() -> None:
        for pool in (compiler, measurer):
            pool.shutdown(wait=False, cancel_futures=True)
        worker.SLOTS.close()

    return Pools(compiler, measurer, max(1, gpus), close, start)


def dask_pools(address: str, workers: int, family: str, module: str = worker.MODULE) -> Pools:
    """Pools on the Dask cluster at `address`, which must have a GPU for each of its workers. A Dask worker compiles
    with as many children as it has threads, but at most `workers`.

    The Dask workers need tlxgen, and CUDA_VISIBLE_DEVICES gives each the GPU that it measures on. Raises ToolchainError
    when Dask is not installed or the cluster does not answer.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ToolchainError("Dask is not installed", remedy="run: pip install tlxgen[dask]") from None
    try:
        client: Any = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:  # ValueError: not an address
        remedy = "write its address as the scheduler prints it, such as tcp://HOST:8786"
        raise ToolchainError(f"no Dask scheduler answers at {address}: {error}", remedy=remedy) from None
    compiler, measurer = client.get_executor(pure=False), client.get_executor(pure=False)
    # Measurements have priority over compilations ahead.
    measurer.submit = functools.partial(measurer.submit, priority=1)
    threads = {name: int(info["nthreads"]) for name, info in client.scheduler_info()["workers"].items()}
    task = {"module": module, "workers": workers, "family": family, "limit_s": worker.START_S}
    begun: list[Any] = []  # Dask cancels a task whose future is not referenced

    @functools.cache  # once is enough
    def start() -> None:
        for name, count in threads.items():
            begun.append(client.submit(worker.warm_task, task, workers=[name], pure=False, priority=2))
            for _ in range(min(count - 1, workers)):
                begun.append(client.submit(worker.start_task, task, workers=[name], pure=False))

    return Pools(compiler, measurer, max(1, len(threads)), client.close, start)
