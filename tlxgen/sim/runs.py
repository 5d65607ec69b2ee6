"""Runs a program on several schedules, or on all that matter, and collects the findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import torch

from tlxgen.coverage import Coverage
from tlxgen.cudalike import DEVICE

from .delays import KINDS, Delay, Delays, Perturbed
from .engine import Schedule
from .explore import Budget, explore
from .findings import Finding
from .launch import SMS, Director, Scheduled, Session
from .machine import Limits
from .repeatable import Case
from .script import Script, Scripted

Run = tuple[Schedule, int]
Way = Run | Script | Delays | Budget  # one run; a replay; a run for each delay; or an exhaustive search
RUNS: tuple[Run, ...] = (("random", 0), ("random", 1), ("starved", 2), ("lazy", 3), ("eager", 4))


@dataclass(frozen=True)
class Seen:
    """A finding, and the first run that showed it: a schedule and a seed, a delay, or a list of decisions. A repetition
    of that run shows it again."""

    finding: Finding
    schedule: Schedule | None
    seed: int
    script: Script | None = None
    steps: int = 0  # steps of that run up to the finding
    part: int = 0  # number of the program, if several were verified together
    delay: Delay | None = None
    case: Case | None = field(default=None, repr=False, compare=False)

    @property
    def director(self) -> Director:
        if self.delay is not None:
            return Perturbed(self.delay)
        if self.schedule is None:
            return Scripted(self.script or Script(self.seed))
        return Scheduled(self.schedule, self.seed)

    @property
    def way(self) -> str:
        """The schedule's name, for a delay with the number of its point, or "replay" for a list."""
        return str(self.delay or self.schedule or "replay")

    @property
    def run(self) -> str:
        """The run in words."""
        return f"decisions {self.script}" if self.way == "replay" else f"schedule {self.way}, seed {self.seed}"

    def __str__(self) -> str:
        return f"{self.finding} ({self.run})"


@dataclass
class Report:
    """The findings and the coverage of a program's runs.

    A clean report says that a number of runs had no findings. It is a proof only if it is `complete`; `explore` says
    what is proven then.
    """

    seen: list[Seen] = field(default_factory=list)
    runs: int = 0
    steps: int = 0  # scheduling decisions and operations, over all runs
    seconds: float = 0.0
    states: int = 0  # distinct states of exhaustive searches
    searches: int = 0  # number of exhaustive searches
    limits: list[str] = field(default_factory=list)  # what ended incomplete searches
    first: Case | None = field(default=None, repr=False)
    coverage: Coverage = field(default_factory=Coverage, repr=False)  # what all runs have exercised

    @property
    def errors(self) -> list[Seen]:
        return [s for s in self.seen if s.finding.severity == "error"]

    @property
    def ids(self) -> set[str]:
        return {s.finding.id for s in self.seen}

    @property
    def complete(self) -> bool:
        """Whether every search was exhaustive and complete."""
        return self.searches > 0 and not self.limits

    @property
    def covered(self) -> str:
        """A text that says what was run."""
        if not self.searches:
            return f"{self.runs} runs, {self.steps} steps, {self.seconds:.1f} s"
        stopped = f"stopped at the limit of {', '.join(dict.fromkeys(self.limits))}"
        end = "search complete" if self.complete else stopped
        return f"{self.runs} runs, {self.states} states, {end}, {self.seconds:.1f} s"

    def __str__(self) -> str:
        """The findings, one a line: for `assert not report.errors, str(report)`."""
        return "\n".join(map(str, self.seen)) or f"no findings in {self.runs} runs"

    def of_part(self, number: int) -> Report:
        """A copy whose findings belong to program `number` of several."""
        return replace(self, seen=[replace(s, part=number) for s in self.seen])

    def add(self, other: Report) -> None:
        """Adds another report. A finding that is already there is not repeated."""
        known = {s.finding.key for s in self.seen}
        self.seen += [s for s in other.seen if s.finding.key not in known]
        self.runs += other.runs
        self.steps += other.steps
        self.seconds += other.seconds
        self.states += other.states
        self.searches += other.searches
        self.limits += other.limits
        self.first = self.first or other.first
        self.coverage.add(other.coverage)


def verify(
    program: Callable[[Session], None],
    runs: Sequence[Way] = RUNS,
    *,
    sms: int = SMS,
    config: int = 0,
    limits: Limits | None = None,
    arch: str = "sm90",
    replay: str | None = None,
    exhaustive: Budget | None = None,
) -> Report:
    """Calls `program`, which launches kernels and may add findings of its own, once for each schedule and seed.

    Made for test suites: it runs in the caller's process, with no GPU, on tensors made for the device `DEVICE`. Host
    functions run as they are. `config` is the one that autotuned kernels run with, counted after their pruning.

        def test_scale():
            def program(session):
                torch.manual_seed(session.seed)
                x = torch.randn(1000, device=DEVICE)
                torch.testing.assert_close(scale(x), 2 * x)

            report = verify(program)
            assert not report.errors, str(report)

    A Script among `runs`, or `replay` as its text, is a run on a list of decisions, as findings print them. A Budget,
    or `exhaustive`, runs every schedule that can make a difference, until the budget is spent.

    Raises UnsupportedOp, NoSuchConfig and ReplayError, and the assertions, system errors and exits of `program`. Other
    exceptions, which a kernel's faults can cause, are findings. See docs/verify.md.
    """
    report = Report()
    start = time.perf_counter()
    case = Case(program, sms, config, limits or Limits(), arch)
    if replay is not None:
        runs = (Script.parse(replay),)
    elif exhaustive is not None:
        runs = (exhaustive,)
    for run in runs:
        report.add(_runs(case, run))
    report.seconds = time.perf_counter() - start
    return report


def _runs(case: Case, way: Way) -> Report:
    if isinstance(way, Budget):
        return _explore(case, way)
    if isinstance(way, Delays):
        return _delayed(case, way)
    if isinstance(way, Script):
        return _once(case, Scripted(way), way.seed, script=way)
    schedule, seed = way
    return _once(case, Scheduled(schedule, seed), seed, schedule=schedule)


def _once(case: Case, director: Director, seed: int, **run: Any) -> Report:
    """The report of one run. `run` has the fields of `Seen` that describe the run."""
    session = case.run(director, seed)
    fields = {"schedule": None, "seed": seed, "case": case, **run}
    found = [Seen(f, steps=session.noticed[f.key], **fields) for f in session.findings.all]
    return Report(found, 1, session.steps, first=case, coverage=session.coverage)


def _delayed(case: Case, delays: Delays) -> Report:
    """Runs without a delay, then perturbs the points one after the other, up to the first error. A program that fails
    without a delay needs no further runs."""
    report = Report()
    for kind, schedule in KINDS.items():
        base = Perturbed(Delay(kind))
        report.add(_once(case, base, 0, schedule=schedule))
        for delay in delays.of(kind, base.numbers):
            if report.errors:
                return report
            report.add(_once(case, Perturbed(delay), 0, delay=delay))
        if delays.complete(base.numbers):
            break  # the other kind has no further points either
    return report


def _explore(case: Case, budget: Budget) -> Report:
    explored = explore(case, budget=budget)
    found = [Seen(f, None, script.seed, script, steps, case=case) for f, script, steps in explored.found]
    limits = [explored.limit] if explored.limit else []
    return Report(found, explored.runs, explored.steps, 0.0, explored.states, 1, limits, case, explored.coverage)


def verify_case(
    problem: Any,
    module: ModuleType,
    spec: Any,
    shape: tuple[int, ...],
    config: Any,
    compare: Callable[[torch.Tensor, torch.Tensor, float, float], Any],
    runs: Sequence[Way] = RUNS,
    *,
    sms: int = SMS,
    limits: Limits | None = None,
    arch: str = "sm90",
) -> Report:
    """One shape and config of a generated module, by its family's own inputs, launch, reference and tolerance.

    `problem` is the family's module, `compare` is tlxgen.check.numerics.compare, and the rest is as for `verify`.
    """

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        tensors = problem.inputs(spec, shape, DEVICE)
        outputs, strays = problem.launch(module, spec, shape, tensors, config)
        if strays:
            session.findings.add("out-of-bounds", f"{strays} elements were written outside of the outputs")
        with torch._C.DisableTorchFunction():
            reference = problem.reference(spec, {name: _plain(t) for name, t in tensors.items()})
            for name, out in outputs.items():
                result = _plain(out)
                if missing := session.memory.unwritten(result):
                    text = f"{missing} of {result.numel()} elements of {name} were never written"
                    session.findings.add("output-unwritten", text)
                expected, scale = reference[name]
                verdict = compare(result, expected, scale, problem.tolerance(spec, name))
                if not verdict.passed:
                    session.findings.add("wrong-numbers", f"{name}: {verdict.text}")

    return verify(program, runs, sms=sms, limits=limits, arch=arch)


def _plain(value: Any) -> Any:
    """A tensor without the claim to be on a GPU; anything else unchanged."""
    return value.as_subclass(torch.Tensor) if isinstance(value, torch.Tensor) else value
