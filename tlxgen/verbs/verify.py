"""`tlxgen verify`: runs structures of specs, cases and functions in the simulator, and prints the findings."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlxgen import __version__, digest
from tlxgen.build import Prepared
from tlxgen.cases import sidecar
from tlxgen.coverage.page import page
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.families import Kernels, kernels_of
from tlxgen.files import require_outputs, write_atomic
from tlxgen.proof import State, Want
from tlxgen.review.progress import bar
from tlxgen.streams import OutputError
from tlxgen.terminal import emphasised
from tlxgen.verbs.findings import told
from tlxgen.verbs.proofs import Proofs
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
from tlxgen.words import counted
from tlxgen.working import Working, config_rows, of_module, of_spec

CASE_STEPS = 1_000_000  # limit of an exhaustive search of one case's orders: about half a minute
RECORD_VERSION = 1  # version of the JSON; it is raised when a key is removed or changes its meaning


@dataclass(frozen=True)
class Options:
    """The options of `verify`."""

    seeds: int = 2
    schedule: Schedule | None = None
    config: int | None = None
    arch: Arch = "sm90"
    workers: int | None = None
    limits: Limits = field(default_factory=Limits)
    exhaustive: bool = False
    replay: str | None = None  # TARGET=LIST, as a finding prints it
    trace: Path | None = None
    every: bool = False  # print every finding, not one of each kind
    strict: bool = False  # warnings fail the command
    prints: bool = False  # show what the targets print
    changed: bool = False  # run only structures without a valid record
    any_simulator: bool = False  # a record by another simulator is valid, too
    coverage: Path | None = None  # the page of coverage to write

    @property
    def ways(self) -> Sequence[Way]:
        if self.replay is not None:
            return [("replay", self.replay.rpartition("=")[2])]
        return [("exhaustive", CASE_STEPS)] if self.exhaustive else self.runs

    @property
    def runs(self) -> list[Run]:
        return runs_of(self.seeds, (self.schedule,) if self.schedule else SCHEDULES)

    @property
    def are_whole(self) -> bool:
        """Whether all schedules and configs are run, so that the lock records the result."""
        return not self.exhaustive and self.schedule is None and self.config is None and self.replay is None

    @property
    def want(self) -> Want:
        """The conditions for a valid record."""
        return Want(tuple(self.runs), self.strict)


class Output:
    """Standard output, which may be full or closed. If a record is `kept`, the run continues then for its sake."""

    def __init__(self, kept: bool = False) -> None:
        self._kept = kept
        self._lost: OutputError | OSError | None = None

    def print(self, text: str) -> None:
        """Prints. An error is raised at once or, if a record is kept, at the end."""
        try:
            if self._lost is None:
                print(text, flush=True)
        except (OutputError, OSError) as error:
            self._lost = error
            if not self._kept:
                raise

    def close(self) -> None:
        """Raises the error that prevented printing, if there was one."""
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
    output, proofs = Output(kept=record is not None), Proofs()
    with ExitStack() as copies:
        works: dict[Path, Working] = {}
        for target in dict.fromkeys(targets):
            try:
                some, work = _jobs(target, options, copies, proofs)
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
        known = _known(wanted, options, proofs, output) if options.changed else {}
        wanted = [job for job in wanted if job not in known]
        results = execute(wanted, options, output, works, proofs) if wanted or not known else []
        if options.changed and not options.any_simulator:  # their records say what was given, for the next time
            for job in wanted:
                if isinstance(job, StructureJob):
                    proofs.renewed(job, options.want)
        if options.coverage:
            _write(options.coverage, _page(results, works))
        if record:
            shown: list[tuple[Result | Job, Any]] = [(job, proofs.shown(job)) for job in known]
            shown += [(result, proofs.shown(job)) for job, result in zip(wanted, results, strict=True)]
            _write(record, json.dumps(to_json(shown, options), indent=1) + "\n")
    output.close()
    proofs.close()
    return exit_code(results, options.strict)


def _write(path: Path, text: str) -> None:
    try:
        write_atomic(path, text.encode())
    except OSError as error:
        raise TlxgenError(f"{path} cannot be written: {error.strerror}") from None


def _page(results: Sequence[Result], works: Mapping[Path, Working]) -> str:
    """The page of coverage. It has the sources as they were read, since those of a spec are in a temporary copy."""
    seen = [(result.target, result.coverage) for result in results if result.coverage]
    paths = {function["path"] for _, coverage in seen for function in coverage["functions"]}
    sources = {}
    for path in sorted(paths):
        copies = [w.folder / Path(path).name for w in works.values() if path.startswith(w.shown(f"{w.folder}/"))]
        read = next((file for file in (*copies, Path(path)) if file.is_file()), None)
        sources[path] = read.read_text(errors="replace").splitlines() if read else []
    return page(seen, sources)


def _known(jobs: Sequence[Job], options: Options, proofs: Proofs, output: Output) -> dict[Job, State]:
    """The structures with a valid record; prints a line with their number."""
    state = proofs.state if options.any_simulator else proofs.renewed
    states = {job: state(job, options.want) for job in jobs if isinstance(job, StructureJob)}
    known: dict[Job, State] = {
        job: state
        for job, state in states.items()
        if state is State.PROVEN or (options.any_simulator and state.is_proven)
    }
    if known:
        others = sum(state is not State.PROVEN for state in known.values())
        by = f", {others} of them by another simulator" if others else ""
        output.print(f"{counted(len(known), 'module')} of {len(states)} proven already{by}: not run again")
    return known


def write_if_clean(prepared: Sequence[Prepared], folder: Path, options: Options, write: Callable[[], None]) -> int:
    """Runs modules that are not written yet, from copies below `folder`. Returns the exit status, like `run`.

    If there are no findings, the modules are written, and their locks record the runs.
    """
    jobs: list[StructureJob] = []
    works: dict[Path, Working] = {}
    proofs = Proofs()
    for one in prepared:
        copies = folder / str(len(jobs)) / one.spec.stem
        copies.mkdir(parents=True)
        for name, data in one.files.items():
            (copies / name).write_bytes(data)
        digests = {name: digest.of_bytes(data) for name, data in one.files.items()}
        works[copies] = Working(one.spec, copies, one.folder, digests)
        jobs += _structures(works[copies], options, proofs)
    results = execute(jobs, options, Output(), works)
    if status := exit_code(results):
        return status
    write()
    for job, result in zip(jobs, results, strict=True):
        proofs.note(job, result, options.want)
    proofs.close()
    return 0


def execute(
    jobs: Sequence[Job],
    options: Options,
    output: Output,
    works: Mapping[Path, Working],
    proofs: Proofs | None = None,
) -> list[Result]:
    """Runs the jobs, prints the results in their order, then the coverage. `works` are by their folders.

    `proofs` writes each result into its lock as soon as it is there.
    """

    def done(job: Job, result: Result) -> None:
        if proofs is not None and options.are_whole:
            proofs.note(job, result, options.want)

    results: list[Result] = []
    how = (options.ways, options.limits, options.workers, options.trace, options.prints)
    every = verify_all(jobs, *how, on_done=done)
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
    """2 if a run did not complete, else 1 for findings that are errors (with `strict`, for all findings), else 0."""
    return 2 if any(r.error for r in results) else int(any(r.faulty or (strict and r.findings) for r in results))


def to_json(shown: Sequence[tuple[Result | Job, Mapping[str, Any] | None]], options: Options) -> dict[str, Any]:
    """The record, which docs/verify.md describes. `shown` has what was run or is proven, each with its proof."""
    targets = [
        (x.to_json() if isinstance(x, Result) else {"target": x.target, "status": "proven"})
        | ({"proof": proof} if proof else {})
        for x, proof in shown
    ]
    runs = [_way(*way) for way in options.ways]
    return {"version": RECORD_VERSION, "tlxgen": __version__, "runs": runs, "targets": targets}


def runs_of(seeds: int, schedules: Sequence[Schedule]) -> list[Run]:
    """The runs: each random schedule with all seeds, and each deterministic schedule once."""
    return [(s, seed) for s in schedules for seed in range(seeds if s in CHANCE else 1)]


def _replayed(jobs: list[Job], options: Options) -> list[Job]:
    """The job that `--replay` names, or all jobs without it. Raises TlxgenError if it names none of them."""
    if options.replay is None:
        return jobs
    named, sign, _ = options.replay.rpartition("=")
    found = [job for job in jobs if job.target == named] if sign else jobs
    if len(found) != 1:
        names = ", ".join(job.target for job in jobs)
        raise TlxgenError(f"--replay is of one target, TARGET=LIST; there are {names}")
    return found


def _jobs(target: str, options: Options, copies: ExitStack, proofs: Proofs) -> tuple[Sequence[Job], Working | None]:
    """The jobs of a target, and the modules of a target that is a spec or a generated module."""
    if not is_hand_written(target):
        work = copies.enter_context(of_spec(Path(target)))
        return _structures(work, options, proofs), work
    if target.endswith(".py") and not sidecar(Path(target)).exists() and (lying := of_module(Path(target))):
        return _structures(lying, options, proofs), lying
    return jobs_of(target, options.config, options.arch), None


def _structures(work: Working, options: Options, proofs: Proofs) -> list[StructureJob]:
    kernels: Kernels = kernels_of(work.spec).some()
    names = [s.name for s in kernels.structures]
    if work.structure:
        names = [kernels.structure(work.structure).name]
        config_rows(work.path(work.structure))  # raises an error for a module that cannot be run
    jobs = [StructureJob(work.spec, name, work.path(name), options.config) for name in names]
    proofs.add(jobs, work, kernels)
    return jobs


def name_as_built(result: Result, work: Working) -> None:
    """Replaces the path of a copy by that in generated/ in the lines of a result."""
    result.findings = json.loads(work.shown(json.dumps(result.findings, ensure_ascii=False)))
    result.coverage = json.loads(work.shown(json.dumps(result.coverage, ensure_ascii=False)))
    result.verdict = json.loads(work.shown(json.dumps(result.verdict, ensure_ascii=False)))
    if result.error:
        result.error = error_from_json(json.loads(work.shown(json.dumps(error_to_json(result.error)))))


def _way(kind: str, value: Any) -> dict[str, Any]:
    return {"schedule": kind, "seed": value} if kind in SCHEDULES else {kind: value}


def _print(result: Result, story: str, output: Output) -> None:
    output.print(f"{result.target}: {result.covered}")
    shown: set[str] = set()
    for run, text in result.prints:
        if text not in shown:  # most targets print the same in every run
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
