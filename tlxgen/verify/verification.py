"""Jobs of verification and their results, which processes exchange as JSON. It imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from tlxgen.coverage import Summary
from tlxgen.errors import Location, SpecErrors, TlxgenError
from tlxgen.project import real

Schedule = Literal["random", "starved", "lazy", "eager", "delays"]  # as in tlxgen.sim, which would import torch
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
CHANCE: tuple[Schedule, ...] = ("random", "starved")  # they draw from a seed
Run = tuple[Schedule, int]  # schedule and seed
Way = Run | tuple[Literal["replay"], str] | tuple[Literal["exhaustive"], int]  # a list of decisions; steps a case
Case = tuple[int, tuple[int, ...]]  # a structure's row of CONFIGS, and a shape
Status = Literal["clean", "findings", "error"]
Arch = Literal["sm90", "sm100"]
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """The limits of one job: wall time in seconds and address space in GiB, without the imports of torch and triton."""

    seconds: float = 300.0
    memory_gib: float = 4.0


@dataclass(frozen=True)
class StructureJob:
    """One structure of a spec, whose source is `module`. `config` is an index into CONFIGS; None means those that show
    all constants.

    If `cases` and `ways` are given, as by a record, exactly these are run.
    """

    kind: ClassVar[str] = "structure"
    foreign: ClassVar[bool] = False
    spec: Path
    structure: str
    module: Path
    config: int | None = None
    cases: tuple[Case, ...] | None = None
    ways: tuple[Run, ...] | None = None

    @property
    def target(self) -> str:
        return self.structure


@dataclass(frozen=True)
class CaseJob:
    """One case that the file `declared` declares."""

    kind: ClassVar[str] = "case"
    foreign: ClassVar[bool] = True
    declared: Path
    file: Path
    name: str
    config: int | None = None

    @property
    def target(self) -> str:
        return f"{self.file.as_posix()}:{self.name}"


@dataclass(frozen=True)
class FunctionJob:
    """A host function of a file that is called without arguments. An empty name lists the callable functions."""

    kind: ClassVar[str] = "function"
    foreign: ClassVar[bool] = True
    file: Path
    name: str
    config: int | None = None
    arch: Arch = "sm90"

    @property
    def target(self) -> str:
        return f"{self.file.as_posix()}:{self.name}" if self.name else self.file.as_posix()


Job = StructureJob | CaseJob | FunctionJob


def to_json(job: Job) -> dict[str, Any]:
    """The job as a request."""
    paths = {k: str(real(v)) if isinstance(v, Path) else v for k, v in asdict(job).items()}
    return {"kind": job.kind, **paths}


@dataclass
class Result:
    """The result of one job. `error` says why it could not be verified, or not completely.

    `findings` are mappings in the form of the record: id, severity, message, places, schedule, seed, sms, fix; the
    first of each id also has replay and witness. `verdict` is their most likely cause: cause, places, proof, the
    finding that shows it, barriers. `searches` is the number of exhaustive searches, and `limits` say what ended them.
    `cases` are a structure's runs on each schedule, and `sms` their numbers of SMs.
    """

    target: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    cases: tuple[Case, ...] = ()
    sms: tuple[int, ...] = ()
    runs: int = 0
    steps: int = 0
    states: int = 0
    searches: int = 0
    limits: list[str] = field(default_factory=list)
    seconds: float = 0.0
    verdict: dict[str, Any] | None = None
    prints: list[tuple[str, str]] = field(default_factory=list)  # a run and the target's output in it
    coverage: dict[str, Any] | None = None  # what the runs exercised (tlxgen.coverage.to_json)
    error: TlxgenError | None = None

    @property
    def status(self) -> Status:
        return "error" if self.error else "findings" if self.findings else "clean"

    @property
    def faulty(self) -> bool:
        """Whether a finding is an error, not only a warning."""
        return any(finding["severity"] == "error" for finding in self.findings)

    def add(self, other: Result) -> None:
        """Adds the counts of another result."""
        self.runs += other.runs
        self.steps += other.steps
        self.states += other.states
        self.searches += other.searches
        self.limits += other.limits
        self.seconds += other.seconds

    @property
    def complete(self) -> bool:
        """Whether an exhaustive search was completed."""
        return self.searches > 0 and not self.limits and self.error is None

    @property
    def summary(self) -> Summary | None:
        """A summary of what the runs exercised; None if nothing ran."""
        return Summary.from_json(self.coverage["summary"]) if self.coverage else None

    @property
    def covered(self) -> str:
        """A text that says what was run."""
        if not self.searches:
            return f"{self.runs} runs, {self.steps} steps, {self.seconds:.1f} s"
        end = f"stopped at the limit of {', '.join(dict.fromkeys(self.limits))}" if self.limits else "search complete"
        return f"{self.runs} runs, {self.states} states, {end}, {self.seconds:.1f} s"

    def to_json(self) -> dict[str, Any]:
        """The result in the form of the record."""
        data: dict[str, Any] = {"target": self.target, "status": self.status, "runs": self.runs, "steps": self.steps}
        if self.searches:
            data |= {"states": self.states, "complete": self.complete}
        data |= {"seconds": round(self.seconds, 2), "findings": self.findings}
        data |= {"verdict": self.verdict} if self.verdict else {}
        data |= {"coverage": self.coverage} if self.coverage else {}
        return data | ({"error": error_to_json(self.error)} if self.error else {})


def error_to_json(error: TlxgenError) -> dict[str, Any]:
    """An error as data. `text` is its printed form, and `faults` are its parts if there are several."""
    if isinstance(error, SpecErrors):
        if len(error.errors) == 1:
            return error_to_json(error.errors[0])
        faults = [error_to_json(one) for one in error.errors]
        return {"message": f"{len(faults)} faults", "remedy": "", "text": str(error), "faults": faults}
    data: dict[str, Any] = {"message": error.message, "remedy": error.remedy, "text": str(error)}
    if at := error.location:
        data |= {"path": at.path, "line": at.line, "column": at.column, "source": at.text}
    return data


def error_from_json(data: Mapping[str, Any]) -> TlxgenError:
    """The inverse of `error_to_json`."""
    if "faults" in data:
        return SpecErrors(error_from_json(one) for one in data["faults"])
    where = Location(data["path"], data["line"], data["column"], data["source"]) if "path" in data else None
    return TlxgenError(data["message"], location=where, remedy=data["remedy"])
