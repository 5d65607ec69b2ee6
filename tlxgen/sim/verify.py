"""Runs a program on several schedules, or on all that matter, and gathers what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from .case import Case
from .engine import Schedule
from .explore import Budget, explore
from .findings import Finding
from .launch import DEVICE, SMS, Director, Scheduled, Session
from .machine import Limits
from .script import Script, Scripted

Run = tuple[Schedule, int]
RUNS: tuple[Run, ...] = (("random", 0), ("random", 1), ("starved", 2), ("lazy", 3), ("eager", 4))


@dataclass(frozen=True)
class Seen:
    """A finding, and the run that showed it first: a schedule and a seed, or a list of decisions. It shows it again."""

    finding: Finding
    schedule: Schedule | None
    seed: int
    script: Script | None = None
    case: Case | None = field(default=None, repr=False, compare=False)

    @property
    def director(self) -> Director:
        if self.schedule is None:
            return Scripted(self.script or Script(self.seed))
        return Scheduled(self.schedule, self.seed)

    @property
    def run(self) -> str:
        """The run in words."""
        return f"decisions {self.script}" if self.schedule is None else f"schedule {self.schedule}, seed {self.seed}"

    def __str__(self) -> str:
        return f"{self.finding} ({self.run})"


@dataclass
class Report:
    """What was found, and what was covered.

    A clean report is so many runs without a finding, and no proof, unless it is `complete`; what that says, and what
    not, is in `explore`.
    """

    seen: list[Seen] = field(default_factory=list)
    runs: int = 0
    steps: int = 0  # scheduling decisions and operations, over all runs
    seconds: float = 0.0
    states: int = 0  # distinct ones, of exhaustive searches
    searches: int = 0  # exhaustive ones
    limits: list[str] = field(default_factory=list)  # what ended those that are not complete
    first: Case | None = field(default=None, repr=False)

    @property
    def errors(self) -> list[Seen]:
        return [s for s in self.seen if s.finding.severity == "error"]

    @property
    def ids(self) -> set[str]:
        return {s.finding.id for s in self.seen}

    @property
    def complete(self) -> bool:
        """Whether every search was exhaustive and came to its end."""
        return self.searches > 0 and not self.limits

    @property
    def covered(self) -> str:
        """What was run, in words."""
        if not self.searches:
            return f"{self.runs} runs, {self.steps} steps, {self.seconds:.1f} s"
        stopped = f"stopped at the limit of {', '.join(dict.fromkeys(self.limits))}"
        end = "search complete" if self.complete else stopped
        return f"{self.runs} runs, {self.states} states, {end}, {self.seconds:.1f} s"

    def add(self, other: Report) -> None:
        """Takes in another report; a finding that is already there is not repeated."""
        known = {s.finding.key for s in self.seen}
        self.seen += [s for s in other.seen if s.finding.key not in known]
        self.runs += other.runs
        self.steps += other.steps
        self.seconds += other.seconds
        self.states += other.states
        self.searches += other.searches
        self.limits += other.limits
        self.first = self.first or other.first


def verify(
    program: Callable[[Session], None],
    runs: Sequence[Run] = RUNS,
    *,
    sms: int = SMS,
    limits: Limits | None = None,
    arch: str = "sm90",
    replay: Script | str | None = None,
    exhaustive: Budget | None = None,
) -> Report:
    """Calls `program`, which launches kernels and may add findings of its own, once for each schedule and seed.

    Instead of on `runs`: with `replay` on one list of decisions, with `exhaustive` on every schedule that matters,
    within a budget. Raises UnsupportedOp and ReplayError; any other exception of the program is a finding.
    """
    case = Case(program, sms, limits or Limits(), arch)
    start = time.perf_counter()
    if replay is not None:
        report = _replay(case, Script.parse(replay) if isinstance(replay, str) else replay)
    elif exhaustive is not None:
        report = _explore(case, exhaustive)
    else:
        report = Report()
        for schedule, seed in runs:
            session = case.run(Scheduled(schedule, seed), seed)
            found = [Seen(f, schedule, seed, None, case) for f in session.findings.all]
            report.add(Report(found, 1, session.steps, first=case))
    report.seconds = time.perf_counter() - start
    return report


def _replay(case: Case, script: Script) -> Report:
    session = case.run(Scripted(script), script.seed)
    found = [Seen(f, None, script.seed, script, case) for f in session.findings.all]
    return Report(found, 1, session.steps, first=case)


def _explore(case: Case, budget: Budget) -> Report:
    explored = explore(case, budget=budget)
    found = [Seen(f, None, script.seed, script, case) for f, script in explored.found]
    limits = [explored.limit] if explored.limit else []
    return Report(found, explored.runs, explored.steps, 0.0, explored.states, 1, limits, case)


def verify_case(
    problem: Any,
    module: ModuleType,
    spec: Any,
    shape: tuple[int, ...],
    config: Any,
    compare: Callable[[torch.Tensor, torch.Tensor, float, float], Any],
    runs: Sequence[Run] = RUNS,
    *,
    sms: int = SMS,
    limits: Limits | None = None,
    replay: Script | str | None = None,
    exhaustive: Budget | None = None,
) -> Report:
    """One shape and config of a generated module, by its family's own inputs, launch, reference and tolerance.

    `problem` is the family's module, `compare` tlxgen.check.numerics.compare; the rest is as for `verify`.
    """

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        tensors = problem.inputs(spec, shape, DEVICE)
        out, strays = problem.launch(module, spec, shape, tensors, config)
        with torch._C.DisableTorchFunction():
            plain = {name: t.as_subclass(torch.Tensor) for name, t in tensors.items()}
            reference, scale = problem.reference(spec, plain)
            result = out.as_subclass(torch.Tensor)
            if missing := session.memory.unwritten(result):
                session.findings.add("output-unwritten", f"{missing} of {result.numel()} elements were never written")
            if strays:
                session.findings.add("out-of-bounds", f"{strays} elements were written outside of the output")
            verdict = compare(result, reference, scale, problem.tolerance(spec))
        if not verdict.passed:
            session.findings.add("wrong-numbers", verdict.text)

    return verify(program, runs, sms=sms, limits=limits, replay=replay, exhaustive=exhaustive)
