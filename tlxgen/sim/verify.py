"""Runs a program on several schedules and gathers what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from .engine import Schedule
from .findings import Finding, KernelFault
from .launch import DEVICE, SMS, Session
from .machine import Limits

Run = tuple[Schedule, int]
RUNS: tuple[Run, ...] = (("random", 0), ("random", 1), ("starved", 2), ("lazy", 3), ("eager", 4))


@dataclass(frozen=True)
class Seen:
    """A finding, and the run that showed it first: the same schedule and seed show it again."""

    finding: Finding
    schedule: Schedule
    seed: int

    def __str__(self) -> str:
        return f"{self.finding} (schedule {self.schedule}, seed {self.seed})"


@dataclass
class Report:
    """What was found, and what was covered: a clean report is so many runs without a finding, and no proof."""

    seen: list[Seen] = field(default_factory=list)
    runs: int = 0
    steps: int = 0  # scheduling decisions and operations, over all runs
    seconds: float = 0.0

    @property
    def errors(self) -> list[Seen]:
        return [s for s in self.seen if s.finding.severity == "error"]

    @property
    def ids(self) -> set[str]:
        return {s.finding.id for s in self.seen}

    def __str__(self) -> str:
        """The findings, one a line: for `assert not report.errors, str(report)`."""
        return "\n".join(map(str, self.seen)) or f"no findings in {self.runs} runs"

    def add(self, other: Report) -> None:
        """Takes in another report; a finding that is already there is not repeated."""
        known = {(s.finding.id, s.finding.places) for s in self.seen}
        self.seen += [s for s in other.seen if (s.finding.id, s.finding.places) not in known]
        self.runs += other.runs
        self.steps += other.steps
        self.seconds += other.seconds


def verify(
    program: Callable[[Session], None],
    runs: Sequence[Run] = RUNS,
    *,
    sms: int = SMS,
    config: int = 0,
    limits: Limits | None = None,
    arch: str = "sm90",
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

    Raises UnsupportedOp and NoSuchConfig, and what `program` raises of assertions, system errors and exits. Exceptions
    of a kind that a kernel's own faults have are findings. See docs/verify.md.
    """
    report = Report()
    start = time.perf_counter()
    for schedule, seed in runs:
        session = Session(schedule, seed, sms, config, limits or Limits(), arch)
        with session.active():
            try:
                program(session)
            except KernelFault as fault:
                session.findings.add("kernel-error", str(fault), session.places_of(fault))
            except (TypeError, ValueError, NameError, AttributeError, RuntimeError, IndexError, KeyError) as error:
                text = f"{type(error).__name__}: {error}"
                session.findings.add("kernel-error", text, session.places_of(error))
        found = Report([Seen(f, schedule, seed) for f in session.findings.all], 1, session.steps)
        report.add(found)
    report.seconds = time.perf_counter() - start
    return report


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
    arch: str = "sm90",
) -> Report:
    """One shape and config of a generated module, by its family's own inputs, launch, reference and tolerance.

    `problem` is the family's module, `compare` tlxgen.check.numerics.compare.
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
    """A tensor that no longer says it is on a GPU; anything else as it is."""
    return value.as_subclass(torch.Tensor) if isinstance(value, torch.Tensor) else value
