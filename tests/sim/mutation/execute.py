"""Runs a mutant in the simulator, and many in child processes with a time limit each."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

from tlxgen.loading import HOST, MODEL
from tlxgen.sim import Delays, Report, UnsupportedOp, Way
from tlxgen.verbs.verify import runs_of
from tlxgen.verify import SCHEDULES

from .equivalent import argument
from .mutant import Mutant, apply
from .subjects import Subject

# caught: there are findings. clean: none on any case and schedule. invalid: the kernel raises, as the compiler would.
# unsupported, timeout: no answer.
Verdict = Literal["caught", "clean", "invalid", "unsupported", "timeout"]
AT_RUN_TIME = ("divided by zero", "range() arg 3 must not be zero")  # kernel errors that a compiler would not see
SECONDS = 240.0  # of one mutant, all its cases: one that has no end meets the simulator's own limits far earlier


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant. `runs` were needed for it; `ids` and `text` are of the run that ended it."""

    verdict: Verdict
    ids: tuple[str, ...] = ()
    text: str = ""
    case: str = ""
    schedule: str = ""
    seed: int = 0
    runs: int = 0
    seconds: float = 0.0


def default_runs() -> tuple[Way, ...]:
    """The schedules of `tlxgen verify`, as it runs them when nothing else is said."""
    return tuple(Delays() if kind == "delays" else (kind, seed) for kind, seed in runs_of(2, SCHEDULES))


def execute(subject: Subject, mutant: Mutant, runs: Sequence[Way] = ()) -> Outcome:
    """Runs schedule after schedule, each on case after case, until one has findings. What is argued to be no fault runs
    on one schedule alone, unless `runs` says more: nearly all of the time would be theirs."""
    start, count = time.perf_counter(), 0
    runs = runs or (default_runs()[:1] if argument(mutant) else default_runs())
    with written(subject, mutant) as path:
        for run in runs:
            for case in subject.cases:
                try:
                    report = subject.verify(path, case, (run,))
                except UnsupportedOp as error:
                    return Outcome("unsupported", text=str(error), case=str(case), runs=count)
                count += report.runs
                if report.seen:
                    return outcome_of(report, str(case), count, time.perf_counter() - start)
    return Outcome("clean", runs=count, seconds=time.perf_counter() - start)


@contextmanager
def written(subject: Subject, mutant: Mutant) -> Iterator[Path]:
    """A file with the mutant's source, under the module's own name."""
    with tempfile.TemporaryDirectory() as folder:
        for shared in filter(Path.exists, map(subject.path.with_name, (HOST, MODEL))):
            shutil.copy(shared, folder)
        path = Path(folder) / f"{mutant.at.split('/')[1]}.py"
        path.write_text(apply(subject.text, mutant.edits))
        yield path


def outcome_of(report: Report, case: str, count: int, seconds: float = 0.0) -> Outcome:
    """Of a report with findings, `count` runs of a mutant after its first."""
    shown, first = report.seen[0], report.seen[0].finding
    refused = report.ids == {"kernel-error"} and not any(t in first.message for t in AT_RUN_TIME)
    verdict: Verdict = "invalid" if refused else "caught"
    text = f"{first.message} [{', '.join(str(p.line) for p in first.places)}]"
    return Outcome(verdict, tuple(sorted(report.ids)), text, case, shown.way, shown.seed, count, round(seconds, 3))


def parallel(
    jobs: Iterable[Any], work: Callable[[Any], Any], late: Any, workers: int, seconds: float
) -> Iterator[tuple[Any, Any]]:
    """(job, work(job)) in the order of completion; each in a fork of this process, which is killed when it takes more
    than `seconds`: then its result is `late`. So one job can hang, or end its process, and no other one notices."""
    context = multiprocessing.get_context("fork")
    gc.freeze()  # or every child would copy what it only looks at
    waiting = iter(jobs)
    running: dict[Any, tuple[Any, Any, float]] = {}  # by the connection: the process, its job, when it is late
    while True:
        while len(running) < workers and (job := next(waiting, None)) is not None:
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(theirs, work, job))
            process.start()
            theirs.close()
            running[mine] = (process, job, time.monotonic() + seconds)
        if not running:
            return
        first = min(deadline for _, _, deadline in running.values())
        ready = wait(list(running), timeout=max(0.0, first - time.monotonic()))
        over = [c for c, (_, _, deadline) in running.items() if deadline <= time.monotonic()]
        for connection in {*ready, *over}:
            assert isinstance(connection, Connection)
            process, job, _ = running.pop(connection)
            yield job, _result(connection, late)
            process.kill()
            process.join()


def _child(connection: Connection, work: Callable[[Any], Any], job: Any) -> None:
    connection.send(work(job))
    connection.close()
    os._exit(0)  # without the clean-up of what is the parent's


def _result(connection: Connection, late: Any) -> Any:
    try:
        return connection.recv() if connection.poll() else late
    except EOFError:
        return late
    finally:
        connection.close()
