"""`tlxgen verify` for people: runs structures of specs, cases and functions in the simulator; prints what is wrong."""

from __future__ import annotations

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlxgen import __version__
from tlxgen.build import Prepared
from tlxgen.cases import sidecar
from tlxgen.coverage.page import page
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.families import Kernels, kernels_of
from tlxgen.files import require_outputs, write_atomic
from tlxgen.loading import HOST
from tlxgen.review.progress import bar
from tlxgen.streams import OutputError
from tlxgen.terminal import emphasised
from tlxgen.verbs.findings import told
from tlxgen.verify import (
    CHANCE,
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
from tlxgen.verify.verification import error_from_json, error_to_json
from tlxgen.working import Working, config_rows, of_module, of_spec

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
    coverage: Path | None = None  # the page of what ran

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
        self._lost: OutputError | OSError | None = None

    def print(self, text: str) -> None:
        """Prints, or raises what hinders it, at once or, where a record is kept, at the end."""
        try:
            if self._lost is None:
                print(text, flush=True)
        except (OutputError, OSError) as error:
            self._lost = error
            if not self._kept:
                raise

    def close(self) -> None:
        """Raises what hindered printing."""
        if self._lost is not None:
            raise self._lost


def run(targets: Sequence[str], options: Options, record: Path | None) -> int:
    """Runs the targets: every structure of a spec, generated modules, and hand-written files (see `is_hand_written`).

    Returns 0 when nothing worse than a warning was found, 1 for findings, 2 when something could not be run. Raises the
    errors of all specs and declarations at once.
    """
    require_outputs({"--json": record, "--trace": options.trace, "--coverage": options.coverage})
    jobs: list[Job] = []
    faults: list[TlxgenError] = []
    output = Output(kept=record is not None)
    with ExitStack() as copies:
        works: dict[Path, Working] = {}
        for target in dict.fromkeys(targets):
            try:
                some, work = _jobs(target, options, copies)
            except TlxgenError as error:
                faults.append(error)
                continue
            jobs += some
            if work is not None:
                works[work.folder] = work
        if faults:
            raise faults[0] if len(faults) == 1 else SpecErrors(faults)
        for line in filter(None, (work.difference() for work in works.values())):
            output.print(line)
        wanted = _replayed(list(dict.fromkeys(jobs)), options)
        results = execute(wanted, options, output, works)
        _record(wanted, results, options, works)
        if options.coverage:
            _write(options.coverage, _page(results, works))
    if record:
        _write(record, json.dumps(to_json(results, options), indent=1) + "\n")
    output.close()
    return exit_code(results, options.strict)


def _write(path: Path, text: str) -> None:
    try:
        write_atomic(path, text.encode())
    except OSError as error:
        raise TlxgenError(f"{path} cannot be written: {error.strerror}") from None


def _page(results: Sequence[Result], works: Mapping[Path, Working]) -> str:
    """The page of what ran, with the sources as they were read: those of a spec lie in a copy, which goes."""
    seen = [(result.target, result.coverage) for result in results if result.coverage]
    paths = {function["path"] for _, coverage in seen for function in coverage["functions"]}
    sources = {}
    for path in sorted(paths):
        copies = [w.folder / Path(path).name for w in works.values() if path.startswith(w.shown(f"{w.folder}/"))]
        read = next((file for file in (*copies, Path(path)) if file.is_file()), None)
        sources[path] = read.read_text(errors="replace").splitlines() if read else []
    return page(seen, sources)


def prepared_are_clean(prepared: Sequence[Prepared], folder: Path, options: Options) -> int:
    """Runs modules that are not written yet, from copies below `folder`; the exit status, as `run`."""
    jobs: list[Job] = []
    works: dict[Path, Working] = {}
    for one in prepared:
        copies = folder / str(len(jobs)) / one.spec.stem
        copies.mkdir(parents=True)
        for name, data in one.files.items():
            (copies / name).write_bytes(data)
        works[copies] = Working(one.spec, copies, one.folder, {})
        jobs += _structures(works[copies], options)
    return exit_code(execute(jobs, options, Output(), works))


def execute(jobs: Sequence[Job], options: Options, output: Output, works: Mapping[Path, Working]) -> list[Result]:
    """Runs the jobs, and prints each result as its turn comes, then what was covered. `works`: by their folders."""
    results: list[Result] = []
    every = verify_all(jobs, options.ways, options.limits, options.workers, options.trace, options.prints)
    with closing(every) as coming, bar(len(jobs), "verifying") as shown:
        for job, result in zip(jobs, coming, strict=True):
            story = "\n".join(told(result, options.every)) if result.findings else ""
            if isinstance(job, StructureJob):
                work = works[job.module.parent]
                story = work.shown(story)
                name_as_built(result, work)
            with shown.away():
                _print(result, story, output)
            shown.advance()
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
    """Seeds of each schedule that has chance in it; of another, once is all."""
    return [(s, seed) for s in schedules for seed in range(seeds if s in CHANCE else 1)]


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


def _jobs(target: str, options: Options, copies: ExitStack) -> tuple[Sequence[Job], Working | None]:
    """What there is to run of a target, and the modules that a spec or a generated module stands for."""
    if not is_hand_written(target):
        work = copies.enter_context(of_spec(Path(target)))
        return _structures(work, options), work
    if target.endswith(".py") and not sidecar(Path(target)).exists() and (lying := of_module(Path(target))):
        return _structures(lying, options), lying
    return jobs_of(target, options.config, options.arch), None


def _structures(work: Working, options: Options) -> list[StructureJob]:
    kernels: Kernels = kernels_of(work.spec).some()
    names = [s.name for s in kernels.structures]
    if work.structure:
        names = [kernels.structure(work.structure).name]
        config_rows(work.path(work.structure))  # raises for a module that cannot be run
    return [StructureJob(work.spec, name, work.path(name), options.config) for name in names]


def name_as_built(result: Result, work: Working) -> None:
    """Gives the lines of a result the path in generated/ instead of that of a copy."""
    result.findings = json.loads(work.shown(json.dumps(result.findings, ensure_ascii=False)))
    result.coverage = json.loads(work.shown(json.dumps(result.coverage, ensure_ascii=False)))
    result.verdict = json.loads(work.shown(json.dumps(result.verdict, ensure_ascii=False)))
    if result.error:
        result.error = error_from_json(json.loads(work.shown(json.dumps(error_to_json(result.error)))))


def _record(jobs: Sequence[Job], results: Sequence[Result], options: Options, works: Mapping[Path, Working]) -> None:
    """Puts what was found into the locks, of structures of which all was run: some schedules or configs say less."""
    if options.schedule or options.config is not None or options.replay is not None:
        return
    for folder, work in works.items():
        own = {
            job.structure: _verdict(work, job, result)
            for job, result in zip(jobs, results, strict=True)
            if isinstance(job, StructureJob) and job.module.parent == folder and result.error is None
        }
        work.record("verified", own)


def _verdict(work: Working, job: StructureJob, result: Result) -> dict[str, Any]:
    read = {"source": work.digests[job.module.name], "host": work.digests.get(HOST)}
    counts = Counter(finding["severity"] for finding in result.findings)
    return {**read, "runs": result.runs, "errors": counts["error"], "warnings": counts["warning"]}


def _way(kind: str, value: Any) -> dict[str, Any]:
    return {"schedule": kind, "seed": value} if kind in SCHEDULES else {kind: value}


def _print(result: Result, story: str, output: Output) -> None:
    output.print(f"{result.target}: {result.covered}")
    shown: set[str] = set()
    for run, text in result.prints:
        if text not in shown:  # most print the same in every run
            output.print(textwrap.indent(f"{run} prints:\n{textwrap.indent(text.rstrip(), '  ')}", "  "))
        shown.add(text)
    if result.summary and result.summary.line:
        output.print(f"  {result.summary.line}")
    if story:
        output.print(emphasised(textwrap.indent(story, "  "), sys.stdout))
    if result.error:
        output.print("  " + _text(result.error).replace("\n", "\n  "))


def _text(error: TlxgenError) -> str:
    return str(error) if error.location or isinstance(error, SpecErrors) else f"error: {error}"
