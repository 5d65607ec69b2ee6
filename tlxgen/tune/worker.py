"""The parent's side of child processes that compile and measure. They are started when needed and killed if they hang.

The result of a candidate is what a child reports about it, or the crash or hang of the child while the candidate runs;
the other candidates then go to a new child. An Executor runs `compile_task`, `describe_task` and `measure_task`, in
this process or, by Dask, on another host. They take and return plain data.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

from tlxgen import stamp
from tlxgen.bench.device import listed
from tlxgen.bounded import Child, end_kept, kept
from tlxgen.errors import DeviceError

Json = dict[str, Any]
MODULE = "tlxgen.tune.candidates"
START_S = 60.0  # limit of a child's start, in which it imports torch and finds its GPU


@dataclass
class _Kind:
    """Children of one kind: the idle ones, and the number of all."""

    # The child that worked last is taken first, since its caches are warm.
    free: queue.LifoQueue[Child] = field(default_factory=queue.LifoQueue)
    count: int = 0


class Slots:
    """Children that the threads of this process share."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}  # by module and environments
        self._all: list[Child] = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        atexit.register(self.close)

    @contextlib.contextmanager
    def child(self, module: str, environments: list[dict[str, str]], forked: bool = False) -> Iterator[Child]:
        """Lends a child to one thread. Children are made when needed, at most as many as `environments`.

        They may be `forked` only if they use no GPU, since the fork of a process that has initialised CUDA cannot.
        """
        apart = dict.fromkeys(json.dumps(environment) for environment in environments)
        with self._lock:
            kind = self._kinds.setdefault(json.dumps([module, *apart]), _Kind())
            if kind.free.empty() and kind.count < len(environments):
                nursery = kept(os.environ | environments[0]) if forked else None
                self._all.append(Child(module, self._stop, environments[kind.count], nursery))
                kind.free.put(self._all[-1])
                kind.count += 1
        child = kind.free.get()
        try:
            yield child
        finally:
            kind.free.put(child)

    def close(self) -> None:
        """Ends all children. A thread that waits for one of them gets an error, and while an exception is on its way,
        Ctrl-C for example, also one that waits for the imports of all."""
        self._stop.set()
        if sys.exc_info()[0] is not None:
            end_kept()
        with self._lock:
            for child in self._all:
                child.kill()  # a process with a GPU ends slowly, so all are killed before any is waited for
            for child in self._all:
                child.close()
            self._all.clear()
            self._kinds.clear()
            self._stop = threading.Event()


SLOTS = Slots()


def shared_environment() -> dict[str, str]:
    """Environment variables by which a measuring child finds what a compiling child has compiled."""
    return {"TRITON_CACHE_DIR": str(stamp.cache_folder().resolve() / "tune" / "triton")}


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them. Empty if there are none."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]
    return [gpu.index for gpu in listed()]


def start_task(task: Json) -> None:
    """Starts a compiling child's imports, which take seconds, before there is anything to compile."""
    with _compiler(task) as child:
        child.ask({"do": "start", **task}, float(task["limit_s"]))


def warm_task(task: Json) -> None:
    """Starts a measuring child's imports before there is anything to measure."""
    with _gpu(task) as child:
        child.ask({"do": "start", "gpu": True, **task}, float(task["limit_s"]))


def rehearse_task(task: Json) -> None:
    """Runs a measurement without a candidate in a measuring child, so that the first real one finds all loaded."""
    with _gpu(task) as child:
        child.ask({"do": "rehearse", **task}, float(task["limit_s"]))


def compile_task(task: Json) -> Json:
    """Compiles one candidate for one kind of shape: {"fault": None} or {"fault": "compile", "text": why}.

    The compiled kernel is in Triton's cache, where the measuring child finds it.
    """
    with _compiler(task) as child:
        answer = child.ask({"do": "compile", **task}, float(task["limit_s"]))
    if answer.fate:
        return {"fault": "compile", "text": " ".join([answer.fate, answer.last_line]).strip()}
    return cast(Json, answer.messages[-1]["done"])


def describe_task(task: Json) -> Json:
    """Name, SMs, capability and versions of a GPU here. Raises DeviceError when there is none."""
    with _gpu(task) as child:
        answer = child.ask({"do": "describe"}, float(task["limit_s"]))
    if answer.fate:
        raise DeviceError(f"no GPU answers: {answer.fate} {answer.last_line}".strip())
    return cast(Json, answer.messages[-1]["done"])


def measure_task(task: Json) -> Json:
    """Measures the task's candidates on its shape: results by candidate key.

    A candidate at which the child hangs or dies has a fault, and the others are measured by another child. Raises
    DeviceError when it hangs or dies at none of them.
    """
    results: Json = {}
    with _gpu(task) as child:
        left = list(task["candidates"])
        while left:
            answer = child.ask({"do": "measure", **task, "candidates": left}, float(task["limit_s"]), each=True)
            at: str | None = None
            for message in answer.messages:
                at = message.get("begin", at)
                results |= message.get("fault", {}) | message.get("done", {})
            text = " ".join([answer.fate, answer.last_line]).strip()
            if answer.fate and at is None:
                raise DeviceError(f"a GPU could not be used: {text}")
            if answer.fate and at is not None:
                kind = "hang" if answer.fate.startswith("timed out") else "crash"
                results.setdefault(at, {"fault": kind, "text": text})
            left = [c for c in left if c["key"] not in results]
    return results


@contextlib.contextmanager
def _compiler(task: Json) -> Iterator[Child]:
    environments = [shared_environment() | {"TLXGEN_TUNE_CHILD": "compiles"}] * int(task["workers"])
    with SLOTS.child(task.get("module", MODULE), environments, forked=True) as child:
        yield child


@contextlib.contextmanager
def _gpu(task: Json) -> Iterator[Child]:
    found = gpus()
    if not found:
        raise DeviceError("no GPU here; tlxgen tune measures on one", remedy="without one: tlxgen tune --dry-run SPEC")
    environments = [shared_environment() | {"CUDA_VISIBLE_DEVICES": name} for name in found]
    with SLOTS.child(task.get("module", MODULE), environments) as child:
        yield child


def dask_setup(worker: Any) -> None:
    """Called by `dask worker --preload tlxgen.tune.worker`: starts children with the Dask worker, one for the GPU and
    one for each further thread, so that they are ready for a run."""
    threads = int(worker.state.nthreads)
    task = {"module": MODULE, "workers": max(1, threads - 1), "limit_s": START_S}
    pool = ThreadPoolExecutor(threads)
    pool.submit(warm_task, task)
    for _ in range(threads - 1):
        pool.submit(start_task, task)
    pool.shutdown(wait=False)
