"""Many jobs on a few child processes that may hang, crash or be killed without taking a result with them."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path

from tlxgen.bounded import cpus

from . import cache as store
from .job import Job, Outcome, Resources
from .toolchain import check_triton, fingerprint
from .worker import Worker


def compile_all(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    timeout_s: float = 120,
    cache: Path | None = None,
    on_done: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Compiles every job; outcomes in the order of the jobs, those of equal content from one compilation.

    `workers` defaults to the CPUs that this process may use. `timeout_s` is wall time a job, imports excluded. `cache`
    is a folder of results; None keeps none. `on_done` is called in this thread as each job is done, in any order.
    A job that fails is an outcome with an error. Raises ToolchainError if this Triton cannot compile TLX and a job is
    not in the cache.
    """
    outcomes: list[Outcome | None] = [None] * len(jobs)

    def done(index: int, outcome: Outcome) -> None:
        outcomes[index] = outcome
        if on_done is not None:
            on_done(outcome)

    batches, names = _batches(jobs, cache, done)
    if batches:
        check_triton()
        count = min(workers or cpus(), len(batches))
        with contextlib.closing(_run([jobs[batch[0]] for batch in batches], count, timeout_s)) as results:
            for position, result in results:
                first, *others = batches[position]
                name = names[position]
                if cache is not None and name is not None and result.resources is not None:
                    store.store(cache, name, result.resources)
                done(first, result)
                for index in others:
                    done(index, _shared(jobs[index], result))
    return [outcome for outcome in outcomes if outcome is not None]


def _batches(
    jobs: Sequence[Job], cache: Path | None, done: Callable[[int, Outcome], None]
) -> tuple[list[list[int]], list[str | None]]:
    """Indices of jobs of equal content, and each batch's name in the cache. Cached or unreadable ones are done."""
    toolchain = fingerprint() if cache is not None else None
    alike: defaultdict[str, list[int]] = defaultdict(list)
    names: dict[str, str | None] = {}
    for index, job in enumerate(jobs):
        try:
            source = Path(job.module).read_bytes()
        except OSError as error:
            done(index, Outcome(job.id, None, f"{type(error).__name__}: {error}"))
            continue
        content = store.content(job, source)
        alike[content].append(index)
        if content not in names:
            names[content] = store.key(content, source, toolchain)
    missing = []
    for content, indices in alike.items():
        name = names[content]
        found: Resources | None = store.load(cache, name) if cache is not None and name else None
        if found is None:
            missing.append(content)
            continue
        for index in indices:
            done(index, Outcome(jobs[index].id, found, cached=True))
    return [alike[content] for content in missing], [names[content] for content in missing]


def _shared(job: Job, result: Outcome) -> Outcome:
    return replace(result, job=job.id, seconds=0.0, cached=result.ok)


def _run(jobs: Sequence[Job], count: int, timeout_s: float) -> Generator[tuple[int, Outcome], None, None]:
    """Outcomes with their jobs' positions, as they come. Closing it, or an exception in it, kills what still runs."""
    todo: queue.SimpleQueue[tuple[int, Job]] = queue.SimpleQueue()
    for item in enumerate(jobs):
        todo.put(item)
    results: queue.SimpleQueue[tuple[int, Outcome] | BaseException] = queue.SimpleQueue()
    workers = [Worker(timeout_s) for _ in range(count)]
    threads = [threading.Thread(target=_serve, args=(w, todo, results), daemon=True) for w in workers]
    try:
        for thread in threads:
            thread.start()
        for _ in jobs:
            result = results.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:  # KeyboardInterrupt included
        for worker in workers:
            worker.close()
        for thread in threads:
            thread.join()


def _serve(
    worker: Worker,
    todo: queue.SimpleQueue[tuple[int, Job]],
    results: queue.SimpleQueue[tuple[int, Outcome] | BaseException],
) -> None:
    """One worker's thread: jobs until there are none, or the worker is closed."""
    try:
        while not worker.closed:
            position, job = todo.get_nowait()
            results.put((position, worker.run(job)))
    except queue.Empty:
        pass
    except BaseException as error:
        results.put(error)
    finally:
        worker.stop()
