"""`tlxgen verify` for people: runs structures of specs, cases and functions in the simulator; prints what is wrong."""

from __future__ import annotations

import errno
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlxgen import __version__, lock
from tlxgen.build import Prepared, build
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.families import Kernels, kernels_of
from tlxgen.files import require_writable, write_atomic
from tlxgen.verbs.findings import told
from tlxgen.verify import (
    SCHEDULES,
    Arch,
    Job,
    Limits,
    Result,
    Run,
    Schedule,
    StructureJob,
    Way,
    is_hand_written,
    jobs_of,
    verify_all,
)

CASE_STEPS = 1_000_000  # that the search of all orders of one case may take: half a minute or so
RECORD_VERSION = 1  # of the JSON; it changes when a key changes its meaning or goes


@dataclass(frozen=True)
class Options:
    """How `verify` runs what it is given."""

    seeds: int = 2
    schedule: Schedule | None = None
    config: int | None = None
    arch: Arch = "sm90"
    workers: int | None = None
    limits: Limits = field(default_factory=Limits)
    exhaustive: bool = False
    replay: str | None = None  # TARGET=LIST, as a finding prints it
    trace: Path | None = None
    every: bool = False  # finding is told, and not one of each kind
    strict: bool = False  # warnings count
    prints: bool = False  # of the targets are shown

    @property
    def ways(self) -> Sequence[Way]:
        if self.replay is not None:
            return [("replay", self.replay.rpartition("=")[2])]
        return [("exhaustive", CASE_STEPS)] if self.exhaustive else self.runs

    @property
    def runs(self) -> list[Run]:
        return runs_of(self.seeds, (self.schedule,) if self.schedule else SCHEDULES)


class Output:
    """Standard output, which may be full or closed. Where a record is `kept` besides, the work goes on for that."""

    def __init__(self, kept: bool = False) -> None:
        self._kept = kept
        self._lost: OSError | None = None

    def print(self, text: str) -> None:
        """Prints, or raises TlxgenError at once or, where a record is kept, at the end."""
        try:
            print(text, flush=True)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is in the buffer, and what comes
            self._lost = self._lost or error
            if not self._kept:
                self.close()

    def close(self) -> None:
        """Raises TlxgenError when something could not be printed; whoever has closed a pipe need not be told."""
        if self._lost is not None:
            if self._lost.errno == errno.EPIPE:
                raise SystemExit(2)
            raise TlxgenError(f"standard output cannot be written: {self._lost.strerror}")


def run(targets: Sequence[str], options: Options, record: Path | None) -> int:
    """Runs the targets: every structure of a spec, built if stale, and hand-written files (see `is_hand_written`).

    Returns 0 when nothing worse than a warning was found, 1 for findings, 2 when something could not be run. Raises the
    errors of all specs and declarations at once.
    """
    for path in (record, options.trace):
        if path is not None:
            require_writable(path)
    jobs: list[Job] = []
    faults: list[TlxgenError] = []
    for target in targets:
        try:
            jobs += _jobs(target, options)
        except TlxgenError as error:
            faults.append(error)
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)
    jobs = _replayed(list(dict.fromkeys(jobs)), options)
    output = Output(kept=record is not None)
    results = execute(jobs, options, output)
    if record:
        try:
            write_atomic(record, (json.dumps(to_json(results, options), indent=1) + "\n").encode())
        except OSError as error:
            raise TlxgenError(f"{record} cannot be written: {error.strerror}") from None
    output.close()
    return exit_code(results, options.strict)


def prepared_are_clean(prepared: Sequence[Prepared], folder: Path, options: Options) -> int:
    """Runs modules that are not written yet, from copies below `folder`; the exit status, as `run`."""
    jobs: list[Job] = []
    for one in prepared:
        copies = folder / str(len(jobs)) / one.spec.stem
        copies.mkdir(parents=True)
        for name, data in one.files.items():
            (copies / name).write_bytes(data)
        jobs += _structures(one.spec, copies, options)
    return exit_code(execute(jobs, options, Output()))


def execute(jobs: Sequence[Job], options: Options, output: Output) -> list[Result]:
    """Runs the jobs, and prints each result as its turn comes, then what was covered."""
    results: list[Result] = []
    with closing(
        verify_all(jobs, options.ways, options.limits, options.workers, options.trace, options.prints)
    ) as coming:
        for result in coming:
            _print(result, options.every, output)
            results.append(result)
    findings = sum(len(r.findings) for r in results)
    total = Result("")
    for result in results:
        total.add(result)
    stopped = sum(r.error is not None for r in results)
    failed = f"; {stopped} of {len(results)} targets could not be run to the end" if stopped else ""
    unproven = "other shapes" if total.complete else "other orders and shapes"
    found = f"{findings} finding{'' if findings == 1 else 's'}"
    output.print(f"{found} in {total.covered}{failed}; what was not run ({unproven}) is not proven")
    return results


def exit_code(results: Sequence[Result], strict: bool = False) -> int:
    """2 when something was not run to its end, else 1 for findings that are errors (if `strict`, for any), else 0."""
    return 2 if any(r.error for r in results) else int(any(r.faulty or (strict and r.findings) for r in results))


def to_json(results: Sequence[Result], options: Options) -> dict[str, Any]:
    """The record; docs/verify.md describes it."""
    return {
        "version": RECORD_VERSION,
        "tlxgen": __version__,
        "runs": [_way(*way) for way in options.ways],
        "targets": [result.to_json() for result in results],
    }


def runs_of(seeds: int, schedules: Sequence[Schedule]) -> list[Run]:
    """Seeds of each schedule; lazy and eager have no chance in them: once is all."""
    return [(s, seed) for s in schedules for seed in range(seeds if s in ("random", "starved") else 1)]


def _replayed(jobs: list[Job], options: Options) -> list[Job]:
    """The job that `--replay` names; all, without it. Raises TlxgenError when it names none of them."""
    if options.replay is None:
        return jobs
    named, sign, _ = options.replay.rpartition("=")
    found = [job for job in jobs if job.target == named] if sign else jobs
    if len(found) != 1:
        names = ", ".join(job.target for job in jobs)
        raise TlxgenError(f"--replay is of one target, TARGET=LIST; there are {names}")
    return found


def _jobs(target: str, options: Options) -> Sequence[Job]:
    if is_hand_written(target):
        return jobs_of(target, options.config, options.arch)
    return _structures(Path(target), build(Path(target)).folder, options)


def _structures(spec: Path, folder: Path, options: Options) -> list[StructureJob]:
    kernels: Kernels = kernels_of(spec).some()
    names = set(lock.read(folder)["structures"])
    structures = [s for s in kernels.structures if s.name in names]
    return [StructureJob(spec, s.name, folder / f"{s.name}.py", options.config) for s in structures]


def _way(kind: str, value: Any) -> dict[str, Any]:
    return {"schedule": kind, "seed": value} if kind in SCHEDULES else {kind: value}


def _print(result: Result, every: bool, output: Output) -> None:
    output.print(f"{result.target}: {result.covered}")
    shown: set[str] = set()
    for run, text in result.prints:
        if text not in shown:  # most print the same in every run
            output.print(textwrap.indent(f"{run} prints:\n{textwrap.indent(text.rstrip(), '  ')}", "  "))
        shown.add(text)
    if result.findings:
        output.print(textwrap.indent("\n".join(told(result, every)), "  "))
    if result.error:
        output.print("  " + _text(result.error).replace("\n", "\n  "))


def _text(error: TlxgenError) -> str:
    return str(error) if error.location or isinstance(error, SpecErrors) else f"error: {error}"
