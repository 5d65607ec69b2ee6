"""A record of a lock: what a module was run on, by which simulator, what was reached and what was found."""

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
    """What is known of a module from its record."""

    PROVEN = "proven"
    ELSEWHERE = "proven by another simulator"
    FAULTY = "findings"
    UNPROVEN = "unproven"

    @property
    def is_proven(self) -> bool:
        return self in (State.PROVEN, State.ELSEWHERE)


class Finding(BaseModel):
    """What was found; the lines are those of the module."""

    model_config = ConfigDict(frozen=True)

    id: str
    severity: str
    message: str
    lines: tuple[int, ...]


class Record(BaseModel):
    """What the lock holds. `subject`: the digest of all that was run. `simulator`: that of the code that ran it."""

    model_config = ConfigDict(frozen=True)

    subject: str
    simulator: str
    libraries: dict[str, str]
    schedules: tuple[Run, ...]
    cases: tuple[Case, ...]
    sms: tuple[int, ...]
    runs: int
    steps: int
    coverage: dict[str, Any] | None
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    def covers(self, ways: Iterable[Run]) -> bool:
        """Whether it ran all of these schedules and seeds. What else it ran follows from the simulator."""
        return set(self.schedules).issuperset(ways)


@dataclass(frozen=True)
class Want:
    """What a record must have: these schedules and seeds; no findings, or, unless `strict`, warnings at most."""

    ways: tuple[Run, ...]
    strict: bool = False


def read(entry: Mapping[str, Any]) -> Record | None:
    """The record of a structure's entry in a lock; None where there is none, or it is not as it was written.

    It is believed only as a whole, and only beside the very code that it is of: see `lock.sealed`.
    """
    found = entry.get(SECTION)
    if not found or not lock.holds(entry, entry, SECTION):
        return None
    try:
        return Record.model_validate(found)
    except ValidationError:
        return None


def state_of(record: Record | None, subject: str, simulator: Simulator | None, want: Want) -> State:
    """What a record says of the module with that digest."""
    if record is None or simulator is None or record.subject != subject or not record.covers(want.ways):
        return State.UNPROVEN
    if record.errors or (want.strict and record.findings):
        return State.FAULTY
    return State.PROVEN if simulator.made(record.simulator, record.libraries) else State.ELSEWHERE
