"""The records of `tlxgen verify` in locks: reads those that modules have, and writes those of modules that were run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlxgen import digest, lock
from tlxgen.build import subject_digest
from tlxgen.errors import TlxgenError
from tlxgen.families import Family, Kernels, Structure
from tlxgen.files import read_regular
from tlxgen.loading import HOST
from tlxgen.proof import SECTION, Finding, Record, Simulator, State, Want, read, simulator_of, state_of
from tlxgen.render.module import shared_host
from tlxgen.verify import Job, Result, StructureJob
from tlxgen.verify.verification import Case
from tlxgen.working import Working


@dataclass(frozen=True)
class _Known:
    """The known state of a structure. It does not keep the whole spec, which may have many thousands of points."""

    work: Working
    structure: Structure
    family: Family

    @property
    def simulator(self) -> Simulator | None:
        return simulator_of(*self.family.judged_by)

    def subject(self, module: Path) -> str:
        """The digest of a structure's code that is run.

        It is empty for a module that is not Python, and beside a `_host.py` that is not the shipped one.
        """
        try:
            if _code(read_regular(module.with_name(HOST))) != _code(shared_host().encode()):
                return ""
            return subject_digest(read_regular(module), self.structure)
        except (OSError, SyntaxError, ValueError):
            return ""

    def kernels(self, module: Path) -> str:
        """The digest of a structure's kernels, and of the code that runs and judges."""
        from tlxgen.proof.given import kernels_of_text

        assert self.simulator
        return digest.of_text(kernels_of_text(read_regular(module).decode()) + self.simulator.core)

    def given(self, module: Path, record: Record) -> dict[str, str]:
        """What a record says of its kernels and of what their runs were given; nothing if a host function fails."""
        from tlxgen.proof.given import given_to

        found = given_to(self.work.spec, self.structure.name, module, record.schedules)
        return {"kernels": self.kernels(module), "given": found} if found else {}

    def gives_alike(self, module: Path, record: Record) -> bool:
        return self.kernels(module) == record.kernels and self.given(module, record).get("given") == record.given


@functools.lru_cache(maxsize=8)
def _code(text: bytes) -> str:
    """The digest of a text's code, cached, since all folders have the same `_host.py`."""
    return digest.of_python(text.decode())


@dataclass
class Proofs:
    """The known states of structures, by their jobs. Several threads may call `note`."""

    _known: dict[StructureJob, _Known] = field(default_factory=dict)
    _made: dict[StructureJob, Record] = field(default_factory=dict)
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _fault: TlxgenError | None = None

    def add(self, jobs: Sequence[StructureJob], work: Working, kernels: Kernels) -> None:
        for job in jobs:
            self._known[job] = _Known(work, kernels.structure(job.structure), kernels.family)

    def recorded(self, job: StructureJob) -> Record | None:
        """The record in the lock; None if there is no valid one."""
        return read(_entry(self._known[job].work, job.structure))

    def subject(self, job: StructureJob) -> str:
        return self._known[job].subject(job.module)

    def state(self, job: StructureJob, want: Want) -> State:
        return state_of(self.recorded(job), self.subject(job), self._known[job].simulator, want)

    def renewed(self, job: StructureJob, want: Want) -> State:
        """The state, after the record has been told of changes that do not change its module's runs.

        Such a change is one of what chooses the cases, where the module has the same ones; or of anything but kernels
        and simulator, where its runs are given the same (`proof.given`). To know that takes an import of torch and a
        second. A valid record that does not say yet what its runs were given is told that, too.
        """
        state, record, known = self.state(job, want), self.recorded(job), self._known[job]
        simulator, subject = known.simulator, self.subject(job)
        if record is None or simulator is None or not subject or record.errors or not record.covers(want.ways):
            return state
        update: dict[str, Any] = {}
        if state is State.PROVEN:
            update = {} if record.given else known.given(job.module, record)
        elif record.subject == subject and simulator.made(record.simulator, record.libraries):
            update = {"cases_by": simulator.cases_by} if _has_cases(known, job.module, record) else {}
        elif record.given and simulator.has(record.libraries) and known.gives_alike(job.module, record):
            update = {"subject": subject, "simulator": simulator.digest, "cases_by": simulator.cases_by}
        if update:
            self._write(job, subject, record.model_copy(update=update))
        return self.state(job, want)

    def is_same_simulator(self, job: StructureJob, record: Record) -> bool:
        simulator = self._known[job].simulator
        return simulator is not None and simulator.made(record.simulator, record.libraries)

    def shown(self, job: Job) -> dict[str, Any] | None:
        """The present record of a job's structure, for JSON."""
        if not isinstance(job, StructureJob):
            return None
        found = self._made.get(job) or self.recorded(job)
        return found.to_json() if found and found.subject == self.subject(job) else None

    def note(self, job: Job, result: Result, want: Want) -> None:
        """Writes the record of a structure that was run, at once, unless the same code has a stronger record.

        An error is raised later by `close`, so that the other targets are still run.
        """
        if not isinstance(job, StructureJob) or result.error:
            return
        known = self._known[job]
        simulator, subject = known.simulator, self.subject(job)
        if simulator is None or not subject:
            return
        record = record_of(result, subject, simulator, want)
        with self._writing:
            try:  # another verify may be writing the same lock
                before = self.recorded(job)
                if before and _repeats(record, before, simulator) and before.covers(want.ways):
                    record = before
                self._write(job, subject, record)
            except TlxgenError as error:
                self._fault = self._fault or error

    def _write(self, job: StructureJob, subject: str, record: Record) -> None:
        self._made[job] = record
        sealed = lock.sealed({"subject": subject}, record.to_json(), SECTION)
        self._known[job].work.record(SECTION, {job.structure: sealed})

    def close(self) -> None:
        """Raises the error that prevented writing, if there was one."""
        if self._fault is not None:
            raise self._fault


def _entry(work: Working, structure: str) -> dict[str, Any]:
    found: dict[str, Any] = lock.read(work.generated).get("structures", {}).get(structure, {})
    return found


def _repeats(record: Record, before: Record, simulator: Simulator) -> bool:
    """Whether a record says what the one before it says, by the same simulator and choice of cases."""
    same = before.subject == record.subject and before.cases_by == record.cases_by
    return same and simulator.made(before.simulator, before.libraries) and before.findings == record.findings


def _has_cases(known: _Known, module: Path, record: Record) -> bool:
    try:
        return record.cases == cases_now(known, module)
    except Exception:  # of a family's own code: a run of the module says what is wrong with it
        return False


def cases_now(known: _Known, module: Path) -> tuple[Case, ...]:
    """The cases that a run of a module would have. Imports torch."""
    from tlxgen.sim import SMS
    from tlxgen.verify.structures import cases_of, loaded, rows_of

    configs = rows_of(loaded(module, known.structure.plan.arch.name, SMS), module)
    points = [(known.structure.variant_of(c.kwargs)[0].spec, c.kwargs) for c in configs]
    return tuple((i, tuple(shape)) for i, shape in cases_of(known.family.problem(), points))


def record_of(result: Result, subject: str, simulator: Simulator, want: Want) -> Record:
    """A result as the record of a lock."""
    return Record(
        subject=subject,
        simulator=simulator.digest,
        cases_by=simulator.cases_by,
        libraries=dict(simulator.libraries),
        schedules=want.ways,
        cases=result.cases,
        sms=result.sms,
        runs=result.runs,
        steps=result.steps,
        coverage=summary.to_json() if (summary := result.summary) else None,
        findings=tuple(findings_of(result)),
    )


def findings_of(result: Result) -> Iterator[Finding]:
    """The findings of a result, without their traces, which every run can show again."""
    for found in result.findings:
        lines = tuple(place["line"] for place in found["places"])
        yield Finding(id=found["id"], severity=found["severity"], message=found["message"], lines=lines)
