"""Many requests for a few children, one for each thread."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TypeVar

from .child import Child
from .nursery import kept

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


@dataclass
class _Children:
    """Children that are kept from job to job."""

    make: Callable[[threading.Event], Child]
    stop: threading.Event = field(default_factory=threading.Event)
    free: queue.SimpleQueue[Child] = field(default_factory=queue.SimpleQueue)

    def take(self) -> Child:
        try:
            return self.free.get_nowait()
        except queue.Empty:
            return self.make(self.stop)

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self.free.get_nowait().close()


def _never(job: object) -> bool:
    return False


def run_each(
    make: Callable[[threading.Event], Child],
    jobs: Sequence[_Job],
    work: Callable[[Child, _Job], _Result],
    *,
    workers: int,
    alone: Callable[[_Job], bool] = _never,
) -> Generator[tuple[int, _Result], None, None]:
    """`work(child, job)` for each job, `workers` at a time: a job's position and its result, as each is done.

    `make(stop)` makes a child that `stop` ends. It serves one job after the other, but for jobs that are `alone`: those
    have one of their own. Closing the generator, or an exception in it (Ctrl-C included), kills every child.
    """
    children = _Children(make)

    def run(job: _Job) -> _Result:
        child = make(children.stop) if alone(job) else children.take()
        kept = False
        try:
            result = work(child, job)
            kept = not alone(job)
        finally:
            if kept:
                children.free.put(child)
            else:
                child.close()
        return result

    pool = ThreadPoolExecutor(max(1, workers))
    try:
        futures: dict[Future[_Result], int] = {pool.submit(run, job): i for i, job in enumerate(jobs)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        children.stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        children.close()


def run_all(
    module: str,
    jobs: Sequence[_Job],
    work: Callable[[Child, _Job], _Result],
    *,
    workers: int,
    alone: Callable[[_Job], bool] = _never,
    forked: bool = False,
) -> Generator[_Result, None, None]:
    """As `run_each`, with children of `module`: results in the order of the jobs, as soon as they can be.

    With `forked` they are forks of one process that has imported the module, which one that uses a GPU cannot be.
    """
    done: dict[int, _Result] = {}
    given = 0
    nursery = kept(os.environ) if forked else None
    each = run_each(lambda stop: Child(module, stop, nursery=nursery), jobs, work, workers=workers, alone=alone)
    with contextlib.closing(each) as results:
        for position, result in results:
            done[position] = result
            while given in done:
                yield done.pop(given)
                given += 1
