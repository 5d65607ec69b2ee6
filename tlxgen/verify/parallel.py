"""Runs jobs in parallel, each bounded in time and memory."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from tlxgen.bounded import Answer, Child, Frame, cpus, kept, run_all
from tlxgen.errors import Location, TlxgenError
from tlxgen.project import real

from .verification import (
    GIB,
    CaseJob,
    FunctionJob,
    Job,
    Limits,
    Result,
    StructureJob,
    Way,
    error_from_json,
    to_json,
)

CHILD = "tlxgen.verify.simulate"
_OURS = str(Path(__file__).parents[1])


class VerifyError(TlxgenError):
    """A job did not complete: it hung, crashed, or left the process."""


def verify_all(
    jobs: Sequence[Job],
    runs: Sequence[Way],
    limits: Limits,
    workers: int | None = None,
    trace: Path | None = None,
    prints: bool = False,
    on_done: Callable[[Job, Result], object] = lambda job, result: None,
) -> Generator[Result, None, None]:
    """Yields the results of the jobs in their order. `on_done` gets each as soon as it is there, in one of the threads.

    `workers` defaults to the number of CPUs. `trace` is a file for the trace of a run to the first finding or, without
    findings, of any run; with several jobs each has its own file, with its target's name. With `prints` the results
    have the output of the targets.

    The cases of a hand-written file share a process of their own, and generated modules share some. Except for
    `seconds`, the results do not depend on the number of workers.
    """

    def work(child: Child, unit: Sequence[Job]) -> list[Result]:
        done: list[Result] = []
        for job in unit:
            if not child.stopped:
                ways = (isinstance(job, StructureJob) and job.ways) or runs
                done.append(_run(child, job, ways, limits, _trace_file(trace, job, len(jobs)), prints))
                if not child.stopped:
                    on_done(job, done[-1])
        return done

    workers = workers or cpus()
    some = _units(jobs, workers)
    count = min(workers, max(1, len(some)))
    each = run_all(CHILD, some, work, workers=count, alone=lambda unit: unit[0].foreign, forked=True)
    with closing(each) as results:
        for unit in results:
            yield from unit


def skeleton(job: FunctionJob, limits: Limits) -> str:
    """A first case file, for a function or for its whole file. Raises TlxgenError."""
    request = {"job": to_json(job), "memory": int(limits.memory_gib * GIB), "skeleton": True}
    child = Child(CHILD, nursery=kept(os.environ))
    try:
        answer = child.ask(request, limits.seconds)
    finally:
        child.close()
    for message in answer.messages:
        if "error" in message:
            raise error_from_json(message["error"])
        if isinstance(text := message.get("skeleton"), str):
            return text
    raise _lost(job, answer, limits)


def _units(jobs: Sequence[Job], workers: int) -> list[list[Job]]:
    """Lists of jobs for one process each: the cases of a file, in as many parts as keep all workers busy."""
    units: list[list[Job]] = []
    for _, same in groupby(jobs, key=lambda job: (job.file, job.declared) if isinstance(job, CaseJob) else id(job)):
        some = list(same)
        size = -(-len(some) // workers)
        units += [some[i : i + size] for i in range(0, len(some), size)]
    return units


def _trace_file(trace: Path | None, job: Job, jobs: int) -> str | None:
    if trace is None:
        return None
    name = re.sub(r"\W+", "_", job.target)
    return str(real(trace if jobs == 1 else trace.with_name(f"{trace.stem}.{name}{trace.suffix}")))


def _run(child: Child, job: Job, runs: Sequence[Way], limits: Limits, trace: str | None, prints: bool) -> Result:
    request = {
        "job": to_json(job),
        "runs": list(runs),
        "memory": int(limits.memory_gib * GIB),
        "timeout_s": limits.seconds,
        "trace": trace,
        "prints": prints,
        "skeleton": False,
    }
    start = time.perf_counter()
    answer = child.ask(request, limits.seconds)
    result = Result(job.target)
    try:
        done = sum(_take(result, message) for message in answer.messages)
    except (KeyError, TypeError, ValueError):
        answer = replace(answer, fate="answered what is no answer")
    if answer.fate:
        result.error = _lost(job, answer, limits)
    elif not result.error and done < len(runs):
        result.error = VerifyError(f"{job.target} broke off after {done} of {len(runs)} runs")
    result.seconds = result.seconds or time.perf_counter() - start
    return result


def _take(result: Result, message: dict[str, Any]) -> bool:
    """Adds a message to the result. Returns whether it was a run's report. Raises KeyError, TypeError for others'."""
    if "error" in message:
        result.error = error_from_json(message["error"])
    if "witness" in message:
        shown = message["witness"]
        finding = next(f for f in result.findings if (f["id"], f["places"]) == (shown["id"], shown["places"]))
        finding |= {"replay": shown["replay"], "witness": shown["text"]}
    if "cases" in message:
        result.cases = tuple((i, tuple(shape)) for i, shape in message["cases"])
        result.sms = tuple(message["sms"])
    if "verdict" in message:
        result.verdict = {**message["verdict"]}
    if "coverage" in message:
        result.coverage = {**message["coverage"]}
    if "print" in message:
        said = dict(result.prints)
        said[message["print"]] = said.get(message["print"], "") + message["text"]
        result.prints = list(said.items())
    if "report" not in message:
        return False
    report = message["report"]
    known = {(f["id"], str(f["places"])) for f in result.findings}
    result.findings += [f for f in report["findings"] if (f["id"], str(f["places"])) not in known]
    result.runs += report["runs"]
    result.steps += report["steps"]
    result.states += report["states"]
    result.searches += report["searches"]
    result.limits += report["limits"]
    result.seconds += report["seconds"]
    return True


def _lost(job: Job, answer: Answer, limits: Limits) -> TlxgenError:
    """The error of a job whose child was lost, with the line of the user's files at which it was."""
    during = next((m["begin"] for m in reversed(answer.messages) if "begin" in m), "starting")
    frame = next((f for f in answer.stack if _is_users(f)), None)
    where = _location(frame) if frame else None
    said = f": {answer.last_line}" if answer.last_line else ""
    remedy = ""
    if answer.fate.startswith("timed out"):
        remedy = "--timeout SECONDS gives it longer"
    elif "SIGKILL" in answer.fate or "SIGABRT" in answer.fate:
        remedy = f"it may have {limits.memory_gib:g} GiB beyond torch and triton; --memory GIB gives it more"
    return VerifyError(f"{job.target} {answer.fate} ({during}){said}", location=where, remedy=remedy)


def _is_users(frame: Frame) -> bool:
    libraries = (_OURS, "<")
    inside = any(part in frame.path for part in ("/lib/python3", "/site-packages/torch/"))
    return not frame.path.startswith(libraries) and (not inside or "tutorials" in frame.path)


def _location(frame: Frame) -> Location:
    path = Path(frame.path)
    here = Path.cwd()
    try:
        text = path.read_text().splitlines()[frame.line - 1]
    except (OSError, ValueError, IndexError):
        text = ""
    name = path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)
    return Location(name, frame.line, len(text) - len(text.lstrip()) + 1, text)
