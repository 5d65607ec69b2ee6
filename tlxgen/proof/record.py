"""The record of a module's verification in a lock: its runs, the simulator, the coverage and the findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tlxgen import lock
from tlxgen.verify.verification import Case, Run

from .fingerprint import Simulator

SECTION = "verified"


class State(Enum):
    """The state of a module according to its record."""

    PROVEN = "proven"
    ELSEWHERE = "proven by another simulator"
    FAULTY = "findings"
    UNPROVEN = "unproven"

    @property
    def is_proven(self) -> bool:
        return self in (State.PROVEN, State.ELSEWHERE)


class Finding(BaseModel):
    """A finding. Its lines are those of the module."""

    model_config = ConfigDict(frozen=True)

    id: str
    severity: str
    message: str
    lines: tuple[int, ...]


class Record(BaseModel):
    """A record. `subject` is the digest of all that was run, `simulator` that of the code that ran it, and `cases_by`
    that of the code that chose the cases. `kernels` is the digest of the kernels and of the code that runs and judges
    alone, `given` that of what the runs were given (proof.given); both are empty until someone has asked for them."""

    model_config = ConfigDict(frozen=True)

    subject: str
    simulator: str
    cases_by: str = ""
    kernels: str = ""
    given: str = ""
    libraries: dict[str, str]
    schedules: tuple[Run, ...]
    cases: tuple[Case, ...]
    sms: tuple[int, ...]
    runs: int
    steps: int
    coverage: dict[str, Any] | None
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=set() if self.given else {"kernels", "given"})

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    def covers(self, ways: Iterable[Run]) -> bool:
        """Whether it ran all of these schedules and seeds. The simulator determines its other runs."""
        return set(self.schedules).issuperset(ways)


@dataclass(frozen=True)
class Want:
    """The conditions for a valid record: these schedules and seeds, and no errors or, if `strict`, no findings."""

    ways: tuple[Run, ...]
    strict: bool = False


def read(entry: Mapping[str, Any]) -> Record | None:
    """The record in a structure's entry of a lock; None if there is none, or if it was changed after it was written.

    It is valid only as a whole, and only together with the digest of its code: see `lock.sealed`.
    """
    found = entry.get(SECTION)
    if not found or not lock.holds(entry, entry, SECTION):
        return None
    try:
        return Record.model_validate(found)
    except ValidationError:
        return None


def state_of(record: Record | None, subject: str, simulator: Simulator | None, want: Want) -> State:
    """The state of the module with the digest `subject` according to a record."""
    if record is None or simulator is None or record.subject != subject or not record.covers(want.ways):
        return State.UNPROVEN
    if record.errors or (want.strict and record.findings):
        return State.FAULTY
    same = simulator.made(record.simulator, record.libraries) and record.cases_by == simulator.cases_by
    return State.PROVEN if same else State.ELSEWHERE
